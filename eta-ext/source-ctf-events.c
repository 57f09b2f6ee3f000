/* Source of LTTng's kernel traces: what each event means. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BABELTRACE2

#include "ctf.h"
#include "log-blktrace.h"
#include "strace.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { CPUS_MAX = 1 << 16 }; /* more than any machine has: a damaged trace says more */

/* A thread, and the call it is in. */
struct ctf_task {
	UT_hash_handle hh;
	uint32_t tid, pid; /* pid 0: not told yet */
	bool named;
	char *name; /* of the call; NULL: in none */
	char *path;
	uint64_t begin_ns;
	int64_t fd, to_fd, size, offset, flags, command, whence;
	uint8_t kind; /* enum eta_op_kind */
};

/* ---- fields ---- */

static const bt_field *member(const bt_field *structure, const char *name)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return bt_field_structure_borrow_member_field_by_name_const(structure, name);
}

static bool number(const bt_field *field, int64_t *value)
{
	bt_field_class_type type;

	if (!field)
		return false;
	type = bt_field_get_class_type(field);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*value = (int64_t)bt_field_integer_unsigned_get_value(field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*value = bt_field_integer_signed_get_value(field);
	else
		return false;
	return true;
}

/* The first of NAMES, up to NULL, that is a number in STRUCTURE; DEFAULT without one. */
static int64_t first_number(const bt_field *structure, const char *const *names, int64_t otherwise)
{
	int64_t value;

	for (; *names; names++)
		if (number(member(structure, *names), &value))
			return value;
	return otherwise;
}

#define NUMBER(structure, otherwise, ...)                                                          \
	first_number(structure, (const char *const[]){ __VA_ARGS__, NULL }, otherwise)

/* "" where STRUCTURE has no such string. */
static const char *text(const bt_field *structure, const char *name)
{
	const bt_field *field = member(structure, name);

	return field && bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING
		       ? bt_field_string_get_value(field)
		       : "";
}

/* ---- threads ---- */

static struct ctf_task *task_of(struct ctf *ctf, int64_t tid)
{
	uint32_t key = (uint32_t)tid;
	struct ctf_task *task;

	HASH_FIND(hh, ctf->tasks, &key, sizeof(key), task);
	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (task) {
		task->tid = key;
		HASH_ADD(hh, ctf->tasks, tid, sizeof(task->tid), task);
		if (task->hh.tbl)
			return task;
		free(task);
	}
	eta_error("%s: not enough memory for its threads", ctf->log->trace->path);
	return NULL;
}

/* Descriptors belong to a process; threads that do not share them are rare. */
static uint32_t owner_of(const struct ctf_task *task)
{
	return task->pid ? task->pid : task->tid;
}

static int name_task(struct ctf *ctf, struct ctf_task *task, const char *name)
{
	if (!*name)
		return 0;
	task->named = true;
	return log_name(ctf->log, task->tid, name);
}

/* Its location, ETA_NONE without memory. */
static uint32_t location_of(struct ctf *ctf, const struct ctf_task *task)
{
	return log_thread(ctf->log, task->pid, task->tid, "");
}

struct event {
	const char *name;
	const bt_field *payload, *common, *specific; /* the latter two are contexts */
	uint64_t time_ns;
	int64_t cpu; /* -1 unknown */
};

static int64_t context(const struct event *event, const char *name)
{
	int64_t value = NUMBER(event->specific, -1, name);

	return value >= 0 ? value : NUMBER(event->common, -1, name);
}

/* Who EVENT is of: *OUT is NULL where neither a context nor the switches of its CPU tell. */
static int find_task(struct ctf *ctf, const struct event *event, struct ctf_task **out)
{
	int64_t tid = context(event, "tid"), pid = context(event, "pid");
	const char *name;

	*out = NULL;
	if (tid < 0 && event->cpu >= 0 && event->cpu < ctf->n_cpus)
		tid = ctf->running[event->cpu];
	if (tid <= 0 || tid > INT32_MAX)
		return 0;
	*out = task_of(ctf, tid);
	if (!*out)
		return -ENOMEM;
	if (pid > 0 && pid <= INT32_MAX)
		(*out)->pid = (uint32_t)pid;
	if ((*out)->named)
		return 0;
	name = text(event->specific, "procname");
	return name_task(ctf, *out, *name ? name : text(event->common, "procname"));
}

static int sched_switch(struct ctf *ctf, const struct event *event)
{
	int64_t tid = NUMBER(event->payload, -1, "next_tid");
	struct ctf_task *task;

	if (event->cpu < 0 || event->cpu >= CPUS_MAX || tid < 0 || tid > INT32_MAX)
		return log_bad(ctf->log, "sched_switch without a CPU or a thread");
	if (event->cpu >= ctf->n_cpus) {
		uint32_t n = (uint32_t)event->cpu + 1;
		uint32_t *running = reallocarray(ctf->running, n, sizeof(*running));

		if (!running)
			return -ENOMEM;
		memset(running + ctf->n_cpus, 0, (n - ctf->n_cpus) * sizeof(*running));
		ctf->running = running;
		ctf->n_cpus = n;
	}
	ctf->running[event->cpu] = (uint32_t)tid;
	if (tid > 0) {
		task = task_of(ctf, tid);
		if (!task ||
		    (!task->named && name_task(ctf, task, text(event->payload, "next_comm")) < 0))
			return -ENOMEM;
	}
	return log_pass(ctf->log);
}

static int process_fork(struct ctf *ctf, const struct event *event)
{
	int64_t parent = NUMBER(event->payload, -1, "parent_pid"),
		tid = NUMBER(event->payload, -1, "child_tid"),
		pid = NUMBER(event->payload, -1, "child_pid");
	struct ctf_task *child;
	int rc;

	if (tid <= 0 || pid <= 0 || tid > INT32_MAX || pid > INT32_MAX)
		return log_bad(ctf->log, "sched_process_fork without a child");
	child = task_of(ctf, tid);
	if (!child)
		return -ENOMEM;
	child->pid = (uint32_t)pid;
	rc = name_task(ctf, child, text(event->payload, "child_comm"));
	if (rc == 0 && parent > 0 && parent <= INT32_MAX && parent != pid)
		rc = log_fd_fork(ctf->log, (uint32_t)parent, (uint32_t)pid, false);
	return rc ? rc : log_pass(ctf->log);
}

static int process_exec(struct ctf *ctf, const struct event *event)
{
	const char *path = text(event->payload, "filename"), *name = strrchr(path, '/');
	int64_t tid = NUMBER(event->payload, -1, "tid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? task_of(ctf, tid) : NULL;
	int rc = task ? name_task(ctf, task, name ? name + 1 : path) : 0;

	return rc ? rc : log_pass(ctf->log);
}

static int process_exit(struct ctf *ctf, const struct event *event)
{
	int64_t tid = NUMBER(event->payload, -1, "tid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? task_of(ctf, tid) : NULL;

	if (task && owner_of(task) == task->tid)
		log_fd_exit(ctf->log, task->tid);
	return log_pass(ctf->log);
}

/* What was there when tracing began. */
static int statedump_process(struct ctf *ctf, const struct event *event)
{
	int64_t tid = NUMBER(event->payload, -1, "tid"), pid = NUMBER(event->payload, 0, "pid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? task_of(ctf, tid) : NULL;
	int rc;

	if (!task)
		return log_pass(ctf->log);
	if (pid > 0 && pid <= INT32_MAX)
		task->pid = (uint32_t)pid;
	rc = name_task(ctf, task, text(event->payload, "name"));
	return rc ? rc : log_pass(ctf->log);
}

static int statedump_file(struct ctf *ctf, const struct event *event)
{
	int64_t pid = NUMBER(event->payload, -1, "pid"), fd = NUMBER(event->payload, -1, "fd");

	if (pid > 0 && pid <= INT32_MAX && fd >= 0 && fd <= INT32_MAX &&
	    !log_fd_set(ctf->log, (uint32_t)pid, (int)fd, text(event->payload, "filename"),
			(uint32_t)NUMBER(event->payload, 0, "flags"), ETA_OFFSET_NONE))
		return -ENOMEM;
	return log_pass(ctf->log);
}

/* ---- system calls ---- */

static void forget_call(struct ctf_task *task)
{
	free(task->name);
	free(task->path);
	task->name = task->path = NULL;
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

static int entry(struct ctf *ctf, const struct event *event, const char *name)
{
	struct ctf_task *task;
	uint8_t kind;
	const char *path;
	int rc;

	if (!strace_kind(name, &kind))
		return log_pass(ctf->log);
	rc = find_task(ctf, event, &task);
	if (rc)
		return rc;
	if (!task) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	if (task->name)
		ctf->log->trace->counts.truncated++; /* its end was lost */
	forget_call(task);
	path = text(event->payload, "filename");
	if (!*path)
		path = text(event->payload, "pathname");
	task->name = strdup(name);
	task->path = strdup(path);
	if (!task->name || !task->path) {
		eta_error("%s: not enough memory for a call", ctf->log->trace->path);
		return -ENOMEM;
	}
	task->kind = kind;
	task->begin_ns = event->time_ns;
	task->fd = NUMBER(event->payload, -1, "fd", "fildes", "oldfd", "in_fd", "fd_in");
	task->to_fd = NUMBER(event->payload, -1, "newfd");
	task->size = NUMBER(event->payload, -1, "count", "len", "length");
	task->offset = NUMBER(event->payload, ETA_OFFSET_NONE, "pos", "pos_l", "offset");
	task->flags = NUMBER(event->payload, 0, "flags", "arg");
	task->command = NUMBER(event->payload, -1, "cmd");
	task->whence = NUMBER(event->payload, -1, "whence", "origin");
	return 0;
}

/* What the end of TASK's call says of descriptor and file, into CALL. */
static int follow(struct ctf *ctf, const struct ctf_task *task, struct log_call *call)
{
	bool ok = call->has & ETA_HAS_RET && call->call.ret >= 0;
	int64_t ret = call->call.ret;
	uint32_t owner = owner_of(task);
	struct log *log = ctf->log;
	struct log_open_file *open = NULL;
	int fd = task->fd >= 0 && task->fd <= INT32_MAX ? (int)task->fd : -1;

	if (task->kind == ETA_OP_OPEN) {
		if (!ok || ret > INT32_MAX)
			return 0;
		open = log_fd_open(log, owner, (int)ret, task->path,
				   strcmp(task->name, "creat") == 0 ? O_WRONLY | O_CREAT | O_TRUNC
								    : (uint32_t)task->flags);
		call->call.handle = open ? open->handle : ETA_NONE;
		return open ? 0 : -ENOMEM;
	}
	if (fd >= 0)
		open = log_fd_get(log, owner, fd);
	if (open) {
		call->call.handle = open->handle;
		if (open->flags & O_DIRECT)
			call->has |= ETA_EVENT_DIRECT;
	}
	if (task->kind == ETA_OP_READ || task->kind == ETA_OP_WRITE) {
		/* "offset" of sendfile and splice is an address */
		int64_t at = task->name[0] == 'p' ? task->offset : ETA_OFFSET_NONE;

		call->size = (uint64_t)(task->size >= 0 ? task->size : ret > 0 ? ret : 0);
		call->has |= ETA_HAS_SIZE;
		if (open)
			at = log_file_transfer(log, open, task->kind == ETA_OP_WRITE,
					       at < 0 ? ETA_OFFSET_NONE : at, ret > 0 ? ret : 0);
		call->offset = at;
		if (at >= 0)
			call->has |= ETA_HAS_OFFSET;
		return 0;
	}
	if (!ok)
		return 0;
	if (strncmp(task->name, "dup", 3) == 0 ||
	    (strcmp(task->name, "fcntl") == 0 &&
	     (task->command == F_DUPFD || task->command == F_DUPFD_CLOEXEC)))
		return fd < 0 || ret > INT32_MAX ? 0 : log_fd_dup(log, owner, fd, (int)ret);
	if (task->kind == ETA_OP_CLOSE)
		log_fd_close(log, owner, fd);
	else if (open && task->kind == ETA_OP_SEEK) {
		open->at = ret;
		if (task->whence == SEEK_END && task->offset == 0)
			return log_file_set_size(log, open->file, ret);
	} else if (open && strcmp(task->name, "ftruncate") == 0 && task->size >= 0) {
		return log_file_set_size(log, open->file, task->size);
	} else if (open && strcmp(task->name, "fcntl") == 0 && task->command == F_SETFL) {
		open->flags = (open->flags & ~(uint32_t)(O_APPEND | O_DIRECT)) |
			      ((uint32_t)task->flags & (O_APPEND | O_DIRECT));
	}
	return 0;
}

/* The call that TASK is in ends, or END_NS is 0: was never seen to. */
static int leave(struct ctf *ctf, struct ctf_task *task, uint64_t end_ns, const int64_t *ret)
{
	struct log_call call = {
		.begin_ns = task->begin_ns,
		.offset = ETA_OFFSET_NONE,
		.call = { .handle = ETA_NONE, .kind = task->kind, .end_ns = end_ns },
	};
	uint32_t location = location_of(ctf, task);
	char region[80];
	int rc;

	if (ret) {
		call.call.ret = call.call.at = *ret;
		call.has |= ETA_HAS_RET;
	}
	snprintf(region, sizeof(region), "vfs:sys_%.60s", task->name);
	call.call.region = location == ETA_NONE ? ETA_NONE : log_region(ctf->log, region);
	if (call.call.region == ETA_NONE)
		return -ENOMEM;
	rc = follow(ctf, task, &call);
	forget_call(task);
	if (rc)
		return rc;
	return end_ns ? log_call(ctf->log, location, &call)
		      : log_call_open(ctf->log, location, &call, ctf->last_ns);
}

static int exit_event(struct ctf *ctf, const struct event *event, const char *name)
{
	struct ctf_task *task;
	uint8_t kind;
	int64_t ret;
	int rc;

	if (!strace_kind(name, &kind))
		return log_pass(ctf->log);
	rc = find_task(ctf, event, &task);
	if (rc)
		return rc;
	if (!task || !task->name || strcmp(task->name, name) != 0) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	return leave(ctf, task, event->time_ns > task->begin_ns ? event->time_ns : task->begin_ns,
		     number(member(event->payload, "ret"), &ret) ? &ret : NULL);
}

/* ---- block requests ---- */

/* Of LTTng's rwbs, which is a number of flags. */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_READ = 4 };

static int block_event(struct ctf *ctf, const struct event *event, char action)
{
	int64_t dev = NUMBER(event->payload, -1, "dev"),
		sector = NUMBER(event->payload, -1, "sector"),
		sectors = NUMBER(event->payload, 0, "nr_sector"),
		flags = NUMBER(event->payload, 0, "rwbs"), tid = NUMBER(event->payload, -1, "tid"),
		error = NUMBER(event->payload, 0, "error", "errors");
	struct blk_action blk = {
		.time_ns = event->time_ns,
		.action = action,
		.failed = error != 0,
		.comm = text(event->payload, "comm"),
		.mode = flags & (RWBS_WRITE | RWBS_DISCARD) ? ETA_IO_WRITE
			: flags & RWBS_READ		    ? ETA_IO_READ
							    : ETA_IO_FLUSH,
	};
	struct ctf_task *task;
	int rc = find_task(ctf, event, &task);

	if (rc)
		return rc;
	if (dev < 0 || dev > UINT32_MAX || sectors < 0 || sectors > UINT32_MAX)
		return log_bad(ctf->log, "%s without device or sectors", event->name);
	/* flushes are at no sector, which is told as the last one */
	if (sector < 0) {
		sector = 0;
		sectors = 0;
	}
	blk.sector = (uint64_t)sector;
	blk.sectors = (uint32_t)sectors;
	blk.major = (uint32_t)dev >> 20;
	blk.minor = (uint32_t)dev & 0xfffff;
	if (tid > 0 && tid <= INT32_MAX && (!task || task->tid != (uint32_t)tid))
		task = task_of(ctf, tid);
	if (action != 'C' && !task) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	if (task) {
		blk.tid = task->tid;
		if (!task->named && name_task(ctf, task, blk.comm) < 0)
			return -ENOMEM;
		/* before it is one without a process */
		if (action != 'C' && location_of(ctf, task) == ETA_NONE)
			return -ENOMEM;
	}
	return log_blktrace(ctf->log, &blk);
}

/* Begins as a bio where the trace tells of bios, else when it comes into the scheduler's queue. */
static int block_queue(struct ctf *ctf, const struct event *event)
{
	ctf->queued = true;
	return block_event(ctf, event, 'Q');
}

static int block_insert(struct ctf *ctf, const struct event *event)
{
	return ctf->queued ? log_pass(ctf->log) : block_event(ctf, event, 'Q');
}

static int block_issue(struct ctf *ctf, const struct event *event)
{
	return block_event(ctf, event, 'D');
}

static int block_complete(struct ctf *ctf, const struct event *event)
{
	return block_event(ctf, event, 'C');
}

/* ---- events ---- */

/* X(event, function) */
#define EVENTS(X)                                                                                  \
	X(sched_switch, sched_switch)                                                              \
	X(sched_process_fork, process_fork)                                                        \
	X(sched_process_exec, process_exec)                                                        \
	X(sched_process_exit, process_exit)                                                        \
	X(lttng_statedump_process_state, statedump_process)                                        \
	X(lttng_statedump_file_descriptor, statedump_file)                                         \
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
			ctf->realtime_offset_ns = seconds * 1000000000 + (int64_t)cycles;
		}
	}
	if (ctf->clock == CTF_CLOCK_MONOTONIC) {
		*ns = bt_clock_snapshot_get_value(snapshot);
		return 0;
	}
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, &at) || at < 0)
		return log_bad(ctf->log, "an event at a time that is none");
	*ns = (uint64_t)at;
	return 0;
}

static int64_t cpu_of(const bt_event *event)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);

	if (!bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream)))
		return -1;
	return NUMBER(bt_packet_borrow_context_field_const(bt_event_borrow_packet_const(event)), -1,
		      "cpu_id");
}

static int understand(struct ctf *ctf, const struct event *event)
{
	static const struct {
		const char *name;
		int (*take)(struct ctf *ctf, const struct event *event);
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
		return entry(ctf, event, call_name(name + sizeof(enters) - 1));
	if (strncmp(name, leaves, sizeof(leaves) - 1) == 0)
		return exit_event(ctf, event, call_name(name + sizeof(leaves) - 1));
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (strcmp(name, events[i].name) == 0)
			return events[i].take(ctf, event);
	return log_pass(ctf->log);
}

int ctf_event(struct ctf *ctf, const bt_message *message)
{
	const bt_event *of = bt_message_event_borrow_event_const(message);
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(of));
	struct event event = {
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
			rc = leave(ctf, task, 0, NULL);
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
		forget_call(task);
		free(task);
	}
	free(ctf->running);
}

#endif
