/* Paths of the files of resources.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FILE_NAMES_H
#define SCI_FILE_NAMES_H

#include "eta-ext/base/eta.h"
#include "resources.h"
#include "src/common/packet.h"

/* Of each file of the definitions the time in calls on it, by the name that it has there. */
struct name_times {
	uint64_t *ns; /* or NULL: none */
	uint32_t n;
};

/* FILE: index into DEFS, or ETA_NONE. 0 or -ENOMEM. */
int name_times_add(struct name_times *times, const struct eta_defs *defs, uint32_t file,
		   uint64_t ns);
/* 0 or -ENOMEM. */
int name_times_merge(struct name_times *into, const struct name_times *from);
/* To another process with the same definitions; there they are added. 0 or -errno. */
int name_times_put(const struct name_times *times, struct packet *p);
int name_times_take(struct name_times *times, const struct eta_defs *defs, struct packet *p);
void name_times_free(struct name_times *times);

/* A file of the definitions, by its key in resources.h. */
struct named {
	uint64_t dev, inode;
	uint64_t ns;	  /* in calls on it by this name */
	uint32_t used;	  /* by how many names of the definitions there were calls on it */
	uint32_t names;	  /* how many the definitions say that it had: struct eta_file */
	const char *path; /* of the definitions */
};

struct file_names {
	struct named *list;
	uint32_t n;
};

/*
 * Of several names of a file (it was renamed, or a later one has its inode) the one with most of
 * TIMES stands for it; NULL: there are none. 0 or -ENOMEM; file_names_free in either case.
 */
int file_names_new(const struct eta_defs *defs, const struct name_times *times,
		   struct file_names *names);
void file_names_free(struct file_names *names);
/* "" where it is not known. */
const char *file_name(const struct file_names *names, const struct resource_file *file);
/*
 * How many files had the inode of FILE one after the other, as where each is made, used and
 * removed: as many as it has names. One with few names was more likely renamed, or has links.
 */
uint32_t files_of_inode(const struct file_names *names, const struct resource_file *file);

#endif
