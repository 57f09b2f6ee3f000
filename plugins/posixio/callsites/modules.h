/* The modules of the process: the program, its libraries, what dlopen added. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_MODULES_H
#define POSIXIO_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES_MAX_BUILD_ID 64 /* bytes */

/* One module; what it points to is gone after the call that gives it. */
struct module_found {
	bool program;	     /* no library */
	uint64_t time_ns;    /* when it was met */
	uint64_t start, end; /* addresses, the last one excluded */
	uint64_t bias;	     /* address - bias is an address as in the file */
	const unsigned char *build_id;
	size_t build_id_bytes; /* 0: none */
	const char *path;      /* absolute where that can be known */
};

typedef void modules_take(const struct module_found *module);

/* Before the first look of a process; FORKED: it goes on with what its parent knew. */
void modules_start(bool forked);

/*
 * Gives TAKE each module that was not there at the last look. The dynamic linker's lock is held
 * meanwhile, so hold none over this call that a callback of dl_iterate_phdr may come to want.
 */
void modules_update(modules_take *take);

#endif
