/* Source: events of DIO, system calls as JSON objects: in an array, or one per line. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "log-defs.h"
#include "log-events.h"
#include "log-files.h"
#include "log-text.h"
#include "strace.h"

/*
 * One event is {"system_call_name", "call_timestamp", "return_timestamp" (ns since 1970),
 * "pid", "tid", "comm", "return_value", "args": {...}, "file_tag": "DEV|INODE|FIRST SEEN",
 * "fdata": {"file_path"}}. With detailed_data the arguments are named by what they mean
 * (file_descriptor, bytes_requested, offset: where it transfers), else as in the kernel. Which
 * path a tag stands for is said by {"doc_type": "EventPath", "file_tag", "file_path"}, before or
 * after the calls; with DIO's correlation, or for calls on paths, it is in "fdata".
 */

static bool dio_probe(const char *path, bool directory, const unsigned char *head,
		      size_t head_bytes)
{
	static const char key[] = "\"system_call_name\"", paths[] = "\"EventPath\"";
	size_t blanks = 0;

	(void)path;
	while (blanks < head_bytes && strchr(" \t\r\n", head[blanks]) && head[blanks])
		blanks++;
	return !directory && blanks < head_bytes && (head[blanks] == '[' || head[blanks] == '{') &&
	       (memmem(head, head_bytes, key, sizeof(key) - 1) ||
		memmem(head, head_bytes, paths, sizeof(paths) - 1));
}

/* The first of KEYS that OBJECT, its "args" or its "fdata" has; NULL: none. */
static const json_t *member(const json_t *object, const char *const *keys)
{
	const json_t *const places[] = { object, json_object_get(object, "args"),
					 json_object_get(object, "fdata") };
	const json_t *value;

	for (; *keys; keys++)
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			value = json_object_get(places[i], *keys);
			if (value && !json_is_null(value))
				return value;
		}
	return NULL;
}

#define MEMBER(object, ...) member(object, (const char *const[]){ __VA_ARGS__, NULL })

static bool integer(const json_t *value, int64_t *number)
{
	if (json_is_integer(value)) {
		*number = json_integer_value(value);
		return true;
	}
	return json_is_string(value) && log_i64(json_string_value(value), number);
}

/* Nanoseconds as a number, or a date. */
static bool timestamp(const json_t *value, uint64_t *ns)
{
	const char *text = json_string_value(value);
	int64_t number;

	if (!integer(value, &number))
		return text && log_date(text, ns);
	*ns = (uint64_t)number;
	return number >= 0;
}

/* X(a part of the name, kind): the first that fits. */
#define KINDS(X)                                                                                   \
	X("sync", SYNC)                                                                            \
	X("readlink", META)                                                                        \
	X("readahead", META)                                                                       \
	X("read", READ)                                                                            \
	X("write", WRITE)                                                                          \
	X("open", OPEN)                                                                            \
	X("creat", OPEN)                                                                           \
	X("close", CLOSE)                                                                          \
	X("seek", SEEK)

static enum eta_op_kind kind_of(const char *name)
{
#define X(part, kind)                                                                              \
	if (strstr(name, part))                                                                    \
		return ETA_OP_##kind;
	KINDS(X)
#undef X
	return ETA_OP_META;
}

/* ---- files ---- */

/* "DEV|INODE|...": the kernel's numbers; of another TAG none. */
static void tag_numbers(const char *tag, struct eta_file *file)
{
	char text[64], *f[3];
	uint64_t inode;
	uint32_t dev;

	snprintf(text, sizeof(text), "%s", tag);
	if (log_split(text, '|', f, 3) < 3 || !log_u32(f[0], &dev) || !log_u64(f[1], &inode))
		return;
	file->dev = dev;
	file->inode = inode;
}

/* The file that TAG stands for: each tag is one, whatever it is called. ETA_NONE: no memory. */
static uint32_t tagged_file(struct log *log, const char *tag, const char *path)
{
	struct eta_file file = { .path = path ? path : "", .fs = "" };
	uint32_t index = log_known(log, 'g', tag, strlen(tag));
	struct eta_defs *defs = &log->trace->defs;

	if (index == ETA_NONE) {
		tag_numbers(tag, &file);
		index = eta_defs_file(log->trace, &file);
		return index != ETA_NONE && log_remember(log, 'g', tag, strlen(tag), index)
			       ? index
			       : ETA_NONE;
	}
	if (!path || *defs->files[index].path)
		return index;
	/* what was a number until now */
	path = eta_trace_string(log->trace, path);
	if (!path) {
		log_no_memory(log, "a path");
		return ETA_NONE;
	}
	defs->files[index].path = path;
	return index;
}

