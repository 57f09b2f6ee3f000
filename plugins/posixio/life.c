/* Wrappers of what makes processes and threads beside fork and pthread_create. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

/* The function NAME behind ours. Without it the program cannot go on. */
static void *next_function(void **known, const char *name)
{
	if (!*known)
		*known = dlsym(RTLD_NEXT, name);
	if (!*known) {
		tracer_warn("%s: no such function behind ours, the program cannot go on (run it "
			    "without the tracer)",
			    name);
		abort();
	}
	return *known;
}

#ifdef __x86_64__
/*
 * vfork returns twice on one stack, so no C function can stand around it: tell the tracer, then
 * jump to the real one, which returns to our caller. Elsewhere a child of vfork that does I/O
 * itself is taken for its parent.
 */
void *life_before_vfork(void);

__attribute__((used, visibility("hidden"))) void *life_before_vfork(void)
{
	static void *next;
	void *vfork_function = next_function(&next, "vfork");

	thread_before_vfork();
	return vfork_function;
}

__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	call life_before_vfork\n"
	"	addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	".cfi_endproc\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#endif

/* Threads by clone share their maker's thread-local storage, unless they are given some. */
EXPORT int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	static void *next;
	static bool told;
	void *parent_tid, *tls, *child_tid;
	va_list list;

	va_start(list, arg);
	parent_tid = va_arg(list, void *);
	tls = va_arg(list, void *);
	child_tid = va_arg(list, void *);
	va_end(list);
	if ((flags & CLONE_VM) && !(flags & CLONE_SETTLS)) {
		if (flags & CLONE_VFORK) {
			thread_before_vfork();
		} else {
			if (!told)
				tracer_warn("clone without CLONE_SETTLS: the calls of the new "
					    "thread cannot be told from its maker's; both are not "
					    "recorded from here on, and counted as lost "
					    "(pthread_create makes threads that are)");
			told = true;
			thread_share();
		}
	}
	return ((__typeof__(clone) *)next_function(&next, "clone"))(run, stack, flags, arg,
								    parent_tid, tls, child_tid);
}
