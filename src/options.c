/* The options of a command as a table of rows. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <stdlib.h>

#include "cli.h"

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

static void set_number(const struct option_row *row, const char *arg, void *field,
		       struct argp_state *state)
{
	uint64_t number =
		arg ? cli_number(arg, row->min, row->max, row->argument, state) : row->otherwise;

	if (row->size == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else
		*(uint32_t *)field = (uint32_t)number;
}

static void apply(const struct set_row *set, char *arg, struct argp_state *state)
{
	const struct option_row *row = set->row;
	void *field = set->options + row->at;

	switch (row->kind) {
	case OPTION_CALL:
		row->call(&(struct option_given){ row, set->options, arg, state });
		break;
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_TEXT:
		*(const char **)field = arg;
		break;
	case OPTION_NUMBER:
		set_number(row, arg, field, state);
		break;
	case OPTION_MODE:
		*(mode_t *)field = cli_mode(arg, state);
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
	cli_parse(&(struct argp){ .options = p.shown,
				  .parser = parse,
				  .args_doc = line->words,
				  .doc = line->doc },
		  argc, argv, &p);
	free(p.rows);
	free(p.shown);
}
