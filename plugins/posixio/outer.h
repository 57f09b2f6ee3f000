/* Calls of other libraries around those of this one: how such a library has them recorded. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_OUTER_H
#define POSIXIO_OUTER_H

#include <stdbool.h>
#include <stdint.h>

/* The functions of the library that asks, by their numbers; not to be changed. */
struct sci_outer_names {
	unsigned n;
	const char *const *names;
	const unsigned char *kinds; /* enum eta_op_kind */
};

/* One call, from entry to return, in the memory of its caller. */
struct sci_outer {
	void *thread;
	uint64_t at;
};

/* What is known when it returns. */
struct sci_outer_result {
	uint64_t size;	/* bytes asked for */
	int64_t offset; /* in the file, INT64_MIN: unknown */
	int64_t ret;	/* bytes, or -errno */
	uint32_t file;	/* by sci_outer_file, 0: unknown */
};

/*
 * By dlsym in libsci-posixio, which may not be there. False: the call is not recorded, and is not
 * to be ended.
 */
bool sci_outer_begin(struct sci_outer *call, const struct sci_outer_names *names, unsigned number,
		     const void *caller);
void sci_outer_end(struct sci_outer *call, const struct sci_outer_result *result);
/* A number for the file at PATH, which is there; 0: none. */
uint32_t sci_outer_file(const char *path);

#endif