/* Handles that were defined before the path of their file was reported. */
static void name_handles(struct eta_defs *defs)
{
	for (uint32_t i = 0; i < defs->n_handles; i++)
		if (defs->handles[i].file != ETA_NONE && !*defs->handles[i].name)
			defs->handles[i].name = defs->files[defs->handles[i].file].path;
}

static uint32_t open_flags(const json_t *flags)
{
	int64_t number;

	if (integer(flags, &number))
		return (uint32_t)number;
	return json_is_string(flags) ? strace_open_flags(json_string_value(flags)) : 0;
}

/* What DIO calls an offset: of a transfer that of its first byte. */
static int64_t own_offset(const json_t *event, uint32_t kind)
{
	int64_t offset;

	if (kind == ETA_OP_SEEK || !integer(MEMBER(event, "offset", "pos"), &offset) || offset < 0)
		return ETA_OFFSET_NONE;
	return offset;
}

/* The file an event is on: by its tag, its path, or followed through descriptors. */
static int find_file(struct log *log, const json_t *event, uint32_t pid, struct log_call *call)
{
	const char *tag = json_string_value(json_object_get(event, "file_tag"));
	const char *path = json_string_value(
		MEMBER(event, "file_path", "filepath", "path", "filename", "pathname"));
	struct log_open_file *open = NULL;
	uint32_t kind = call->call.kind, file = ETA_NONE,
		 flags = open_flags(MEMBER(event, "flags"));
	int64_t fd = -1, moved = call->call.ret > 0 ? call->call.ret : 0;

	call->offset = own_offset(event, kind);
	if (tag) {
		file = tagged_file(log, tag, path);
		if (file == ETA_NONE)
			return -ENOMEM;
	}
	if (kind == ETA_OP_OPEN)
		fd = call->call.ret;
	else if (!integer(MEMBER(event, "file_descriptor", "fd"), &fd))
		fd = -1;
	if (fd >= 0 && fd <= INT32_MAX) {
		if (kind != ETA_OP_OPEN)
			open = log_fd_get(log, pid, (int)fd);
		if (tag && (!open || open->file != file))
			open = log_fd_set_file(log, pid, (int)fd, file, flags,
					       kind == ETA_OP_OPEN ? 0 : ETA_OFFSET_NONE);
		else if (!tag && path &&
			 (!open || strcmp(log->trace->defs.files[open->file].path, path) != 0))
			open = log_fd_set(log, pid, (int)fd, path, flags,
					  kind == ETA_OP_OPEN ? 0 : ETA_OFFSET_NONE);
	}
	if (open) {
		call->call.handle = open->handle;
		if (open->flags & O_DIRECT)
			call->has |= ETA_EVENT_DIRECT;
	} else if (tag || path) {
		if (!tag)
			file = log_file(log, path, 0);
		call->call.handle = file == ETA_NONE ? ETA_NONE : log_handle(log, file, 0);
		if (call->call.handle == ETA_NONE)
			return -ENOMEM;
	}
	if (open && (kind == ETA_OP_READ || kind == ETA_OP_WRITE))
		call->offset =
			log_file_transfer(log, open, kind == ETA_OP_WRITE, call->offset, moved);
	else if (open && kind == ETA_OP_SEEK && call->call.ret >= 0)
		open->at = call->call.ret;
	else if (open && kind == ETA_OP_CLOSE && call->call.ret == 0)
		log_fd_close(log, pid, (int)fd);
	if (call->offset != ETA_OFFSET_NONE && kind != ETA_OP_SEEK)
		call->has |= ETA_HAS_OFFSET;
	return 0;
}

/* ---- events ---- */

/* Which path a tag stands for. */
static int give_path(struct log *log, const json_t *event)
{
	const char *tag = json_string_value(json_object_get(event, "file_tag"));
	const char *path = json_string_value(json_object_get(event, "file_path"));

	if (!tag || !path)
		return log_bad(log, "an EventPath without \"file_tag\" and \"file_path\"");
	return tagged_file(log, tag, path) == ETA_NONE ? -ENOMEM : log_pass(log);
}

