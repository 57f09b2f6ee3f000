/* The I/O records that belong to a call on a file, for every source that knows calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

bool call_transfers(uint8_t kind)
{
	return kind == ETA_OP_READ || kind == ETA_OP_WRITE || kind == ETA_OP_SYNC;
}

enum eta_io_mode call_mode(uint8_t kind)
{
	return kind == ETA_OP_READ    ? ETA_IO_READ
	       : kind == ETA_OP_WRITE ? ETA_IO_WRITE
				      : ETA_IO_FLUSH;
}

bool call_end_io(const struct eta_call *call, struct eta_event *event)
{
	if (call->handle == ETA_NONE)
		return false;
	*event = (struct eta_event){ .handle = call->handle, .match = call->match };
	if (call_transfers(call->kind)) {
		event->kind = ETA_IO_COMPLETE;
		event->mode = call_mode(call->kind);
		event->has = ETA_HAS_SIZE;
		if (call->ret > 0 && call->kind != ETA_OP_SYNC)
			event->size = (uint64_t)call->ret;
		return true;
	}
	if (call->ret < 0)
		return false;
	switch (call->kind) {
	case ETA_OP_OPEN:
		event->kind = ETA_IO_CREATE;
		return true;
	case ETA_OP_CLOSE:
		event->kind = ETA_IO_DESTROY;
		return true;
	case ETA_OP_SEEK:
		event->kind = ETA_IO_SEEK;
		event->has = ETA_HAS_OFFSET;
		event->offset = call->at;
		return true;
	default:
		return false;
	}
}
