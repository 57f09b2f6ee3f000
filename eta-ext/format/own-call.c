/* System calls of the tracer's own. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "own-call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const struct own_call_shape own_call_shapes[OWN_N_CALLS] = {
#define X(name, number, known, a, b, c, d, e) { number, known, { a, b, c, d, e } },
	OWN_CALLS(X)
#undef X
};

_Static_assert(OWN_TSC < 63, "a bit for each, and one more");

#define LOOKED (UINT64_C(1) << 63) /* the thread has what its process denies to new ones */

static __thread uint64_t denied __attribute__((tls_model("initial-exec")));
/* to all threads, and to those that are not known yet: one that is denied may have made them */
static _Atomic uint64_t denied_all, denied_new;

uint64_t own_call_deny(uint64_t calls)
{
	const uint64_t before = denied;

	denied |= calls | LOOKED;
	return before;
}

void own_call_allow(uint64_t before)
{
	denied = before;
}

void own_call_deny_new(uint64_t calls)
{
	atomic_fetch_or(&denied_new, calls);
}

void own_call_deny_all(uint64_t calls)
{
	atomic_fetch_or(&denied_all, calls);
}

void own_call_allow_all(uint64_t calls)
{
	atomic_fetch_and(&denied_all, ~calls);
}

static uint64_t denied_here(void)
{
	if (!(denied & LOOKED))
		denied |= atomic_load(&denied_new) | LOOKED;
	return (denied & ~LOOKED) | atomic_load(&denied_all);
}

bool own_call_may(enum own_call call)
{
	return !(denied_here() >> call & 1);
}

bool own_call_may_all(void)
{
	return denied_here() == 0;
}

#ifdef __x86_64__
long own_call_number(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	/* the mark must not be left for the program's next call, which may not set that register */
	__asm__ volatile("syscall\n\txorl %%r9d, %%r9d"
			 : "=a"(ret), "+r"(r9)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}
#else
long own_call_number(long number, long a, long b, long c, long d, long e, long f)
{
	int saved = errno;
	long ret;

#ifdef __s390x__ /* its mmap takes the place where the arguments are */
	if (number == SYS_mmap)
		ret = syscall(number, (long[]){ a, b, c, d, e, f });
	else
#endif
		ret = syscall(number, a, b, c, d, e, f);

	if (ret == -1)
		ret = -errno;
	errno = saved;
	return ret;
}
#endif

long own_call_make(enum own_call call, long a, long b, long c, long d, long e, long f)
{
	if (!own_call_may(call))
		return -EPERM;
	return own_call_number(own_call_shapes[call].number, a, b, c, d, e, f);
}

static int clock_by_call(clockid_t clock, struct timespec *time)
{
	return (int)own_call_number(SYS_clock_gettime, clock, (long)time, 0, 0, 0, OWN_CALL_MARK);
}

int (*own_clock)(clockid_t clock, struct timespec *time) = clock_by_call;
