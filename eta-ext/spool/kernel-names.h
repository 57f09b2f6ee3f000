/* Inside of the spool source's kernel side: files that were opened by several names. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_KERNEL_NAMES_H
#define ETA_SPOOL_KERNEL_NAMES_H

#include "spool.h"

struct known;

/*
 * The kernel's records know a file by its device and inode. Its names are not those of one file
 * for ever: it is renamed, or removed and the inode is a later file's. The one by which most time
 * was spent in operations stands for it.
 */
struct kernel_names {
	struct kernel_name {
		uint64_t since_ns;
		uint64_t spent_ns;
		const char *path; /* interned */
		uint32_t file;	  /* of the definitions */
		uint32_t n;	  /* in the first one of a file: how many it has */
	} * list;
	size_t n, room;
	bool several;	     /* a file has more than one */
	struct known *files; /* of those that have: their first place in `list` */
};

/* RECORD is of FILE of the definitions. 0 or -ENOMEM. */
int names_note(struct kernel_names *names, struct eta_trace *trace, uint32_t file,
	       const struct eta_file_record *record);
/* All are noted; those of files that have one name are forgotten. 0 or -ENOMEM. */
int names_sort(struct kernel_names *names, const struct eta_trace *trace);
/* An operation on the file INODE of DEV took NS, until END_NS. */
void names_spent(struct kernel_names *names, uint32_t dev, uint64_t inode, uint64_t end_ns,
		 uint64_t ns);
/* Gives each file its name in the definitions, and how many it had. */
void names_choose(struct kernel_names *names, struct eta_trace *trace);
void names_free(struct kernel_names *names);

#endif
