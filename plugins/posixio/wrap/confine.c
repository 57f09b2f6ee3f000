/* Wrappers of calls by which a program confines itself. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "plugins/posixio/confine.h"

/* Reports prctl's A with B and C to the tracer; false: the call does not confine. */
static bool prctl_begin(struct confine *lock, long a, long b, long c)
{
	if ((int)a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT)
		confine_strict(lock);
	else if ((int)a == PR_SET_SECCOMP && b == SECCOMP_MODE_FILTER)
		confine_filter(lock, (void *)c, false);
	else if ((int)a == PR_SET_TSC && (int)b == PR_TSC_SIGSEGV)
		confine_clock(lock);
	else
		return false;
	return true;
}

static bool seccomp_begin(struct confine *lock, long operation, long flags, long program)
{
	if (operation == SECCOMP_SET_MODE_STRICT)
		confine_strict(lock);
	else if (operation == SECCOMP_SET_MODE_FILTER)
		confine_filter(lock, (void *)program, flags & SECCOMP_FILTER_FLAG_TSYNC);
	else
		return false;
	return true;
}

long confine_syscall(raw_call *next, long number, long a, long b, long c, long d, long e, long f)
{
	struct confine lock;
	bool locks = false;
	long ret;

	if (number == SYS_prctl)
		locks = prctl_begin(&lock, a, b, c);
	else if (number == SYS_seccomp)
		locks = seccomp_begin(&lock, a, b, c);
	else
		confine_paths();
	ret = next(number, a, b, c, d, e, f);
	if (locks) {
		/* above 0: a descriptor, or the id of a thread that could not be confined */
		const bool listens = number == SYS_seccomp && b & SECCOMP_FILTER_FLAG_NEW_LISTENER;

		confine_end(&lock, ret == 0 || (ret > 0 && listens));
	}
	return ret;
}

EXPORT int prctl(int option, ...)
{
	long a[4];
	struct confine lock;
	va_list list;
	bool locks;
	int ret;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	locks = prctl_begin(&lock, option, a[0], a[1]);
	ret = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
	if (locks)
		confine_end(&lock, ret == 0);
	return ret;
}
