/* Events of a location as one line of text, for the tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include <stdio.h>

static const char *const words[] = {
	[ETA_ENTER] = "+",
	[ETA_LEAVE] = "-",
	[ETA_IO_BEGIN] = "begin",
	[ETA_IO_ISSUED] = "issued",
	[ETA_IO_COMPLETE] = "complete",
	[ETA_IO_SEEK] = "seek",
	[ETA_IO_CREATE] = "create",
	[ETA_IO_DESTROY] = "destroy",
	[ETA_MARK] = "mark",
};

static ssize_t print(struct eta_trace *trace, uint32_t location, char *text, size_t room,
		     bool regions_only)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	size_t used = 0;
	ssize_t n = eta_cursor_open(trace, location, &cursor);

	text[0] = '\0';
	if (n < 0)
		return n;
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (const struct eta_event *e = batch; e < batch + n && used < room; e++) {
			if (regions_only && e->kind > ETA_LEAVE)
				continue;
			used += (size_t)snprintf(
				text + used, room - used, "%s%s%s@%llu%s", used ? " " : "",
				words[e->kind],
				e->kind <= ETA_LEAVE ? defs->regions[e->region].name : "",
				(unsigned long long)e->time_ns,
				e->has & ETA_EVENT_TRUNCATED ? "!" : "");
			if (regions_only && e->has & ETA_HAS_WHO && used < room)
				used += (size_t)snprintf(text + used, room - used, "~%llu",
							 (unsigned long long)e->who);
		}
	eta_cursor_close(cursor);
	return n;
}

ssize_t events_print(struct eta_trace *trace, uint32_t location, char *text, size_t room)
{
	return print(trace, location, text, room, false);
}

ssize_t events_print_regions(struct eta_trace *trace, uint32_t location, char *text, size_t room)
{
	return print(trace, location, text, room, true);
}
