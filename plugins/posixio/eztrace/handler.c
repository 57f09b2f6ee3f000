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

bool handler_interrupted_library(void)
{
	const uintptr_t from = (uintptr_t)__builtin_frame_address(0), end = stack_end(from);
	const uintptr_t back = restorer();

	for (uintptr_t at = from; back && at + sizeof(struct frame) <= end; at += sizeof(at)) {
		const struct frame *frame = (const struct frame *)at;
		const greg_t *regs = frame->context.gregs;

		if (frame->restorer == back && (regs[REG_CSGSFS] & UINT16_MAX) == USER_CODE &&
		    in_library((uintptr_t)regs[REG_RIP]) && !in_harmless_call(&frame->context))
			return true;
	}
	return false;
}

#else

bool handler_interrupted_library(void)
{
	return false; /* not known */
}

#endif
