/* What a command may write to: nothing that a trace is made of, nothing that somebody else made. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_OUTPUTS_H
#define SCI_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

/* So many of what stands there are looked at. */
enum { OUTPUT_HEAD_BYTES = 4096 };

struct output_place {
	const char *path;    /* NULL: standard output */
	char *const *inputs; /* of this run, as they will be opened */
	size_t n_inputs;
	/*
	 * Does a file that begins with the SIZE bytes of HEAD, then a '\0', look like one that this
	 * command made, which may be replaced? Fewer than OUTPUT_HEAD_BYTES are all of it. NULL:
	 * the writer itself checks what is there.
	 */
	bool (*is_own)(const void *arg, const char *head, size_t size);
	const void *arg;
	const char *what; /* that is_own looks for: "csv of sci-export" */
};

/*
 * Refuses an output that is one of the inputs or a part of one (by any name of it), that lies in an
 * archive or a spool, or that something else stands at. 0 or -EINVAL, -EEXIST, reported.
 */
int output_check(const struct output_place *place);

/* The same for a FOLDER to put traces into, which need not be there yet. */
int output_check_folder(const char *folder);

/* "-", and any name of what standard output is. */
bool output_is_stdout(const char *path);

#endif
