/* The user tracer's core: life of process and threads, the functions behind ours, messages. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "clone.h"
#include "maps.h"
#include "thread-cache.h"
#include "sanitizer.h"
#include "stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"

/*
 * Another C library (musl) takes this library for its own where that is preloaded, and gives up the
 * program when a name is missing. So what glibc alone has is weak, and where it is not there
 * nothing is traced: streams look different, too. pthread_atfork would ask for the same name, not
 * weakly.
 */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

enum process_state { PROCESS_NEW, PROCESS_STARTING, PROCESS_READY, PROCESS_OFF };

static _Atomic int process_state;
static pthread_key_t thread_key;
static bool thread_key_made;

static __thread pid_t forking_pid, forking_tid;

static void thread_free(struct thread *t)
{
	sink_thread_end(&t->sink);
	own_unmap(t, sizeof(*t));
}

/*
 * Thread-specific destructors run in rounds; ours goes last, so that the I/O of the others is still
 * traced.
 */
static void thread_end(void *arg)
{
	static __thread int rounds;
	struct thread *t = arg;

	stream_left(t);
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(thread_key, t);
		return;
	}
	if (t != self)
		return;
	self = &thread_dead;
	atomic_store_explicit(&t->state, THREAD_DEAD, memory_order_relaxed);
	if (sink_thread_rest(&t->sink) && resting_put(t))
		return;
	thread_free(t);
}

static void thread_fork_prepare(void)
{
	forking_pid = (pid_t)own_call(GETPID);
	forking_tid = (pid_t)own_call(GETTID);
}

static void thread_fork_child(void);

/* Has the program left us a clock? */
static bool may_stamp(void)
{
	return own_call_may(OWN_TSC) && (own_call_may(OWN_CLOCK) || clock_is_tsc());
}

/*
 * Starts the sink. Under a sanitizer that bears no tracer for the message alone, while no code of
 * the program's has run yet: not in a child of fork.
 */
static bool sink_start(void)
{
	const char *sanitizer = sanitizer_forbids();

	if ((sanitizer && process_parent_pid) || sink_process_start() != 0)
		return false;
	if (sanitizer)
		tracer_warn("built with %s, which would take the tracer's work for the program's: "
			    "its library calls are not recorded (as root the kernel's side is)",
			    sanitizer);
	return !sanitizer;
}

static void process_start(void)
{
	int state = PROCESS_NEW;

	if (!atomic_compare_exchange_strong(&process_state, &state, PROCESS_STARTING)) {
		while (atomic_load(&process_state) == PROCESS_STARTING)
			own_call(YIELD);
		return;
	}
	if (!__register_atfork) {
		atomic_store(&process_state, PROCESS_OFF);
		return;
	}
	warn_start(sink_tell);
	clock_start();
	resting_forget();
	details_read();
	if (!thread_key_made) {
		thread_key_made = pthread_key_create(&thread_key, thread_end) == 0;
		__register_atfork(thread_fork_prepare, files_doubt_positions, thread_fork_child,
				  __dso_handle);
	}
	atomic_store(&process_pid, (pid_t)own_call(GETPID));
	state = may_stamp() && sink_start() ? PROCESS_READY : PROCESS_OFF;
	atomic_store(&process_state, state);
}

static void thread_fork_child(void)
{
	int saved = errno;

	/* getppid gives another where the parent has ended already */
	process_parent_pid = forking_pid;
	process_parent_tid = forking_tid;
	/* also where the kernel could not wipe: what is there belongs to the parent */
	self = &thread_starting;
	atomic_store(&process_state, PROCESS_NEW);
	files_forget();
	maps_forget();
	process_start();
	self = NULL;
	errno = saved;
}

static struct thread *thread_new(void)
{
	struct thread *t;

	if (!may_stamp())
		return NULL;
	t = resting_take();
	if (!t) {
		t = own_memory(sizeof(*t));
		if (!t)
			return NULL;
		own_call(WIPE_ON_FORK, t, sizeof(*t), MADV_WIPEONFORK);
	}
	if (sink_thread_start(&t->sink, t->scratch) != 0) {
		thread_free(t);
		return NULL;
	}
	t->tid = (uint32_t)own_call(GETTID);
	t->cancel_anywhere = cancel_anywhere;
	if (thread_key_made)
		pthread_setspecific(thread_key, t);
	atomic_store_explicit(&t->state, THREAD_LIVE, memory_order_relaxed);
	return t;
}

void thread_missed(const void *caller)
{
	struct thread *t = self;

	/* the tracer's own libraries call while it is at work, too */
	if (!t || t == &thread_starting || sink_own_caller(caller))
		return;
	if (t == &thread_dead)
		sink_thread_lost();
	else if (t->state == THREAD_BUSY)
		sink_call_missed(&t->sink);
}

static struct thread *thread_find(void)
{
	struct thread *t = self;
	int saved = errno;

	if (t && t->state == THREAD_BUSY) /* thread_starting is, too */
		return NULL;
	if (t && t->state == THREAD_VFORK) {
		if (!process_is_ours())
			return NULL;
		files_doubt_positions(); /* what the child wrote moved them */
		if (t != &thread_vfork) {
			t->state = THREAD_LIVE;
			return t;
		}
		self = t = NULL;
	}
	if (t == &thread_dead)
		return NULL;
	self = &thread_starting;
	if (t && t->state == THREAD_WIPED && atomic_load(&process_state) == PROCESS_READY &&
	    !process_is_ours()) {
		/* a fork that did not go through libc */
		process_parent_pid = process_parent_tid = 0;
		atomic_store(&process_state, PROCESS_NEW);
		files_forget();
		maps_forget();
	}
	if (atomic_load(&process_state) != PROCESS_READY)
		process_start();
	t = NULL;
	if (atomic_load(&process_state) != PROCESS_READY) {
		sink_off_call();
		/* counted where there is a place for it, a parent's */
		self = atomic_load(&process_state) == PROCESS_OFF ? &thread_dead : NULL;
		goto out;
	}
	t = thread_new();
	if (!t)
		sink_thread_lost();
	self = t ? t : &thread_dead;
out:
	errno = saved;
	return t;
}

struct thread *thread_get_slow(void)
{
	const bool hold = cancel_anywhere;
	struct thread *t;

	if (hold)
		cancel_hold(true);
	t = thread_find();
	if (hold && !(self && self->state == THREAD_BUSY)) /* else a handler's call in the middle */
		cancel_hold(false);
	return t;
}

__attribute__((constructor)) static void tracer_start(void)
{
	life_resolve();
	cancel_resolve();
	real_resolve_all();
	process_start();
}

/*
 * Others may still call: destructors of the program's libraries, threads that run on. So nothing is
 * taken away from them; the files only give back what they have reserved and will hardly use.
 */
__attribute__((destructor)) static void tracer_end(void)
{
	struct thread *t = self, *resting;

	if (!process_is_ours())
		return;
	while ((resting = resting_take()))
		thread_free(resting);
	if (!t || t->state != THREAD_LIVE)
		return;
	thread_busy(t);
	sink_thread_trim(&t->sink);
	sink_process_end();
	thread_idle(t);
}
