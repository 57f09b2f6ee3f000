/* Source of LTTng's kernel traces: fields of events, and the threads they are of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-defs.h"
#include "log-files.h"
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BABELTRACE2

#include "ctf-tasks.h"

enum { CPUS_MAX = 1 << 16 }; /* more than any machine has: a damaged trace says more */

/* ---- fields ---- */

const bt_field *ctf_member(const bt_field *structure, const char *name)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return bt_field_structure_borrow_member_field_by_name_const(structure, name);
}

bool ctf_number(const bt_field *field, int64_t *value)
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

int64_t ctf_first_number(const bt_field *structure, const char *const *names, int64_t otherwise)
{
	int64_t value;

	for (; *names; names++)
		if (ctf_number(ctf_member(structure, *names), &value))
			return value;
	return otherwise;
}

const char *ctf_text(const bt_field *structure, const char *name)
{
	const bt_field *field = ctf_member(structure, name);

	return field && bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING
		       ? bt_field_string_get_value(field)
		       : "";
}

/* ---- threads ---- */

struct ctf_task *ctf_task_of(struct ctf *ctf, int64_t tid)
{
	uint32_t key = (uint32_t)tid;
	struct ctf_task *task;

	HASH_FIND(hh, ctf->tasks, &key, sizeof(key), task);
	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (task) {
		task->tid = key;
		task->vcpu = VCPU_NONE;
		HASH_ADD(hh, ctf->tasks, tid, sizeof(task->tid), task);
		if (task->hh.tbl)
			return task;
		free(task);
	}
	log_no_memory(ctf->log, "its threads");
	return NULL;
}

/* Descriptors belong to a process; threads that do not share them are rare. */
uint32_t ctf_owner_of(const struct ctf_task *task)
{
	return task->pid ? task->pid : task->tid;
}

int ctf_name_task(struct ctf *ctf, struct ctf_task *task, const char *name)
{
	unsigned vcpu;
	int n = 0;

	if (!*name)
		return 0;
	task->named = true;
	task->is_qemu = strncmp(name, "qemu-system-", 12) == 0 || strcmp(name, "qemu-kvm") == 0 ||
			strcmp(name, "kvm") == 0;
	if (sscanf(name, "CPU %u/%n", &vcpu, &n) == 1 && n)
		task->vcpu = vcpu;
	return log_name(ctf->log, task->tid, name);
}

uint32_t ctf_location_of(struct ctf *ctf, const struct ctf_task *task)
{
	return log_thread(ctf->log, task->pid, task->tid, "");
}

static int64_t context(const struct ctf_event *event, const char *name)
{
	int64_t value = CTF_NUMBER(event->specific, -1, name);

	return value >= 0 ? value : CTF_NUMBER(event->common, -1, name);
}

int ctf_find_task(struct ctf *ctf, const struct ctf_event *event, struct ctf_task **out)
{
	int64_t tid = context(event, "tid"), pid = context(event, "pid");
	const char *name;

	*out = NULL;
	if (tid < 0 && event->cpu >= 0 && event->cpu < ctf->n_cpus)
		tid = ctf->running[event->cpu];
	if (tid <= 0 || tid > INT32_MAX)
		return 0;
	*out = ctf_task_of(ctf, tid);
	if (!*out)
		return -ENOMEM;
	if (pid > 0 && pid <= INT32_MAX)
		(*out)->pid = (uint32_t)pid;
	if ((*out)->named)
		return 0;
	name = ctf_text(event->specific, "procname");
	return ctf_name_task(ctf, *out, *name ? name : ctf_text(event->common, "procname"));
}

