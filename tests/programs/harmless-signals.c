/* Calls that signals interrupt, and calls in handlers of signals: each tells its result. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmless.h"

#include <aio.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A timer that fires again and again: a tick before the call changes nothing, one inside of it
 * interrupts it. When the call is to go on after a handler with SA_RESTART, the third tick does
 * what it waits for.
 */
static volatile sig_atomic_t ticks;
static int relief_fd; /* where the third tick writes */

static void tick(int sig)
{
	int before = errno;

	(void)sig;
	if (++ticks == 3 && relief_fd >= 0)
		(void)!write(relief_fd, "relief\n", 7);
	errno = before;
}

static void ticking(int flags, int fd)
{
	struct sigaction action = { .sa_handler = tick, .sa_flags = flags };
	struct itimerval every = { { 0, 4000 }, { 0, 4000 } };

	ticks = 0;
	relief_fd = fd;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void quiet(void)
{
	struct itimerval never = { 0 };

	setitimer(ITIMER_REAL, &never, NULL);
}

static char bytes[200000];

static void readers(void)
{
	struct iovec one = { bytes, 10 };
	int end[2], out[2];

	MUST(pipe(end) == 0 && pipe(out) == 0);
	ticking(0, -1);
	TELL(read(end[0], bytes, 10));
	TELL(readv(end[0], &one, 1));
	TELL(preadv2(end[0], &one, 1, -1, 0));
	TELL(splice(end[0], NULL, out[1], NULL, 10, 0));
	TELL(tee(end[0], out[1], 10, 0));
	TELL(syscall(SYS_read, end[0], bytes, 10L));
	quiet();
	ticking(SA_RESTART, end[1]);
	TELL(read(end[0], bytes, 10));
	ticking(SA_RESTART, end[1]);
	TELL(readv(end[0], &one, 1));
	ticking(SA_RESTART, end[1]);
	TELL(splice(end[0], NULL, out[1], NULL, 10, 0));
	quiet();
}

/* A pipe of 64 KiB that nobody empties. */
static void writers(void)
{
	struct iovec one = { bytes, sizeof(bytes) };
	int end[2], file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(pipe(end) == 0 && write(file, bytes, sizeof(bytes)) == sizeof(bytes));
	ticking(0, -1);
	TELL(write(end[1], bytes, sizeof(bytes)));
	TELL(write(end[1], bytes, 10));
	TELL(writev(end[1], &one, 1));
	TELL(vmsplice(end[1], &one, 1, 0));
	TELL(dprintf(end[1], "text"));
	TELL(lseek(file, 0, SEEK_SET));
	TELL(sendfile(end[1], file, NULL, 100));
	TELL(splice(file, NULL, end[1], NULL, 100, 0));
	quiet();
	close(file);
	close(end[0]);
	close(end[1]);
}

static void streams(void)
{
	char line[80];
	int end[2], c;
	FILE *in, *out;

	MUST(pipe(end) == 0);
	in = fdopen(end[0], "r");
	ticking(0, -1);
	TELL(fgets(line, sizeof(line), in) ? 1 : -1);
	TELL(ferror(in));
	clearerr(in);
	TELL(fread(line, 1, 5, in) ? 1 : -1);
	clearerr(in);
	c = getc(in);
	TELL(c);
	clearerr(in);
	TELL(fscanf(in, "%79s", line));
	clearerr(in);
	quiet();
	ticking(SA_RESTART, end[1]);
	TELL(fgets(line, sizeof(line), in) ? 1 : -1);
	quiet();
	out = fdopen(end[1], "w");
	ticking(0, -1);
	TELL(fwrite(bytes, 1, sizeof(bytes), out) == sizeof(bytes));
	TELL(ferror(out));
	clearerr(out);
	TELL(fprintf(out, "%s", "text") >= 0 ? 0 : -1);
	TELL(fflush(out));
	quiet();
	close(end[0]);
	signal(SIGPIPE, SIG_IGN);
	TELL(fclose(out));
}

static void openers(void)
{
	struct sockaddr address = { AF_UNIX, "" };
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	MUST(mkfifo("fifo", 0600) == 0 && bind(listening, &address, sizeof(sa_family_t)) == 0 &&
	     listen(listening, 1) == 0);
	ticking(0, -1);
	TELL(open("fifo", O_RDONLY));
	TELL(openat(AT_FDCWD, "fifo", O_WRONLY));
	TELL(creat("fifo", 0600));
	TELL(fopen("fifo", "r") ? 0 : -1);
	TELL(freopen("fifo", "r", stdin) ? 0 : -1);
	TELL(accept(listening, NULL, NULL));
	TELL(accept4(listening, NULL, NULL, 0));
	quiet();
	close(listening);
}

static void locks(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int fd = open("locked", O_RDWR | O_CREAT, 0644), go[2], other;
	char byte;
	pid_t child;

	MUST(pipe(go) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		other = open("locked", O_RDWR);
		MUST(flock(other, LOCK_EX) == 0 && fcntl(other, F_SETLK, &lock) == 0);
		MUST(write(go[1], "x", 1) == 1);
		pause();
	}
	MUST(read(go[0], &byte, 1) == 1);
	ticking(0, -1);
	TELL(flock(fd, LOCK_EX));
	TELL(fcntl(fd, F_SETLKW, &lock));
	TELL(lockf(fd, F_LOCK, 10));
	TELL(lockf(fd, F_TLOCK, 10));
	quiet();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ticking(SA_RESTART, -1);
	TELL(flock(fd, LOCK_EX));
	TELL(fcntl(fd, F_SETLKW, &lock));
	quiet();
	close(fd);
}

static void waiting(void)
{
	struct aiocb cb = { .aio_buf = bytes, .aio_nbytes = 10 };
	const struct aiocb *list[] = { &cb };
	FILE *stream;
	int end[2];

	MUST(pipe(end) == 0);
	cb.aio_fildes = end[0];
	MUST(aio_read(&cb) == 0);
	ticking(0, -1);
	TELL(aio_suspend(list, 1, NULL));
	quiet();
	MUST(write(end[1], bytes, 10) == 10);
	while (aio_error(&cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	TELL(aio_return(&cb));
	ticking(SA_RESTART, -1);
	stream = popen("sleep 0.05; exit 3", "r");
	TELL(pclose(stream));
	quiet();
	stream = popen("sleep 0.05; exit 3", "r");
	ticking(0, -1);
	TELL(pclose(stream)); /* goes on waiting, says glibc */
	quiet();
	signal(SIGALRM, SIG_DFL);
}

/* ---- in handlers ---- */

static volatile sig_atomic_t in_handler;

static void all_safe_calls(int sig)
{
	struct iovec one = { bytes, 8 };
	struct stat st;
	int before = errno, fd, copy, end[2];

	(void)sig;
	fd = open("handler", O_RDWR | O_CREAT | O_TRUNC, 0644);
	in_handler += fd >= 0;
	in_handler += write(fd, "12345678", 8) == 8;
	in_handler += pwrite(fd, "12345678", 8, 8) == 8;
	in_handler += lseek(fd, 0, SEEK_SET) == 0;
	in_handler += read(fd, bytes, 4) == 4;
	in_handler += pread(fd, bytes, 4, 2) == 4;
	in_handler += readv(fd, &one, 1) == 8;
	in_handler += writev(fd, &one, 1) == 8;
	in_handler += (copy = dup(fd)) >= 0;
	in_handler += dup2(fd, copy) == copy;
	in_handler += fcntl(copy, F_GETFL) >= 0;
	in_handler += fcntl(fd, F_GETFD) == 0;
	in_handler += ftruncate(fd, 12) == 0;
	in_handler += fstat(fd, &st) == 0 && st.st_size == 12;
	in_handler += pipe(end) == 0 && close(end[0]) == 0 && close(end[1]) == 0;
	in_handler += close(copy) == 0 && close(fd) == 0;
	errno = before;
}

/* A handler every ms while the program itself is in such calls, and in stdio. */
static void while_calling(void)
{
	struct sigaction action = { .sa_handler = all_safe_calls, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	FILE *file = fopen("stream", "w");
	int fd = open("calls", O_RDWR | O_CREAT | O_TRUNC, 0644), wrong = 0;

	in_handler = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 3000; i++) {
		int again = open("calls", O_RDONLY);

		wrong += write(fd, "ab", 2) != 2 || again < 0;
		wrong += pread(again, bytes, 2, 2 * (off_t)i) != 2 || close(again) != 0;
		wrong += fprintf(file, "%d\n", i) < 2;
		wrong += i % 100 == 0 && fflush(file) != 0;
	}
	quiet();
	printf("wrong %d, handlers of 16 calls: %d\n", wrong,
	       in_handler > 0 && in_handler % 16 == 0);
	fclose(file);
	close(fd);
}

static sigjmp_buf back;
static volatile int faulted_fd;
static int *volatile nowhere = (int *)8;

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	in_handler = write(faulted_fd, "fault\n", 6) == 6 && info->si_addr == nowhere;
	siglongjmp(back, sig);
}

/* A handler of SIGSEGV that writes, on a stack of its own, and jumps out of a call of the
 * program's. */
static void segv(void)
{
	static char stack[65536];
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	faulted_fd = open("faults", O_WRONLY | O_CREAT | O_APPEND, 0644);
	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 3; i++) {
		int sig = sigsetjmp(back, 1);

		if (sig == 0)
			*nowhere = 1;
		printf("signal %d, wrote %d\n", sig, in_handler);
	}
	signal(SIGSEGV, SIG_DFL);
	TELL(write(faulted_fd, "after\n", 6));
	close(faulted_fd);
}

static void jump(int sig)
{
	if (++ticks == 2)
		siglongjmp(back, sig);
}

/* A handler that leaves a blocked call for good: those after it are as before. */
static void jump_out(void)
{
	struct sigaction action = { .sa_handler = jump, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 4000 }, { 0, 4000 } };
	int end[2];
	volatile int round = 0;

	MUST(pipe(end) == 0);
	sigaction(SIGALRM, &action, NULL);
	while (round < 5) {
		ticks = 0;
		if (sigsetjmp(back, 1) == 0) {
			setitimer(ITIMER_REAL, &every, NULL);
			TELL(read(end[0], bytes, 1));
		}
		quiet();
		round++;
		TELL(write(end[1], "abc", 3));
		TELL(read(end[0], bytes, 3));
	}
	signal(SIGALRM, SIG_DFL);
}

