/* Wrappers of stdio. What glibc reads and writes below them is its own and not seen here. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <stdio.h>

/* glibc's inline forms */
#undef fread_unlocked
#undef fwrite_unlocked

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t n, FILE *stream);

/* -1: no descriptor below (fmemopen, cookies). errno is kept. */
static inline int descriptor(FILE *stream)
{
	int saved = errno, fd = fileno_unlocked(stream);

	errno = saved;
	return fd;
}

/* N of WANTED items came: what is recorded is bytes, or the error where not one came. */
static inline void op_end_items(struct op *op, enum eta_op_kind kind, FILE *stream, size_t n,
				size_t wanted, size_t size)
{
	files_doubt_position(op->file);
	if (unlikely(n == 0 && wanted && size && ferror_unlocked(stream)))
		op_end(op, kind, -errno, ETA_OFFSET_UNKNOWN);
	else
		op_end(op, kind, (int64_t)(n * size), ETA_OFFSET_UNKNOWN);
}

#define SHAPE_FOPEN(name, kind, offset_type)                                                       \
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
		op_end_open(&op, opened ? descriptor(opened) : -1, path, -1);                      \
		return opened;                                                                     \
	}

/* a new stream on an old descriptor */
#define SHAPE_FDOPEN(name, kind, offset_type)                                                      \
	EXPORT FILE *name(int fd, const char *mode)                                                \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin(&op, FN_##name, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))                  \
			return REAL(name)(fd, mode);                                               \
		opened = REAL(name)(fd, mode);                                                     \
		op_end(&op, ETA_OP_OTHER, opened ? fd : -errno, ETA_OFFSET_UNKNOWN);               \
		return opened;                                                                     \
	}

/* the old descriptor is closed inside, and the new one often has its number */
#define SHAPE_FREOPEN(name, kind, offset_type)                                                     \
	EXPORT FILE *name(const char *path, const char *mode, FILE *stream)                        \
	{                                                                                          \
		struct op op;                                                                      \
		FILE *opened;                                                                      \
                                                                                                   \
		if (!op_begin_open(&op, FN_##name, CALLER))                                        \
			return REAL(name)(path, mode, stream);                                     \
		files_put(files_detach(descriptor(stream)));                                       \
		opened = REAL(name)(path, mode, stream);                                           \
		op_end_open(&op, opened ? descriptor(opened) : -1, path, -1);                      \
		return opened;                                                                     \
	}

#define SHAPE_FCLOSE(name, kind, offset_type)                                                      \
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

#define ITEMS(name, kind, args)                                                                    \
	struct op op;                                                                              \
	size_t done;                                                                               \
                                                                                                   \
	if (!op_begin(&op, FN_##name, descriptor(stream), size * n, ETA_OFFSET_UNKNOWN, CALLER))   \
		return REAL(name) args;                                                            \
	done = REAL(name) args;                                                                    \
	op_end_items(&op, ETA_OP_##kind, stream, done, n, size);                                   \
	return done

#define SHAPE_FREAD(name, kind, offset_type)                                                       \
	EXPORT size_t name(void *buffer, size_t size, size_t n, FILE *stream)                      \
	{                                                                                          \
		ITEMS(name, kind, (buffer, size, n, stream));                                      \
	}

#define SHAPE_FREAD_CHK(name, kind, offset_type)                                                   \
	EXPORT size_t name(void *buffer, size_t room, size_t size, size_t n, FILE *stream)         \
	{                                                                                          \
		ITEMS(name, kind, (buffer, room, size, n, stream));                                \
	}

#define SHAPE_FWRITE(name, kind, offset_type)                                                      \
	EXPORT size_t name(const void *buffer, size_t size, size_t n, FILE *stream)                \
	{                                                                                          \
		ITEMS(name, kind, (buffer, size, n, stream));                                      \
	}

/* all streams at once (NULL) belongs to no file and is not recorded */
#define SHAPE_FFLUSH(name, kind, offset_type)                                                      \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!stream ||                                                                     \
		    !op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))  \
			return REAL(name)(stream);                                                 \
		ret = REAL(name)(stream);                                                          \
		files_doubt_position(op.file);                                                     \
		op_end(&op, ETA_OP_##kind, ret ? -errno : 0, ETA_OFFSET_UNKNOWN);                  \
		return ret;                                                                        \
	}

/* where it goes is known only when told from the beginning */
#define SHAPE_FSEEK(name, kind, offset_type)                                                       \
	EXPORT int name(FILE *stream, offset_type offset, int whence)                              \
	{                                                                                          \
		int64_t at = whence == SEEK_SET ? offset : ETA_OFFSET_UNKNOWN;                     \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, at, CALLER))                  \
			return REAL(name)(stream, offset, whence);                                 \
		ret = REAL(name)(stream, offset, whence);                                          \
		files_doubt_position(op.file);                                                     \
		op_end(&op, ETA_OP_##kind, ret ? -errno : 0, at);                                  \
		return ret;                                                                        \
	}

#define SHAPE_REWIND(name, kind, offset_type)                                                      \
	EXPORT void name(FILE *stream)                                                             \
	{                                                                                          \
		struct op op;                                                                      \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, 0, CALLER)) {                 \
			REAL(name)(stream);                                                        \
			return;                                                                    \
		}                                                                                  \
		REAL(name)(stream);                                                                \
		files_doubt_position(op.file);                                                     \
		op_end(&op, ETA_OP_##kind, 0, 0);                                                  \
	}

#define SHAPE_FTELL(name, kind, offset_type)                                                       \
	EXPORT offset_type name(FILE *stream)                                                      \
	{                                                                                          \
		struct op op;                                                                      \
		offset_type at;                                                                    \
                                                                                                   \
		if (!op_begin(&op, FN_##name, descriptor(stream), 0, ETA_OFFSET_UNKNOWN, CALLER))  \
			return REAL(name)(stream);                                                 \
		at = REAL(name)(stream);                                                           \
		op_end(&op, ETA_OP_##kind, at < 0 ? -errno : at, ETA_OFFSET_UNKNOWN);              \
		return at;                                                                         \
	}

#define X(name, kind, shape, variant, offset_type) SHAPE_##shape(name, kind, offset_type)
SCI_STDIO_FUNCTIONS(X)
#undef X
