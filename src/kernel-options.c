/* Options of the kernel's side that sci-kernel and sci-record have alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "kernel-options.h"

#include <errno.h>
#include <stdlib.h>

/* Beyond the keys of the commands' own options. */
enum { KEY_DURATION = 1024, KEY_WAIT_WRITEBACK, KEY_BACKEND, KEY_FILTERS };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Filters of what is recorded in the kernel:", 1 },
#define X(id, option, argument, help)                                                              \
	{ option, KEY_FILTERS + KERNELIO_FILTER_##id, argument, 0, help, 1 },
	KERNELIO_FILTERS(X)
#undef X
		{ "backend", KEY_BACKEND, "NAME[,...]", 0,
		  "By probes of these kinds only: fentry, kprobe, tp_btf, raw_tp, tracepoint", 1 },
	{ NULL, 0, NULL, 0, "End of the recording in the kernel:", 2 },
	{ "duration", KEY_DURATION, "S", 0, "After S seconds; the program goes on", 2 },
	{ "wait-writeback", KEY_WAIT_WRITEBACK, "S", 0,
	  "Write out what the program left dirty, for up to S seconds (default: 3; 0: do not)", 2 },
	{ 0 },
};

/* Seconds, of which there may be parts. */
static unsigned parse_seconds(const char *text, double max, struct argp_state *state)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= 0 && value <= max))
		argp_error(state, "%s: S is a number of seconds up to %.0f", text, max);
	return (unsigned)(value * 1000);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct kernel_options *o = state->input;
	char why[256];

	switch (key) {
	case KEY_DURATION:
		o->duration_ms = parse_seconds(arg, 1e6, state);
		if (!o->duration_ms)
			argp_error(state, "%s: S is more than that", arg);
		return 0;
	case KEY_WAIT_WRITEBACK:
		o->wait_writeback_ms = parse_seconds(arg, 3600, state);
		o->wait_writeback_set = true;
		return 0;
	case KEY_BACKEND:
		if (kernelio_order_parse(arg, &o->order))
			argp_error(state, "%s: NAME[,...] are, once each, of: %s", arg,
				   kernelio_backend_names());
		return 0;
	default:
		if (key < KEY_FILTERS || key >= KEY_FILTERS + KERNELIO_N_FILTERS)
			return ARGP_ERR_UNKNOWN;
		if (kernelio_filter_add(&o->filters, (enum kernelio_filter_id)(key - KEY_FILTERS),
					arg, why, sizeof(why)))
			argp_error(state, "%s: %s", arg, why);
		return 0;
	}
}

const struct argp kernel_argp = { .options = options, .parser = parse_option };
