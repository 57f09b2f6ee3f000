/* FILE records: what calls say of their file by a number. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SPOOL_NAMES_H
#define POSIXIO_SPOOL_NAMES_H

#include "plugins/posixio/files.h"
#include "sink.h"

/* Stores FILE with its PATH in SPOOL, where there is room. */
void names_store(struct spool *spool, const struct file *file, const char *path, size_t path_bytes,
		 uint32_t fs_magic);

/* The same in a thread's file. Where that keeps its last records only, it is in its window now. */
void names_put(struct spool_sink_thread *sink, const struct file *file, const char *path,
	       size_t path_bytes, uint32_t fs_magic);

/* Is what calls of the thread say of file ID by its number in the window where they go? */
bool names_has(struct spool_sink_thread *sink, uint32_t id);

/* A window has begun. */
void names_forget(struct spool_sink_thread *sink);

#endif
