/* Which rank of an MPI job this process is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SPOOL_RANK_H
#define POSIXIO_SPOOL_RANK_H

/* Gives PUT a name and a value for each thing that the launcher gives this process. */
void rank_put(void (*put)(const char *name, const char *value));

#endif
