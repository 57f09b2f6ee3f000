/* Call stacks: the path by which each traced call was reached, stored once per process. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_STACKS_H
#define POSIXIO_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#define STACKS_MAX_DEPTH 64
#define STACK_CACHE 64 /* a power of two */

/* Per thread: what was found lately, by return address and stack pointer. */
struct stack_cache {
	struct {
		uintptr_t caller, sp;
		uint32_t id;
		uint32_t hits;
	} entries[STACK_CACHE];
	struct unwinding *unwinding; /* where the unwinder works; NULL: it has not yet */
};

extern bool stacks_on __attribute__((visibility("hidden")));

/* Reads SCI_CALLSTACK and loads the unwinder; once in the lifetime of the process. */
void stacks_start(void);

/* Another thread goes on with CACHE; it goes. */
void stacks_forget(struct stack_cache *cache);
void stacks_free(struct stack_cache *cache);

/*
 * Id of the path that leads to the call which returns to CALLER, 0: not known. From a wrapper, so
 * that equal paths have equal stack pointers.
 */
uint32_t stacks_find(struct stack_cache *cache, const void *caller);

#endif
