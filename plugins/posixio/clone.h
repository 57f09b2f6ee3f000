/* What makes processes and threads beside fork and pthread_create, and takes libraries away. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_LIFE_H
#define POSIXIO_LIFE_H

/* Looks up the functions behind ours, before the program runs. */
void clone_resolve(void);

#endif
