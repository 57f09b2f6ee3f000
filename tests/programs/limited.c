/* Works under a limit that it gives itself: limited HOW FILE. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READS = 20000, PAGE = 4096 };

static const char *path;
static int file;

static long read_some(void)
{
	long done = 0;
	char c;

	for (int i = 0; i < READS; i++)
		done += pread(file, &c, 1, 0) == 1;
	return done;
}

static void *read_thread(void *arg)
{
	*(long *)arg = read_some();
	return NULL;
}

/* In this thread, in another with the least stack, in a child: what each has read. */
static void work(void)
{
	long done[3] = { read_some(), -1, -1 };
	pthread_attr_t attr;
	pthread_t thread;
	int status, made;
	pid_t child;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	made = pthread_create(&thread, &attr, read_thread, &done[1]);
	if (made == 0)
		pthread_join(thread, NULL);
	child = fork();
	if (child == 0)
		_exit(read_some() == READS ? 3 : 4);
	if (child > 0 && waitpid(child, &status, 0) == child)
		done[2] = status;
	printf("%ld %ld (%d) %lx\n", done[0], done[1], made, done[2]);
	fflush(stdout);
}

static void limit(int what, rlim_t to)
{
	struct rlimit r;

	getrlimit(what, &r);
	r.rlim_cur = to;
	if (setrlimit(what, &r) != 0)
		exit(9);
}

static void fsize_none(void)
{
	limit(RLIMIT_FSIZE, 0);
	work();
}

static void fsize_some(void)
{
	limit(RLIMIT_FSIZE, 20480);
	work();
	/* the program's own limit holds as ever */
	signal(SIGXFSZ, SIG_IGN);
	printf("%d\n", ftruncate(file, 20481) == -1 && errno == EFBIG);
}

static void no_descriptors(void)
{
	limit(RLIMIT_NOFILE, 0);
	work();
}

/* All taken, and some given back later. */
static void few_descriptors(void)
{
	int n = 0;

	limit(RLIMIT_NOFILE, 20);
	while (dup(file) >= 0)
		n++;
	work();
	printf("%d %d\n", n, errno);
	close(19);
	work();
}

/* What is at 2 is the program's, whatever the tracer had to say. */
static void closed_stderr(void)
{
	char text[64];
	int mine;

	close(2);
	mine = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
	limit(RLIMIT_NOFILE, 0);
	work();
	printf("%d holds %zd\n", mine, pread(mine, text, sizeof(text), 0));
}

static size_t mapped_bytes(void)
{
	size_t pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	if (!statm || fscanf(statm, "%zu", &pages) != 1)
		exit(9);
	fclose(statm);
	return pages * PAGE;
}

static void address_space(void)
{
	limit(RLIMIT_AS, mapped_bytes());
	work();
}

static void data(void)
{
	limit(RLIMIT_DATA, 0);
	work();
}

static void stack(void)
{
	limit(RLIMIT_STACK, 32768);
	work();
}

static void processes(void)
{
	limit(RLIMIT_NPROC, 1);
	work();
}

static void cpu(void)
{
	limit(RLIMIT_CPU, 1);
	for (;;)
		read_some();
}

/* As a user without the right to lock memory. */
static void locked(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps) != 0)
		exit(9);
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, caps) != 0)
		exit(9);
	limit(RLIMIT_MEMLOCK, 6 << 20);
	printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	work();
}

/* Nothing comes to be where the program has just unmapped. */
static void holes(void)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 6, 8, 13, 16, 32, 33, 64, 128 };
	int wrong = 0;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			const size_t bytes = sizes[i] * PAGE;
			unsigned char in[128];
			char *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			void *again;

			munmap(at, bytes);
			/* files are opened, windows grow, a thread and a child are followed */
			close(open(path, O_RDONLY));
			if (i % 4 == 0)
				read_some();
			for (size_t page = 0; page < sizes[i]; page++) {
				wrong += msync(at + page * PAGE, PAGE, MS_ASYNC) != -1 ||
					 errno != ENOMEM;
				wrong += mincore(at + page * PAGE, PAGE, in) != -1 ||
					 errno != ENOMEM;
			}
			again = mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			wrong += again != at;
			munmap(again, bytes);
		}
	printf("%d wrong\n", wrong);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "fsize-none", fsize_none },
	{ "fsize-some", fsize_some },
	{ "no-descriptors", no_descriptors },
	{ "few-descriptors", few_descriptors },
	{ "closed-stderr", closed_stderr },
	{ "address-space", address_space },
	{ "data", data },
	{ "stack", stack },
	{ "processes", processes },
	{ "cpu", cpu },
	{ "locked", locked },
	{ "holes", holes },
	{ "work", work },
};

int main(int argc, char **argv)
{
	path = argc > 2 ? argv[2] : "";
	file = open(path, O_RDWR | O_CREAT, 0644);
	if (file < 0 || pwrite(file, "x", 1, 0) != 1)
		return 1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	return 2;
}
