/* The tracer's state of the calling thread and its process, and what is requested. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "environment.h"

#include <stdio.h>
#include <string.h>

#include "eta-ext/format/own-call.h"

_Atomic pid_t process_pid;
pid_t process_parent_pid, process_parent_tid;

/* Stand-ins for a thread's state while it is being made, and after it was freed. */
struct thread thread_starting = { .state = THREAD_BUSY };
struct thread thread_dead = { .state = THREAD_DEAD };
struct thread thread_vfork = { .state = THREAD_VFORK }; /* it had none before */

HIDDEN_TLS struct thread *self;
bool detail_chars, files_all, files_metadata;

const char *const function_names[N_REGIONS] = {
#define X(name, kind, shape, variant, type, detail) #name,
	SCI_FUNCTIONS(X)
#undef X
#define X(id, region) region,
		SCI_WAITS(X)
#undef X
};

const unsigned char function_kinds[N_REGIONS] = {
#define X(name, kind, shape, variant, type, detail) ETA_OP_##kind,
	SCI_FUNCTIONS(X)
#undef X
#define X(id, region) ETA_OP_WAIT,
		SCI_WAITS(X)
#undef X
};

bool process_is_ours(void)
{
	const long pid = own_call(GETPID);

	if (pid < 0) /* not allowed: only after vfork is it another process */
		return !(self && self->state == THREAD_VFORK);
	return pid == atomic_load_explicit(&process_pid, memory_order_relaxed);
}

static bool env_is(const char *name, const char *value)
{
	const char *text = environment_get(name);

	return text && strcmp(text, value) == 0;
}

void details_read(void)
{
	files_all = env_is("SCI_ALL_FDS", "1");
	files_metadata = env_is("SCI_METADATA", "1");
	detail_chars = env_is("SCI_DETAIL", "chars");
}

bool function_recorded(enum function fn)
{
	switch (fn) {
#define X(name, kind, shape, variant, type, detail)                                                \
	case FN_##name:                                                                            \
		return DETAIL_##detail;
		SCI_FUNCTIONS(X)
#undef X
	default:
		return fn < N_REGIONS; /* a wait */
	}
}

void thread_before_vfork(void)
{
	struct thread *t = self;

	if (!t)
		self = &thread_vfork;
	else if (t->state == THREAD_LIVE)
		t->state = THREAD_VFORK;
}

void thread_unlock_stream(struct thread *t)
{
	FILE *stream = t->stream;

	t->stream = NULL;
	if (stream)
		funlockfile(stream);
}

void thread_share(void)
{
	/* the former state is not freed: an outer call may hold it */
	if (self != &thread_starting)
		self = &thread_dead;
}
