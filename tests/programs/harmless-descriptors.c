/* Programs that close what is not theirs, count what they have, and expect numbers in order. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmless.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int out = -1; /* a copy of the standard output, above all that is closed */

static void say(const char *format, long a, long b)
{
	char text[200];
	int n = snprintf(text, sizeof(text), format, a, b);

	MUST(write(out, text, (size_t)n) == n);
}

static void put_aside(void)
{
	fflush(stdout);
	MUST((out = fcntl(1, F_DUPFD, 1024)) >= 1024 || (out = fcntl(1, F_DUPFD, 900)) > 0);
}

/* What /proc lists below 1024, and what is open by asking. */
static void list(const char *when)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int listed = 0, open_ones = 0;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) < 900 &&
		    atoi(entry->d_name) != dirfd(folder))
			listed++;
	if (folder)
		closedir(folder);
	for (int fd = 0; fd < 900; fd++)
		open_ones += fcntl(fd, F_GETFD) >= 0;
	say(when, listed, open_ones);
}

static void use(void)
{
	int fd = open("used", O_RDWR | O_CREAT | O_TRUNC, 0644), next = dup(fd);
	FILE *stream;
	int end[2];

	say("first free %ld, next %ld\n", fd, next);
	MUST(write(fd, "abc", 3) == 3 && pread(next, (char[4]){ 0 }, 3, 0) == 3);
	MUST(pipe(end) == 0);
	say("pipe %ld %ld\n", end[0], end[1]);
	MUST((stream = fopen("used", "a")) && fputs("def", stream) >= 0);
	say("stream %ld, socket %ld\n", fileno(stream), socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(fclose(stream) == 0);
}

static void by_loop(void)
{
	put_aside();
	list("at the start: %ld listed, %ld open\n");
	for (int fd = 0; fd < 900; fd++)
		close(fd);
	list("closed one by one: %ld listed, %ld open\n");
	use();
}

static void by_range(void)
{
	put_aside();
	say("close_range %ld %ld\n", close_range(0, 899, 0), 0);
	list("close_range: %ld listed, %ld open\n");
	use();
}

static void by_all(void)
{
	put_aside();
	MUST(dup2(out, 0) == 0);
	out = 0;
	say("close_range to the end %ld %ld\n", close_range(1, ~0U, 0), 0);
	list("close_range: %ld listed, %ld open\n");
	use();
	say("close_range unshare %ld %ld\n", close_range(1, ~0U, CLOSE_RANGE_UNSHARE), 0);
	say("close_range cloexec %ld %ld\n", close_range(1, ~0U, CLOSE_RANGE_CLOEXEC), 0);
	use();
}

static void by_closefrom(void)
{
	put_aside();
	MUST(dup2(out, 0) == 0);
	out = 0;
	closefrom(1);
	list("closefrom: %ld listed, %ld open\n");
	use();
}

static void by_system_call(void)
{
	put_aside();
	MUST(dup2(out, 0) == 0);
	out = 0;
	say("syscall %ld %ld\n", syscall(SYS_close_range, 1L, (long)INT_MAX, 0L), 0);
	list("syscall: %ld listed, %ld open\n");
	use();
}

/* Every number is taken: nothing can be opened, and the errors are the right ones. */
static void exhausted(void)
{
	struct rlimit limit = { 64, 64 };
	int first = -1, n = 0, fd;

	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		if (first < 0)
			first = fd;
		n++;
	}
	printf("first %d, %d more: %s\n", first, n, strerrorname_np(errno));
	TELL(dup(0));
	TELL(dup2(0, 64));
	TELL(fcntl(0, F_DUPFD, 64));
	TELL(fopen("x", "w") ? 0 : -1);
	TELL(tmpfile() ? 0 : -1);
	TELL(socket(AF_UNIX, SOCK_STREAM, 0));
	TELL(popen("true", "r") ? 0 : -1);
	TELL(write(1, "", 0));
}

