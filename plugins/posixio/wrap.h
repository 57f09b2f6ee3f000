/* What the files of wrappers share: a wrapper is one row of functions.h and one SHAPE_ macro. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_WRAP_H
#define POSIXIO_WRAP_H

/* the plain names, not the compiler's checked or redirected ones */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include "core.h"

#define CALLER __builtin_return_address(0)

/*
 * Body of a transfer: TRACE, or only forward. OFFSET is AT_POSITION where the call uses and moves
 * the file's own position.
 */
#define TRANSFER(name, kind, fd, size, offset, args)                                               \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	if (!op_begin(&op, FN_##name, fd, size, offset, CALLER))                                   \
		return REAL(name) args;                                                            \
	n = REAL(name) args;                                                                       \
	op_end_transfer(&op, ETA_OP_##kind, n);                                                    \
	return n

#endif
