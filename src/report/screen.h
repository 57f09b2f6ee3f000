/* How much room a terminal has; COLUMNS and LINES override, as in other tools. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SCREEN_H
#define SCI_SCREEN_H

#include <stdbool.h>

/* 0: not a terminal, lines may be as long as they get, and as many. */
unsigned screen_width(int fd);
unsigned screen_height(int fd);
/* Is it a terminal that shows UTF-8? */
bool screen_has_blocks(int fd);

#endif
