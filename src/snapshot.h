/* A copy of a recording while it goes on. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SNAPSHOT_H
#define SCI_SNAPSHOT_H

#include <sys/types.h>

/*
 * Copies what the spools of the recording DIRECTORY have now into folder OUTPUT (NULL: a new one,
 * DIRECTORY.snapshot), whose files get MODE. The recording goes on; one that has ended is copied
 * as it is. 0 or -errno, reported.
 */
int snapshot_take(const char *directory, const char *output, mode_t mode);

#endif
