/* Wrappers of POSIX aio. glibc makes the transfers in threads of its own, seen in the kernel only.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <aio.h>

/*
 * What is recorded is the request and, where aio_return fetches it, the result: as a read or write
 * of that many bytes, so that bytes per file are right. Its time is that of the fetching, not of
 * the transfer. A control block that the program gets wrong is read all the same: glibc reads it
 * too.
 */
#define SHAPE_AIO(name, kind, type, detail)                                                        \
	EXPORT int name(struct type *request)                                                      \
	{                                                                                          \
		ON_FD(name, kind, int, request->aio_fildes, request->aio_nbytes,                   \
		      request->aio_offset, ret, (request));                                        \
	}

#define SHAPE_AIO_FSYNC(name, kind, type, detail)                                                  \
	EXPORT int name(int operation, struct type *request)                                       \
	{                                                                                          \
		/* refused before the control block is looked at */                                \
		if (operation != O_SYNC && operation != O_DSYNC)                                   \
			return REAL(name)(operation, request);                                     \
		ON_FD(name, kind, int, request->aio_fildes, 0, ETA_OFFSET_UNKNOWN, ret,            \
		      (operation, request));                                                       \
	}

/* LIO_READ, LIO_WRITE are in aio_lio_opcode also of what aio_read and aio_write have queued */
#define SHAPE_AIO_RETURN(name, kind, type, detail)                                                 \
	EXPORT ssize_t name(struct type *request)                                                  \
	{                                                                                          \
		const int opcode = request->aio_lio_opcode & 127;                                  \
		struct op op;                                                                      \
		ssize_t n;                                                                         \
                                                                                                   \
		if (!op_begin(&op, FN_##name, request->aio_fildes, request->aio_nbytes,            \
			      request->aio_offset, CALLER))                                        \
			return REAL(name)(request);                                                \
		if (opcode == LIO_READ || opcode == LIO_WRITE)                                     \
			op_kind(&op, opcode == LIO_READ ? ETA_OP_READ : ETA_OP_WRITE);             \
		n = REAL(name)(request);                                                           \
		op_end(&op,                                                                        \
		       opcode == LIO_READ    ? ETA_OP_READ                                         \
		       : opcode == LIO_WRITE ? ETA_OP_WRITE                                        \
					     : ETA_OP_##kind,                                      \
		       n < 0 ? -errno : n, op.offset);                                             \
		return n;                                                                          \
	}

/* waits for any of several */
#define SHAPE_AIO_SUSPEND(name, kind, type, detail)                                                \
	EXPORT int name(const struct type *const requests[], int n, const struct timespec *limit)  \
	{                                                                                          \
		ON_PATH(name, kind, int, NULL, (requests, n, limit));                              \
	}

#define SHAPE_AIO_CANCEL(name, kind, type, detail)                                                 \
	EXPORT int name(int fd, struct type *request)                                              \
	{                                                                                          \
		ON_FD(name, kind, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd, request));             \
	}

#define SHAPE_LIO_LISTIO(name, kind, type, detail)                                                 \
	EXPORT int name(int mode, struct type *const requests[restrict], int n,                    \
			struct sigevent *restrict event)                                           \
	{                                                                                          \
		ON_PATH(name, kind, int, NULL, (mode, requests, n, event));                        \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_AIO_FUNCTIONS(X)
#undef X
