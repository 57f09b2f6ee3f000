/* What the wrappers share: each is one row of functions.h and a function or a shape. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_WRAP_H
#define POSIXIO_WRAP_H

/* the plain names, not the compiler's checked or redirected ones */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include <sys/uio.h>

#include "op.h"

/* glibc's syscall, which takes what a system call takes. */
typedef long raw_call(long number, long a, long b, long c, long d, long e, long f);

/* A system call by which a program may lock itself in: NUMBER, in confine.c. */
long confine_syscall(raw_call *next, long number, long a, long b, long c, long d, long e, long f);

#define CALLER __builtin_return_address(0)

/* The shape of a row whose wrapper is a function in the group's file. */
#define SHAPE_OWN(name, kind, type, detail)

/*
 * How many bytes VECTOR asks for, of which the call that took it has given N: after a success alone
 * has the kernel read it all, so that it can be read here too (unless another thread unmaps it in
 * this moment, as if it could do so during the call). A read may have overwritten it.
 */
static inline uint64_t vector_bytes(const struct iovec *vector, size_t n_vectors, ssize_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n_vectors && i < IOV_MAX; i++)
		bytes += vector[i].iov_len;
	return bytes < (uint64_t)n || bytes > SSIZE_MAX ? (uint64_t)n : bytes;
}

/*
 * Body of a transfer: TRACE, or only forward. OFFSET is AT_POSITION where the call uses and moves
 * the file's own position.
 */
#define TRANSFER(name, kind, fd, size, offset, args)                                               \
	TRANSFER_AS(name, kind, fd, size, offset, false, args)

/* The same for a call that says where. */
#define TRANSFER_AT(name, kind, fd, size, offset, args)                                            \
	TRANSFER_AS(name, kind, fd, size, offset, true, args)

#define TRANSFER_AS(name, kind, fd, size, offset, given, args)                                     \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	if (!op_begin_transfer(&op, FN_##name, fd, size, offset, given, CALLER))                   \
		return REAL(name) args;                                                            \
	n = REAL(name) args;                                                                       \
	op_end_transfer(&op, ETA_OP_##kind, fd, n);                                                \
	return n

/* The same of a vector: how many bytes it asks for is known once the call is done. */
#define TRANSFER_VECTOR(name, kind, fd, vector, n_vectors, offset, given, args)                    \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	if (!op_begin_as(&op, FN_##name, fd, 0, offset, CALLER, false, given))                     \
		return REAL(name) args;                                                            \
	n = REAL(name) args;                                                                       \
	if (likely(n >= 0))                                                                        \
		op_size(&op, vector_bytes(vector, (size_t)(n_vectors), n));                        \
	op_end_transfer(&op, ETA_OP_##kind, fd, n);                                                \
	return n

/* Body of another call on a descriptor, that gives -1 and errno, or RESULT. */
#define ON_FD(name, kind, type, fd, size, place, result, args)                                     \
	struct op op;                                                                              \
	type ret;                                                                                  \
                                                                                                   \
	if (!op_begin(&op, FN_##name, fd, size, place, CALLER))                                    \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end(&op, ETA_OP_##kind, ret == -1 ? -errno : (int64_t)(result), op.offset);             \
	return ret

/* Body of a call that closes FD and gives 0, or -1 and errno. */
#define CLOSES(name, fd, args)                                                                     \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!op_begin_close(&op, FN_##name, fd, CALLER))                                           \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end_close(&op, ret);                                                                    \
	return ret

/* Body of a call on a path, or (NULL) on no file at all. */
#define ON_PATH(name, kind, type, path, args)                                                      \
	struct op op;                                                                              \
	type ret;                                                                                  \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER))                                                \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end_path(&op, ETA_OP_##kind, ret == -1 ? -errno : ret, path);                           \
	return ret

#endif
