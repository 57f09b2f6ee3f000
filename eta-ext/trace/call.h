/* Inside of eta-ext: the I/O records that belong to a call on a file, besides its region. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CALL_H
#define ETA_CALL_H

#include "eta-ext/base/eta.h"
#include "eta-ext/format/record.h"

/* A call as far as its end needs it. */
struct eta_call {
	uint64_t end_ns; /* 0: it did not end */
	int64_t ret;
	int64_t at; /* SEEK: the new position */
	uint64_t match;
	uint32_t region;
	uint32_t handle;
	uint8_t kind; /* enum eta_op_kind */
};

/* Does a call of KIND (enum eta_op_kind) transfer, or flush? */
bool call_transfers(uint8_t kind);
/* As what; KIND is one for which the above is true. */
enum eta_io_mode call_mode(uint8_t kind);

/* What the end of CALL says of its handle, into EVENT, without the time; false: nothing. */
bool call_end_io(const struct eta_call *call, struct eta_event *event);

#endif
