/* Mapped files: which file an address belongs to. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_MAPS_H
#define POSIXIO_MAPS_H

#include "files.h"

/*
 * BYTES at AT are FILE from OFFSET on; what was there before is gone. Beyond some thousands of
 * mappings at once a new one is not kept: calls on it are then calls on an unknown file.
 */
void maps_add(const void *at, size_t bytes, struct file *file, int64_t offset);

/* The file at AT, and where in it. NULL: not a mapping that we know. Not to be put. */
struct file *maps_find(const void *at, int64_t *offset);

/* Forgets [AT, AT + BYTES), before it is unmapped: later the address may be another's. */
void maps_remove(const void *at, size_t bytes);

/* Forgets everything: in the child of a fork files have other ids. */
void maps_forget(void);

#endif
