/* Source of strace's logs: which call does what with which file, and where in it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-defs.h"
#include "log-files.h"
#include "strace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/*
 * X(name, kind, descriptor, path, size, offset): which argument is which, counted from 0; N where
 * there is none. The size of a vector is the sum of its parts. 32-bit programs have names of their
 * own for some.
 */
#define N -1
#define CALLS(X)                                                                                   \
	X(read, READ, 0, N, 2, N)                                                                  \
	X(write, WRITE, 0, N, 2, N)                                                                \
	X(pread64, READ, 0, N, 2, 3)                                                               \
	X(pwrite64, WRITE, 0, N, 2, 3)                                                             \
	X(readv, READ, 0, N, 1, N)                                                                 \
	X(writev, WRITE, 0, N, 1, N)                                                               \
	X(preadv, READ, 0, N, 1, 3)                                                                \
	X(pwritev, WRITE, 0, N, 1, 3)                                                              \
	X(preadv2, READ, 0, N, 1, 3)                                                               \
	X(pwritev2, WRITE, 0, N, 1, 3)                                                             \
	X(lseek, SEEK, 0, N, N, N)                                                                 \
	X(_llseek, SEEK, 0, N, N, N)                                                               \
	X(open, OPEN, N, 0, N, N)                                                                  \
	X(openat, OPEN, N, 1, N, N)                                                                \
	X(openat2, OPEN, N, 1, N, N)                                                               \
	X(creat, OPEN, N, 0, N, N)                                                                 \
	X(close, CLOSE, 0, N, N, N)                                                                \
	X(dup, META, 0, N, N, N)                                                                   \
	X(dup2, META, 0, N, N, N)                                                                  \
	X(dup3, META, 0, N, N, N)                                                                  \
	X(fcntl, META, 0, N, N, N)                                                                 \
	X(fcntl64, META, 0, N, N, N)                                                               \
	X(fsync, SYNC, 0, N, N, N)                                                                 \
	X(fdatasync, SYNC, 0, N, N, N)                                                             \
	X(sync_file_range, SYNC, 0, N, N, N)                                                       \
	X(sync_file_range2, SYNC, 0, N, N, N)                                                      \
	X(syncfs, SYNC, 0, N, N, N)                                                                \
	X(sync, SYNC, N, N, N, N)                                                                  \
	X(msync, SYNC, N, N, N, N)                                                                 \
	X(ftruncate, META, 0, N, N, N)                                                             \
	X(ftruncate64, META, 0, N, N, N)                                                           \
	X(truncate, META, N, 0, N, N)                                                              \
	X(truncate64, META, N, 0, N, N)                                                            \
	X(fallocate, META, 0, N, N, N)                                                             \
	X(fadvise64, META, 0, N, N, N)                                                             \
	X(fadvise64_64, META, 0, N, N, N)                                                          \
	X(readahead, META, 0, N, 2, 1)                                                             \
	X(copy_file_range, READ, 0, N, 4, 1)                                                       \
	X(sendfile, READ, 1, N, 3, 2)                                                              \
	X(sendfile64, READ, 1, N, 3, 2)                                                            \
	X(splice, READ, 0, N, 4, 1)                                                                \
	X(getdents64, META, 0, N, N, N)                                                            \
	X(stat, META, N, 0, N, N)                                                                  \
	X(stat64, META, N, 0, N, N)                                                                \
	X(lstat, META, N, 0, N, N)                                                                 \
	X(lstat64, META, N, 0, N, N)                                                               \
	X(fstat, META, 0, N, N, N)                                                                 \
	X(fstat64, META, 0, N, N, N)                                                               \
	X(newfstatat, META, 0, 1, N, N)                                                            \
	X(fstatat64, META, 0, 1, N, N)                                                             \
	X(statx, META, 0, 1, N, N)                                                                 \
	X(statfs, META, N, 0, N, N)                                                                \
	X(statfs64, META, N, 0, N, N)                                                              \
	X(fstatfs, META, 0, N, N, N)                                                               \
	X(fstatfs64, META, 0, N, N, N)                                                             \
	X(access, META, N, 0, N, N)                                                                \
	X(faccessat, META, N, 1, N, N)                                                             \
	X(faccessat2, META, N, 1, N, N)                                                            \
	X(readlink, META, N, 0, N, N)                                                              \
	X(readlinkat, META, N, 1, N, N)                                                            \
	X(unlink, META, N, 0, N, N)                                                                \
	X(unlinkat, META, N, 1, N, N)                                                              \
	X(rename, META, N, 0, N, N)                                                                \
	X(renameat, META, N, 1, N, N)                                                              \
	X(renameat2, META, N, 1, N, N)                                                             \
	X(mkdir, META, N, 0, N, N)                                                                 \
	X(mkdirat, META, N, 1, N, N)                                                               \
	X(rmdir, META, N, 0, N, N)

struct call_row {
	const char *name;
	uint8_t kind;
	int8_t fd, path, size, offset;
};