/* DIO reports -1 and why in words. */
static int64_t error_of(const json_t *event)
{
	const char *words = json_string_value(json_object_get(event, "error_message"));

	return -(words ? log_error_number(words, strlen(words), strerrordesc_np) : EIO);
}

/* Forks and ends of processes, and what goes through sockets: no I/O on files. */
static bool is_beside(const json_t *event)
{
	static const char *const types[] = { "process", "network" };
	const char *type = json_string_value(json_object_get(event, "event_type"));

	for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

static int give(struct log *log, const json_t *event)
{
	const char *name, *comm;
	struct log_call call = { .call = { .handle = ETA_NONE }, .offset = ETA_OFFSET_NONE };
	int64_t pid, tid, size;
	uint32_t location;
	char region[80];
	int rc;

	/* as a search engine's export wraps it */
	if (json_object_get(event, "_source"))
		event = json_object_get(event, "_source");
	if (json_object_get(event, "doc_type"))
		return give_path(log, event);
	/* the last of a search engine's: when the session began and ended */
	if (json_object_get(event, "min_t") || is_beside(event))
		return log_pass(log);
	name = json_string_value(json_object_get(event, "system_call_name"));
	if (!name || !*name)
		return log_bad(log, "an event without \"system_call_name\"");
	if (strncmp(name, "sys_", 4) == 0)
		name += 4;
	if (!timestamp(MEMBER(event, "call_timestamp"), &call.begin_ns) ||
	    !timestamp(MEMBER(event, "return_timestamp"), &call.call.end_ns))
		return log_bad(log, "%.40s: no call_timestamp and return_timestamp", name);
	if (call.call.end_ns < call.begin_ns)
		return log_bad(log, "%.40s: returned before it was called", name);
	if (!integer(MEMBER(event, "tid"), &tid) || tid <= 0 || tid > INT32_MAX)
		return log_bad(log, "%.40s: no \"tid\"", name);
	if (!integer(MEMBER(event, "pid"), &pid) || pid < 0 || pid > INT32_MAX)
		pid = 0;
	if (integer(MEMBER(event, "return_value", "ret"), &call.call.ret))
		call.has |= ETA_HAS_RET;
	if (call.call.ret == -1)
		call.call.ret = error_of(event);
	call.call.kind = kind_of(name);
	call.call.at = call.call.ret;
	if (integer(MEMBER(event, "bytes_requested", "count"), &size) && size >= 0) {
		call.size = (uint64_t)size;
		call.has |= ETA_HAS_SIZE;
	} else if ((call.call.kind == ETA_OP_READ || call.call.kind == ETA_OP_WRITE) &&
		   call.call.ret >= 0) {
		call.size = (uint64_t)call.call.ret;
		call.has |= ETA_HAS_SIZE;
	}
	comm = json_string_value(MEMBER(event, "comm", "process_name"));
	location = log_thread(log, (uint32_t)pid, (uint32_t)tid, comm ? comm : "");
	snprintf(region, sizeof(region), "vfs:sys_%.60s", name);
	call.call.region = location == ETA_NONE ? ETA_NONE : log_region(log, region);
	if (call.call.region == ETA_NONE)
		return -ENOMEM;
	rc = find_file(log, event, (uint32_t)(pid ? pid : tid), &call);
	return rc ? rc : log_call(log, location, &call);
}

/* What stands between two events; the next character that is something, or EOF. */
static int skip(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',');
	return c;
}

static int dio_open(struct eta_trace *trace)
{
	json_error_t error;
	struct log *log;
	json_t *event;
	int c, rc = log_open(trace, &log);

	if (rc)
		return rc;
	while (rc == 0 && (c = skip(log->file)) != EOF) {
		if (c == '[' || c == ']')
			continue;
		ungetc(c, log->file);
		log->line++;
		trace->counts.records++;
		event = json_loadf(log->file, JSON_DISABLE_EOF_CHECK, &error);
		if (!event) { /* where the next event begins is not known */
			rc = log_bad(log, "event %llu: %s", (unsigned long long)log->line,
				     error.text);
			break;
		}
		rc = json_is_object(event) ? give(log, event)
					   : log_bad(log, "event %llu is no object",
						     (unsigned long long)log->line);
		json_decref(event);
	}
	name_handles(&trace->defs);
	return log_end(log, rc, "CLOCK_REALTIME");
}

LOG_SOURCE(dio, "events of DIO (JSON)");
