/* What stands behind a function of ours that has another's name (libotf2's, the C library's). */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EZTRACE_NEXT_H
#define SCI_EZTRACE_NEXT_H

#include <dlfcn.h>

/* The function behind ours of the same NAME, looked up once. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static __typeof__(name) *next_;                                                    \
                                                                                                   \
		if (!next_)                                                                        \
			next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                       \
		next_;                                                                             \
	})

#endif
