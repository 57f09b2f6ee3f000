/* Wrappers of stdio. What glibc itself reads and writes is not seen here. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include "stream.h"

/* glibc's inline forms */
#undef fread_unlocked
#undef fwrite_unlocked

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);

/* N of WANTED items were transferred: recorded are bytes, or the error if there was none. */
static inline void op_end_items(struct op *op, enum eta_op_kind kind, FILE *stream, size_t n,
				size_t wanted, size_t size)
{
	op_end_stream(op, kind, stream, (int64_t)(n * size),
		      unlikely(n == 0 && wanted && size && ferror_unlocked(stream)));
}

/* The descriptor now belongs to another stream. */
static inline void stream_forget(struct file *file)
{
	__atomic_store_n(&file->stream_read, (void *)-1, __ATOMIC_RELAXED);
}

/* A stream that the call has opened is at the beginning, unless it appends. */
static inline void stream_opened(FILE *stream)
{
	struct file *file = files_slot(descriptor(stream));

	if ((uintptr_t)file > (uintptr_t)FILE_LEFT_OUT && stream_seeks(file) &&
	    !files_appends(file))
		stream_set(file, stream, 0);
}

#define STREAM_OPENED(name, path, args)                                                            \
	struct op op;                                                                              \
	FILE *opened;                                                                              \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER)) {                                              \
		opened = REAL(name) args;                                                          \
		op_open_untraced(opened ? descriptor(opened) : -1, CALLER);                        \
		return opened;                                                                     \
	}                                                                                          \
	opened = REAL(name) args;                                                                  \
	op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, path, -1);                    \
	if (opened)                                                                                \
		stream_opened(opened);                                                             \
	return opened

EXPORT FILE *fopen(const char *path, const char *mode)
{
	STREAM_OPENED(fopen, path, (path, mode));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	STREAM_OPENED(fopen64, path, (path, mode));
}

/* a new stream on an old descriptor */
EXPORT FILE *fdopen(int fd, const char *mode)
{
	struct op op;
	FILE *opened;

	if (!op_begin(&op, FN_fdopen, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))
		return REAL(fdopen)(fd, mode);
	opened = REAL(fdopen)(fd, mode);
	op_end(&op, ETA_OP_OTHER, opened ? fd : -errno, ETA_OFFSET_UNKNOWN);
	stream_forget(op.file);
	return opened;
}

/* the old descriptor is closed inside, and the new one often has its number */
static ALWAYS_INLINE FILE *reopen(enum function fn, __typeof__(freopen) *real, const char *path,
				  const char *mode, FILE *stream, const void *caller)
{
	struct op op;
	FILE *opened;

	if (!op_begin_open(&op, fn, caller))
		return real(path, mode, stream);
	files_put(files_detach(descriptor(stream)));
	opened = real(path, mode, stream);
	op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, path, -1);
	if (opened)
		stream_opened(opened);
	return opened;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	return reopen(FN_freopen, REAL(freopen), path, mode, stream, CALLER);
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	return reopen(FN_freopen64, REAL(freopen64), path, mode, stream, CALLER);
}

EXPORT int fclose(FILE *stream)
{
	CLOSES(fclose, descriptor(stream), (stream));
}

EXPORT int pclose(FILE *stream)
{
	CLOSES(pclose, descriptor(stream), (stream));
}

#define ITEMS(name, kind, fits, args)                                                              \
	struct op op;                                                                              \
	size_t done;                                                                               \
                                                                                                   \
	/* no bytes, or refused: the stream is not used, and need not be one */                    \
	if (!(size && n && (fits)) ||                                                              \
	    !op_begin_stream(&op, FN_##name, stream, ETA_OP_##kind == ETA_OP_WRITE, LOCKS(name),   \
			     size * n, CALLER))                                                    \
		return REAL(name) args;                                                            \
	done = REAL(name) args;                                                                    \
	op_end_items(&op, ETA_OP_##kind, stream, done, n, size);                                   \
	return done

EXPORT size_t fread(void *buffer, size_t size, size_t n, FILE *stream)
{
	ITEMS(fread, READ, true, (buffer, size, n, stream));
}

EXPORT size_t fread_unlocked(void *buffer, size_t size, size_t n, FILE *stream)
{
	ITEMS(fread_unlocked, READ, true, (buffer, size, n, stream));
}

EXPORT size_t __fread_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream)
{
	ITEMS(__fread_chk, READ, n <= room / size, (buffer, room, size, n, stream));
}

EXPORT size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream)
{
	ITEMS(__fread_unlocked_chk, READ, n <= room / size, (buffer, room, size, n, stream));
}

EXPORT size_t fwrite(const void *buffer, size_t size, size_t n, FILE *stream)
{
	ITEMS(fwrite, WRITE, true, (buffer, size, n, stream));
}

EXPORT size_t fwrite_unlocked(const void *buffer, size_t size, size_t n, FILE *stream)
{
	ITEMS(fwrite_unlocked, WRITE, true, (buffer, size, n, stream));
}

