/* A traced thread and its process: found, made busy and idle again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_THREAD_H
#define POSIXIO_THREAD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"
#include "clock.h"
#include "paths.h"
#include "sink.h"

/*
 * One per traced thread, on pages of its own that a fork wipes (MADV_WIPEONFORK): the child of any
 * kind of fork finds THREAD_WIPED and starts afresh, and never writes into its parent's trace.
 */
enum thread_state {
	THREAD_WIPED, /* zero by necessity */
	THREAD_LIVE,
	THREAD_BUSY, /* inside the tracer: calls made here are the tracer's own, or a signal's */
	THREAD_DEAD,
	THREAD_VFORK, /* it called vfork: the next call is its own, or the child's on its memory */
};

struct thread {
	char scratch[PATH_MAX];	    /* for a path: the program's stack may be small */
	struct directory directory; /* below which a file was last opened by a name of its own */
	/* what each call uses is last, beside what the sink has of the thread */
	_Atomic unsigned char state;
	bool cancel_anywhere; /* as the thread's variable of that name, where it is quickly seen */
	struct clock clock;
	uint32_t tid;
	void *stream; /* that a call of this thread has locked, NULL: none */
} __attribute__((aligned(64)));

extern HIDDEN_TLS struct thread *self;

/* The memory of a thread: with what the sink keeps of it. */
static inline size_t thread_bytes(void)
{
	return sizeof(struct thread) + sink_thread_bytes;
}

static inline struct sink_thread *sink_of(struct thread *t)
{
	return (struct sink_thread *)(t + 1);
}

/* Slow path of thread_get: creates, refuses or revives. NULL: do not trace this call. */
struct thread *thread_get_slow(void);

/*
 * A call on something to be recorded found no thread to record it. Counts that of a signal handler
 * in the middle of the tracer's work, and of a thread that has ended.
 */
void thread_missed(const void *caller);

/* This thread is about to call vfork: what its child does until exec is no business of ours. */
void thread_before_vfork(void);

/* Unlocks the stream that a call of T has locked, if it has: T is cancelled inside the call. */
void thread_unlock_stream(struct thread *t);

/* This thread shares its thread-local storage with another from now on: both are lost, counted. */
void thread_share(void);

/* Stand-ins for a thread: while it is being made, when it went, when it called vfork first. */
extern struct thread thread_starting, thread_dead, thread_vfork;

/* The process that the tracer was started in. */
extern _Atomic pid_t process_pid;

/* Who forked this process, where fork reported it; 0: unknown, or this is what was exec'ed. */
extern pid_t process_parent_pid, process_parent_tid;

/* Is this the process (and not a vfork child that runs on its parent's memory)? A system call. */
bool process_is_ours(void);

/*
 * The same of a call on T, which thread_get gave. Where vfork and clone are ours (clone.c) it would
 * not have given it to a child on its parent's memory, nor to one that fork's handlers did not see.
 */
#ifdef __x86_64__
#define call_is_ours(t) ((void)(t), true)
#else
#define call_is_ours(t) ((void)(t), process_is_ours())
#endif

/*
 * Is this thread's type of cancellation PTHREAD_CANCEL_ASYNCHRONOUS? Then it may end at each
 * instruction, but not in the middle of the tracer's work, which is held back there (cancel.c).
 */
extern HIDDEN_TLS bool cancel_anywhere;
void cancel_hold(bool hold);

/* Looks up the function behind ours, before the program runs. */
void cancel_resolve(void);

static ALWAYS_INLINE struct thread *thread_get(void)
{
	struct thread *t = self;

	if (likely(t && atomic_load_explicit(&t->state, memory_order_relaxed) == THREAD_LIVE))
		return t;
	return thread_get_slow();
}

/* From here until thread_idle, calls of this thread are not traced (a signal handler's are
 * counted). */
static ALWAYS_INLINE void thread_busy(struct thread *t)
{
	if (unlikely(t->cancel_anywhere))
		cancel_hold(true);
	atomic_store_explicit(&t->state, THREAD_BUSY, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static ALWAYS_INLINE void thread_idle(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->state, THREAD_LIVE, memory_order_relaxed);
	if (unlikely(t->cancel_anywhere))
		cancel_hold(false);
}

static ALWAYS_INLINE uint64_t now_ns(struct thread *t)
{
	return clock_now(&t->clock);
}

#endif
