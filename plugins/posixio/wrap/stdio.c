/* Wrappers of stdio. What glibc reads and writes below them is its own and not seen here. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include "plugins/posixio/stream.h"

/* glibc's inline forms */
#undef fread_unlocked
#undef fwrite_unlocked

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);

/* N of WANTED items came: what is recorded is bytes, or the error where not one came. */
static inline void op_end_items(struct op *op, enum eta_op_kind kind, FILE *stream, size_t n,
				size_t wanted, size_t size)
{
	op_end_stream(op, kind, stream, (int64_t)(n * size),
		      unlikely(n == 0 && wanted && size && ferror_unlocked(stream)));
}

/* Another stream is on the descriptor now. */
static inline void stream_forget(struct file *file)
{
	__atomic_store_n(&file->stream_read, (void *)-1, __ATOMIC_RELAXED);
}

/* A stream just opened by the call is at the beginning, unless it appends. */
static inline void stream_opened(FILE *stream)
{
	struct file *file = files_slot(descriptor(stream));

	if ((uintptr_t)file > (uintptr_t)FILE_LEFT_OUT && stream_seeks(file) &&
	    !files_appends(file))
		stream_set(file, stream, 0);
}

#define SHAPE_FOPEN(name, kind, type, detail)                                                      \
	EXPORT FILE *name(const char *path, const char *mode)                                      \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin_open(&op, FN_##name, CALLER)) {                                      \
			opened = REAL(name)(path, mode);                                           \
			op_open_untraced(opened ? descriptor(opened) : -1, CALLER);                \
			return opened;                                                             \
		}                                                                                  \
		opened = REAL(name)(path, mode);                                                   \
		op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, path, -1);            \
		if (opened)                                                                        \
			stream_opened(opened);                                                     \
		return opened;                                                                     \
	}

/* a new stream on an old descriptor */
#define SHAPE_FDOPEN(name, kind, type, detail)                                                     \
	EXPORT FILE *name(int fd, const char *mode)                                                \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin(&op, FN_##name, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))                  \
			return REAL(name)(fd, mode);                                               \
		opened = REAL(name)(fd, mode);                                                     \
		op_end(&op, ETA_OP_OTHER, opened ? fd : -errno, ETA_OFFSET_UNKNOWN);               \
		stream_forget(op.file);                                                            \
		return opened;                                                                     \
	}

/* the old descriptor is closed inside, and the new one often has its number */
#define SHAPE_FREOPEN(name, kind, type, detail)                                                    \
	EXPORT FILE *name(const char *path, const char *mode, FILE *stream)                        \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin_open(&op, FN_##name, CALLER))                                        \
			return REAL(name)(path, mode, stream);                                     \
		files_put(files_detach(descriptor(stream)));                                       \
		opened = REAL(name)(path, mode, stream);                                           \
		op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, path, -1);            \
		if (opened)                                                                        \
			stream_opened(opened);                                                     \
		return opened;                                                                     \
	}

#define SHAPE_FCLOSE(name, kind, type, detail)                                                     \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin_close(&op, FN_##name, descriptor(stream), CALLER))                   \
			return REAL(name)(stream);                                                 \
		ret = REAL(name)(stream);                                                          \
		op_end_close(&op, ret);                                                            \
		return ret;                                                                        \
	}

#define ITEMS(name, kind, fits, args)                                                              \
	struct op op;                                                                              \
	size_t done;                                                                               \
                                                                                                   \
	/* of nothing, or refused: the stream is not looked at, need not be one */                 \
	if (!(size && n && (fits)) ||                                                              \
	    !op_begin_stream(&op, FN_##name, stream, ETA_OP_##kind == ETA_OP_WRITE, LOCKS(name),   \
			     size * n, CALLER))                                                    \
		return REAL(name) args;                                                            \
	done = REAL(name) args;                                                                    \
	op_end_items(&op, ETA_OP_##kind, stream, done, n, size);                                   \
	return done

#define SHAPE_FREAD(name, kind, type, detail)                                                      \
	EXPORT size_t name(void *buffer, size_t size, size_t n, FILE *stream)                      \
	{                                                                                          \
		ITEMS(name, kind, true, (buffer, size, n, stream));                                \
	}

#define SHAPE_FREAD_CHK(name, kind, type, detail)                                                  \
	EXPORT size_t name(void *buffer, size_t room, size_t size, size_t n, FILE *stream)         \
	{                                                                                          \
		ITEMS(name, kind, n <= room / size, (buffer, room, size, n, stream));              \
	}

#define SHAPE_FWRITE(name, kind, type, detail)                                                     \
	EXPORT size_t name(const void *buffer, size_t size, size_t n, FILE *stream)                \
	{                                                                                          \
		ITEMS(name, kind, true, (buffer, size, n, stream));                                \
	}

/* all streams at once (NULL) belongs to no file */
#define SHAPE_FFLUSH(name, kind, type, detail)                                                     \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		int64_t at = ETA_OFFSET_UNKNOWN;                                                   \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!(stream ? op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, \
					CALLER)                                                    \
			     : op_begin_open(&op, FN_##name, CALLER)))                             \
			return REAL(name)(stream);                                                 \
		if (stream) {                                                                      \
			stream_lock(&op, stream, descriptor(stream), LOCKS(name));                 \
			at = stream_followed(op.file, stream);                                     \
		}                                                                                  \
		ret = REAL(name)(stream);                                                          \
		if (stream) {                                                                      \
			files_doubt_position(op.file);                                             \
			stream_set(op.file, stream, at);                                           \
			stream_unlock(&op, stream);                                                \
			op_end(&op, ETA_OP_##kind, ret ? -errno : 0, ETA_OFFSET_UNKNOWN);          \
		} else {                                                                           \
			op_end_path(&op, ETA_OP_##kind, ret ? -errno : 0, NULL);                   \
		}                                                                                  \
		return ret;                                                                        \
	}

/* Ends a call that went to another place in the stream, which it does not tell. */
static void op_end_stream_seek(struct op *op, FILE *stream, int64_t ret)
{
	int64_t at;

	files_doubt_position(op->file);
	stream_set(op->file, stream, -1);
	at = ret < 0 ? ETA_OFFSET_UNKNOWN : stream_at(op->file, stream);
	stream_unlock(op, stream);
	op_end(op, ETA_OP_SEEK, ret, at);
}

#define SHAPE_FSEEK(name, kind, type, detail)                                                      \
	EXPORT int name(FILE *stream, type offset, int whence)                                     \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))  \
			return REAL(name)(stream, offset, whence);                                 \
		stream_lock(&op, stream, descriptor(stream), LOCKS(name));                         \
		ret = REAL(name)(stream, offset, whence);                                          \
		op_end_stream_seek(&op, stream, ret ? -errno : 0);                                 \
		return ret;                                                                        \
	}

