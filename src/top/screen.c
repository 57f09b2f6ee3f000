/* sci-top on a terminal: what is drawn, and what keys do. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"

#define KEYS_LINE "q quit  v view  T tree  s sort  f filter  l level  space freeze  h help"

static const char help[] =
	"q      quit\n"
	"v      rows: processes, threads, devices, containers\n"
	"T      tree: processes, each with its threads\n"
	"s      sort by the next column; S: as at first\n"
	"f      filter: FIELD=VALUE, or with !=, <, <=, >, >=; empty: none\n"
	"l      only what is slowed at one level: the next one; after the last all\n"
	"space  freeze: what is seen stays; again: go on\n"
	"h      this help\n"
	"\n"
	"SCI is the part of its lifetime that others took, by the records of the last\n"
	"seconds; the culprit took most of it. Any key goes back.\n";

static struct {
	bool frozen, help;
	char filter[128]; /* that the user typed */
	char level[64];	  /* the filter by level, "" all */
	int sorted;	  /* column, -1: as at first */
	char sort[64];
	const char *wrong; /* what is said in the last line */
	char why[256];
} seen = { .sorted = -1 };

int screen_begin(void)
{
	const char *no = getenv("NO_COLOR");

	setlocale(LC_CTYPE, "");
	/* initscr() ends the process where the terminal is not known */
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || !newterm(NULL, stdout, stdin)) {
		eta_error("standard output is no terminal that can be drawn on: give --batch or "
			  "--json");
		return -ENOTTY;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	/* colour says nothing that the text does not */
	if (!(no && *no) && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_CYAN, -1);
	}
	return 0;
}

void screen_end(void)
{
	endwin();
}

bool screen_frozen(void)
{
	return seen.frozen;
}

/* Lines of TEXT from ROW on; curses cuts them. The first LOUD are emphasized. */
static void put_lines(int row, const char *text, int loud)
{
	for (; *text && row < LINES - 1; row++) {
		size_t length = strcspn(text, "\n");

		if (loud-- > 0)
			attron(A_BOLD | COLOR_PAIR(1));
		mvaddnstr(row, 0, text, (int)length);
		attroff(A_BOLD | COLOR_PAIR(1));
		text += length + (text[length] == '\n');
	}
}

/* What the look is made of besides the command line's. */
static void apply(struct top_look *look, struct top_look *with)
{
	*with = *look;
	if (*seen.filter && with->table.n_filters < TABLE_FILTERS)
		with->table.filters[with->table.n_filters++] = seen.filter;
	if (*seen.level && with->table.n_filters < TABLE_FILTERS)
		with->table.filters[with->table.n_filters++] = seen.level;
	if (seen.sorted >= 0)
		with->table.sort = seen.sort;
	with->table.width = (unsigned)COLS;
	with->table.top = LINES > 6 ? (unsigned)LINES - 6 : 1;
	with->table.top_is_fitted = true;
}

static void put_frame(const struct frame *f, const struct top_look *look)
{
	const struct view *view = look->tree ? &top_process : look->view;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	seen.wrong = out ? NULL : "not enough memory";
	if (!out)
		return;
	top_head(out, f, (unsigned)COLS);
	if (table_check(view->columns, view->n_columns, &look->table, seen.why, sizeof(seen.why)))
		seen.wrong = seen.why;
	else if (top_table(out, f, look) < 0)
		seen.wrong = "not enough memory";
	if (fclose(out) == 0)
		put_lines(0, text, 1);
	free(text);
}

void screen_draw(const struct frame *f, struct top_look *look)
{
	struct top_look with;

	erase();
	if (seen.help) {
		put_lines(0, help, 0);
	} else if (!f) {
		put_lines(0, "reading the first records ...", 0);
	} else {
		apply(look, &with);
		put_frame(f, &with);
	}
	attron(A_REVERSE);
	mvaddnstr(LINES - 1, 0, seen.wrong ? seen.wrong : seen.frozen ? "frozen; " : "", COLS);
	if (!seen.wrong)
		addnstr(KEYS_LINE, COLS - getcurx(stdscr));
	attroff(A_REVERSE);
	refresh();
}

/* A line of the user's, at the bottom. */
static void ask_filter(void)
{
	timeout(-1);
	echo();
	curs_set(1);
	move(LINES - 1, 0);
	clrtoeol();
	addstr("filter: ");
	if (getnstr(seen.filter, (int)sizeof(seen.filter) - 1) == ERR)
		seen.filter[0] = '\0';
	noecho();
	curs_set(0);
}

static void next_level(void)
{
	int level = 0;

	while (level < ETA_N_LEVELS && *seen.level &&
	       strcmp(strchr(seen.level, '=') + 1, eta_level_name((enum eta_level)level)) != 0)
		level++;
	level = *seen.level ? level + 1 : 0;
	seen.level[0] = '\0';
	if (level < ETA_N_LEVELS)
		snprintf(seen.level, sizeof(seen.level), "level=%s",
			 eta_level_name((enum eta_level)level));
}

static void next_sort(const struct top_look *look)
{
	const struct view *view = look->tree ? &top_process : look->view;

	do
		seen.sorted++;
	while ((size_t)seen.sorted < view->n_columns &&
	       view->columns[seen.sorted].drop >= COLUMN_COMMAND);
	if ((size_t)seen.sorted >= view->n_columns)
		seen.sorted = -1;
	else
		snprintf(seen.sort, sizeof(seen.sort), "%s", view->columns[seen.sorted].name);
}

static void next_view(struct top_look *look)
{
	int v = 0;

	while (top_views[v] != look->view)
		v++;
	look->view = top_views[(v + 1) % N_TOP_VIEWS];
	look->tree = false;
	/* the columns are others */
	seen.sorted = -1;
	seen.filter[0] = '\0';
}

/* True: the end. */
static bool do_key(int key, struct top_look *look)
{
	if (seen.help) {
		seen.help = false;
		return key == 'q';
	}
	switch (key) {
	case 'q':
		return true;
	case 'v':
		next_view(look);
		break;
	case 'T':
		look->tree = !look->tree;
		seen.sorted = -1;
		break;
	case 's':
		next_sort(look);
		break;
	case 'S':
		seen.sorted = -1;
		break;
	case 'f':
		ask_filter();
		break;
	case 'l':
		next_level();
		break;
	case ' ':
		seen.frozen = !seen.frozen;
		break;
	case 'h':
	case '?':
		seen.help = true;
		break;
	default: /* KEY_RESIZE too: drawn anew */
		break;
	}
	return false;
}

bool screen_wait(const struct frame *f, struct top_look *look, uint64_t end_ns)
{
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		int key;

		/* keys that were pressed meanwhile count also where there is no time left */
		timeout(now < end_ns ? (int)((end_ns - now + 999999) / 1000000) : 0);
		key = getch();
		if (key == ERR)
			return false;
		if (do_key(key, look))
			return true;
		screen_draw(f, look);
	}
}
