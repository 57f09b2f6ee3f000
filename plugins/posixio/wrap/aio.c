/*
 * Wrappers of POSIX aio. glibc transfers in threads of its own, which only the kernel's side sees.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <aio.h>

/*
 * A record is made of the request and, if aio_return fetches it, of the result: as a read or write
 * of that many bytes, so that bytes per file are right. Its time is that of fetching, not of the
 * transfer. A bad control block of the program is read all the same: glibc reads it, too.
 */
#define SHAPE_AIO(name, kind, type, detail)                                                        \
	EXPORT int name(struct type *request)                                                      \
	{                                                                                          \
		ON_FD(name, kind, int, request->aio_fildes, request->aio_nbytes,                   \
		      request->aio_offset, ret, (request));                                        \
	}

EXPORT int aio_fsync(int operation, struct aiocb *request)
{
	/* refused before the control block is looked at */
	if (operation != O_SYNC && operation != O_DSYNC)
		return REAL(aio_fsync)(operation, request);
	ON_FD(aio_fsync, OTHER, int, request->aio_fildes, 0, ETA_OFFSET_UNKNOWN, ret,
	      (operation, request));
}

EXPORT int aio_fsync64(int operation, struct aiocb64 *request)
{
	/* refused before the control block is looked at */
	if (operation != O_SYNC && operation != O_DSYNC)
		return REAL(aio_fsync64)(operation, request);
	ON_FD(aio_fsync64, OTHER, int, request->aio_fildes, 0, ETA_OFFSET_UNKNOWN, ret,
	      (operation, request));
}

/*
 * aio_lio_opcode has LIO_READ or LIO_WRITE also for requests that aio_read and aio_write have
 * queued
 */
static enum eta_op_kind kind_of(int opcode)
{
	switch (opcode & 127) {
	case LIO_READ:
		return ETA_OP_READ;
	case LIO_WRITE:
		return ETA_OP_WRITE;
	default:
		return ETA_OP_OTHER;
	}
}

/* Body of aio_return of either name. */
#define RETURNS(name)                                                                              \
	const enum eta_op_kind kind = kind_of(request->aio_lio_opcode);                            \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	if (!op_begin(&op, FN_##name, request->aio_fildes, request->aio_nbytes,                    \
		      request->aio_offset, CALLER))                                                \
		return REAL(name)(request);                                                        \
	if (kind != ETA_OP_OTHER)                                                                  \
		op_kind(&op, kind);                                                                \
	n = REAL(name)(request);                                                                   \
	op_end(&op, kind, n < 0 ? -errno : n, op.offset);                                          \
	return n

EXPORT ssize_t aio_return(struct aiocb *request)
{
	RETURNS(aio_return);
}

EXPORT ssize_t aio_return64(struct aiocb64 *request)
{
	RETURNS(aio_return64);
}

/* waits for any of several */
EXPORT int aio_suspend(const struct aiocb *const requests[], int n, const struct timespec *limit)
{
	ON_PATH(aio_suspend, OTHER, int, NULL, (requests, n, limit));
}

EXPORT int aio_suspend64(const struct aiocb64 *const requests[], int n,
			 const struct timespec *limit)
{
	ON_PATH(aio_suspend64, OTHER, int, NULL, (requests, n, limit));
}

EXPORT int aio_cancel(int fd, struct aiocb *request)
{
	ON_FD(aio_cancel, OTHER, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd, request));
}

EXPORT int aio_cancel64(int fd, struct aiocb64 *request)
{
	ON_FD(aio_cancel64, OTHER, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd, request));
}

EXPORT int lio_listio(int mode, struct aiocb *const requests[restrict], int n,
		      struct sigevent *restrict event)
{
	ON_PATH(lio_listio, OTHER, int, NULL, (mode, requests, n, event));
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const requests[restrict], int n,
			struct sigevent *restrict event)
{
	ON_PATH(lio_listio64, OTHER, int, NULL, (mode, requests, n, event));
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_AIO_FUNCTIONS(X)
#undef X
