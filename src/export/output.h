/* A file that appears under its name when it is complete, or standard output. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_OUTPUT_H
#define SCI_EXPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
	FILE *file;	  /* to write to */
	const char *path; /* where it will be; NULL: standard output */
	const char *name; /* the last part of that */
	int folder;	  /* where that is, -1: standard output */
	mode_t mode;
	char *temporary; /* what it is called meanwhile; NULL: it has no name, or its own already */
	bool unnamed;	 /* it has none */
};

/*
 * Opens what will be PATH, the caller's, a file with MODE; NULL: standard output. Through no link,
 * and nothing of another user's is replaced. 0 or -errno, reported.
 */
int output_open(struct output *output, const char *path, mode_t mode);

/*
 * RC: of what was written, 0 or -errno, reported but for -EIO. Gives the file its name where all
 * went well, else nothing of it is left and an older one is as it was. 0 or -errno, reported.
 */
int output_close(struct output *output, int rc);

#endif
