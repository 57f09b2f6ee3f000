/* Source of LTTng's kernel traces: what each event means. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BABELTRACE2

#include "ctf-tasks.h"
#include "blktrace-records.h"

/* ---- block requests ---- */

/* Of LTTng's rwbs, which is a number of flags. */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_READ = 4 };

static int block_event(struct ctf *ctf, const struct ctf_event *event, char action)
{
	int64_t dev = CTF_NUMBER(event->payload, -1, "dev"),
		sector = CTF_NUMBER(event->payload, -1, "sector"),
		sectors = CTF_NUMBER(event->payload, 0, "nr_sector"),
		flags = CTF_NUMBER(event->payload, 0, "rwbs"),
		tid = CTF_NUMBER(event->payload, -1, "tid"),
		error = CTF_NUMBER(event->payload, 0, "error", "errors");
	struct blk_action blk = {
		.time_ns = event->time_ns,
		.action = action,
		.failed = error != 0,
		.comm = ctf_text(event->payload, "comm"),
		/* a discard transfers nothing */
		.mode = flags & RWBS_DISCARD ? ETA_IO_FLUSH
			: flags & RWBS_WRITE ? ETA_IO_WRITE
			: flags & RWBS_READ  ? ETA_IO_READ
					     : ETA_IO_FLUSH,
	};
	struct ctf_task *task;
	int rc = ctf_find_task(ctf, event, &task);

	if (rc)
		return rc;
	if (dev < 0 || dev > UINT32_MAX || sectors < 0 || sectors > UINT32_MAX)
		return log_bad(ctf->log, "%s without device or sectors", event->name);
	/* flushes are at no sector, which is reported as the last one */
	if (sector < 0) {
		sector = 0;
		sectors = 0;
	}
	blk.sector = (uint64_t)sector;
	blk.sectors = (uint32_t)sectors;
	blk.major = (uint32_t)dev >> 20;
	blk.minor = (uint32_t)dev & 0xfffff;
	if (tid > 0 && tid <= INT32_MAX && (!task || task->tid != (uint32_t)tid))
		task = ctf_task_of(ctf, tid);
	if (action != 'C' && !task) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	if (task) {
		blk.tid = task->tid;
		if (!task->named && ctf_name_task(ctf, task, blk.comm) < 0)
			return -ENOMEM;
		/* before it is one without a process */
		if (action != 'C' && ctf_location_of(ctf, task) == ETA_NONE)
			return -ENOMEM;
	}
	return log_blktrace(ctf->log, &blk);
}

/* Begins as a bio where the trace has bios, else when it comes into the scheduler's queue. */
static int block_queue(struct ctf *ctf, const struct ctf_event *event)
{
	ctf->queued = true;
	return block_event(ctf, event, 'Q');
}

static int block_insert(struct ctf *ctf, const struct ctf_event *event)
{
	return ctf->queued ? log_pass(ctf->log) : block_event(ctf, event, 'Q');
}

static int block_issue(struct ctf *ctf, const struct ctf_event *event)
{
	return block_event(ctf, event, 'D');
}

static int block_complete(struct ctf *ctf, const struct ctf_event *event)
{
	return block_event(ctf, event, 'C');
}

/* ---- events ---- */

/* X(event, function) */
#define EVENTS(X)                                                                                  \
	X(sched_switch, ctf_sched_switch)                                                          \
	X(sched_process_fork, ctf_process_fork)                                                    \
	X(sched_process_exec, ctf_process_exec)                                                    \
	X(sched_process_exit, ctf_process_exit)                                                    \
	X(lttng_statedump_process_state, ctf_statedump_process)                                    \
	X(lttng_statedump_file_descriptor, ctf_statedump_file)                                     \
	X(block_bio_queue, block_queue)                                                            \
	X(block_rq_insert, block_insert)                                                           \
	X(block_rq_issue, block_issue)                                                             \
	X(block_rq_complete, block_complete)

/* LTTng's kernel clock counts as CLOCK_MONOTONIC does; its offset leads to the time of day. */
static int take_time(struct ctf *ctf, const bt_message *message, uint64_t *ns)
{
	const bt_clock_class *clock =
		bt_message_event_borrow_stream_class_default_clock_class_const(message);
	const bt_clock_snapshot *snapshot;
	const char *name;
	int64_t seconds, at;
	uint64_t cycles;

	if (!clock)
		return log_bad(ctf->log, "an event without a time");
	snapshot = bt_message_event_borrow_default_clock_snapshot_const(message);
	if (ctf->clock == CTF_CLOCK_UNKNOWN) {
		name = bt_clock_class_get_name(clock);
		ctf->clock = CTF_CLOCK_RELATIVE;
		if (name && strcmp(name, "monotonic") == 0 &&
		    bt_clock_class_get_frequency(clock) == 1000000000) {
			ctf->clock = CTF_CLOCK_MONOTONIC;
			bt_clock_class_get_offset(clock, &seconds, &cycles);
			if (__builtin_mul_overflow(seconds, 1000000000, &ctf->realtime_offset_ns) ||
			    __builtin_add_overflow(ctf->realtime_offset_ns, cycles,
						   &ctf->realtime_offset_ns))
				ctf->realtime_offset_ns = 0; /* no wall clock says that */
		}
	}
	if (ctf->clock == CTF_CLOCK_MONOTONIC) {
		*ns = bt_clock_snapshot_get_value(snapshot);
		return 0;
	}
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, &at) || at < 0) {
		bt_current_thread_clear_error();
		return log_bad(ctf->log, "an event at a time that is none");
	}
	*ns = (uint64_t)at;
	return 0;
}