static void limits_of_one(void)
{
	static const struct rlimit limits[] = {
		{ 0, 4096 }, { 1, 4096 }, { 3, 4096 }, { 4, 4096 }
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		fflush(stdout);
		pid_t child = fork();
		int status;

		if (child == 0) {
			MUST(setrlimit(RLIMIT_NOFILE, &limits[i]) == 0);
			TELL(open("file", O_RDWR | O_CREAT, 0644));
			TELL(write(1, "here\n", 5));
			TELL(dup2(2, 1));
			/* one number is enough for an interpreter and its libraries */
			closefrom(3);
			if (limits[i].rlim_cur == 4)
				execlp("sh", "sh", "-c", "echo from sh", NULL);
			_exit(9);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("limit %zu: status 0x%x\n", i, (unsigned)status);
	}
}

/* Two that hand descriptors to each other, and see which these are. */
static void passed(void)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control;
	char byte = 'x';
	struct iovec one = { &byte, 1 };
	struct msghdr message = { .msg_iov = &one,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2], fds[2] = { open("passed", O_RDWR | O_CREAT, 0644), 1 };
	struct cmsghdr *header;
	pid_t child;
	int status;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct iovec in = { &byte, 1 };

		message.msg_iov = &in;
		MUST(close(fds[0]) == 0 && recvmsg(pair[1], &message, 0) == 1);
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fds));
		printf("received %d %d\n", fds[0], fds[1]);
		fflush(stdout);
		MUST(write(fds[0], "child\n", 6) == 6 && write(fds[1], "out\n", 4) == 4);
		_exit(0);
	}
	header = CMSG_FIRSTHDR(&message);
	*header = (struct cmsghdr){ CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(header), fds, sizeof(fds));
	message.msg_controllen = CMSG_SPACE(sizeof(fds));
	MUST(sendmsg(pair[0], &message, 0) == 1);
	MUST(waitpid(child, &status, 0) == child && status == 0);
	TELL(lseek(fds[0], 0, SEEK_CUR));
}

/* Each flag and each position is as it would be. */
static void flags(void)
{
	int fd = open("flags", O_RDWR | O_CREAT | O_CLOEXEC, 0640), other;

	TELL(fcntl(fd, F_GETFD));
	TELL(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
	TELL(fcntl(fd, F_GETFL));
	TELL(other = fcntl(fd, F_DUPFD_CLOEXEC, 50));
	TELL(fcntl(other, F_GETFD));
	TELL(fcntl(dup(other), F_GETFD));
	TELL(dup3(fd, 60, O_CLOEXEC));
	TELL(dup3(fd, fd, 0));
	TELL(dup2(fd, fd));
	TELL(dup2(fd, -1));
	TELL(dup2(99, 98));
	TELL(write(fd, "12345", 5));
	TELL(lseek(60, 0, SEEK_CUR));
	TELL(lseek(fd, -10, SEEK_CUR));
	TELL(lseek(fd, 100, SEEK_DATA));
	TELL(pwrite(fd, "end", 3, 0)); /* appends, as Linux does */
	TELL(lseek(fd, 0, SEEK_END));
	TELL(close(fd));
	TELL(close(fd));
	TELL(open("flags", O_RDONLY | O_EXCL | O_CREAT, 0644));
	TELL(open("flags/x", O_RDONLY));
	TELL(open(".", O_WRONLY));
	TELL(open("", O_RDONLY));
	TELL(open(".", O_TMPFILE | O_RDWR, 0600) < 0);
	TELL(memfd_create("name", 0) < 0);
}

/* Counted while other threads open and close: no number is lost. */
static void *opens_and_closes(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		int fd = open("raced", O_RDWR | O_CREAT, 0644), copy = dup(fd);

		MUST(fd >= 0 && copy >= 0 && write(copy, "a", 1) == 1);
		MUST(close(fd) == 0 && close(copy) == 0);
	}
	return arg;
}

static void raced(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, opens_and_closes, NULL) == 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	TELL(open("raced", O_RDONLY));
}

static const struct part closing[] = {
	{ "loop", by_loop },
	{ "range", by_range },
	{ "all", by_all },
	{ "closefrom", by_closefrom },
	{ "system-call", by_system_call },
	{ NULL, NULL },
};

/* Each in a process of its own. */
static void closes(void)
{
	for (const struct part *p = closing; p->name; p++) {
		int status;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			p->run();
			_exit(0);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("-- %s: 0x%x\n", p->name, (unsigned)status);
	}
}

static const struct part parts[] = {
	{ "closes", closes },
	{ "flags", flags },
	{ "passed", passed },
	{ "raced", raced },
	{ "limits-of-one", limits_of_one },
	{ "exhausted", exhausted },
	{ NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}
