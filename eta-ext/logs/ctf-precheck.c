/* A child reads a CTF trace before we do: babeltrace2 aborts or hangs at damaged ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctf-precheck.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* a step is some events */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define STEP_SECONDS 3 /* an input is opened several times */
#else
#define STEP_SECONDS 30
#endif
#define WAIT_NS 200000
#define DATA_BYTES (1UL << 30) /* babeltrace2 takes what it gets for some damaged packets */
/* shadow memory would count as well; gcc and clang say in different words that there is some */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define LIMIT_DATA false
#else
#define LIMIT_DATA true
#endif

struct precheck {
	struct shared {
		_Atomic uint64_t steps;
	} * shared;
	pid_t child;
	bool ended;
	int status; /* of the ended child */
};

/* Nothing of the child is seen but its steps: no message, no core file, no exit handlers. */
__attribute__((noreturn)) static void
perform(struct precheck *r, void (*read)(struct precheck *precheck, void *arg), void *arg)
{
	static const int own[] = { SIGABRT, SIGALRM, SIGFPE, SIGSEGV, SIGBUS, SIGILL };
	const struct rlimit none = { 0, 0 };
	struct rlimit data;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		signal(own[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	if (LIMIT_DATA && getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur > DATA_BYTES) {
		data.rlim_cur = DATA_BYTES;
		setrlimit(RLIMIT_DATA, &data);
	}
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	alarm(STEP_SECONDS);
	read(r, arg);
	_exit(0);
}

struct precheck *precheck_start(void (*read)(struct precheck *precheck, void *arg), void *arg)
{
	struct precheck *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->shared == MAP_FAILED)
		goto fail;
	r->child = fork();
	if (r->child == 0)
		perform(r, read, arg);
	if (r->child > 0)
		return r;
	munmap(r->shared, sizeof(*r->shared));
fail:
	free(r);
	return NULL;
}

void precheck_step(struct precheck *r)
{
	atomic_fetch_add(&r->shared->steps, 1);
	alarm(STEP_SECONDS);
}

static void look(struct precheck *r, int flags)
{
	pid_t pid;

	if (r->ended)
		return;
	do
		pid = waitpid(r->child, &r->status, flags);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		r->status = 0; /* a wait for all children, elsewhere in the program, got it */
	r->ended = pid != 0;
}

bool precheck_may_go_on(struct precheck *r, uint64_t done)
{
	const struct timespec wait = { 0, WAIT_NS };

	while (atomic_load(&r->shared->steps) <= done) {
		if (r->ended)
			return precheck_failure(r) == NULL;
		look(r, WNOHANG);
		/* it may have made its last steps since they were counted */
		if (!r->ended)
			nanosleep(&wait, NULL);
	}
	return true;
}

const char *precheck_failure(const struct precheck *r)
{
	if (!r->ended || !WIFSIGNALED(r->status))
		return NULL;
	return WTERMSIG(r->status) == SIGALRM ? "it gets no further"
					      : strsignal(WTERMSIG(r->status));
}

void precheck_end(struct precheck *r)
{
	if (!r->ended)
		kill(r->child, SIGKILL);
	look(r, 0);
	munmap(r->shared, sizeof(*r->shared));
	free(r);
}
