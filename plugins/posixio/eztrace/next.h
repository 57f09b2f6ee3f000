/* What stands behind a function of ours that has another's name (libotf2's, the C library's). */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EZTRACE_NEXT_H
#define SCI_EZTRACE_NEXT_H

#include <dlfcn.h>

/* One for each place that asks: all are looked up when the library is loaded (see real.c). */
struct next_function {
	const char *name;
	void *function;
};

/* The function behind ours of the same NAME. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static struct next_function next_                                                  \
			__attribute__((section("sci_next"), used)) = { #name, NULL };              \
                                                                                                   \
		if (!next_.function)                                                               \
			next_.function = dlsym(RTLD_NEXT, #name);                                  \
		(__typeof__(name) *)next_.function;                                                \
	})

#endif
