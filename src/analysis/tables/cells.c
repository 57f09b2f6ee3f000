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
