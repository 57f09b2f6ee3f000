/* Inside of the OTF2 source: events of one location. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SOURCE_OTF2_CURSOR_H
#define ETA_SOURCE_OTF2_CURSOR_H

#include "source.h"

int otf2_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
ssize_t otf2_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch);
void otf2_cursor_close(struct eta_cursor *cursor);

/* Time of the first event, left alone where there is none or it is damaged. */
int otf2_first_event(struct eta_trace *trace, uint32_t location, uint64_t *time_ns);

#endif
