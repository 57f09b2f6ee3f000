/* Events of a location as one line of text, for the tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EVENTS_H
#define SCI_EVENTS_H

#include "eta-ext/base/eta.h"

/*
 * "+region@time" for an ENTER, "-region@time" for a LEAVE ('!' behind a made-up one), the others as
 * "begin@time". TEXT holds ROOM bytes. What eta_cursor_read gave at the end.
 */
ssize_t events_print(struct eta_trace *trace, uint32_t location, char *text, size_t room);

/* Only the ENTERs and LEAVEs of it. */
ssize_t events_print_regions(struct eta_trace *trace, uint32_t location, char *text, size_t room);

#endif
