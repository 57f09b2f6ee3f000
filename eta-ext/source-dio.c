/* Source: events of DIO, system calls as JSON objects: in an array, or one per line. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

static bool dio_probe(const char *path, bool directory, const unsigned char *head,
		      size_t head_bytes)
{
	static const char key[] = "\"system_call_name\"";
	size_t blanks = 0;

	(void)path;
	while (blanks < head_bytes && strchr(" \t\r\n", head[blanks]) && head[blanks])
		blanks++;
	return !directory && blanks < head_bytes && (head[blanks] == '[' || head[blanks] == '{') &&
	       memmem(head, head_bytes, key, sizeof(key) - 1);
}

/* The first of KEYS that OBJECT or its "args" has; NULL: none. */
static const json_t *member(const json_t *object, const char *const *keys)
{
	const json_t *args = json_object_get(object, "args"), *value;

	for (; *keys; keys++) {
		value = json_object_get(object, *keys);
		if (!value)
			value = json_object_get(args, *keys);
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

/* Nanoseconds as a number, or a date as of ISO 8601 in UTC. */
static bool timestamp(const json_t *value, uint64_t *ns)
{
	const char *text = json_string_value(value), *rest;
	struct tm tm = { 0 };
	uint64_t fraction = 0;
	int64_t number;
	time_t seconds;

	if (integer(value, &number)) {
		*ns = (uint64_t)number;
		return number >= 0;
	}
	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest)
		return false;
	if (*rest == '.') {
		uint64_t digit = 100000000;

		for (rest++; *rest >= '0' && *rest <= '9'; rest++, digit /= 10)
			fraction += digit * (uint64_t)(*rest - '0');
	}
	seconds = timegm(&tm);
	*ns = (uint64_t)seconds * 1000000000 + fraction;
	return seconds >= 0 && (*rest == '\0' || strcmp(rest, "Z") == 0);
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

/* The file an event is on, followed through descriptors where it does not name it. */
static int find_file(struct log *log, const json_t *event, uint32_t pid, struct log_call *call)
{
	const char *path = json_string_value(
		MEMBER(event, "file_path", "filepath", "path", "filename", "pathname"));
	const json_t *flags = MEMBER(event, "flags");
	struct log_open_file *open = NULL;
	uint32_t kind = call->call.kind, file;
	int64_t fd = -1, given = 0, moved = call->call.ret > 0 ? call->call.ret : 0;

	integer(flags, &given);
	if (kind == ETA_OP_OPEN) {
		fd = call->call.ret;
		if (path && fd >= 0 && fd <= INT32_MAX)
			open = log_fd_set(log, pid, (int)fd, path, (uint32_t)given, 0);
	} else if (integer(MEMBER(event, "fd"), &fd) && fd >= 0 && fd <= INT32_MAX) {
		open = log_fd_get(log, pid, (int)fd);
		if (path && (!open || strcmp(log->trace->defs.files[open->file].path, path) != 0))
			open = log_fd_set(log, pid, (int)fd, path, 0, ETA_OFFSET_NONE);
	}
	if (open) {
		call->call.handle = open->handle;
		if (open->flags & O_DIRECT)
			call->has |= ETA_EVENT_DIRECT;
	} else if (path) {
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
	call.call.kind = kind_of(name);
	call.call.at = call.call.ret;
	if (integer(MEMBER(event, "count", "size", "len", "length", "nbytes", "bytes"), &size) &&
	    size >= 0) {
		call.size = (uint64_t)size;
		call.has |= ETA_HAS_SIZE;
	} else if ((call.call.kind == ETA_OP_READ || call.call.kind == ETA_OP_WRITE) &&
		   call.call.ret >= 0) {
		call.size = (uint64_t)call.call.ret;
		call.has |= ETA_HAS_SIZE;
	}
	integer(MEMBER(event, "offset", "pos", "file_offset"), &call.offset);
	if (call.offset < 0)
		call.offset = ETA_OFFSET_NONE;
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
	return log_end(log, rc, "CLOCK_REALTIME");
}

LOG_SOURCE(dio, "events of DIO (JSON)");
