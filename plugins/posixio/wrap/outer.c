/* Calls of other libraries around those of this one: into the spool, numbered behind ours. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/posixio/outer.h"

#include "op.h"

/* The names are written before the first such call: most programs make none. */
static void put_names(const struct sci_outer_names *names)
{
	static _Atomic pid_t named; /* the process; a child of a fork has a file of its own */
	const pid_t pid = atomic_load(&process_pid);

	if (likely(atomic_load(&named) == pid) || atomic_exchange(&named, pid) == pid)
		return;
	for (unsigned i = 0; i < names->n; i++)
		spool_sink_name(N_REGIONS + i + 1, names->kinds[i], names->names[i]);
}

EXPORT bool sci_outer_begin(struct sci_outer *call, const struct sci_outer_names *names,
			    unsigned number, const void *caller)
{
	struct thread *t = thread_get();
	int saved = errno;

	call->thread = NULL;
	if (!t) {
		thread_missed(caller);
		return false;
	}
	if (number >= names->n || !call_is_ours(t))
		return false;
	thread_busy(t);
	put_names(names);
	call->at = spool_sink_begin_first(t, (enum function)(N_REGIONS + number), UINT32_MAX, 0,
					  ETA_OFFSET_UNKNOWN, caller, false)
			   .at;
	if (call->at)
		call->thread = t;
	thread_idle(t);
	errno = saved;
	return call->thread;
}

EXPORT void sci_outer_end(struct sci_outer *call, const struct sci_outer_result *result)
{
	struct op op = { .thread = call->thread, .sink.at = call->at };
	struct thread *t = op.thread;
	int saved = errno;

	if (!op_is_ours(&op))
		return;
	thread_busy(t);
	spool_sink_end_outer(t, &op.sink, result, now_ns(t));
	thread_idle(t);
	errno = saved;
}

EXPORT uint32_t sci_outer_file(const char *path)
{
	struct thread *t = thread_get();
	int saved = errno;
	uint32_t id;

	if (!t || !call_is_ours(t))
		return 0;
	thread_busy(t);
	id = files_at(path);
	thread_idle(t);
	errno = saved;
	return id;
}
