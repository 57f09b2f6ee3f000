/* The options of a command as a table of rows. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "eta-ext/base/printable.h"
#include "nearest.h"

const char *argp_program_version = PACKAGE_STRING;

enum { FIRST_KEY = 256 }; /* of options without a letter, which are characters */

/* A row, and the struct that it sets a field of. */
struct set_row {
	const struct option_row *row;
	char *options;
};

struct parsing {
	const struct command_line *line;
	void *options;
	struct set_row *rows;
	struct argp_option *shown; /* the same for argp, with an end */
	size_t n;
	int group; /* of the last heading: argp sorts by it */
};

static bool is_row(const struct option_row *row)
{
	return row->name || row->help || row->part;
}

static size_t count_rows(const struct option_row *row)
{
	size_t n = 0;

	for (; is_row(row); row++)
		n += row->part ? count_rows(row->part) : 1;
	return n;
}

static int row_key(const struct parsing *p, size_t i)
{
	const struct option_row *row = p->rows[i].row;

	if (!row->name)
		return 0;
	return row->letter ? row->letter : FIRST_KEY + (int)i;
}

static void add_rows(struct parsing *p, const struct option_row *row, char *options)
{
	for (; is_row(row); row++) {
		if (row->part) {
			add_rows(p, row->part, options + row->at);
			continue;
		}
		p->group += !row->name;
		p->rows[p->n] = (struct set_row){ row, options };
		p->shown[p->n] = (struct argp_option){
			.name = row->name,
			.key = row_key(p, p->n),
			.arg = row->argument,
			.flags = (row->help ? 0 : OPTION_HIDDEN) |
				 (row->optional || row->otherwise ? OPTION_ARG_OPTIONAL : 0),
			.doc = row->help,
			.group = p->group,
		};
		p->n++;
	}
}