/* all streams at once (NULL) belong to no file */
static ALWAYS_INLINE int flush(enum function fn, __typeof__(fflush) *real, FILE *stream, bool locks,
			       const void *caller)
{
	int64_t at = ETA_OFFSET_UNKNOWN;
	struct op op;
	int ret;

	if (!(stream ? op_begin(&op, fn, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, caller)
		     : op_begin_open(&op, fn, caller)))
		return real(stream);
	if (stream) {
		stream_lock(&op, stream, descriptor(stream), locks);
		at = stream_followed(op.file, stream);
	}
	ret = real(stream);
	if (stream) {
		files_reread_position(op.file);
		stream_set(op.file, stream, at);
		stream_unlock(&op, stream);
		op_end(&op, ETA_OP_SYNC, ret ? -errno : 0, ETA_OFFSET_UNKNOWN);
	} else {
		op_end_path(&op, ETA_OP_SYNC, ret ? -errno : 0, NULL);
	}
	return ret;
}

EXPORT int fflush(FILE *stream)
{
	return flush(FN_fflush, REAL(fflush), stream, LOCKS(fflush), CALLER);
}

EXPORT int fflush_unlocked(FILE *stream)
{
	return flush(FN_fflush_unlocked, REAL(fflush_unlocked), stream, LOCKS(fflush_unlocked),
		     CALLER);
}

/* Ends a call that moved to an unknown place in the stream. */
static void op_end_stream_seek(struct op *op, FILE *stream, int64_t ret)
{
	int64_t at;

	files_reread_position(op->file);
	stream_set(op->file, stream, -1);
	at = ret < 0 ? ETA_OFFSET_UNKNOWN : stream_at(op->file, stream);
	stream_unlock(op, stream);
	op_end(op, ETA_OP_SEEK, ret, at);
}

#define STREAM_SEEKS(name, stream, args)                                                           \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))          \
		return REAL(name) args;                                                            \
	stream_lock(&op, stream, descriptor(stream), LOCKS(name));                                 \
	ret = REAL(name) args;                                                                     \
	op_end_stream_seek(&op, stream, ret ? -errno : 0);                                         \
	return ret

#define SHAPE_FSEEK(name, kind, type, detail)                                                      \
	EXPORT int name(FILE *stream, type offset, int whence)                                     \
	{                                                                                          \
		STREAM_SEEKS(name, stream, (stream, offset, whence));                              \
	}

EXPORT int fsetpos(FILE *stream, const fpos_t *position)
{
	STREAM_SEEKS(fsetpos, stream, (stream, position));
}

EXPORT int fsetpos64(FILE *stream, const fpos64_t *position)
{
	STREAM_SEEKS(fsetpos64, stream, (stream, position));
}

EXPORT void rewind(FILE *stream)
{
	struct op op;

	if (!op_begin(&op, FN_rewind, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER)) {
		REAL(rewind)(stream);
		return;
	}
	stream_lock(&op, stream, descriptor(stream), LOCKS(rewind));
	REAL(rewind)(stream);
	op_end_stream_seek(&op, stream, 0);
}

EXPORT int fgetpos(FILE *stream, fpos_t *position)
{
	ON_FD(fgetpos, OTHER, int, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, ret,
	      (stream, position));
}

EXPORT int fgetpos64(FILE *stream, fpos64_t *position)
{
	ON_FD(fgetpos64, OTHER, int, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, ret,
	      (stream, position));
}

EXPORT int setvbuf(FILE *stream, char *buffer, int mode, size_t size)
{
	ON_FD(setvbuf, OTHER, int, descriptor(stream), size, ETA_OFFSET_UNKNOWN, ret,
	      (stream, buffer, mode, size));
}

EXPORT void setbuf(FILE *stream, char *buffer)
{
	struct op op;

	if (!op_begin(&op, FN_setbuf, descriptor(stream), buffer ? BUFSIZ : 0, ETA_OFFSET_UNKNOWN,
		      CALLER)) {
		REAL(setbuf)(stream, buffer);
		return;
	}
	REAL(setbuf)(stream, buffer);
	op_end(&op, ETA_OP_OTHER, 0, ETA_OFFSET_UNKNOWN);
}

EXPORT FILE *tmpfile(void)
{
	STREAM_OPENED(tmpfile, NULL, ());
}

EXPORT FILE *tmpfile64(void)
{
	STREAM_OPENED(tmpfile64, NULL, ());
}

/* a pipe: left out by default */
EXPORT FILE *popen(const char *command, const char *mode)
{
	struct op op;
	FILE *opened;

	if (!files_all || !op_begin_open(&op, FN_popen, CALLER))
		return REAL(popen)(command, mode);
	opened = REAL(popen)(command, mode);
	op_end_open(&op, opened ? descriptor(opened) : -1, AT_FDCWD, NULL, -1);
	return opened;
}

/* flushes every stream; in glibc it closes none, despite its name */
EXPORT int fcloseall(void)
{
	ON_PATH(fcloseall, CLOSE, int, NULL, ());
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
