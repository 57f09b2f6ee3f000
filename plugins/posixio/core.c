/* The user tracer's core: begin and end of process and threads, the real functions, messages. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "clone.h"
#include "maps.h"
#include "thread-cache.h"
#include "sanitizer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"

/*
 * musl takes this library for its own C library if it is preloaded, and aborts the program if a
 * name is missing. So what only glibc has is weak, and if it is absent nothing is traced: streams
 * differ, too. pthread_atfork would refer to the same name, not weakly.
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
	core_sink->thread_end(t);
	own_unmap(t, thread_bytes());
}

/*
 * Thread-specific destructors run in rounds; ours runs last, so that the I/O of the others is still
 * traced.
 */
static void thread_end(void *arg)
{
	static __thread int rounds;
	struct thread *t = arg;

	thread_unlock_stream(t);
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(thread_key, t);
		return;
	}
	if (t != self)
		return;
	self = &thread_dead;
	atomic_store_explicit(&t->state, THREAD_DEAD, memory_order_relaxed);
	if (core_sink->thread_rest(t) && thread_cache_put(t))
		return;
	thread_free(t);
}

static void thread_fork_prepare(void)
{
	forking_pid = (pid_t)own_call(GETPID);
	forking_tid = (pid_t)own_call(GETTID);
}

static void thread_fork_child(void);

/* Can the clock still be read in this program? */
static bool may_stamp(void)
{
	return own_call_may(OWN_TSC) && (own_call_may(OWN_CLOCK) || clock_is_tsc());
}

/*
 * Starts the sink. With a sanitizer that does not tolerate a tracer, only for the message, and
 * while no code of the program has run yet: not in a child of fork.
 */
static bool sink_start(void)
{
	const char *sanitizer = sanitizer_forbids();

	if ((sanitizer && process_parent_pid) || core_sink->process_start() != 0)
		return false;
	if (sanitizer)
		tracer_warn(
			"built with %s, which would take the tracer's work for the program's: "
			"its library calls are not recorded (root can record the kernel's side)",
			sanitizer);
	return !sanitizer;
}

/* By the current sink: children of a program under EZTrace have another. */
static bool warn_recording(const char *text)
{
	return core_sink->report(text);
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
	warn_start(warn_recording);
	clock_start();
	thread_cache_forget();
	details_read();
	if (!thread_key_made) {
		thread_key_made = pthread_key_create(&thread_key, thread_end) == 0;
		__register_atfork(thread_fork_prepare, files_reread_positions, thread_fork_child,
				  __dso_handle);
	}
	atomic_store(&process_pid, (pid_t)own_call(GETPID));
	state = may_stamp() && sink_start() ? PROCESS_READY : PROCESS_OFF;
	atomic_store(&process_state, state);
}

static void thread_fork_child(void)
{
	int saved = errno;

	/* getppid gives another process if the parent has ended already */
	process_parent_pid = forking_pid;
	process_parent_tid = forking_tid;
	/* also if the kernel could not wipe it: the content belongs to the parent */
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
	t = thread_cache_take();
	if (!t) {
		t = own_memory(thread_bytes());
		if (!t)
			return NULL;
		own_call(WIPE_ON_FORK, t, thread_bytes(), MADV_WIPEONFORK);
	}
	if (core_sink->thread_start(t) != 0) {
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

	/* calls of the tracer's own libraries while it is at work */
	if (!t || t == &thread_starting || core_sink->own_caller(caller))
		return;
	if (t == &thread_dead)
		core_sink->thread_lost();
	else if (t->state == THREAD_BUSY)
		core_sink->call_missed(t);
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
		files_reread_positions(); /* writes of the child moved the positions */
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
		/* a fork outside the C library */
		process_parent_pid = process_parent_tid = 0;
		atomic_store(&process_state, PROCESS_NEW);
		files_forget();
		maps_forget();
	}
	if (atomic_load(&process_state) != PROCESS_READY)
		process_start();
	t = NULL;
	if (atomic_load(&process_state) != PROCESS_READY) {
		core_sink->off_call();
		/* counted if there is a place for it, the parent's */
		self = atomic_load(&process_state) == PROCESS_OFF ? &thread_dead : NULL;
		goto out;
	}
	t = thread_new();
	if (!t)
		core_sink->thread_lost();
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
	/* busy: this is a call of a signal handler that interrupted the tracer */
	if (hold && !(self && self->state == THREAD_BUSY))
		cancel_hold(false);
	return t;
}

__attribute__((constructor)) static void tracer_start(void)
{
	clone_resolve();
	cancel_resolve();
	real_resolve_all();
	clock_resolve();
	if (self) /* a constructor before has begun with it */
		return;
	/* what is called here may be another preloaded library's, and do I/O */
	self = &thread_starting;
	process_start();
	self = NULL;
}

/*
 * There may still be calls: by destructors of the program's libraries, by threads that run on. So
 * nothing is freed; the files only give back space that they have reserved and will hardly use.
 */
__attribute__((destructor)) static void tracer_end(void)
{
	struct thread *t = self, *cached;

	if (!process_is_ours())
		return;
	while ((cached = thread_cache_take()))
		thread_free(cached);
	if (!t || t->state != THREAD_LIVE)
		return;
	thread_busy(t);
	core_sink->thread_trim(t);
	core_sink->process_end();
	thread_idle(t);
}
