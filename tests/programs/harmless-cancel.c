/* Threads that are cancelled inside of calls, small stacks, threads that end with I/O still to do.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmless.h"

#include <aio.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* whether a call returns is what is looked at here */
#pragma GCC diagnostic ignored "-Wunused-result"

static char bytes[4096];
static int fd, full[2], empty[2], listening;
static struct iovec one = { bytes, 10 };

/* ---- cancelled before and in each call that may be ---- */

#define CALLS(X)                                                                                   \
	X(open_, close(open("opened", O_RDONLY | O_CREAT, 0644)))                                  \
	X(openat_, close(openat(AT_FDCWD, "opened", O_RDONLY)))                                    \
	X(creat_, close(creat("created", 0644)))                                                   \
	X(close_, close(dup(fd)))                                                                  \
	X(read_, read(fd, bytes, 10))                                                              \
	X(write_, write(fd, bytes, 10))                                                            \
	X(pread_, pread(fd, bytes, 10, 0))                                                         \
	X(pwrite_, pwrite(fd, bytes, 10, 0))                                                       \
	X(readv_, readv(fd, &one, 1))                                                              \
	X(writev_, writev(fd, &one, 1))                                                            \
	X(preadv_, preadv(fd, &one, 1, 0))                                                         \
	X(pwritev_, pwritev(fd, &one, 1, 0))                                                       \
	X(preadv2_, preadv2(fd, &one, 1, 0, 0))                                                    \
	X(pwritev2_, pwritev2(fd, &one, 1, 0, 0))                                                  \
	X(fsync_, fsync(fd))                                                                       \
	X(fdatasync_, fdatasync(fd))                                                               \
	X(lockf_, lockf(fd, F_LOCK, 0))                                                            \
	X(fcntl_setlkw, fcntl(fd, F_SETLKW, &(struct flock){ .l_type = F_WRLCK }))                 \
	X(fcntl_dupfd, close(fcntl(fd, F_DUPFD, 0)))                                               \
	X(fallocate_, fallocate(fd, 0, 0, 100))                                                    \
	X(posix_fallocate_, posix_fallocate(fd, 0, 100))                                           \
	X(sync_file_range_, sync_file_range(fd, 0, 0, 0))                                          \
	X(splice_, splice(fd, NULL, empty[1], NULL, 10, 0))                                        \
	X(tee_, tee(full[0], empty[1], 10, 0))                                                     \
	X(vmsplice_, vmsplice(empty[1], &one, 1, 0))                                               \
	X(copy_file_range_, copy_file_range(fd, NULL, fd, NULL, 0, 0))                             \
	X(sendfile_, sendfile(empty[1], fd, NULL, 10))                                             \
	X(msync_, msync(NULL, 0, MS_SYNC))                                                         \
	X(dup_, close(dup2(fd, 100)))                                                              \
	X(lseek_, lseek(fd, 0, SEEK_SET))                                                          \
	X(ftruncate_, ftruncate(fd, 10000))                                                        \
	X(stat_, stat("file", &(struct stat){ 0 }))                                                \
	X(fopen_, fclose(fopen("file", "r")))                                                      \
	X(fprintf_, fprintf(stderr, "%s", ""))                                                     \
	X(popen_, pclose(popen(":", "r")))                                                         \
	X(aio_suspend_,                                                                            \
	  aio_suspend((const struct aiocb *[]){ NULL }, 1, &(struct timespec){ 0, 1 }))            \
	X(mkstemp_, close(mkstemp((char[]){ "tmpXXXXXX" })))

static int cleaned;

static void clean(void *arg)
{
	cleaned = *(int *)arg;
}

#define X(name, call)                                                                              \
	static void *call_##name(void *arg)                                                        \
	{                                                                                          \
		int mark = 7;                                                                      \
                                                                                                   \
		pthread_cleanup_push(clean, &mark);                                                \
		pthread_cancel(pthread_self());                                                    \
		call;                                                                              \
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);                              \
		pthread_cleanup_pop(0);                                                            \
		return arg;                                                                        \
	}
CALLS(X)
#undef X

