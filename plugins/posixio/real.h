/* The functions behind ours, and what is recorded of which. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_REAL_H
#define POSIXIO_REAL_H

#include <stdbool.h>

#include "attributes.h"
#include "files.h"
#include "functions.h"

extern void *real_functions[N_FUNCTIONS];
extern const char *const function_names[N_REGIONS];
/* The levels of detail (last column of functions.h) that are asked for. */
#define DETAIL_CALL true
#define DETAIL_CHARS (detail_chars)
#define DETAIL_METADATA (files_metadata)
#define DETAIL_NEVER false
extern bool detail_chars;

/* Reads from the environment what is asked for. */
void details_read(void);

/* Can there be records of FN, at the levels that are asked for? */
bool function_recorded(enum function fn);

extern const unsigned char function_kinds[N_REGIONS]; /* enum eta_op_kind */

/* The function behind ours; a raw system call while the dynamic linker cannot find it yet. */
void *real_resolve(enum function fn);

/* Looks all of them up, before the program runs. */
void real_resolve_all(void);

/* Forgets those of libraries that may be gone. */
void real_forget_late(void);

#define REAL(name)                                                                                 \
	({                                                                                         \
		void *real_ = __atomic_load_n(&real_functions[FN_##name], __ATOMIC_RELAXED);       \
                                                                                                   \
		(__typeof__(name) *)(likely(real_ != NULL) ? real_ : real_resolve(FN_##name));     \
	})

/*
 * The system call that does what a function of the list does, for calls that come before the
 * dynamic linker can be asked; NULL for stdio. In raw.c.
 */
void *raw_function(enum function fn);

#endif
