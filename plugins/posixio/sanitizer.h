/* Programs that a compiler's sanitizer is built into. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SANITIZER_H
#define POSIXIO_SANITIZER_H

/* The sanitizer of this program that would take the tracer's work for errors; NULL: none. */
const char *sanitizer_forbids(void);

#endif