static const struct call_row *row_of(const char *name)
{
	static const struct call_row rows[] = {
#define X(name, kind, fd, path, size, offset) { #name, ETA_OP_##kind, fd, path, size, offset },
		CALLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			return &rows[i];
	return NULL;
}

bool strace_kind(const char *name, uint8_t *kind)
{
	const struct call_row *row = row_of(name);

	if (row)
		*kind = row->kind;
	return row;
}

/* Argument I as a number; false where it is none. */
static bool number(const struct strace_call *call, int i, int64_t *value)
{
	char *end;

	if (i < 0 || (unsigned)i >= call->n_arguments)
		return false;
	errno = 0;
	*value = strtoll(call->arguments[i], &end, 0);
	return end != call->arguments[i] && errno == 0;
}

/* The same where the argument may point to the number: "[4096]". */
static bool offset_argument(const struct strace_call *call, int i, int64_t *value)
{
	char *end;

	if (i < 0 || (unsigned)i >= call->n_arguments || *call->arguments[i] != '[')
		return number(call, i, value);
	errno = 0;
	*value = strtoll(call->arguments[i] + 1, &end, 0);
	return end != call->arguments[i] + 1 && errno == 0;
}

/*
 * The bytes of a vector: all its "iov_len=N"; -1 where not all its parts are printed: a long one
 * ends with "...", one that could not be read is an address, old versions do not name lengths.
 */
static int64_t vector_bytes(const struct strace_call *call)
{
	const char *at = call->n_arguments > 1 ? call->arguments[1] : "";
	int64_t sum = 0, n = 0, parts = -1;

	number(call, 2, &parts);
	while ((at = strstr(at, "iov_len="))) {
		at += strlen("iov_len=");
		errno = 0;
		if (__builtin_add_overflow(sum, strtoll(at, NULL, 0), &sum) || errno)
			return -1;
		n++;
	}
	return n == parts ? sum : -1;
}

#define X(flag) { #flag, flag },
uint32_t strace_open_flags(const char *text)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flags[] = { X(O_WRONLY) X(O_RDWR) X(O_APPEND) X(O_CREAT) X(O_EXCL) X(O_TRUNC) X(O_DIRECT)
			      X(O_SYNC) X(O_DSYNC) X(O_NONBLOCK) X(O_CLOEXEC) X(O_DIRECTORY) };
	uint32_t sum = 0;

	if (*text >= '0' && *text <= '9') /* -X raw */
		return (uint32_t)strtoul(text, NULL, 0);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const char *at = strstr(text, flags[i].name);

		/* O_DIRECT is the beginning of O_DIRECTORY */
		while (at && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", at[strlen(flags[i].name)]) &&
		       at[strlen(flags[i].name)])
			at = strstr(at + 1, flags[i].name);
		if (at)
			sum |= flags[i].flag;
	}
	return sum;
}
#undef X

/*
 * "3</a/path<char 1:3>>": the path in TO, "" where there is none (sockets and pipes are none). That
 * the file has no name any more stands behind the bracket; before strace 5.19 in it.
 */
static void decoration(const char *text, char *to, size_t room)
{
	static const char deleted[] = " (deleted)";
	size_t n;

	to[0] = '\0';
	text += strspn(text, "-0123456789");
	if (*text != '<' || text[1] != '/')
		return;
	strace_unescape(text + 1, "<>", to, room);
	n = strlen(to);
	if (n > strlen(deleted) && strcmp(to + n - strlen(deleted), deleted) == 0)
		to[n - strlen(deleted)] = '\0';
}

/* What descriptor FD stands for: as followed, or as -y says. */
static struct log_open_file *opened(struct log *log, uint32_t tid, int64_t fd, const char *text)
{
	struct log_open_file *open;
	char path[4096];

	if (fd < 0 || fd > INT32_MAX)
		return NULL;
	open = log_fd_get(log, tid, (int)fd);
	decoration(text, path, sizeof(path));
	if (*path && (!open || strcmp(log->trace->defs.files[open->file].path, path) != 0))
		open = log_fd_set(log, tid, (int)fd, path, open ? open->flags : 0,
				  open ? open->at : ETA_OFFSET_NONE);
	return open;
}

static int open_file(struct log *log, uint32_t tid, const struct strace_call *call,
		     const struct call_row *row, struct log_call *give)
{
	const char *flags_text =
		(unsigned)row->path + 1 < call->n_arguments ? call->arguments[row->path + 1] : "";
	uint32_t flags = strcmp(call->name, "creat") == 0 ? O_WRONLY | O_CREAT | O_TRUNC
							  : strace_open_flags(flags_text);
	struct log_open_file *open;
	char path[4096];

	if (!call->has_ret || call->ret < 0 || call->ret > INT32_MAX)
		return 0;
	decoration(call->ret_text, path, sizeof(path));
	if (!*path)
		strace_string(call, (unsigned)row->path, path, sizeof(path));
	open = log_fd_open(log, tid, (int)call->ret, path, flags);
	if (!open)
		return -ENOMEM;
	give->call.handle = open->handle;
	return 0;
}

