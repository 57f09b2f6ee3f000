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

EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	TRANSFER(read, READ, fd, size, AT_POSITION, (fd, buffer, size));
}

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	TRANSFER(__read_chk, READ, fd, size, AT_POSITION, (fd, buffer, size, room));
}

EXPORT ssize_t write(int fd, const void *buffer, size_t size)
{
	TRANSFER(write, WRITE, fd, size, AT_WRITE_POSITION, (fd, buffer, size));
}

EXPORT ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	TRANSFER_AT(pread, READ, fd, size, offset, (fd, buffer, size, offset));
}

EXPORT ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	TRANSFER_AT(pread64, READ, fd, size, offset, (fd, buffer, size, offset));
}

EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	TRANSFER_AT(__pread_chk, READ, fd, size, offset, (fd, buffer, size, offset, room));
}

EXPORT ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room)
{
	TRANSFER_AT(__pread64_chk, READ, fd, size, offset, (fd, buffer, size, offset, room));
}

EXPORT ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	TRANSFER_AT(pwrite, WRITE, fd, size, offset, (fd, buffer, size, offset));
}

EXPORT ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	TRANSFER_AT(pwrite64, WRITE, fd, size, offset, (fd, buffer, size, offset));
}

EXPORT ssize_t readv(int fd, const struct iovec *vector, int n_vectors)
{
	TRANSFER_VECTOR(readv, READ, fd, vector, n_vectors, AT_POSITION, false,
			(fd, vector, n_vectors));
}

EXPORT ssize_t writev(int fd, const struct iovec *vector, int n_vectors)
{
	TRANSFER_VECTOR(writev, WRITE, fd, vector, n_vectors, AT_WRITE_POSITION, false,
			(fd, vector, n_vectors));
}

#define SHAPE_VECTOR_AT(name, kind, type, detail)                                                  \
	EXPORT ssize_t name(int fd, const struct iovec *vector, int n_vectors, type offset)        \
	{                                                                                          \
		TRANSFER_VECTOR(name, kind, fd, vector, n_vectors, offset, true,                   \
				(fd, vector, n_vectors, offset));                                  \
	}

/* an offset of -1 means the file's own position */
EXPORT ssize_t preadv2(int fd, const struct iovec *vector, int n_vectors, off_t offset, int flags)
{
	TRANSFER_VECTOR(preadv2, READ, fd, vector, n_vectors, offset == -1 ? AT_POSITION : offset,
			offset != -1, (fd, vector, n_vectors, offset, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *vector, int n_vectors, off64_t offset,
			  int flags)
{
	TRANSFER_VECTOR(preadv64v2, READ, fd, vector, n_vectors,
			offset == -1 ? AT_POSITION : offset, offset != -1,
			(fd, vector, n_vectors, offset, flags));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *vector, int n_vectors, off_t offset, int flags)
{
	TRANSFER_VECTOR(pwritev2, WRITE, fd, vector, n_vectors,
			offset == -1 ? AT_WRITE_POSITION : offset, offset != -1,
			(fd, vector, n_vectors, offset, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *vector, int n_vectors, off64_t offset,
			   int flags)
{
	TRANSFER_VECTOR(pwritev64v2, WRITE, fd, vector, n_vectors,
			offset == -1 ? AT_WRITE_POSITION : offset, offset != -1,
			(fd, vector, n_vectors, offset, flags));
}

/* its offset is the new position */
EXPORT off_t lseek(int fd, off_t offset, int whence)
{
	struct op op;
	off_t at;

	if (!op_begin(&op, FN_lseek, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))
		return REAL(lseek)(fd, offset, whence);
	at = REAL(lseek)(fd, offset, whence);
	op_end_seek(&op, at);
	return at;
}

EXPORT off64_t lseek64(int fd, off64_t offset, int whence)
{
	struct op op;
	off64_t at;

	if (!op_begin(&op, FN_lseek64, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))
		return REAL(lseek64)(fd, offset, whence);
	at = REAL(lseek64)(fd, offset, whence);
	op_end_seek(&op, at);
	return at;
}

EXPORT int fsync(int fd)
{
	op_add_folder(fd);
	ON_FD(fsync, SYNC, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd));
}

EXPORT int fdatasync(int fd)
{
	op_add_folder(fd);
	ON_FD(fdatasync, SYNC, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd));
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_FD_FUNCTIONS(X)
#undef X
