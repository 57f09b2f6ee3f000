/*
 * Wrappers of other functions that create processes and threads than fork and pthread_create, and
 * of dlclose.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "clone.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>

static struct {
	void *vfork;
	__typeof__(clone) *clone;
	__typeof__(dlclose) *dlclose;
} behind;

void clone_resolve(void)
{
	behind.vfork = dlsym(RTLD_NEXT, "vfork");
	behind.clone = (__typeof__(clone) *)dlsym(RTLD_NEXT, "clone");
	behind.dlclose = (__typeof__(dlclose) *)dlsym(RTLD_NEXT, "dlclose");
}

/* For calls before the constructor: of a library that is initialised before this one. */
static void clone_ready(void)
{
	if (!behind.vfork || !behind.clone || !behind.dlclose)
		clone_resolve();
}

#ifdef __x86_64__
/*
 * vfork returns twice on one stack, so no C function can wrap it: report it to the tracer, then
 * jump to the real one, which returns to our caller. On other machines, a child of vfork that does
 * I/O itself is taken for its parent.
 */
void *clone_before_vfork(void);

__attribute__((used, visibility("hidden"))) void *clone_before_vfork(void)
{
	clone_ready();
	thread_before_vfork();
	return behind.vfork;
}

__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	call clone_before_vfork\n"
	"	addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	".cfi_endproc\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#endif

/* Threads made by clone share their creator's thread-local storage, unless they get their own. */
EXPORT int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	static bool warned;
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
			if (!warned)
				tracer_warn("clone without CLONE_SETTLS: the calls of the new "
					    "thread cannot be distinguished from its creator's; "
					    "both are not recorded from here on, and counted as "
					    "lost (use pthread_create)");
			warned = true;
			thread_share();
		}
	}
	clone_ready();
	return behind.clone(run, stack, flags, arg, parent_tid, tls, child_tid);
}

/*
 * dlclose removes the functions found in the library. Forget them before, since the next library of
 * that name may be elsewhere, and after, for a thread that looked them up meanwhile.
 */
EXPORT int dlclose(void *handle)
{
	int ret;

	clone_ready();
	real_forget_late();
	ret = behind.dlclose(handle);
	real_forget_late();
	return ret;
}