static void join(const char *name, void *(*run)(void *))
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	MUST(pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, &result) == 0);
	printf("%s: %s, cleaned %d\n", name, result == PTHREAD_CANCELED ? "cancelled" : "went on",
	       cleaned);
}

static void prepare(void)
{
	if (fd)
		return;
	MUST(pipe(full) == 0 && pipe(empty) == 0 && write(full[1], bytes, 100) == 100);
	MUST((fd = open("file", O_RDWR | O_CREAT, 0644)) > 0 && ftruncate(fd, 10000) == 0);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(bind(listening, &(struct sockaddr){ AF_UNIX, "" }, sizeof(sa_family_t)) == 0 &&
	     listen(listening, 1) == 0);
}

static void pending(void)
{
	prepare();
#define X(name, call) join(#name, call_##name);
	CALLS(X)
#undef X
}

/* Calls that block until the cancellation comes. */
#define BLOCKED(X)                                                                                 \
	X(read, read(empty[0], bytes, 10))                                                         \
	X(readv, readv(empty[0], &one, 1))                                                         \
	X(splice, splice(empty[0], NULL, full[1], NULL, 10, 0))                                    \
	X(tee, tee(empty[0], full[1], 10, 0))                                                      \
	X(accept, accept(listening, NULL, NULL))                                                   \
	X(accept4, accept4(listening, NULL, NULL, 0))                                              \
	X(open, open("fifo", O_RDONLY))
/* these hold a lock: they may be cancelled where they allow it, not anywhere */
#define BLOCKED_STREAMS(X)                                                                         \
	X(fgets, fgets(bytes, 10, fdopen(dup(empty[0]), "r")))                                     \
	X(getline, getline(&(char *){ NULL }, &(size_t){ 0 }, fdopen(dup(empty[0]), "r")))

static _Atomic pid_t blocked_tid;
static int asynchronous;

#define X(name, call)                                                                              \
	static void *blocked_##name(void *arg)                                                     \
	{                                                                                          \
		int mark = 8;                                                                      \
                                                                                                   \
		pthread_cleanup_push(clean, &mark);                                                \
		if (asynchronous)                                                                  \
			pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);                  \
		blocked_tid = gettid();                                                            \
		(void)!call;                                                                       \
		pthread_cleanup_pop(0);                                                            \
		return arg;                                                                        \
	}
BLOCKED(X)
BLOCKED_STREAMS(X)
#undef X

/* The thread sleeps in its call, as /proc tells. */
static void wait_until_asleep(void)
{
	char path[64], line[256] = "";

	while (!blocked_tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)blocked_tid);
	do {
		FILE *file = fopen(path, "r");

		MUST(file && fgets(line, sizeof(line), file));
		fclose(file);
	} while (!strstr(line, ") S "));
}

static void cancel_blocked(const char *name, void *(*run)(void *))
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	blocked_tid = 0;
	MUST(pthread_create(&thread, NULL, run, NULL) == 0);
	wait_until_asleep();
	pthread_cancel(thread);
	MUST(pthread_join(thread, &result) == 0);
	printf("%s: %s, cleaned %d\n", name, result == PTHREAD_CANCELED ? "cancelled" : "went on",
	       cleaned);
}

static void blocked(void)
{
	prepare();
	close(empty[0]);
	close(empty[1]);
	MUST(mkfifo("fifo", 0600) == 0 && pipe(empty) == 0);
	for (asynchronous = 0; asynchronous < 2; asynchronous++) {
#define X(name, call) cancel_blocked(#name, blocked_##name);
		BLOCKED(X)
		if (!asynchronous) {
			BLOCKED_STREAMS(X)
		}
#undef X
	}
	/* and the calls work after all that */
	TELL(write(empty[1], bytes, 10));
	TELL(read(empty[0], bytes, 10));
}

static void *writes_for_ever(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	blocked_tid = gettid();
	for (int i = 0;; i++)
		(void)!pwrite(fd, bytes, 512, 512L * (i % 16));
	return arg;
}

