/* The probes' rows, and what is said of them: a line per level, with what is missing and why. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "backend.h"
#include "internal.h"

static const char *const span_regions[ETA_N_SPANS] = {
#define X(id, region) [ETA_SPAN_##id] = region,
	ETA_SPANS(X)
#undef X
};

static struct probe rows[KERNELIO_N_PROBES] = {
#define X(program, tracepoint, in_level, how)                                                      \
	[KERNELIO_PROBE_##program] = { .programs = { #program },                                   \
				       .target = #tracepoint,                                      \
				       .level = ETA_LEVEL_##in_level,                              \
				       .need = NEED_##how },
	KERNELIO_PROBES(X)
#undef X
#define X(function, span)                                                                          \
	[KERNELIO_PROBE_enter_##                                                                   \
		function] = { .programs = { "enter_" #function, "return_" #function },             \
			      .target = #function,                                                 \
			      .need = NEED_EXTRA },
		KERNELIO_FUNCTIONS(X)
#undef X
};

/* What other lists say of a row. */
static void complete_rows(void)
{
	enum eta_reason reason;

#define X(program, of) rows[KERNELIO_PROBE_##program].category = #of;
	KERNELIO_CATEGORIES(X)
#undef X
#define X(function, span)                                                                          \
	eta_region_name_split(span_regions[ETA_SPAN_##span],                                       \
			      &rows[KERNELIO_PROBE_enter_##function].level, &reason);
	KERNELIO_FUNCTIONS(X)
#undef X
}

const struct probe *probes_row(size_t i)
{
	if (!rows[KERNELIO_PROBE_on_get_pages].category)
		complete_rows();
	return &rows[i];
}

static bool is_function(size_t i)
{
	return i >= KERNELIO_N_TRACEPOINTS;
}

/* " fentry a b, tp_btf c d" */
static void say_in_use(const struct kernelio *k, unsigned level, char *text, size_t size)
{
	for (unsigned backend = 1; backend < KERNELIO_N_BACKENDS; backend++) {
		bool first = true;

		for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
			if (probes_row(i)->level != level || k->backend[i] != backend)
				continue;
			if (first)
				text_append(text, size, "%s %s", text[0] ? "," : "",
					    kernelio_backend_name(backend));
			text_append(text, size, " %s", probes_row(i)->target);
			first = false;
		}
	}
}

/* " (no fentry: refused ..., no kprobe: ...)" where the level's functions are recorded by none. */
static void say_no_bounds(const struct kernelio *k, unsigned level, char *text, size_t size)
{
	bool idle = false, first = true;

	for (size_t i = KERNELIO_N_TRACEPOINTS; i < KERNELIO_N_PROBES; i++) {
		if (probes_row(i)->level != level)
			continue;
		if (k->backend[i])
			return;
		idle = idle || strcmp(k->why[i], PROBES_ABSENT) != 0;
	}
	for (unsigned backend = 1; idle && backend < KERNELIO_N_BACKENDS; backend++) {
		if (!kernelio_backend_list[backend].functions || !k->why_not[backend][0])
			continue;
		text_append(text, size, "%sno %s: %s", first ? " (" : ", ",
			    kernelio_backend_name(backend), k->why_not[backend]);
		first = false;
	}
	if (!first)
		text_append(text, size, ")");
}

/* "sched_switch refused ..., ..." */
static void say_missing(const struct kernelio *k, unsigned level, char *text, size_t size)
{
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		const struct probe *row = probes_row(i);
		/* an extra one is only missed where the kernel has it and does not take ours */
		bool lacks = row->need != NEED_EXTRA || strstr(k->why[i], "refused") ||
			     strstr(k->why[i], "attached");

		if (row->level != level || k->backend[i] || !lacks ||
		    strcmp(k->why[i], PROBES_LIGHT) == 0 ||
		    strncmp(k->why[i], PROBES_REPLACED, strlen(PROBES_REPLACED)) == 0)
			continue;
		text_append(text, size, "%s%s %s", text[0] ? ", " : "", row->target, k->why[i]);
	}
	if (level == ETA_LEVEL_FS)
		modules_say_without_types(k, text, size);
}

void probes_describe(struct kernelio *k)
{
	k->backends[0] = k->missing[0] = '\0';
	for (unsigned level = 0; level < ETA_N_LEVELS; level++) {
		const char *name = eta_level_name((enum eta_level)level);
		char in_use[sizeof(k->levels[0])] = "", missing[sizeof(k->levels[0])] = "";
		char *line = k->levels[level];

		say_in_use(k, level, in_use, sizeof(in_use));
		say_no_bounds(k, level, in_use, sizeof(in_use));
		say_missing(k, level, missing, sizeof(missing));
		line[0] = '\0';
		if (in_use[0]) {
			text_append(line, sizeof(k->levels[0]), "%s:%s", name, in_use);
			text_append(k->backends, sizeof(k->backends), "%s%s:%s",
				    k->backends[0] ? "; " : "", name, in_use);
		}
		if (missing[0] && probes_wants(k, (enum eta_level)level)) {
			text_append(line, sizeof(k->levels[0]), "%s missing: %s",
				    in_use[0] ? ";" : name, missing);
			text_append(k->missing, sizeof(k->missing), "%s%s: %s",
				    k->missing[0] ? "; " : "", name, missing);
		}
	}
}

const char *kernelio_missing(const struct kernelio *k)
{
	return k->missing;
}

void kernelio_levels_print(const struct kernelio *k)
{
	for (unsigned level = 0; level < ETA_N_LEVELS; level++)
		if (k->levels[level][0])
			eta_note("%s", k->levels[level]);
}

/* Why nothing serves probe I: of a function that is there, what each kind of probe lacks. */
static void say_why(const struct kernelio *k, size_t i, char *text, size_t size)
{
	bool idle = is_function(i) && strcmp(k->why[i], PROBES_ABSENT) != 0;

	text[0] = '\0';
	for (unsigned backend = 1; idle && backend < KERNELIO_N_BACKENDS; backend++)
		if (kernelio_backend_list[backend].functions && k->why_not[backend][0])
			text_append(text, size, "%sno %s: %s", text[0] ? ", " : "",
				    kernelio_backend_name(backend), k->why_not[backend]);
	if (!text[0])
		text_append(text, size, "%s", k->why[i]);
}

/* Each kind of probe: how many it serves, or why it serves none. */
static void print_backends(const struct kernelio *k, FILE *out)
{
	fprintf(out, "\n%-12s %s\n", "kind", "serves");
	for (unsigned backend = 1; backend < KERNELIO_N_BACKENDS; backend++) {
		const char *name = kernelio_backend_name(backend);
		unsigned n = 0;

		for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
			n += k->backend[i] == backend;
		if (k->why_not[backend][0])
			fprintf(out, "%-12s -: %s\n", name, k->why_not[backend]);
		else
			fprintf(out, "%-12s %u probes\n", name, n);
	}
}

void kernelio_probes_print(const struct kernelio *k, FILE *out)
{
	fprintf(out, "%-10s %-10s %-36s %s\n", "level", "kind", "name", "served by");
	for (unsigned level = 0; level < ETA_N_LEVELS; level++) {
		for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
			const struct probe *row = probes_row(i);
			char why[512] = "";

			if (row->level != level)
				continue;
			if (!k->backend[i])
				say_why(k, i, why, sizeof(why));
			fprintf(out, "%-10s %-10s %-36s %s%s\n",
				eta_level_name((enum eta_level)level),
				is_function(i) ? "function" : "tracepoint", row->target,
				k->backend[i] ? kernelio_backend_name(k->backend[i]) : "-: ", why);
		}
	}
	print_backends(k, out);
	modules_print(k, out);
}
