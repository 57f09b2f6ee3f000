/* Status of block requests as error numbers. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_STATUS_H
#define KERNELIO_STATUS_H

#include "compat.h"

/*
 * X(status, errno), as blk_status_to_errno translates. The numbers of the zone statuses differ
 * between kernels: they become EIO.
 */
#define STATUSES(X)                                                                                \
	X(1, 95)  /* not supported: EOPNOTSUPP */                                                  \
	X(2, 110) /* timeout: ETIMEDOUT */                                                         \
	X(3, 28)  /* no space: ENOSPC */                                                           \
	X(4, 67)  /* transport: ENOLINK */                                                         \
	X(5, 121) /* target: EREMOTEIO */                                                          \
	X(6, 52)  /* reservation: EBADE */                                                         \
	X(7, 61)  /* medium: ENODATA */                                                            \
	X(8, 84)  /* protection: EILSEQ */                                                         \
	X(9, 12)  /* resource: ENOMEM */                                                           \
	X(12, 11) /* would block: EAGAIN */                                                        \
	X(13, 16) /* device resource: EBUSY */

static __always_inline int32_t status_errno(blk_status_t status)
{
	switch (status) {
	case 0:
		return 0;
#define X(status, error)                                                                           \
	case status:                                                                               \
		return -error;
		STATUSES(X)
#undef X
	default:
		return -5; /* EIO */
	}
}

#endif
