/* Inside of the OTF2 writer's definitions: its two files share this. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_OTF2_DEFS_H
#define ETA_WRITE_OTF2_DEFS_H

#include "write-otf2.h"

struct string;

/* Definitions being written; the first failure stays in `code` and the rest does nothing. */
struct defs {
	struct archive_writer *writer;
	const struct eta_defs *eta;
	OTF2_GlobalDefWriter *out;
	OTF2_ErrorCode code;
	struct string *strings;
	uint32_t n_strings;
	const char **hosts;
	uint32_t n_hosts;
	struct known *nodes;	 /* hosts by their name */
	uint32_t n_groups;	 /* location groups so far */
	uint32_t *process_group; /* per process; ETA_NONE: not yet */
	uint32_t *kernel_group;	 /* per host */
	uint32_t unknown_group;	 /* threads of no known process */
};

#define WRITE(defs, what, ...)                                                                     \
	do {                                                                                       \
		if ((defs)->code == OTF2_SUCCESS)                                                  \
			(defs)->code = OTF2_GlobalDefWriter_Write##what((defs)->out, __VA_ARGS__); \
	} while (0)

/* The id of TEXT, which is written when it is new. One that is longer than fits is cut. */
uint32_t defs_string(struct defs *defs, const char *text);
/* The location group of PROCESS, written when it is new. */
uint32_t defs_process_group(struct defs *defs, uint32_t process);

/* ---- properties that are texts, modules and stacks (write-otf2-properties.c) ---- */

/* Those of the trace that are too long for the anchor file; behind the system tree. */
void defs_long_properties(struct defs *defs);
/* Those of processes; behind the locations. */
void defs_process_properties(struct defs *defs);
void defs_addresses(struct defs *defs);

#endif
