/* A stream whose bytes become gzip, then base64: data inside of a page. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_PACK_H
#define SCI_HTML_PACK_H

#include <stdio.h>

/*
 * What is written to the stream goes packed to OUT; fclose of it writes the rest, EOF where that
 * failed. NULL: no memory.
 */
FILE *pack_open(FILE *out);

#endif
