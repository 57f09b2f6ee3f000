/* Programs that are built with a compiler's sanitizer. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sanitizer.h"

#include "core.h"

/* Resolved by the dynamic linker when the program is loaded: there or NULL. */
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

/*
 * gcc's AddressSanitizer ends a program in which another library comes before its own, since a
 * library with an allocator or interceptors of its own would hide the program's errors. The real
 * functions here are the sanitizer's, which see each call with its arguments, and the tracer
 * allocates no memory of the program. So the check is turned off, by the hook that programs have
 * for this; a user's ASAN_OPTIONS take precedence.
 */
EXPORT const char *__asan_default_options(void);

EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

/*
 * These two watch memory that the tracer shares between threads, and its stack, through the memcpy
 * and strlen that it calls. They see neither its atomic operations nor its stores, so each would
 * report false errors.
 */
const char *sanitizer_forbids(void)
{
	return __tsan_init ? "ThreadSanitizer" : __msan_init ? "MemorySanitizer" : NULL;
}
