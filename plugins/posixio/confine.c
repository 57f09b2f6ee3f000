/* A program confines itself: from then on the tracer does only what its sandbox allows. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "confine.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/uio.h>

#include "core.h"
#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"
#include "filter.h"

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* of no thread: every filter denies all */
#endif

#define ALL_CALLS ((UINT64_C(1) << (OWN_TSC + 1)) - 1)

/*
 * While everything is still allowed, the thread gets its file, if it has none yet, and the largest
 * window, since it may not be allowed to grow it later.
 */
static void prepare(uint64_t denied)
{
	struct thread *t = thread_get();
	int saved = errno;

	if (t) {
		thread_busy(t);
		core_sink->confine(t, denied);
		thread_idle(t);
	}
	errno = saved;
}

/* Before the sandbox, so that a signal handler in between sees it, too. */
static void begin(struct confine *c)
{
	if (c->denied)
		prepare(c->denied);
	if (c->all)
		own_call_deny_all(c->denied);
	c->before = own_call_deny(c->denied);
	c->self = self;
	if (c->silent)
		thread_share();
}

void confine_strict(struct confine *c)
{
	*c = (struct confine){ .denied = ALL_CALLS, .silent = true };
	begin(c);
}

void confine_clock(struct confine *c)
{
	*c = (struct confine){ .denied = UINT64_C(1) << OWN_TSC, .silent = true };
	begin(c);
}

void confine_paths(void)
{
	prepare(UINT64_C(1) << OWN_OPEN_NEW | UINT64_C(1) << OWN_OPEN_AGAIN);
}

/* The tracer's call, as a filter sees it. */
static struct filter_call call_of(enum own_call call)
{
	const struct own_call_shape *shape = &own_call_shapes[call];
	struct filter_call asked = { .words = { (uint32_t)shape->number, ARCH }, .known = 3 };

	for (unsigned i = 0; i < 5; i++)
		if (shape->known >> i & 1)
			filter_argument(&asked, i, (uint64_t)shape->args[i]);
	if (call != OWN_MMAP && call != OWN_COPY)
		filter_argument(&asked, 5, OWN_CALL_MARK);
	return asked;
}

/* Copies BYTES of the program's memory at FROM, which may be any address. */
static bool copy(void *to, const void *from, size_t bytes)
{
	const struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return own_call_make(OWN_COPY, own_call(GETPID), (long)&local, 1, (long)&remote, 1, 0) ==
	       (long)bytes;
}

/* What a filter denies; everything if it cannot be read. */
static uint64_t ask_filter(const void *program)
{
	struct {
		unsigned short n;
		struct sock_filter *code;
	} given; /* struct sock_fprog */
	const size_t code_bytes = BPF_MAXINSNS * sizeof(struct sock_filter);
	struct sock_filter *code = own_memory(code_bytes);
	struct filter_room *room = own_memory(filter_room_bytes);
	uint64_t denied = ALL_CALLS;

	if (code && room && copy(&given, program, sizeof(given)) && given.n <= BPF_MAXINSNS &&
	    copy(code, given.code, given.n * sizeof(*code))) {
		for (unsigned i = 0; i < OWN_N_CALLS; i++) {
			const struct filter_call asked = call_of((enum own_call)i);

			if (filter_allows(code, given.n, &asked, room))
				denied &= ~(UINT64_C(1) << i);
		}
		denied &= ~(UINT64_C(1) << OWN_TSC);
	}
	own_unmap(code, code_bytes);
	own_unmap(room, filter_room_bytes);
	return denied;
}

void confine_filter(struct confine *c, const void *program, bool all)
{
	*c = (struct confine){ .denied = ask_filter(program), .all = all };
	/* if the C library cannot read the clock without the kernel */
	c->silent = c->denied >> OWN_CLOCK & 1 && !clock_is_tsc();
	begin(c);
}

void confine_end(const struct confine *c, bool done)
{
	if (done) {
		own_call_deny_new(c->denied);
		return;
	}
	own_call_allow(c->before);
	if (c->all)
		own_call_allow_all(c->denied);
	if (c->silent)
		self = c->self;
}