static int64_t cpu_of(const bt_event *event)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);

	if (!bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream)))
		return -1;
	return CTF_NUMBER(bt_packet_borrow_context_field_const(bt_event_borrow_packet_const(event)),
			  -1, "cpu_id");
}

/* LTTng has the kernel's names of some functions. */
static const char *call_name(const char *name)
{
	static const char *const names[][2] = {
		{ "newstat", "stat" },	 { "newfstat", "fstat" },      { "newlstat", "lstat" },
		{ "newuname", "uname" }, { "sendfile64", "sendfile" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

static int understand(struct ctf *ctf, const struct ctf_event *event)
{
	static const struct {
		const char *name;
		int (*take)(struct ctf *ctf, const struct ctf_event *event);
	} events[] = {
#define X(name, function) { #name, function },
		EVENTS(X)
#undef X
	};
	static const char enters[] = "syscall_entry_", leaves[] = "syscall_exit_";
	const char *name = event->name;

	/* of programs of 32 bits */
	if (strncmp(name, "compat_", 7) == 0)
		name += 7;
	if (strncmp(name, enters, sizeof(enters) - 1) == 0)
		return ctf_call_entry(ctf, event, call_name(name + sizeof(enters) - 1));
	if (strncmp(name, leaves, sizeof(leaves) - 1) == 0)
		return ctf_call_exit(ctf, event, call_name(name + sizeof(leaves) - 1));
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (strcmp(name, events[i].name) == 0)
			return events[i].take(ctf, event);
	return log_pass(ctf->log);
}

/* LTTng writes down where it ran. */
static int find_host(struct ctf *ctf, const bt_event *event)
{
	const bt_trace *trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
	const bt_value *value =
		bt_trace_borrow_environment_entry_value_by_name_const(trace, "hostname");

	ctf->knows_host = true;
	if (!value || !bt_value_is_string(value) || !*bt_value_string_get(value))
		return 0;
	ctf->log->host = strdup(bt_value_string_get(value));
	return ctf->log->host ? 0 : log_no_memory(ctf->log, "its host");
}

int ctf_event(struct ctf *ctf, const bt_message *message)
{
	const bt_event *of = bt_message_event_borrow_event_const(message);
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(of));
	struct ctf_event event = {
		.name = name ? name : "",
		.payload = bt_event_borrow_payload_field_const(of),
		.common = bt_event_borrow_common_context_field_const(of),
		.specific = bt_event_borrow_specific_context_field_const(of),
		.cpu = cpu_of(of),
	};
	uint64_t bad = ctf->log->trace->counts.bad;
	int rc;

	ctf->log->line++;
	ctf->log->trace->counts.records++;
	rc = ctf->knows_host ? 0 : find_host(ctf, of);
	if (rc == 0)
		rc = take_time(ctf, message, &event.time_ns);
	if (rc || ctf->log->trace->counts.bad != bad)
		return rc;
	if (event.time_ns > ctf->last_ns)
		ctf->last_ns = event.time_ns;
	return understand(ctf, &event);
}

int ctf_end(struct ctf *ctf)
{
	struct eta_trace *trace = ctf->log->trace;
	struct ctf_task *task, *next;
	char offset[32];
	int rc = 0;

	HASH_ITER (hh, ctf->tasks, task, next)
		if (rc == 0 && task->name)
			rc = ctf_call_end(ctf, task, 0, NULL);
	if (rc == 0)
		rc = ctf_vms_end(ctf);
	if (rc == 0 && ctf->clock == CTF_CLOCK_MONOTONIC && ctf->realtime_offset_ns > 0) {
		snprintf(offset, sizeof(offset), "%lld", (long long)ctf->realtime_offset_ns);
		if (eta_defs_property(trace, "SCI::REALTIME_OFFSET", offset) == ETA_NONE)
			rc = -ENOMEM;
	}
	if (trace->counts.orphan && trace->defs.n_locations == 0)
		eta_warn("%s: does not say which threads its events are of (record it with "
			 "lttng add-context -k -t pid -t tid -t procname, or with sched_switch)",
			 trace->path);
	return rc;
}

const char *ctf_clock(const struct ctf *ctf)
{
	return ctf->clock == CTF_CLOCK_MONOTONIC ? "CLOCK_MONOTONIC" : "relative";
}

void ctf_free(struct ctf *ctf)
{
	struct ctf_task *task, *next;

	HASH_ITER (hh, ctf->tasks, task, next) {
		HASH_DEL(ctf->tasks, task);
		ctf_forget_call(task);
		free(task);
	}
	free(ctf->running);
	free(ctf->images);
}

#endif