int ctf_sched_switch(struct ctf *ctf, const struct ctf_event *event)
{
	int64_t tid = CTF_NUMBER(event->payload, -1, "next_tid");
	struct ctf_task *task;

	if (event->cpu < 0 || event->cpu >= CPUS_MAX || tid < 0 || tid > INT32_MAX)
		return log_bad(ctf->log, "sched_switch without a CPU or a thread");
	if (event->cpu >= ctf->n_cpus) {
		uint32_t n = (uint32_t)event->cpu + 1;
		uint32_t *running = reallocarray(ctf->running, n, sizeof(*running));

		if (!running)
			return log_no_memory(ctf->log, "its threads");
		memset(running + ctf->n_cpus, 0, (n - ctf->n_cpus) * sizeof(*running));
		ctf->running = running;
		ctf->n_cpus = n;
	}
	ctf->running[event->cpu] = (uint32_t)tid;
	if (tid > 0) {
		task = ctf_task_of(ctf, tid);
		if (!task || (!task->named &&
			      ctf_name_task(ctf, task, ctf_text(event->payload, "next_comm")) < 0))
			return -ENOMEM;
	}
	return log_pass(ctf->log);
}

int ctf_process_fork(struct ctf *ctf, const struct ctf_event *event)
{
	int64_t parent = CTF_NUMBER(event->payload, -1, "parent_pid"),
		tid = CTF_NUMBER(event->payload, -1, "child_tid"),
		pid = CTF_NUMBER(event->payload, -1, "child_pid");
	struct ctf_task *child;
	int rc;

	if (tid <= 0 || pid <= 0 || tid > INT32_MAX || pid > INT32_MAX)
		return log_bad(ctf->log, "sched_process_fork without a child");
	child = ctf_task_of(ctf, tid);
	if (!child)
		return -ENOMEM;
	child->pid = (uint32_t)pid;
	rc = ctf_name_task(ctf, child, ctf_text(event->payload, "child_comm"));
	if (rc == 0 && parent > 0 && parent <= INT32_MAX && parent != pid)
		rc = log_fd_fork(ctf->log, (uint32_t)parent, (uint32_t)pid, false);
	return rc ? rc : log_pass(ctf->log);
}

int ctf_process_exec(struct ctf *ctf, const struct ctf_event *event)
{
	const char *path = ctf_text(event->payload, "filename"), *name = strrchr(path, '/');
	int64_t tid = CTF_NUMBER(event->payload, -1, "tid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? ctf_task_of(ctf, tid) : NULL;
	int rc = task ? ctf_name_task(ctf, task, name ? name + 1 : path) : 0;

	return rc ? rc : log_pass(ctf->log);
}

int ctf_process_exit(struct ctf *ctf, const struct ctf_event *event)
{
	int64_t tid = CTF_NUMBER(event->payload, -1, "tid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? ctf_task_of(ctf, tid) : NULL;

	if (task && ctf_owner_of(task) == task->tid)
		log_fd_exit(ctf->log, task->tid);
	return log_pass(ctf->log);
}

int ctf_statedump_process(struct ctf *ctf, const struct ctf_event *event)
{
	int64_t tid = CTF_NUMBER(event->payload, -1, "tid"),
		pid = CTF_NUMBER(event->payload, 0, "pid");
	struct ctf_task *task = tid > 0 && tid <= INT32_MAX ? ctf_task_of(ctf, tid) : NULL;
	int rc;

	if (!task)
		return log_pass(ctf->log);
	if (pid > 0 && pid <= INT32_MAX)
		task->pid = (uint32_t)pid;
	rc = ctf_name_task(ctf, task, ctf_text(event->payload, "name"));
	return rc ? rc : log_pass(ctf->log);
}

int ctf_statedump_file(struct ctf *ctf, const struct ctf_event *event)
{
	int64_t pid = CTF_NUMBER(event->payload, -1, "pid"),
		fd = CTF_NUMBER(event->payload, -1, "fd");

	if (pid > 0 && pid <= INT32_MAX && fd >= 0 && fd <= INT32_MAX &&
	    !log_fd_set(ctf->log, (uint32_t)pid, (int)fd, ctf_text(event->payload, "filename"),
			(uint32_t)CTF_NUMBER(event->payload, 0, "flags"), ETA_OFFSET_NONE))
		return -ENOMEM;
	return log_pass(ctf->log);
}

void ctf_forget_call(struct ctf_task *task)
{
	free(task->name);
	free(task->path);
	task->name = task->path = NULL;
}

#endif