/* st_size of a file that is open. */
static int take_size(struct log *log, const struct strace_call *call,
		     const struct log_open_file *open)
{
	const char *size = strstr(call->text, "st_size=");

	if (!size)
		return 0;
	return log_file_set_size(log, open->file, strtoll(size + strlen("st_size="), NULL, 10));
}

/* Where a seek that succeeded went to; _llseek says it in brackets among its arguments. */
static int64_t seek_result(const struct strace_call *call)
{
	int64_t at;

	if (strcmp(call->name, "_llseek") != 0)
		return call->ret;
	return offset_argument(call, 2, &at) ? at : call->ret;
}

/* What a call changes besides transferring. */
static int follow(struct log *log, uint32_t tid, const struct strace_call *call,
		  const struct call_row *row, struct log_open_file *open, int64_t fd)
{
	int64_t value;

	if (!call->has_ret || call->ret < 0)
		return 0;
	if (row->kind == ETA_OP_CLOSE)
		log_fd_close(log, tid, (int)fd);
	else if (strncmp(call->name, "dup", 3) == 0 ||
		 (strncmp(call->name, "fcntl", 5) == 0 && strstr(call->text, "F_DUPFD")))
		return call->ret > INT32_MAX ? 0 : log_fd_dup(log, tid, (int)fd, (int)call->ret);
	if (!open || row->kind == ETA_OP_CLOSE)
		return 0;
	if (row->kind == ETA_OP_SEEK) {
		open->at = seek_result(call);
		return strstr(call->text, ", 0, SEEK_END")
			       ? log_file_set_size(log, open->file, open->at)
			       : 0;
	}
	if (strncmp(call->name, "fcntl", 5) == 0 && strstr(call->text, "F_SETFL"))
		open->flags =
			(open->flags & ~(uint32_t)(O_APPEND | O_DIRECT)) |
			(strace_open_flags(strstr(call->text, "F_SETFL")) & (O_APPEND | O_DIRECT));
	else if (strncmp(call->name, "ftruncate", 9) == 0 && number(call, 1, &value))
		return log_file_set_size(log, open->file, value);
	else if (strcmp(call->name, "fstat") == 0 || strcmp(call->name, "fstat64") == 0 ||
		 (strcmp(call->name, "newfstatat") == 0 && strstr(call->text, "AT_EMPTY_PATH")))
		return take_size(log, call, open);
	return 0;
}

static void transfer(struct log *log, const struct strace_call *call, const struct call_row *row,
		     struct log_open_file *open, struct log_call *give)
{
	bool vector = row->size == 1;
	int64_t size = -1, offset = ETA_OFFSET_NONE, moved = call->ret > 0 ? call->ret : 0;

	if (vector)
		size = vector_bytes(call);
	else
		number(call, row->size, &size);
	if (size >= 0) {
		give->size = (uint64_t)size;
		give->has |= ETA_HAS_SIZE;
	}
	/* preadv2 at -1 is at the position, as is sendfile with NULL in place of "[N]" */
	if (!offset_argument(call, row->offset, &offset) || offset < 0)
		offset = ETA_OFFSET_NONE;
	if (open && (row->kind == ETA_OP_READ || row->kind == ETA_OP_WRITE))
		offset = log_file_transfer(log, open, row->kind == ETA_OP_WRITE, offset, moved);
	if (offset != ETA_OFFSET_NONE) {
		give->offset = offset;
		give->has |= ETA_HAS_OFFSET;
	}
}

int strace_files(struct log *log, uint32_t tid, const struct strace_call *call,
		 struct log_call *give)
{
	const struct call_row *row = row_of(call->name);
	struct log_open_file *open = NULL;
	int64_t fd = -1;
	char region[64];
	int rc = 0;

	if (!row)
		return 0;
	snprintf(region, sizeof(region), "vfs:sys_%s", row->name);
	*give = (struct log_call){ .call = {
					   .region = log_region(log, region),
					   .handle = ETA_NONE,
					   .kind = row->kind,
					   .ret = call->ret,
					   .at = row->kind == ETA_OP_SEEK ? seek_result(call)
									  : call->ret,
				   } };
	if (give->call.region == ETA_NONE)
		return -ENOMEM;
	if (call->has_ret)
		give->has |= ETA_HAS_RET;
	if (row->kind == ETA_OP_OPEN) {
		rc = open_file(log, tid, call, row, give);
		return rc ? rc : 1;
	}
	if (number(call, row->fd, &fd))
		open = opened(log, tid, fd, call->arguments[row->fd]);
	if (open) {
		give->call.handle = open->handle;
		if (open->flags & O_DIRECT)
			give->has |= ETA_EVENT_DIRECT;
	}
	if (row->size >= 0)
		transfer(log, call, row, open, give);
	rc = follow(log, tid, call, row, open, fd);
	return rc ? rc : 1;
}
