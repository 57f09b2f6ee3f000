/* Wrappers of calls on descriptors that transfer, seek or synchronise. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <sys/uio.h>
#include <unistd.h>

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);

static inline void op_end_seek(struct op *op, int64_t at)
{
	if (at < 0) {
		op_end(op, ETA_OP_SEEK, -errno, ETA_OFFSET_UNKNOWN);
		return;
	}
	files_moved(op->file, at);
	op_end(op, ETA_OP_SEEK, at, at);
}

#define SHAPE_READ(name, kind, type, detail)                                                       \
	EXPORT ssize_t name(int fd, void *buffer, size_t size)                                     \
	{                                                                                          \
		TRANSFER(name, kind, fd, size, AT_POSITION, (fd, buffer, size));                   \
	}

#define SHAPE_READ_CHK(name, kind, type, detail)                                                   \
	EXPORT ssize_t name(int fd, void *buffer, size_t size, size_t room)                        \
	{                                                                                          \
		TRANSFER(name, kind, fd, size, AT_POSITION, (fd, buffer, size, room));             \
	}

#define SHAPE_WRITE(name, kind, type, detail)                                                      \
	EXPORT ssize_t name(int fd, const void *buffer, size_t size)                               \
	{                                                                                          \
		TRANSFER(name, kind, fd, size, AT_WRITE_POSITION, (fd, buffer, size));             \
	}

#define SHAPE_PREAD(name, kind, type, detail)                                                      \
	EXPORT ssize_t name(int fd, void *buffer, size_t size, type offset)                        \
	{                                                                                          \
		TRANSFER_AT(name, kind, fd, size, offset, (fd, buffer, size, offset));             \
	}

#define SHAPE_PREAD_CHK(name, kind, type, detail)                                                  \
	EXPORT ssize_t name(int fd, void *buffer, size_t size, type offset, size_t room)           \
	{                                                                                          \
		TRANSFER_AT(name, kind, fd, size, offset, (fd, buffer, size, offset, room));       \
	}

#define SHAPE_PWRITE(name, kind, type, detail)                                                     \
	EXPORT ssize_t name(int fd, const void *buffer, size_t size, type offset)                  \
	{                                                                                          \
		TRANSFER_AT(name, kind, fd, size, offset, (fd, buffer, size, offset));             \
	}

#define SHAPE_READV(name, kind, type, detail)                                                      \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors)                     \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors, AT_POSITION, false,             \
				(fd, vector, n_vectors));                                          \
	}

#define SHAPE_WRITEV(name, kind, type, detail)                                                     \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors)                     \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors, AT_WRITE_POSITION, false,       \
				(fd, vector, n_vectors));                                          \
	}

#define SHAPE_VECTOR_AT(name, kind, type, detail)                                                  \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors, type offset)        \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors, offset, true,                   \
				(fd, vector, n_vectors, offset));                                  \
	}

/* an offset of -1 means the file's own position */
#define SHAPE_READV_FLAGS(name, kind, type, detail)                                                \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors, type offset,        \
			    int flags)                                                             \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors,                                 \
				offset == -1 ? AT_POSITION : offset, offset != -1,                 \
				(fd, vector, n_vectors, offset, flags));                           \
	}

#define SHAPE_WRITEV_FLAGS(name, kind, type, detail)                                               \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors, type offset,        \
			    int flags)                                                             \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors,                                 \
				offset == -1 ? AT_WRITE_POSITION : offset, offset != -1,           \
				(fd, vector, n_vectors, offset, flags));                           \
	}

/* its offset is the new position */
#define SHAPE_LSEEK(name, kind, type, detail)                                                      \
	EXPORT type name(int fd, type offset, int whence)                                          \
	{                                                                                          \
		struct op op;                                                                      \
		type at;                                                                           \
                                                                                                   \
		if (!op_begin(&op, FN_##name, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))                  \
			return REAL(name)(fd, offset, whence);                                     \
		at = REAL(name)(fd, offset, whence);                                               \
		op_end_seek(&op, at);                                                              \
		return at;                                                                         \
	}

#define SHAPE_FSYNC(name, kind, type, detail)                                                      \
	EXPORT int name(int fd)                                                                    \
	{                                                                                          \
		ON_FD(name, kind, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd));                      \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_FD_FUNCTIONS(X)
#undef X
