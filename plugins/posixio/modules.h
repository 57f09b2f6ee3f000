/* What is mapped into the process, told to the spool, so that addresses can be named afterwards. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_MODULES_H
#define POSIXIO_MODULES_H

#include "eta-ext/spool.h"

/* A new process: FORKED from one that was traced, whose modules its reader knows. */
void modules_start(bool forked);

/* Writes the modules that came since the last time. SPOOL: the process's, locked by the caller. */
void modules_update(struct spool *spool);

#endif
