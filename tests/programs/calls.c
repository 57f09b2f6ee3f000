/* Calls each intercepted function a known number of times on known files; prints nothing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);

#undef fread_unlocked
#undef fwrite_unlocked

static char buffer[8192];

static void must(int ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}
#define MUST(expression) must(expression, #expression)

static void opens(void)
{
	int fd, dup_fd;

	MUST((fd = open("data", O_RDWR | O_CREAT, 0644)) >= 0);
	MUST((dup_fd = dup(fd)) >= 0);
	MUST(close(dup_fd) == 0);
	MUST(dup2(fd, 100) == 100);
	MUST(dup3(fd, 101, O_CLOEXEC) == 101);
	/* what is dup'ed shares the position */
	MUST(write(100, buffer, 10) == 10);
	MUST(write(101, buffer, 20) == 20);
	MUST(close(100) == 0);
	MUST(close(101) == 0);
	MUST(close(fd) == 0);
	MUST((fd = open64("data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = openat(AT_FDCWD, "data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = openat64(AT_FDCWD, "data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = creat("made", 0600)) >= 0 && close(fd) == 0);
	MUST((fd = creat64("made", 0600)) >= 0 && close(fd) == 0);
	MUST((fd = __open_2("data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = __open64_2("data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = __openat_2(AT_FDCWD, "data", O_RDONLY)) >= 0 && close(fd) == 0);
	MUST((fd = __openat64_2(AT_FDCWD, "data", O_RDONLY)) >= 0 && close(fd) == 0);
}

static void transfers(void)
{
	struct iovec two[] = { { buffer, 100 }, { buffer + 100, 28 } };
	int fd;

	MUST((fd = open("data", O_RDWR | O_TRUNC)) >= 0);
	MUST(write(fd, buffer, 4096) == 4096);
	MUST(pwrite(fd, buffer, 512, 1024) == 512);
	MUST(pwrite64(fd, buffer, 513, 8192) == 513);
	MUST(writev(fd, two, 2) == 128);
	MUST(pwritev(fd, two, 2, 64) == 128);
	MUST(pwritev64(fd, two, 2, 65) == 128);
	MUST(pwritev2(fd, two, 2, 66, 0) == 128);
	MUST(pwritev64v2(fd, two, 2, -1, 0) == 128); /* at the file's position, 4224 */
	MUST(fsync(fd) == 0);
	MUST(fdatasync(fd) == 0);
	MUST(lseek(fd, 7, SEEK_SET) == 7);
	MUST(read(fd, buffer, 100) == 100);
	MUST(__read_chk(fd, buffer, 101, sizeof(buffer)) == 101);
	MUST(lseek64(fd, -5, SEEK_END) == 8700);
	MUST(read(fd, buffer, 100) == 5);
	MUST(read(fd, buffer, 100) == 0);
	MUST(pread(fd, buffer, 30, 8) == 30);
	MUST(pread64(fd, buffer, 31, 9) == 31);
	MUST(__pread_chk(fd, buffer, 32, 10, sizeof(buffer)) == 32);
	MUST(__pread64_chk(fd, buffer, 33, 11, sizeof(buffer)) == 33);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(readv(fd, two, 2) == 128);
	MUST(preadv(fd, two, 2, 12) == 128);
	MUST(preadv64(fd, two, 2, 13) == 128);
	MUST(preadv2(fd, two, 2, 14, 0) == 128);
	MUST(preadv64v2(fd, two, 2, 15, 0) == 128);
	MUST(close(fd) == 0);
}

static void streams(void)
{
	FILE *stream;
	int fd;

	MUST((stream = fopen("stream", "w+")) != NULL);
	MUST(fwrite(buffer, 10, 30, stream) == 30);
	MUST(fwrite_unlocked(buffer, 1, 7, stream) == 7);
	MUST(fflush(stream) == 0);
	MUST(fflush_unlocked(stream) == 0);
	MUST(fseek(stream, 3, SEEK_SET) == 0);
	MUST(fread(buffer, 5, 4, stream) == 4);
	MUST(fseeko(stream, 4, SEEK_SET) == 0);
	MUST(fread_unlocked(buffer, 1, 11, stream) == 11);
	MUST(fseeko64(stream, 5, SEEK_SET) == 0);
	MUST(__fread_chk(buffer, sizeof(buffer), 1, 12, stream) == 12);
	MUST(__fread_unlocked_chk(buffer, sizeof(buffer), 1, 13, stream) == 13);
	MUST(ftell(stream) == 30);
	MUST(ftello(stream) == 30);
	MUST(ftello64(stream) == 30);
	rewind(stream);
	MUST((stream = freopen("stream2", "w", stream)) != NULL);
	MUST((stream = freopen64("stream", "r", stream)) != NULL);
	MUST(fclose(stream) == 0);
	MUST((stream = fopen64("stream", "r")) != NULL && fclose(stream) == 0);
	MUST((fd = open("stream", O_RDONLY)) >= 0);
	MUST((stream = fdopen(fd, "r")) != NULL && fclose(stream) == 0);
}

static void failures(void)
{
	char *volatile nowhere = (char *)8;
	int fd;

	MUST(open("absent", O_RDONLY) == -1 && errno == ENOENT);
	MUST(fopen("absent/too", "r") == NULL && errno == ENOENT);
	MUST((fd = open("data", O_RDONLY)) >= 0);
	MUST(write(fd, buffer, 3) == -1 && errno == EBADF);
	MUST(lseek(fd, -1, SEEK_SET) == -1 && errno == EINVAL);
	MUST(read(fd, nowhere, 64) == -1 && errno == EFAULT);
	MUST(open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
	MUST(close(fd) == 0);
	MUST(close(999) == -1 && errno == EBADF);
	MUST(read(999, buffer, 1) == -1 && errno == EBADF);
}

/* Not regular files: left out by default. */
static void others(void)
{
	int fd[2];

	MUST(pipe(fd) == 0);
	MUST(write(fd[1], buffer, 77) == 77 && read(fd[0], buffer, 77) == 77);
	MUST(close(fd[0]) == 0 && close(fd[1]) == 0);
	MUST((fd[0] = open("/dev/null", O_WRONLY)) >= 0);
	MUST(write(fd[0], buffer, 77) == 77 && close(fd[0]) == 0);
}

static void *writer(void *arg)
{
	long n = (long)arg;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "thread%ld", n);
	MUST((fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644)) >= 0);
	for (long i = 0; i < 1000 + n; i++)
		MUST(write(fd, buffer, 1) == 1);
	MUST(close(fd) == 0);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];

	for (long i = 0; i < 4; i++)
		MUST(pthread_create(&thread[i], NULL, writer, (void *)i) == 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

/* The child uses a descriptor of its parent and one of its own. */
static void forks(void)
{
	int fd, status;
	pid_t child;

	MUST((fd = open("forked", O_RDWR | O_CREAT | O_TRUNC, 0644)) >= 0);
	MUST(write(fd, buffer, 11) == 11);
	MUST((child = fork()) >= 0);
	if (child == 0) {
		MUST(write(fd, buffer, 22) == 22);
		MUST((fd = open("childs", O_RDWR | O_CREAT | O_TRUNC, 0644)) >= 0);
		MUST(write(fd, buffer, 33) == 33);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	MUST(write(fd, buffer, 44) == 44);
	MUST(close(fd) == 0);
	MUST((child = vfork()) >= 0);
	if (child == 0)
		_exit(0);
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

/*
 * A timer's handler writes in between, and inside, the calls of main; how often goes to a file, as
 * text.
 */
static volatile int handled, handler_fd;

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	handled += pwrite(handler_fd, buffer, 2, 0) == 2;
	errno = saved;
}

static void signals(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int fd, i;

	MUST((handler_fd = open("handler", O_WRONLY | O_CREAT, 0644)) >= 0);
	MUST((fd = open("data", O_WRONLY)) >= 0);
	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (i = 0; i < 20000; i++)
		MUST(pwrite(fd, buffer, 1, 0) == 1);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	MUST(close(fd) == 0);
	MUST((fd = open("handled", O_WRONLY | O_CREAT, 0644)) >= 0);
	MUST(dprintf(fd, "%d\n", handled) > 0);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "opens", opens },   { "transfers", transfers }, { "streams", streams },
	{ "others", others }, { "failures", failures },	  { "threads", threads },
	{ "forks", forks },   { "signals", signals },
};

/* calls [PART]...: all of them without arguments; files are made in the current directory. */
int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		int asked = argc == 1;

		for (int a = 1; a < argc; a++)
			asked |= strcmp(argv[a], parts[i].name) == 0;
		if (asked)
			parts[i].run();
	}
	return 0;
}
