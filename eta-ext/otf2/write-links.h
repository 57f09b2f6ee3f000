/* Inside of the OTF2 writer: archives whose events are in the files of those that were merged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_OTF2_LINKS_H
#define ETA_WRITE_OTF2_LINKS_H

#include "write-defs.h"

/*
 * Can what was merged be linked: is each location one of one archive of ours? In the place of
 * writing events; fills WRITER's numbers of them. 0 or -errno, reported.
 */
int write_links_begin(struct archive_writer *writer, const struct write_place *place);

/* How large a chunk must be for the local definitions of TRACE. */
uint64_t write_links_chunk(const struct eta_trace *trace);

/* How the references and times of LOCATION become those of the result. */
OTF2_ErrorCode write_links_local(struct archive_writer *writer, uint32_t location);

/* What the reader has to know of each input. */
void write_links_inputs(struct defs *defs);

/* The files of events, and those of local definitions that are as that of another location. */
int write_links_files(struct archive_writer *writer, const struct write_place *place);

#endif
