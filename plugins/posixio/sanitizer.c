/* Programs that a compiler's sanitizer is built into. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sanitizer.h"

#include "core.h"

/* Told by the dynamic linker when the program is loaded: there or NULL. */
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

/*
 * gcc's AddressSanitizer ends a program in which a library comes before its own, since one that has
 * an allocator or interceptors of its own would hide the program's errors. The functions behind
 * ours are the sanitizer's, which see each call with its arguments, and no memory of the program's
 * is allocated here. So its question is answered, as it lets programs do; what a user sets
 * in ASAN_OPTIONS comes after.
 */
EXPORT const char *__asan_default_options(void);

EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

/*
 * These two watch memory that the tracer shares between threads, and its stack, through the memcpy
 * and strlen that it calls, but see neither its atomic operations nor what it stored: each would
 * report what is none.
 */
const char *sanitizer_forbids(void)
{
	return __tsan_init ? "ThreadSanitizer" : __msan_init ? "MemorySanitizer" : NULL;
}
