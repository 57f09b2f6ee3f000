/* Inside of the OTF2 writer: what the files that write definitions share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_OTF2_DEFS_H
#define ETA_WRITE_OTF2_DEFS_H

#include "write.h"

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

static inline OTF2_AttributeValue defs_value32(uint32_t number)
{
	return (OTF2_AttributeValue){ .uint32 = number };
}

static inline OTF2_AttributeValue defs_value64(uint64_t number)
{
	return (OTF2_AttributeValue){ .uint64 = number };
}

/* ---- strings (write-strings.c) ---- */

/* The id of TEXT, which is written when it is new. One that is longer than fits is cut. */
uint32_t defs_string(struct defs *defs, const char *text);
void defs_strings_free(struct defs *defs);

/* ---- hosts, processes, threads, devices (write-tree.c) ---- */

/* One node per host, then one per block device, in the order of locations. */
void defs_system_tree(struct defs *defs);
/* The node of HOST; where there are several, an unknown one has none. */
OTF2_SystemTreeNodeRef defs_node_of(const struct defs *defs, const char *host);
/* The location group of PROCESS, written when it is new. */
uint32_t defs_process_group(struct defs *defs, uint32_t process);
void defs_locations(struct defs *defs);

/* ---- properties that are texts, modules and stacks (write-properties.c) ---- */

/* Those of the trace that are too long for the anchor file; behind the system tree. */
void defs_long_properties(struct defs *defs);
/* Those of processes; behind the locations. */
void defs_process_properties(struct defs *defs);
void defs_addresses(struct defs *defs);

#endif