#define SHAPE_FSETPOS(name, kind, type, detail)                                                    \
	EXPORT int name(FILE *stream, const type *position)                                        \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))  \
			return REAL(name)(stream, position);                                       \
		stream_lock(&op, stream, descriptor(stream), LOCKS(name));                         \
		ret = REAL(name)(stream, position);                                                \
		op_end_stream_seek(&op, stream, ret ? -errno : 0);                                 \
		return ret;                                                                        \
	}

#define SHAPE_REWIND(name, kind, type, detail)                                                     \
	EXPORT void name(FILE *stream)                                                             \
	{                                                                                          \
		struct op op;                                                                      \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN,           \
			      CALLER)) {                                                           \
			REAL(name)(stream);                                                        \
			return;                                                                    \
		}                                                                                  \
		stream_lock(&op, stream, descriptor(stream), LOCKS(name));                         \
		REAL(name)(stream);                                                                \
		op_end_stream_seek(&op, stream, 0);                                                \
	}

#define SHAPE_FGETPOS(name, kind, type, detail)                                                    \
	EXPORT int name(FILE *stream, type *position)                                              \
	{                                                                                          \
		ON_FD(name, kind, int, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, ret,             \
		      (stream, position));                                                         \
	}

#define SHAPE_SETVBUF(name, kind, type, detail)                                                    \
	EXPORT int name(FILE *stream, char *buffer, int mode, size_t size)                         \
	{                                                                                          \
		ON_FD(name, kind, int, descriptor(stream), size, ETA_OFFSET_UNKNOWN, ret,          \
		      (stream, buffer, mode, size));                                               \
	}

#define SHAPE_SETBUF(name, kind, type, detail)                                                     \
	EXPORT void name(FILE *stream, char *buffer)                                               \
	{                                                                                          \
		struct op op;                                                                      \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), buffer ? BUFSIZ : 0,             \
			      ETA_OFFSET_UNKNOWN, CALLER)) {                                       \
			REAL(name)(stream, buffer);                                                \
			return;                                                                    \
		}                                                                                  \
		REAL(name)(stream, buffer);                                                        \
		op_end(&op, ETA_OP_##kind, 0, ETA_OFFSET_UNKNOWN);                                 \
	}

#define SHAPE_TMPFILE(name, kind, type, detail)                                                    \
	EXPORT FILE *name(void)                                                                    \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin_open(&op, FN_##name, CALLER)) {                                      \
			opened = REAL(name)();                                                     \
			op_open_untraced(opened ? descriptor(opened) : -1, CALLER);                \
			return opened;                                                             \
		}                                                                                  \
		opened = REAL(name)();                                                             \
		op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, NULL, -1);            \
		if (opened)                                                                        \
			stream_opened(opened);                                                     \
		return opened;                                                                     \
	}

/* a pipe: left out by default */
#define SHAPE_POPEN(name, kind, type, detail)                                                      \
	EXPORT FILE *name(const char *command, const char *mode)                                   \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!files_all || !op_begin_open(&op, FN_##name, CALLER))                          \
			return REAL(name)(command, mode);                                          \
		opened = REAL(name)(command, mode);                                                \
		op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, NULL, -1);            \
		return opened;                                                                     \
	}

/* flushes every stream, and closes none of them in glibc, whatever its name says */
#define SHAPE_FCLOSEALL(name, kind, type, detail)                                                  \
	EXPORT int name(void)                                                                      \
	{                                                                                          \
		ON_PATH(name, kind, int, NULL, ());                                                \
	}

#define SHAPE_FTELL(name, kind, type, detail)                                                      \
	EXPORT type name(FILE *stream)                                                             \
	{                                                                                          \
		struct op op;                                                                      \
		type at;                                                                           \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))  \
			return REAL(name)(stream);                                                 \
		stream_lock(&op, stream, descriptor(stream), LOCKS(name));                         \
		at = REAL(name)(stream);                                                           \
		stream_unlock(&op, stream);                                                        \
		op_end(&op, ETA_OP_##kind, at < 0 ? -errno : at, ETA_OFFSET_UNKNOWN);              \
		return at;                                                                         \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_STDIO_FUNCTIONS(X)
#undef X
