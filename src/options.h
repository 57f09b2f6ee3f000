/* The options of a command as a table of rows, that argp's parsing and --help are made from. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_OPTIONS_H
#define SCI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An option as it is given, for a row's own function. */
struct option_given {
	const struct option_row *row;
	void *options; /* the struct that the table is for */
	char *arg;     /* NULL: it takes none, or may do without */
	struct argp_state *state;
};

enum option_kind {
	OPTION_CALL, /* what else: the row's own function */
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_NUMBER,
	OPTION_MODE,
};

/*
 * An option, a heading (no name), or the rows of another table (`part`). A table ends with a row
 * of nothing. The rows below a heading are shown below it.
 */
struct option_row {
	const char *name;
	int letter;	      /* of the short option, 0: none */
	const char *argument; /* NULL: it takes none. A wrong number is reported under this name */
	const char *help;     /* NULL: not shown */
	enum option_kind kind;
	size_t at; /* of what is set, in the struct that the table is for */
	/* of a number */
	size_t size;
	uint64_t min, max;
	uint64_t otherwise; /* where the argument is left out; 0: it may not be */
	/* OPTION_CALL: checks and sets; a wrong value is a usage error of GIVEN->state */
	void (*call)(const struct option_given *given);
	bool optional; /* its argument may be left out */
	int value;     /* what it means to `call` */
	const struct option_row *part;
};

/*
 * What a row sets: FIELD of OPTIONS, the type of the struct. One of another type than the kind of
 * option is for does not compile.
 */
#define OPTION_AT(options, field, ...)                                                             \
	.at = offsetof(options, field) * _Generic(((options *)0)->field, __VA_ARGS__)
#define SETS_FLAG(options, field) .kind = OPTION_FLAG, OPTION_AT(options, field, bool : 1)
#define SETS_TEXT(options, field) .kind = OPTION_TEXT, OPTION_AT(options, field, const char * : 1)
#define SETS_MODE(options, field) .kind = OPTION_MODE, OPTION_AT(options, field, mode_t : 1)
/* A whole number from MIN to MAX. */
#define SETS_NUMBER(options, field, least, most)                                                   \
	.kind = OPTION_NUMBER, .size = sizeof(((options *)0)->field), .min = (least),              \
	.max = (most), OPTION_AT(options, field, int : 1, unsigned : 1, uint64_t : 1)
#define CALLS(function) .kind = OPTION_CALL, .call = (function)

#define MODE_HELP "octal mode of the files that are made; folders get x where there is r (600)"

#define HEADING(text)                                                                              \
	{                                                                                          \
		.help = (text)                                                                     \
	}
/* The rows of TABLE, which is for FIELD of OPTIONS. */
#define PART(options, field, table)                                                                \
	{                                                                                          \
		.part = (table), .at = offsetof(options, field)                                    \
	}

struct command_line {
	const struct option_row *rows;
	const char *words, *doc; /* as argp's args_doc and doc */
	argp_parser_t parser;	 /* of all that is no option: words, and the end */
};

/*
 * Parses the command line into OPTIONS, which is the parser's `input` as well. --help and --version
 * are on stdout with status 0, misuse is two lines on stderr with status 2: it exits. Call it
 * before anything is owned.
 */
void options_parse(const struct command_line *line, int argc, char **argv, void *options);

/* For a row's function: its value is wrong, as FORMAT says. A usage error: it exits. */
void option_error(const struct option_given *given, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For a row's function: a whole decimal number in [MIN, MAX]; a usage error otherwise. */
uint64_t option_number(const struct option_given *given, uint64_t min, uint64_t max);

/* The same: bytes, "8M" or a number alone. */
uint64_t option_size(const struct option_given *given);

#endif
