/* Paths of the files of resources.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FILE_NAMES_H
#define SCI_FILE_NAMES_H

#include "eta-ext/base/eta.h"
#include "resources.h"

/* A file of the definitions, by its key in resources.h. */
struct named {
	uint64_t dev, inode;
	const char *path; /* of the definitions */
};

struct file_names {
	struct named *list;
	uint32_t n;
};

/* 0 or -ENOMEM; file_names_free in either case. */
int file_names_new(const struct eta_defs *defs, struct file_names *names);
void file_names_free(struct file_names *names);
/* "" where it is not known. */
const char *file_name(const struct file_names *names, const struct resource_file *file);

#endif