/* Cancelled anywhere inside a traced call; the rest of the process does not feel it. */
static void anywhere(void)
{
	int cancelled = 0;

	prepare();
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		void *result;

		blocked_tid = 0;
		MUST(pthread_create(&thread, NULL, writes_for_ever, NULL) == 0);
		while (!blocked_tid)
			sched_yield();
		for (int spin = 0; spin < i; spin++)
			(void)!pread(fd, bytes, 16, 0);
		pthread_cancel(thread);
		MUST(pthread_join(thread, &result) == 0);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("cancelled %d\n", cancelled);
	TELL(pwrite(fd, bytes, 10, 0));
}

/* Opens, closes and writes streams until it is cancelled. */
static void *opens_for_ever(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	blocked_tid = gettid();
	for (;;)
		close(open("opened", O_RDWR | O_CREAT, 0644));
	return arg;
}

/* What is cancelled in the middle of the tracer's work leaves no lock behind. */
static void opening(void)
{
	prepare();
	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		blocked_tid = 0;
		MUST(pthread_create(&thread, NULL, opens_for_ever, NULL) == 0);
		while (!blocked_tid)
			sched_yield();
		for (int spin = 0; spin < i % 40; spin++)
			MUST(pread(fd, bytes, 16, 0) == 16);
		pthread_cancel(thread);
		MUST(pthread_join(thread, NULL) == 0);
		close(open("other", O_RDWR | O_CREAT, 0644));
	}
	printf("opened\n");
}

static FILE *shared;

static void *wants_stream(void *arg)
{
	int rc = ftrylockfile(shared);

	if (rc == 0)
		funlockfile(shared);
	*(int *)arg = rc;
	return NULL;
}

