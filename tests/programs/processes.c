/* Ways in which processes and threads begin and end, each with writes of known sizes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char buffer[8192];
static const char *own_path; /* of this program */

static void must(int ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}
#define MUST(expression) must(expression, #expression)

static int open_new(const char *path)
{
	int fd;

	MUST((fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644)) >= 0);
	return fd;
}

/* One write of SIZE bytes to a file of its own. */
static void put(const char *path, size_t size)
{
	int fd = open_new(path);

	MUST(write(fd, buffer, size) == (ssize_t)size);
	MUST(close(fd) == 0);
}

static void reap(pid_t child)
{
	int status;

	MUST(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- processes ---- */

static void *fork_here(void *arg)
{
	pid_t child = fork();

	(void)arg;
	MUST(child >= 0);
	if (child == 0) {
		put("child", 22);
		_exit(0);
	}
	reap(child);
	return NULL;
}

/* By another thread than the first. */
static void part_fork(void)
{
	pthread_t thread;

	put("parent", 11);
	MUST(pthread_create(&thread, NULL, fork_here, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	put("parent", 12);
}

/* A fork that libc does not know of. */
static void part_rawfork(void)
{
	pid_t child;

	put("parent", 11);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	MUST(child >= 0);
	if (child == 0) {
		put("child", 22);
		_exit(0);
	}
	reap(child);
	put("parent", 12);
}

/* What a child of vfork does before it calls exec changes nothing for its parent. */
static void part_vfork(void)
{
	char *const argv[] = { (char *)"processes", (char *)"put", (char *)"image", (char *)"33",
			       NULL };
	int fd = open_new("parent"), other = open_new("other");
	pid_t child;

	MUST(write(fd, buffer, 11) == 11);
	child = vfork();
	MUST(child >= 0);
	if (child == 0) {
		if (write(fd, buffer, 5) != 5 || close(fd) != 0 || dup2(other, fd) != fd)
			_exit(1);
		execv(own_path, argv);
		_exit(1);
	}
	reap(child);
	MUST(write(fd, buffer, 12) == 12);
	MUST(lseek(fd, 0, SEEK_CUR) == 28);
	MUST(close(fd) == 0 && close(other) == 0);
}

static void part_spawn(void)
{
	char *const argv[] = { (char *)"processes", (char *)"put", (char *)"image", (char *)"33",
			       NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;

	put("parent", 11);
	MUST(posix_spawn_file_actions_init(&actions) == 0);
	MUST(posix_spawn_file_actions_addopen(&actions, 9, "action", O_WRONLY | O_CREAT, 0644) ==
	     0);
	MUST(posix_spawn(&child, own_path, &actions, NULL, argv, environ) == 0);
	reap(child);
	posix_spawn_file_actions_destroy(&actions);
	put("parent", 12);
}

static void part_system(void)
{
	char command[4200];

	put("parent", 11);
	snprintf(command, sizeof(command), "%s put image 33", own_path);
	MUST(system(command) == 0);
	put("parent", 12);
}

static void part_popen(void)
{
	char command[4200], line[16] = "";
	FILE *stream;
	int fd;

	snprintf(command, sizeof(command), "%s put image 33 && echo done", own_path);
	MUST((stream = popen(command, "r")) != NULL);
	fd = fileno(stream);
	MUST(fgets(line, sizeof(line), stream) && strcmp(line, "done\n") == 0);
	MUST(pclose(stream) == 0);
	/* the number that the pipe had is a file's now */
	MUST(open_new("reused") == fd);
	MUST(write(fd, buffer, 44) == 44);
	MUST(close(fd) == 0);
}

/* The same process goes on as another program. */
static void part_exec(void)
{
	put("before", 11);
	execl("/bin/dd", "dd", "if=/dev/zero", "of=after", "bs=33", "count=1", "status=none",
	      (char *)NULL);
	err(1, "/bin/dd");
}

/* ---- ends ---- */

static void part_underscore_exit(void)
{
	put("last", 77);
	_exit(0);
}

static void part_quick_exit(void)
{
	put("last", 77);
	quick_exit(0);
}

static void no_core(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

static void part_abort(void)
{
	no_core();
	put("last", 77);
	abort();
}

static void part_segv(void)
{
	volatile char *volatile nowhere = (char *)8;

	no_core();
	put("last", 77);
	*nowhere = 0;
}

static void part_term(void)
{
	put("last", 77);
	raise(SIGTERM);
}

static void part_kill(void)
{
	put("last", 77);
	raise(SIGKILL);
}

/*
 * A signal in the middle of the C library's work: it copies to a page that is not there. The first
 * handler makes the copy go on, the second ends the program.
 */
static char *missing_page;
#define MISSING_BYTES 4096

static void page_comes(int sig)
{
	(void)sig;
	mprotect(missing_page, MISSING_BYTES, PROT_READ | PROT_WRITE);
}

static void ends_here(int sig)
{
	(void)sig;
	_exit(0);
}

static void copy_interrupted(void (*handler)(int), int flags)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	void *(*volatile copy)(void *, const void *, size_t) = memcpy; /* the library's own */

	missing_page = mmap(NULL, MISSING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(missing_page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
	copy(missing_page, own_path, 64);
}

/* In a frame with a gap, where that of the handler lies still. */
static __attribute__((noinline)) void end_above(void)
{
	volatile char gap[64 << 10];

	gap[0] = 0;
	_exit(gap[0]);
}

static void part_after_handler(void)
{
	put("last", 77);
	copy_interrupted(page_comes, 0);
	end_above();
}

static void part_in_handler(void)
{
	put("last", 77);
	copy_interrupted(ends_here, 0);
}

static void part_in_handler_aside(void)
{
	const stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	put("last", 77);
	MUST(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
	copy_interrupted(ends_here, SA_ONSTACK);
}

static void *in_handler(void *arg)
{
	copy_interrupted(ends_here, 0);
	return arg;
}

static void part_in_handler_of_thread(void)
{
	pthread_t thread;

	put("last", 77);
	MUST(pthread_create(&thread, NULL, in_handler, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

/* ---- threads ---- */

static void *one_write(void *arg)
{
	int fd = (int)(long)arg;

	MUST(write(fd, buffer, 1) == 1);
	return NULL;
}

static void part_threads(void)
{
	int fd = open_new("shared");

	for (int i = 0; i < 1000; i += 10) {
		pthread_t threads[10];

		for (int k = 0; k < 10; k++)
			MUST(pthread_create(&threads[k], NULL, one_write, (void *)(long)fd) == 0);
		for (int k = 0; k < 10; k++)
			MUST(pthread_join(threads[k], NULL) == 0);
	}
}

static _Atomic int ended;

static void *detached(void *arg)
{
	one_write(arg);
	ended++;
	return NULL;
}

static void part_detached(void)
{
	int fd = open_new("shared");
	pthread_attr_t attributes;
	pthread_t thread;

	MUST(pthread_attr_init(&attributes) == 0);
	MUST(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
	for (int i = 0; i < 100; i++)
		MUST(pthread_create(&thread, &attributes, detached, (void *)(long)fd) == 0);
	while (ended < 100)
		sched_yield();
}

static void write_late(void *arg)
{
	MUST(write((int)(long)arg, buffer, 3) == 3);
}

static pthread_key_t late_key;

static void *exits(void *arg)
{
	pthread_setspecific(late_key, arg);
	MUST(write((int)(long)arg, buffer, 2) == 2);
	pthread_exit(NULL);
}

/* The destructor of a thread's data writes too. */
static void part_pthread_exit(void)
{
	int fd = open_new("shared");
	pthread_t thread;

	MUST(pthread_key_create(&late_key, write_late) == 0);
	MUST(pthread_create(&thread, NULL, exits, (void *)(long)fd) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

static int fifo;

static void *cancelled(void *arg)
{
	pthread_cleanup_push(write_late, arg);
	MUST(write((int)(long)arg, buffer, 2) == 2);
	ended = 1;
	MUST(read(fifo, buffer, 1) == 1); /* for ever */
	pthread_cleanup_pop(0);
	return NULL;
}

/* In the middle of a read. */
static void part_cancel(void)
{
	int fd = open_new("shared"), pipe_fd[2];
	pthread_t thread;
	void *result;

	MUST(pipe(pipe_fd) == 0);
	fifo = pipe_fd[0];
	MUST(pthread_create(&thread, NULL, cancelled, (void *)(long)fd) == 0);
	while (!ended)
		sched_yield();
	MUST(pthread_cancel(thread) == 0);
	MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	MUST(write(fd, buffer, 4) == 4);
}

static _Atomic int clone_tid; /* cleared by the kernel when the thread has ended */

static int by_clone(void *arg)
{
	return write((int)(long)arg, buffer, 2) != 2;
}

/* A thread that has no thread-local storage of its own. */
static void part_clone(void)
{
	const size_t bytes = 256 << 10;
	int fd = open_new("shared");
	char *stack;

	MUST(write(fd, buffer, 1) == 1);
	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(stack != MAP_FAILED);
	clone_tid = 1;
	MUST(clone(by_clone, stack + bytes,
		   CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			   CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
		   (void *)(long)fd, NULL, NULL, &clone_tid) > 0);
	while (clone_tid)
		sched_yield();
	MUST(write(fd, buffer, 3) == 3);
	MUST(close(fd) == 0);
}

/* ---- descriptors ---- */

/* Open across fork and exec. */
static void part_inherit(void)
{
	int fd = open_new("inherited");
	char number[16];
	pid_t child;

	MUST(write(fd, buffer, 11) == 11);
	snprintf(number, sizeof(number), "%d", fd);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		execl(own_path, "processes", "put-fd", number, "33", (char *)NULL);
		_exit(1);
	}
	reap(child);
	MUST(write(fd, buffer, 12) == 12);
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* The child opens a file and hands it to its parent through a socket. */
static void part_pass(void)
{
	char byte = 0;
	struct iovec vector = { &byte, 1 };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int sockets[2], fd;
	pid_t child;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		fd = open_new("passed");
		MUST(write(fd, buffer, 22) == 22);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		MUST(sendmsg(sockets[1], &message, 0) == 1);
		_exit(0);
	}
	MUST(recvmsg(sockets[0], &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	reap(child);
	MUST(write(fd, buffer, 33) == 33);
}

/* A number is reused after it was closed with many others, by a call or by a system call. */
static void part_bulk(void)
{
	int fd, pipe_fd[2];

	MUST((fd = open_new("first")) >= 0 && dup2(fd, 200) == 200 && close(fd) == 0);
	MUST(write(200, buffer, 11) == 11);
	MUST(close_range(100, 300, 0) == 0);
	MUST(pipe(pipe_fd) == 0 && dup2(pipe_fd[1], 200) == 200);
	MUST(write(200, buffer, 5) == 5); /* to the pipe */
	MUST((fd = open_new("second")) >= 0 && dup2(fd, 200) == 200 && close(fd) == 0);
	MUST(write(200, buffer, 22) == 22);
	closefrom(100);
	MUST((fd = open_new("third")) >= 0 && dup2(fd, 200) == 200);
	MUST(write(200, buffer, 33) == 33);
	MUST(syscall(SYS_close_range, 100, 300, 0) == 0);
	MUST((fd = open_new("fourth")) >= 0 && dup2(fd, 200) == 200);
	MUST(write(200, buffer, 44) == 44);
}

/* ---- what the parts run ---- */

static int helper(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "put") == 0)
		put(argv[2], (size_t)atoi(argv[3]));
	else if (argc == 4 && strcmp(argv[1], "put-fd") == 0)
		MUST(write(atoi(argv[2]), buffer, (size_t)atoi(argv[3])) == atoi(argv[3]));
	else
		return 1;
	return 0;
}

#define PARTS(X)                                                                                   \
	X(fork)                                                                                    \
	X(rawfork)                                                                                 \
	X(vfork)                                                                                   \
	X(spawn)                                                                                   \
	X(system)                                                                                  \
	X(popen)                                                                                   \
	X(exec)                                                                                    \
	X(underscore_exit)                                                                         \
	X(quick_exit)                                                                              \
	X(after_handler)                                                                           \
	X(in_handler)                                                                              \
	X(in_handler_aside)                                                                        \
	X(in_handler_of_thread)                                                                    \
	X(abort)                                                                                   \
	X(segv)                                                                                    \
	X(term)                                                                                    \
	X(kill)                                                                                    \
	X(threads)                                                                                 \
	X(detached)                                                                                \
	X(pthread_exit)                                                                            \
	X(cancel)                                                                                  \
	X(clone)                                                                                   \
	X(inherit)                                                                                 \
	X(pass)                                                                                    \
	X(bulk)

/* processes PART; files are made in the current directory. */
int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
#define X(name) { #name, part_##name },
		PARTS(X)
#undef X
	};
	static char path[4096];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		err(1, "/proc/self/exe");
	own_path = path;
	for (size_t i = 0; argc == 2 && i < sizeof(parts) / sizeof(*parts); i++)
		if (strcmp(parts[i].name, argv[1]) == 0) {
			parts[i].run();
			return 0;
		}
	if (helper(argc, argv) != 0)
		errx(2, "no such part");
	return 0;
}
