/* Cause: processes and threads lock the same file (flock, fcntl, lockf) around what they write. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <sys/file.h>
#include <time.h>

static const char *way;
static unsigned long hold_us, gap_us;

static void pause_us(unsigned long us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000) * 1000 };

	if (us)
		nanosleep(&t, NULL);
}

static int by_fcntl(int fd, int command, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0 };

	return fcntl(fd, command, &lock);
}

static int set(int fd, int locks)
{
	if (strcmp(way, "flock") == 0)
		return flock(fd, locks ? LOCK_EX : LOCK_UN);
	if (strcmp(way, "fcntl") == 0)
		return by_fcntl(fd, F_SETLKW, locks ? F_WRLCK : F_UNLCK);
	if (strcmp(way, "ofd") == 0)
		return by_fcntl(fd, F_OFD_SETLKW, locks ? F_WRLCK : F_UNLCK);
	return lockf(fd, locks ? F_LOCK : F_ULOCK, 0);
}

static void locker(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	int fd = cause_open(c->path, O_RDWR | O_CREAT);

	for (unsigned i = 0; i < c->operations; i++) {
		if (lseek(fd, 0, SEEK_SET) < 0 || set(fd, 1))
			err(1, "%s: %s", c->path, way);
		cause_pwrite(fd, t->block, c->bytes, 0, c->path);
		pause_us(hold_us);
		if (set(fd, 0))
			err(1, "%s: %s", c->path, way);
		pause_us(gap_us);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	struct cause locking = {
		.name = "locking WAY[,HOLD_US,GAP_US]",
		.what = "Each thread locks PATH (WAY: flock, fcntl, ofd, lockf), writes to it, "
			"keeps "
			"the lock for HOLD_US,\nunlocks it and waits for GAP_US.",
		.threads = 4,
		.operations = 50,
		.bytes = 512,
		.shares_file = 1,
		.thread = locker,
	};
	char *end;

	if (argc < 2)
		return cause_run(&locking, argc, argv);
	way = strsep(&argv[1], ",");
	if (argv[1]) {
		hold_us = strtoul(argv[1], &end, 10);
		gap_us = *end == ',' ? strtoul(end + 1, NULL, 10) : 0;
	}
	argv[1] = argv[0];
	return cause_run(&locking, argc - 1, argv + 1);
}
