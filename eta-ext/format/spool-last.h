/* A spool file that keeps its last records only: full windows go round in it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_LAST_H
#define ETA_SPOOL_LAST_H

#include "spool.h"

/* What is left free at the end of a window for the account of what it holds. */
#define SPOOL_LAST_BYTES sizeof(struct eta_window_record)

/*
 * Makes the full window of SPOOL ready to be stored at spool_place of its base_offset: fills it up,
 * and lets go of what stands there. FD: the file.
 */
void spool_last_turn(struct spool *spool, int fd);

#endif
