/* Words and lines that several reports share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/plural.h"
#include "src/common/columns.h"
#include "src/common/clock-error.h"
#include "src/common/machines.h"
#include "words.h"

struct report_text report_score(double sci)
{
	return report_real(sci > 0 ? sci : 0, 2);
}

struct report_text report_verdict(const struct verdict *v)
{
	struct report_text c;

	if (v->share == 0)
		snprintf(c.text, sizeof(c.text), "%s", v->level);
	else
		snprintf(c.text, sizeof(c.text), "%s%s%s %.0f %%", v->level, *v->reason ? ": " : "",
			 word_of_reason(v->reason), 100 * v->share);
	return c;
}

const char *report_culprit(const struct analysis *a, const struct blame *b)
{
	const struct task_name *task;

	if (b->location != ETA_NONE)
		return a->defs->locations[b->location].name;
	if (blame_is_outside(b))
		return OUTSIDE_THE_JOB;
	if (b->culprits && !b->tid)
		return "others";
	task = analysis_task_name(a, b->tid);
	if (task)
		return task->thread;
	return b->tid ? "not traced" : "unknown";
}

const char *report_culprit_host(const struct analysis *a, const struct blame *b)
{
	if (b->location != ETA_NONE)
		return location_host(a->defs, b->location);
	return b->tid ? machine_name(a->defs, b->machine) : "";
}

struct report_text report_count(uint64_t n)
{
	static const char *const units[] = { "", " k", " M", " G", " T" };
	double value = (double)n;
	struct report_text t;
	size_t u = 0;

	for (; value >= (u ? 999.5 : 9999.5) && u + 1 < sizeof(units) / sizeof(*units); u++)
		value /= 1000;
	snprintf(t.text, sizeof(t.text), "%.*f%s", u && value < 9.95 ? 1 : 0, value, units[u]);
	return t;
}

struct report_text report_extent(uint64_t operations, uint64_t events, uint32_t locations,
				 uint64_t duration_ns)
{
	struct report_text t;

	snprintf(t.text, sizeof(t.text),
		 "%" PRIu64 " operation%s, %" PRIu64 " event%s, %" PRIu32 " location%s in %.32s",
		 operations, plural(operations), events, plural(events), locations,
		 plural(locations), report_duration((int64_t)duration_ns).text);
	return t;
}

struct report_text report_device(uint32_t dev)
{
	struct report_text t;

	snprintf(t.text, sizeof(t.text), "%u:%u", dev >> 20, dev & 0xfffff);
	return t;
}

struct report_text report_device_name(const struct analysis *a, uint32_t dev)
{
	struct report_text t;

	for (uint32_t i = 0; i < a->defs->n_locations; i++) {
		const struct eta_location *l = &a->defs->locations[i];

		if (l->kind != ETA_LOCATION_DEVICE || l->dev != dev)
			continue;
		snprintf(t.text, sizeof(t.text), "%s", l->name);
		return t;
	}
	snprintf(t.text, sizeof(t.text), "device %.32s", report_device(dev).text);
	return t;
}

#define LONG_PATH 40

struct report_text report_file(const struct analysis *a, const char *path, uint32_t dev,
			       uint64_t inode)
{
	size_t length = strlen(path);
	struct report_text t;

	if (length > LONG_PATH) {
		const char *end = path + length - LONG_PATH, *slash = strchr(end, '/');

		snprintf(t.text, sizeof(t.text), "...%s", slash ? slash : end);
	} else if (length) {
		snprintf(t.text, sizeof(t.text), "%s", path);
	} else if (inode) {
		snprintf(t.text, sizeof(t.text), "inode %" PRIu64 " on %.64s", inode,
			 report_device_name(a, dev).text);
	} else {
		snprintf(t.text, sizeof(t.text), "a file that is not known");
	}
	return t;
}

void report_reference_name(const struct analysis_options *options, char *text, size_t size)
{
	switch (options->reference) {
	case REFERENCE_MIN:
		snprintf(text, size, "min");
		break;
	case REFERENCE_SUPPORTED:
		snprintf(text, size, "supported");
		break;
	case REFERENCE_QUANTILE:
		snprintf(text, size, "quantile:%g", options->quantile);
		break;
	case REFERENCE_SOLO:
		snprintf(text, size, "solo");
		break;
	case REFERENCE_BASELINE:
		snprintf(text, size, "baseline:%s", eta_trace_path(options->baseline));
		break;
	}
}

void report_wrapped(FILE *out, const char *text, bool indent, unsigned width)
{
	size_t room = width > 20 ? width - 2 : 10000;
	char line[8192], *rest = line;

	/* it may name what programs have named */
	eta_printable(text, line, sizeof(line));
	while (columns_of(rest) > room) {
		size_t n = columns_fit(rest, room);

		/* nor between a number and its sign */
		while (n && (rest[n] != ' ' || rest[n + 1] == '%'))
			n--;
		if (n == 0)
			break;
		fprintf(out, "%s%.*s\n", indent ? "  " : "", (int)n, rest);
		rest += n + 1;
		indent = true;
	}
	fprintf(out, "%s%s\n", indent ? "  " : "", rest);
}

void report_counts(FILE *out, const struct eta_defs *defs, const struct eta_counts *c,
		   uint64_t open_bios, const struct report_unsure *unsure, bool published,
		   unsigned width)
{
	const struct {
		uint64_t n;
		const char *one, *many;
	} rows[] = {
		{ c->lost, "lost", "lost" },
		{ c->orphan, "orphan", "orphans" },
		{ c->truncated, "truncated", "truncated" },
		{ c->bad, "bad", "bad" },
		{ c->overlapping, "overlapping region", "overlapping regions" },
		{ c->out_of_order, "out of order", "out of order" },
		{ c->unmatched, "thread seen by one tracer", "threads seen by one tracer" },
		{ c->missing, "machine or rank missing", "machines and ranks missing" },
		{ open_bios, "block request without completion",
		  "block requests without completion" },
		{ unsure->n, unsure->one, unsure->many },
	};
	char line[512] = "data:";
	size_t used = strlen(line);
	uint64_t error_ns;

	/* losses of a kind that this trace does not have are not worth a word */
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if ((i < 3 || rows[i].n) && used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used,
						 "%s %" PRIu64 " %s", i ? "," : "", rows[i].n,
						 rows[i].n == 1 && !published ? rows[i].one
									      : rows[i].many);
	if (!published && used < sizeof(line) && clock_error_of(defs, &error_ns))
		snprintf(line + used, sizeof(line) - used, ", clocks %s%s",
			 error_ns == UINT64_MAX ? "differ by an unknown time"
						: "of machines to within ",
			 error_ns < INT64_MAX ? report_duration((int64_t)error_ns).text : "");
	report_wrapped(out, line, false, width);
}