static void set_number(const struct option_row *row, uint64_t number, void *field)
{
	if (row->size == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else
		*(uint32_t *)field = (uint32_t)number;
}

void option_error(const struct option_given *given, const char *format, ...)
{
	char why[512];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	argp_error(given->state, "--%s=%s: %s", given->row->name, given->arg, why);
}

uint64_t option_number(const struct option_given *given, uint64_t min, uint64_t max)
{
	const char *text = given->arg;
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
		option_error(given, "%s is a number from %llu to %llu", given->row->argument,
			     (unsigned long long)min, (unsigned long long)max);
	return value;
}

uint64_t option_size(const struct option_given *given)
{
	static const char units[] = "KMG";
	char *end;
	double value = strtod(given->arg, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	for (ptrdiff_t u = unit ? unit - units : -1; u >= 0; u--)
		value *= 1024;
	if (end == given->arg || (*end && (!unit || end[1])) || !(value >= 1 && value < 1e15))
		option_error(given, "a size is a number with K, M or G, as 8M");
	return (uint64_t)value;
}

/*
 * --mode: which others may read what is written. Its owner must be able to read and write, others
 * must not write.
 */
static mode_t parse_mode(const struct option_given *given)
{
	const char *text = given->arg;
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (end == text || *end || text[0] == '-' || (mode & 0600) != 0600 || mode & ~0644UL)
		option_error(given, "MODE is 600, 640, 604 or 644: others may read, and not write");
	return (mode_t)mode;
}

static void apply(const struct set_row *set, char *arg, struct argp_state *state)
{
	const struct option_row *row = set->row;
	struct option_given given = { row, set->options, arg, state };
	void *field = set->options + row->at;

	switch (row->kind) {
	case OPTION_CALL:
		row->call(&given);
		break;
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_TEXT:
		*(const char **)field = arg;
		break;
	case OPTION_NUMBER:
		set_number(row, arg ? option_number(&given, row->min, row->max) : row->otherwise,
			   field);
		break;
	case OPTION_MODE:
		*(mode_t *)field = parse_mode(&given);
		break;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct parsing *p = state->input;

	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].row->name && row_key(p, i) == key) {
			apply(&p->rows[i], arg, state);
			return 0;
		}
	state->input = p->options;
	return p->line->parser(key, arg, state);
}

/* What argp and getopt say, on its way to where it is shown. */
struct shown {
	FILE *errors;
	const struct parsing *p;
	size_t word; /* characters since the last blank */
};

enum { WORD_SHOWN = 4200 }; /* an option and a path */

/* The option that the N letters at NAME may be meant to be; NULL: none is near. */
static const char *option_like(const struct parsing *p, const char *name, size_t n)
{
	char given[64];
	const char *like = NULL;
	/* half of a short one may be wrong */
	unsigned best = n < 6 ? (unsigned)n / 2 + 1 : 4;

	if (n >= sizeof(given))
		return NULL;
	memcpy(given, name, n);
	given[n] = '\0';
	for (size_t i = 0; i < p->n; i++) {
		const struct option_row *row = p->rows[i].row;
		unsigned distance =
			row->name && row->help ? nearest_distance(given, row->name) : UINT_MAX;

		if (distance < best) {
			best = distance;
			like = row->name;
		}
	}
	return like;
}

/*
 * Names of files may be in it ("sci-merge *"): only the end of argp's and getopt's lines ends one.
 * A word may have 128 KiB: of that its beginning.
 */
static void put_printable(struct shown *to, const char *text, const char *end)
{
	static const char second[] = "\nTry `";
	char step[PRINTABLE_STEP];

	while (text < end) {
		bool ends = *text == '\n' &&
			    (text + 1 == end || ((size_t)(end - text) > strlen(second) &&
						 memcmp(text, second, strlen(second)) == 0));

		to->word = *text == ' ' || ends ? 0 : to->word + 1;
		text += printable_step(text, (size_t)(end - text), step);
		if (to->word < WORD_SHOWN)
			fputs(ends ? "\n" : step, to->errors);
		else if (to->word == WORD_SHOWN)
			fputs("...", to->errors);
	}
}

/* Getopt's words for an unknown option become ours, with the nearest one that there is. */
static ssize_t put_shown(void *to, const char *text, size_t size)
{
	static const char unknown[] = ": unrecognized option '";
	struct shown *shown = to;
	const char *end = text + size, *at = memmem(text, size, unknown, strlen(unknown));
	const char *option, *quote, *like;

	option = at ? at + strlen(unknown) : NULL;
	quote = at ? memmem(option, (size_t)(end - option), "'\n", 2) : NULL;
	if (!quote || quote - option < 2) {
		put_printable(shown, text, end);
		return (ssize_t)size;
	}
	like = option_like(shown->p, option + 2, strcspn(option + 2, "='"));
	fprintf(shown->errors, "%s: unknown option ", program_invocation_short_name);
	put_printable(shown, option, quote);
	if (like)
		fprintf(shown->errors, "; did you mean --%s?", like);
	put_printable(shown, quote + 1, end);
	return (ssize_t)size;
}

/*
 * argp_parse with our conventions: --help and --version on stdout with status 0, misuse as two
 * lines on stderr with status 2 (it exits).
 */
static void parse_shown(const struct argp *argp, int argc, char **argv, struct parsing *p)
{
	struct shown to = { .errors = stderr, .p = p };
	FILE *shown = fopencookie(&to, "w", (cookie_io_functions_t){ .write = put_shown });

	/* of the C library's variables: it is theirs, too */
	if (shown)
		stderr = shown;
	argp_err_exit_status = CLI_USAGE;
	argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, p);
	stderr = to.errors;
	if (shown)
		fclose(shown);
}

void options_parse(const struct command_line *line, int argc, char **argv, void *options)
{
	struct parsing p = { .line = line, .options = options };
	size_t n = count_rows(line->rows) + 1;

	p.rows = calloc(n, sizeof(*p.rows));
	p.shown = calloc(n, sizeof(*p.shown));
	if (!p.rows || !p.shown) {
		eta_error("not enough memory for the command line");
		exit(CLI_FAILED);
	}
	add_rows(&p, line->rows, options);
	parse_shown(&(struct argp){ .options = p.shown,
				    .parser = parse,
				    .args_doc = line->words,
				    .doc = line->doc },
		    argc, argv, &p);
	free(p.rows);
	free(p.shown);
}
