/* Is a handler of a signal at work, and what did the signal interrupt? */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "end.h"

#ifdef __x86_64__

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "eta-ext/format/own-call.h"

#define USER_CODE 0x33 /* code segment of what runs in user space */
#define HAS_RESTORER 0x04000000ul
#define SIGNALS 31
#define STACK_MAX_BYTES ((uintptr_t)8 << 20)

extern void *__libc_stack_end;

/* What the kernel puts on the stack for a handler, as far as it is read here. */
struct frame {
	uintptr_t restorer; /* where the handler returns to */
	unsigned long flags;
	void *link;
	stack_t stack;
	mcontext_t context;
};

/* The C library's code that ends a handler: of any signal that has one. 0: there is none. */
static uintptr_t restorer(void)
{
	for (int sig = 1; sig <= SIGNALS; sig++) {
		struct {
			uintptr_t handler, flags, restorer;
			uint64_t mask;
		} action = { 0 };

		if (own_call_number(SYS_rt_sigaction, sig, 0, (long)&action, sizeof(action.mask), 0,
				    OWN_CALL_MARK) == 0 &&
		    action.flags & HAS_RESTORER && action.restorer)
			return action.restorer;
	}
	return 0;
}

/* Where the stack ends that AT is on. */
static uintptr_t stack_end(uintptr_t at)
{
	uintptr_t end;
	stack_t stack;

	if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK)
		return (uintptr_t)stack.ss_sp + stack.ss_size;
	/* a thread's own data lies at the end of its stack */
	end = own_call(GETPID) == own_call(GETTID) ? (uintptr_t)__libc_stack_end
						   : (uintptr_t)pthread_self();
	return end > at && end - at < STACK_MAX_BYTES ? end : at;
}

/* Code of the program itself holds no lock of a library's. */
static bool in_library(uintptr_t at)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;

	return _dl_find_object((void *)at, &found) == 0 && found.dlfo_link_map->l_name[0];
#else
	(void)at;
	return true;
#endif
}

/*
 * A library that waits in a system call, or sends a signal, holds no lock that its other functions
 * need; memory is allocated by calls that wait for nothing.
 */
static bool in_harmless_call(const mcontext_t *context)
{
	static const uint8_t call[] = { 0x0f, 0x05 }, number[] = { 0xb8 };
	const uint8_t *next = (const uint8_t *)context->gregs[REG_RIP];
	uint32_t nr;

	if (memcmp(next, call, sizeof(call)) == 0) /* to be made again */
		return true;
	if (memcmp(next - sizeof(call), call, sizeof(call)) != 0)
		return false;
	if (context->gregs[REG_RAX] == -EINTR)
		return true;
	next -= sizeof(call) + sizeof(nr);
	memcpy(&nr, next, sizeof(nr));
	return next[-1] == number[0] &&
	       (nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigprocmask);
}

/* Did the signal of FRAME interrupt a library, in the middle of its work? */
static bool interrupted_library(const struct frame *frame)
{
	const greg_t *regs = frame->context.gregs;

	return (regs[REG_CSGSFS] & UINT16_MAX) == USER_CODE &&
	       in_library((uintptr_t)regs[REG_RIP]) && !in_harmless_call(&frame->context);
}

/* A walk through the frames of a stack, as far as they can be told from each other. */
struct walk {
	uintptr_t restorer;
	uintptr_t from, end; /* of the stack that it begins on */
	uintptr_t seen_to;   /* what is below belongs to frames that were met */
	bool found;
};

static _Unwind_Reason_Code walk_step(struct _Unwind_Context *context, void *arg)
{
	const uintptr_t at = _Unwind_GetCFA(context);
	struct walk *walk = arg;

	if (at < walk->from || at >= walk->end)
		walk->seen_to = walk->end; /* the handler had a stack of its own */
	else if (at > walk->seen_to)
		walk->seen_to = at;
	if (_Unwind_GetIP(context) != walk->restorer)
		return _URC_NO_REASON;
	/* the handler's return has taken the address from the frame */
	walk->found = interrupted_library((const struct frame *)(at - sizeof(at)));
	return walk->found ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

/*
 * Frames of handlers that have returned lie in the gaps of later ones, so each frame is met. Where
 * that does not go on, as code does not describe its frames, whatever looks like a handler's is
 * taken for one.
 */
bool handler_interrupted_library(void)
{
	struct walk walk = { .restorer = restorer(),
			     .from = (uintptr_t)__builtin_frame_address(0) };

	if (!walk.restorer)
		return false;
	walk.end = stack_end(walk.from);
	walk.seen_to = walk.from;
	_Unwind_Backtrace(walk_step, &walk);
	for (uintptr_t at = walk.seen_to; !walk.found && at + sizeof(struct frame) <= walk.end;
	     at += sizeof(at)) {
		const struct frame *frame = (const struct frame *)at;

		walk.found = frame->restorer == walk.restorer && interrupted_library(frame);
	}
	return walk.found;
}

static _Unwind_Reason_Code walk_not(struct _Unwind_Context *context, void *arg)
{
	(void)context;
	(void)arg;
	return _URC_NORMAL_STOP;
}

/* What it does once only it does not do in a handler. */
__attribute__((constructor)) static void walk_prepare(void)
{
	_Unwind_Backtrace(walk_not, NULL);
}

#else

bool handler_interrupted_library(void)
{
	return false; /* not known */
}

#endif
