/*
 * left-calls FILE: threads that leave a call which waits for a lock on FILE in every way but its
 * end: by a jump, by the end of the thread or of the process; and that fork and write in a signal's
 * handler meanwhile. Each writes a number of bytes of its own, afterwards or in the handler.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JUMPED = 101, HANDLED = 53, FORKED = 37, AFTER = 71 };

static const char *path;
static _Atomic pid_t *waiting; /* the task that is about to wait, shared with forked processes */
static __thread sigjmp_buf back;
static __thread int own;
static _Atomic bool jumps, forks, ends, handled;

static void write_bytes(int fd, int n)
{
	for (int i = 0; i < n; i++)
		if (write(fd, "x", 1) != 1)
			_exit(3);
}

static void on_signal(int number)
{
	(void)number;
	handled = true;
	if (jumps)
		siglongjmp(back, 1);
	if (ends)
		pthread_exit(NULL);
	if (forks) {
		pid_t child = fork();

		if (child == 0) {
			write_bytes(own, FORKED);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			_exit(4);
	}
	write_bytes(own, HANDLED);
}

static struct flock whole_file(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

/* Waits for the lock, which another process has; false: it was left by a jump. */
static bool wait_for_lock(int fd)
{
	struct flock lock = whole_file(F_WRLCK);

	if (sigsetjmp(back, 1))
		return false;
	*waiting = (pid_t)syscall(SYS_gettid);
	while (fcntl(fd, F_SETLKW, &lock) < 0)
		;
	return true;
}

/* Until a task sleeps in its call. */
static void await_waiter(void)
{
	char name[64], state = 0;

	while (state != 'S') {
		FILE *file;

		usleep(1000);
		snprintf(name, sizeof(name), "/proc/%d/stat", (int)*waiting);
		file = *waiting ? fopen(name, "re") : NULL;
		if (!file)
			continue;
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	*waiting = 0;
}

/* Until the signal has come; the call goes on behind its handler. */
static void await_handler(void)
{
	while (!handled)
		usleep(1000);
	handled = false;
}

/* A process of its own that holds the lock until its pipe is closed. */
static pid_t hold(int *release)
{
	int ready[2], end[2];
	pid_t pid;
	char byte;

	if (pipe(ready) || pipe(end))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		struct flock lock = whole_file(F_WRLCK);
		int fd = open(path, O_RDWR);

		close(end[1]);
		if (fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], "x", 1) != 1)
			_exit(5);
		while (read(end[0], &byte, 1) > 0)
			;
		_exit(0);
	}
	close(end[0]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		errx(1, "no holder");
	close(ready[0]);
	*release = end[1];
	return pid;
}

static void *waiter(void *name)
{
	int fd = open(path, O_RDWR);
	char text[256];

	pthread_setname_np(pthread_self(), name);
	snprintf(text, sizeof(text), "%s.%s", path, (const char *)name);
	own = open(text, O_CREAT | O_RDWR | O_TRUNC, 0600);
	if (fd < 0 || own < 0)
		err(1, "%s", text);
	write_bytes(own, wait_for_lock(fd) ? AFTER : JUMPED);
	close(own);
	close(fd);
	return NULL;
}

/* One waiter, signalled in its call; it ends when the lock is given back, or at once. */
static void round_of(const char *name, _Atomic bool *how)
{
	pthread_t thread;
	int release;
	pid_t holder = hold(&release);

	*how = true;
	if (pthread_create(&thread, NULL, waiter, (void *)name))
		errx(1, "no thread");
	await_waiter();
	pthread_kill(thread, SIGUSR1);
	await_handler();
	close(release);
	pthread_join(thread, NULL);
	waitpid(holder, NULL, 0);
	*how = false;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	_Atomic bool none = false;
	int release;
	pid_t holder, killed;

	if (argc != 2)
		return 2;
	path = argv[1];
	waiting = mmap(NULL, sizeof(*waiting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (waiting == MAP_FAILED)
		err(1, "mmap");
	close(open(path, O_CREAT | O_RDWR, 0600));
	sigaction(SIGUSR1, &action, NULL);
	round_of("handles", &none);
	round_of("jumps", &jumps);
	round_of("forks", &forks);
	round_of("ends", &ends);
	/* a process that is killed in its call */
	holder = hold(&release);
	killed = fork();
	if (killed == 0) {
		int fd = open(path, O_RDWR);

		write_bytes(fd, AFTER);
		wait_for_lock(fd);
		_exit(6);
	}
	await_waiter();
	kill(killed, SIGKILL);
	waitpid(killed, NULL, 0);
	close(release);
	waitpid(holder, NULL, 0);
	return 0;
}
