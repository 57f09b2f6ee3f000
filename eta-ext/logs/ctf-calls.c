/* Source of LTTng's kernel traces: system calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-defs.h"
#include "log-events.h"
#include "log-files.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BABELTRACE2

#include "ctf-tasks.h"
#include "strace.h"

int ctf_call_entry(struct ctf *ctf, const struct ctf_event *event, const char *name)
{
	struct ctf_task *task;
	uint8_t kind;
	const char *path;
	int rc;

	if (!strace_kind(name, &kind))
		return log_pass(ctf->log);
	rc = ctf_find_task(ctf, event, &task);
	if (rc)
		return rc;
	if (!task) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	if (task->name)
		ctf->log->trace->counts.truncated++; /* its end was lost */
	ctf_forget_call(task);
	path = ctf_text(event->payload, "filename");
	if (!*path)
		path = ctf_text(event->payload, "pathname");
	task->name = strdup(name);
	task->path = strdup(path);
	if (!task->name || !task->path)
		return log_no_memory(ctf->log, "a call");
	task->kind = kind;
	task->begin_ns = event->time_ns;
	task->fd = CTF_NUMBER(event->payload, -1, "fd", "fildes", "oldfd", "in_fd", "fd_in");
	task->to_fd = CTF_NUMBER(event->payload, -1, "newfd");
	task->size = CTF_NUMBER(event->payload, -1, "count", "len", "length");
	task->offset = CTF_NUMBER(event->payload, ETA_OFFSET_NONE, "pos", "pos_l", "offset");
	task->flags = CTF_NUMBER(event->payload, 0, "flags", "arg");
	task->command = CTF_NUMBER(event->payload, -1, "cmd");
	task->whence = CTF_NUMBER(event->payload, -1, "whence", "origin");
	return 0;
}

/* TASK's open, which gave FD. */
static int open_file(struct ctf *ctf, const struct ctf_task *task, int fd, struct log_call *call)
{
	bool creat = strcmp(task->name, "creat") == 0;
	struct log_open_file *open =
		log_fd_open(ctf->log, ctf_owner_of(task), fd, task->path,
			    creat ? O_WRONLY | O_CREAT | O_TRUNC : (uint32_t)task->flags);

	if (!open)
		return -ENOMEM;
	call->call.handle = open->handle;
	return 0;
}

/* TASK's read or write through OPEN (NULL: not known): size and offset. */
static int transfer(struct ctf *ctf, const struct ctf_task *task, struct log_open_file *open,
		    struct log_call *call)
{
	/* "offset" of sendfile and splice is an address */
	int64_t at = task->name[0] == 'p' && task->offset >= 0 ? task->offset : ETA_OFFSET_NONE,
		moved = call->call.ret > 0 ? call->call.ret : 0;

	call->size = (uint64_t)(task->size >= 0 ? task->size : moved);
	call->has |= ETA_HAS_SIZE;
	if (open)
		at = log_file_transfer(ctf->log, open, task->kind == ETA_OP_WRITE, at, moved);
	call->offset = at;
	if (at >= 0)
		call->has |= ETA_HAS_OFFSET;
	return open && task->name[0] == 'p' && at >= 0 ? ctf_vm_transfer(ctf, task, open->file) : 0;
}

/* What another call of TASK, which returned RET, changes of FD and OPEN (NULL: not known). */
static int change(struct ctf *ctf, const struct ctf_task *task, int fd, struct log_open_file *open,
		  int64_t ret)
{
	uint32_t owner = ctf_owner_of(task);
	struct log *log = ctf->log;

	if (strncmp(task->name, "dup", 3) == 0 ||
	    (strcmp(task->name, "fcntl") == 0 &&
	     (task->command == F_DUPFD || task->command == F_DUPFD_CLOEXEC)))
		return fd < 0 || ret > INT32_MAX ? 0 : log_fd_dup(log, owner, fd, (int)ret);
	if (task->kind == ETA_OP_CLOSE) {
		log_fd_close(log, owner, fd);
	} else if (open && task->kind == ETA_OP_SEEK) {
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

/* What the end of TASK's call says of descriptor and file, into CALL. */
static int follow(struct ctf *ctf, const struct ctf_task *task, struct log_call *call)
{
	bool ok = call->has & ETA_HAS_RET && call->call.ret >= 0;
	int fd = task->fd >= 0 && task->fd <= INT32_MAX ? (int)task->fd : -1;
	struct log_open_file *open;

	if (task->kind == ETA_OP_OPEN)
		return ok && call->call.ret <= INT32_MAX
			       ? open_file(ctf, task, (int)call->call.ret, call)
			       : 0;
	open = fd >= 0 ? log_fd_get(ctf->log, ctf_owner_of(task), fd) : NULL;
	if (open) {
		call->call.handle = open->handle;
		if (open->flags & O_DIRECT)
			call->has |= ETA_EVENT_DIRECT;
	}
	if (task->kind == ETA_OP_READ || task->kind == ETA_OP_WRITE)
		return transfer(ctf, task, open, call);
	if (ok)
		return change(ctf, task, fd, open, call->call.ret);
	return 0;
}

int ctf_call_end(struct ctf *ctf, struct ctf_task *task, uint64_t end_ns, const int64_t *ret)
{
	struct log_call call = {
		.begin_ns = task->begin_ns,
		.offset = ETA_OFFSET_NONE,
		.call = { .handle = ETA_NONE, .kind = task->kind, .end_ns = end_ns },
	};
	uint32_t location = ctf_location_of(ctf, task);
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
	ctf_forget_call(task);
	if (rc)
		return rc;
	return end_ns ? log_call(ctf->log, location, &call)
		      : log_call_open(ctf->log, location, &call, ctf->last_ns);
}

int ctf_call_exit(struct ctf *ctf, const struct ctf_event *event, const char *name)
{
	struct ctf_task *task;
	uint8_t kind;
	int64_t ret;
	int rc;

	if (!strace_kind(name, &kind))
		return log_pass(ctf->log);
	rc = ctf_find_task(ctf, event, &task);
	if (rc)
		return rc;
	if (!task || !task->name || strcmp(task->name, name) != 0) {
		ctf->log->trace->counts.orphan++;
		return 0;
	}
	return ctf_call_end(ctf, task,
			    event->time_ns > task->begin_ns ? event->time_ns : task->begin_ns,
			    ctf_number(ctf_member(event->payload, "ret"), &ret) ? &ret : NULL);
}

#endif
