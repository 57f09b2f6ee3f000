/* Options of the kernel's side, shared by sci-kernel and sci-record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "kernel-options.h"

#include <errno.h>
#include <stdlib.h>

#define SIZE_LEAST (1 << 20)

/* Seconds, also fractions. */
static unsigned parse_seconds(const struct option_given *given, double max)
{
	const char *text = given->arg;
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= 0 && value <= max))
		option_error(given, "S is a number of seconds up to %.0f", max);
	return (unsigned)(value * 1000);
}

static void set_duration(const struct option_given *given)
{
	struct kernel_options *o = given->options;

	o->duration_ms = parse_seconds(given, 1e6);
	if (!o->duration_ms)
		option_error(given, "S is more than 0");
}

static uint64_t size_of(const struct option_given *given)
{
	uint64_t bytes = option_size(given);

	if (bytes < SIZE_LEAST)
		option_error(given, "SIZE is at least 1M");
	return bytes;
}

/* One of the two says what becomes of what has no room. */
static void check_sizes(const struct option_given *given)
{
	const struct kernel_options *o = given->options;

	if (o->max_bytes && o->last_bytes)
		option_error(given, "--max-size and --last do not go together: keep the first SIZE "
				    "bytes, or the last");
}

static void set_max_size(const struct option_given *given)
{
	struct kernel_options *o = given->options;

	o->max_bytes = size_of(given);
	check_sizes(given);
}

static void set_last(const struct option_given *given)
{
	struct kernel_options *o = given->options;

	o->last_bytes = size_of(given);
	check_sizes(given);
}

bool kernel_options_budget(const struct kernel_options *o, struct spool_budget *budget)
{
	if (!o->max_bytes && !o->last_bytes)
		return false;
	spool_budget_begin(budget, o->max_bytes ? o->max_bytes : o->last_bytes, o->last_bytes != 0);
	return true;
}

static void set_wait_writeback(const struct option_given *given)
{
	struct kernel_options *o = given->options;

	o->wait_writeback_ms = parse_seconds(given, 3600);
	o->wait_writeback_set = true;
}

static void set_backend(const struct option_given *given)
{
	struct kernel_options *o = given->options;

	if (kernelio_order_parse(given->arg, &o->order))
		option_error(given, "each at most once, of %s", kernelio_backend_names());
}

static void add_filter(const struct option_given *given)
{
	struct kernel_options *o = given->options;
	char why[256];

	if (kernelio_filter_add(&o->filters, (enum kernelio_filter_id)given->row->value, given->arg,
				why, sizeof(why)))
		option_error(given, "%s", why);
}

const struct option_row kernel_option_rows[] = {
	HEADING("Filters of the kernel's side:"),
#define X(id, option, argument, help)                                                              \
	{ option, 0, argument, help, CALLS(add_filter), .value = KERNELIO_FILTER_##id },
	KERNELIO_FILTERS(X)
#undef X
		{ "backend", 0, "NAME[,...]",
		  "use only these kinds of probes: fentry, kprobe, tp_btf, raw_tp, tracepoint",
		  CALLS(set_backend) },
	{ "light", 0, NULL,
	  "record only waits and their causes, without probes on system calls and the page cache",
	  SETS_FLAG(struct kernel_options, light) },
	HEADING("Size of the recording:"),
	{ "max-size", 0, "SIZE",
	  "store no more than SIZE bytes of records (K, M, G); the rest is counted, and the "
	  "program goes on",
	  CALLS(set_max_size) },
	{ "last", 0, "SIZE",
	  "keep the last SIZE bytes of records only: those before are overwritten, and counted",
	  CALLS(set_last) },
	HEADING("End of the kernel's side:"),
	{ "duration", 0, "S", "stop recording after S seconds; the program goes on",
	  CALLS(set_duration) },
	{ "wait-writeback", 0, "S",
	  "wait up to S seconds for writeback of the pages that the program left dirty (3; 0: do "
	  "not wait)",
	  CALLS(set_wait_writeback) },
	{ 0 },
};
