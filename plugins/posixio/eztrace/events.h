/* Calls as events of EZTrace's archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_EVENTS_H
#define POSIXIO_EZTRACE_EVENTS_H

#include <stdbool.h>

/* Only events are written: EZTrace itself gathers the definitions. */
extern bool events_plain;

/* No other module is there to be shielded from, which is a tenth of what a call costs. */
extern bool events_alone;

/* Gives EZTrace the names of attributes and functions; after the two above are set. */
void events_register(void);

#endif
