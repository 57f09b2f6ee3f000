/* The page that web/ builds, which the data goes into. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_PAGE_H
#define SCI_HTML_PAGE_H

#include <stddef.h>

/* What stands before the first screen, between it and the data, and after the data. */
enum page_part { PAGE_BEFORE, PAGE_BETWEEN, PAGE_AFTER, N_PAGE_PARTS };

const char *page_part(enum page_part part, size_t *size);

#endif