/* Another thread gets the stream while the cancelled one cleans up. */
static void hand_over(void *arg)
{
	pthread_t thread;
	int rc = -1;

	MUST(pthread_create(&thread, NULL, wants_stream, &rc) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	printf("%s: stream %s\n", (const char *)arg, rc == 0 ? "free" : "locked");
}

#define STREAM_CALLS(X)                                                                            \
	X(fwrite, fwrite(bytes, 1, sizeof(bytes), shared))                                         \
	X(fputs, fputs("text", shared))                                                            \
	X(fprintf, fprintf(shared, "%d", 1))                                                       \
	X(fputc, fputc('x', shared))                                                               \
	X(fflush, fflush(shared))                                                                  \
	X(fread, fread(bytes, 1, 10, shared))                                                      \
	X(fgets, fgets(bytes, 10, shared))                                                         \
	X(fgetc, fgetc(shared))                                                                    \
	X(fscanf, fscanf(shared, "%9s", bytes))                                                    \
	X(getline, getline(&(char *){ NULL }, &(size_t){ 0 }, shared))

#define X(name, call)                                                                              \
	static void *stream_##name(void *arg)                                                      \
	{                                                                                          \
		pthread_cleanup_push(hand_over, (void *)#name);                                    \
		blocked_tid = gettid();                                                            \
		for (;;)                                                                           \
			(void)!call;                                                               \
		pthread_cleanup_pop(0);                                                            \
		return arg;                                                                        \
	}
STREAM_CALLS(X)
#undef X

/* A pipe that nobody reads, or writes. */
static void cancel_on_stream(const char *name, void *(*run)(void *), bool reads)
{
	int ends[2];

	MUST(pipe(ends) == 0);
	shared = reads ? fdopen(ends[0], "r") : fdopen(ends[1], "w");
	MUST(shared);
	if (!reads) { /* full, and one byte that waits in the buffer */
		MUST(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
		while (write(ends[1], bytes, sizeof(bytes)) > 0)
			;
		MUST(fcntl(ends[1], F_SETFL, 0) == 0);
		MUST(fputc('x', shared) == 'x');
		if (run == stream_fputc || run == stream_fputs || run == stream_fprintf)
			setvbuf(shared, NULL, _IOLBF, 0);
	}
	cancel_blocked(name, run);
	/* what waits in the buffer has somewhere to go when the process ends */
	MUST(dup2(open("/dev/null", O_RDWR), fileno(shared)) >= 0);
}

static void on_streams(void)
{
#define X(name, call)                                                                              \
	cancel_on_stream(#name, stream_##name,                                                     \
			 strstr("fread fgets fgetc fscanf getline", #name) != NULL);
	STREAM_CALLS(X)
#undef X
}

/* ---- ends of threads ---- */

static pthread_key_t key;

static void last_words(void *arg)
{
	static _Thread_local int round;
	char text[40];
	FILE *file = fopen("last-words", "a");

	fprintf(file, "%s %d\n", (const char *)arg, round);
	fclose(file);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	(void)!readlink(text, bytes, 10);
	if (++round < 4)
		pthread_setspecific(key, arg);
}

static void *ends(void *how)
{
	pthread_setspecific(key, how);
	(void)!write(fd, "x", 1);
	if (how)
		pthread_exit(how);
	return how;
}

static void destructors(void)
{
	static char name[] = "thread";

	prepare();
	MUST(pthread_key_create(&key, last_words) == 0);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, ends, name) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
	printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
}

/* ---- small stacks ---- */

static void *all_kinds(void *arg)
{
	struct stat st;
	int one_fd = open("small", O_RDWR | O_CREAT | O_TRUNC, 0644), other = dup(one_fd);

	MUST(write(one_fd, "0123456789", 10) == 10 && pwrite(other, "ab", 2, 3) == 2);
	MUST(lseek(other, 0, SEEK_SET) == 0 && read(one_fd, arg, 10) == 10);
	MUST(fsync(one_fd) == 0 && ftruncate(one_fd, 8) == 0 && fstat(other, &st) == 0);
	MUST(fcntl(one_fd, F_GETFL) >= 0 && close(one_fd) == 0 && close(other) == 0);
	MUST(open("absent", O_RDONLY) < 0 && rename("small", "smaller") == 0);
	return arg;
}

static void *streams_too(void *arg)
{
	FILE *file = fopen("stream", "w+");

	all_kinds(arg);
	MUST(fputs("line\n", file) >= 0 && fflush(file) == 0 && fseek(file, 0, SEEK_SET) == 0);
	MUST(fgets(arg, 10, file) && fclose(file) == 0);
	return arg;
}

static void *forks(void *arg)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		all_kinds(arg);
		_exit(5);
	}
	MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
	return arg;
}

static void threads(void)
{
	void *(*const runs[])(void *) = { all_kinds, streams_too, forks };

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		MUST(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0);
		MUST(pthread_create(&thread, &attr, runs[i], bytes) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		printf("%zu %.10s\n", i, bytes);
	}
}

static ucontext_t back, small;

static void in_context(void)
{
	all_kinds(bytes);
}

static void on_alternate_stack(int sig)
{
	(void)sig;
	all_kinds(bytes);
}

static void fork_on_alternate_stack(int sig)
{
	(void)sig;
	forks(bytes);
}

/* Coroutines of 4 KiB, handlers on stacks as small as the kernel takes. */
static void stacks(void)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*const handlers[])(int) = { on_alternate_stack, fork_on_alternate_stack };

	MUST(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0);
	getcontext(&small);
	small.uc_stack.ss_sp = stack + 4096;
	small.uc_stack.ss_size = 4096;
	small.uc_link = &back;
	makecontext(&small, in_context, 0);
	MUST(swapcontext(&back, &small) == 0);
	printf("4096 %.10s\n", bytes);
	for (size_t i = 0; i < 2; i++) {
		struct sigaction action = { .sa_handler = handlers[i], .sa_flags = SA_ONSTACK };
		stack_t own = { .ss_sp = stack + 4096, .ss_size = 8192 }; /* SIGSTKSZ of old */

		MUST(sigaltstack(&own, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
		raise(SIGUSR1);
		printf("handler %zu %.10s\n", i, bytes);
	}
}

static const struct part parts[] = {
	{ "pending", pending },		{ "blocked", blocked }, { "anywhere", anywhere },
	{ "destructors", destructors }, { "opening", opening }, { "on-streams", on_streams },
	{ "threads", threads },		{ "stacks", stacks },	{ NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}