static void *writes(void *arg)
{
	FILE *file = fopen("of-thread", "w");

	for (int i = 0; i < 20000; i++)
		fprintf(file, "%d\n", i);
	fclose(file);
	return arg;
}

/* It may run before it gets a signal, and would have ended by then. */
static void *writes_signalled(void *arg)
{
	while (!in_handler)
		sched_yield();
	return writes(arg);
}

/* What a process that others stop and wake up, and threads that get signals of others, do. */
static void stopped(void)
{
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		struct sigaction action = { .sa_handler = all_safe_calls, .sa_flags = SA_RESTART };

		in_handler = 0;
		sigaction(SIGUSR1, &action, NULL);
		pthread_create(&thread, NULL, writes_signalled, NULL);
		for (int i = 0; i < 50; i++)
			pthread_kill(thread, SIGUSR1);
		raise(SIGSTOP);
		pthread_join(thread, NULL);
		_exit(in_handler % 16 == 0 ? 7 : 8);
	}
	for (int status = 0;;) {
		MUST(waitpid(child, &status, WUNTRACED) == child);
		printf("status 0x%x\n", (unsigned)status);
		if (!WIFSTOPPED(status))
			break;
		kill(child, SIGCONT);
	}
}

/* Masks, pending signals and dispositions are as the caller left them. */
static void masks(void)
{
	sigset_t set, pending;

	for (int sig = 1; sig < 65; sig++) {
		struct sigaction action;

		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			printf("signal %d is not default\n", sig);
	}
	sigemptyset(&set);
	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int sig = 1; sig < 65; sig++)
		if (sigismember(&set, sig) == 1)
			printf("signal %d is blocked\n", sig);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	writes(NULL);
	sigpending(&pending);
	printf("pending: %d\n", sigismember(&pending, SIGTERM));
	signal(SIGTERM, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void end_at_once(int sig)
{
	(void)sig;
	_exit(5);
}

static void *paused(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pause();
	return arg;
}

/* Ends in a handler that most likely interrupts malloc, whose lock two threads make necessary. */
static void end_in_malloc(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 3000 } };
	void *blocks[64] = { NULL };
	unsigned n = 1;
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, paused, NULL) == 0);
	MUST(write(STDOUT_FILENO, "before\n", 7) == 7);
	signal(SIGALRM, end_at_once);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;) {
		n = n * 1103515245 + 12345;
		free(blocks[n >> 8 & 63]);
		blocks[n >> 8 & 63] = malloc(
			2000 + (n >> 16 & 8191)); /* more than its cache without a lock has */
	}
}

/* Ends in a handler that interrupts a call that waits. */
static void end_in_call(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 30000 } };
	int ends[2];
	char byte;

	MUST(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1);
	signal(SIGALRM, end_at_once);
	setitimer(ITIMER_REAL, &soon, NULL);
	MUST(read(ends[0], &byte, 1) == 1);
}

static const struct part parts[] = {
	{ "masks", masks },
	{ "readers", readers },
	{ "writers", writers },
	{ "streams", streams },
	{ "openers", openers },
	{ "locks", locks },
	{ "waiting", waiting },
	{ "while-calling", while_calling },
	{ "segv", segv },
	{ "jump-out", jump_out },
	{ "stopped", stopped },
	{ "end-in-malloc", end_in_malloc },
	{ "end-in-call", end_in_call },
	{ NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}
