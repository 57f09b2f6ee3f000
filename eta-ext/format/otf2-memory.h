/* Memory of libotf2's buffers: how much each location may take before its events go to the file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OTF2_MEMORY_H
#define ETA_OTF2_MEMORY_H

#include <otf2/otf2.h>

/*
 * For ARCHIVE, just opened to be written. Left to itself libotf2 keeps up to 128 MiB of each
 * location, and takes memory from the system for each chunk, whose pages all fault. With this a
 * location has CHUNKS of them (1 to OTF2_MEMORY_CHUNKS), which are written when all are full, and
 * used again.
 */
OTF2_ErrorCode otf2_memory_bound(OTF2_Archive *archive, unsigned chunks);

enum { OTF2_MEMORY_CHUNKS = 4 };

#endif
