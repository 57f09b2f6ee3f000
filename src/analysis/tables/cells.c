/* The table of cells. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cells.h"

const struct cell_info cell_table[N_CELLS] = {
#define X(l, r, g) { ETA_LEVEL_##l, ETA_REASON_##r, GROUP_##g },
	CELLS(X)
#undef X
};

enum cell cell_of(enum eta_level level, enum eta_reason reason)
{
	enum cell plain = CELL_INHERITED;

	for (int c = 0; c < N_CELLS; c++) {
		if (cell_table[c].level != level)
			continue;
		if (cell_table[c].reason == reason)
			return (enum cell)c;
		if (cell_table[c].reason == ETA_REASON_NONE)
			plain = (enum cell)c;
	}
	return plain;
}

bool cell_is_of_some(enum cell cell)
{
	return cell_table[cell].group == GROUP_DIRTY;
}

bool cell_is_for_others(enum cell cell, uint32_t who)
{
	switch (cell_table[cell].group) {
	case GROUP_FILE:
	case GROUP_FS:
	case GROUP_DIRTY:
	case GROUP_DEVICE:
	case GROUP_SELF:
		return false;
	default: /* locks, CPUs, limits */
		break;
	}
	switch (cell_table[cell].reason) {
	case ETA_REASON_OTHER_LOCK:
	case ETA_REASON_OTHER_WAIT:
	case ETA_REASON_PAGE_LOCK:
		return who != 0;
	default:
		return true;
	}
}
