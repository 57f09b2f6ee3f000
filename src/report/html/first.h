/* The first screen of the page: html that says what matters without any script. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_FIRST_H
#define SCI_HTML_FIRST_H

#include "html.h"

/* -ENOMEM */
int html_first(FILE *out, const struct html *html);

#endif
