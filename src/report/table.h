/* Tables: a column is a struct; choosing, sorting, filtering, csv and json come with that. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TABLE_H
#define SCI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_text {
	char text[128];
};

/* What a column holds; the unit ends its name in csv and json. X(UNIT, suffix) */
#define TABLE_UNITS(X)                                                                             \
	X(TEXT, "")                                                                                \
	X(COUNT, "")                                                                               \
	X(NS, "_ns")                                                                               \
	X(BYTES, "_bytes")                                                                         \
	X(BYTES_PER_S, "_bytes_per_s")                                                             \
	X(RATIO, "")                                                                               \
	X(PERCENT, "_percent")

enum table_unit {
#define X(unit, suffix) UNIT_##unit,
	TABLE_UNITS(X)
#undef X
};

/* One cell. A getter leaves `known` false where there is nothing to say. */
struct value {
	bool known;
	int64_t whole;		  /* COUNT, NS, BYTES */
	double real;		  /* BYTES_PER_S, RATIO, PERCENT */
	struct report_text shown; /* TEXT; of a number: what the text form shows instead, or "" */
	char *long_text;	  /* TEXT of any length instead of `shown`; belongs to the value */
};

/* A column that only csv and --fields show. */
#define COLUMN_HIDDEN 255
/* The host of the row: hidden unless the table has hosts; then it stays. */
#define COLUMN_HOST 254
/* What limits took: hidden, unless the table has any; then it stays. */
#define COLUMN_LIMIT 253
/* What a process was called with: hidden, unless the table has such; then it stays, the last, as
 * far as the line goes. */
#define COLUMN_COMMAND 252

/* A member of a row, for columns that show it as it is. */
struct column_field {
	enum column_type {
		COLUMN_GETTER, /* none: the column has a getter */
		COLUMN_INT64,
		COLUMN_UINT64,
		COLUMN_UINT32,
		COLUMN_DOUBLE,
		COLUMN_STRING,
	} type;
	bool through; /* it is where the pointer at `pointer_at` of the row points to */
	bool or_none; /* 0 and NULL: not known */
	size_t pointer_at, at;
};

#define COLUMN_MEMBER(row, member)                                                                 \
	.at = offsetof(row, member),                                                               \
	.type = _Generic(((row *)0)->member, int64_t                                               \
			 : COLUMN_INT64, uint64_t                                                  \
			 : COLUMN_UINT64, uint32_t                                                 \
			 : COLUMN_UINT32, double                                                   \
			 : COLUMN_DOUBLE, const char *                                             \
			 : COLUMN_STRING)
#define COLUMN_THROUGH(row, pointer, of, member)                                                   \
	COLUMN_MEMBER(of, member), .through = true, .pointer_at = offsetof(row, pointer)
/* A column's `field`: MEMBER of the struct ROW; or of the struct OF that its POINTER leads to. */
#define FIELD(row, member)                                                                         \
	{                                                                                          \
		COLUMN_MEMBER(row, member)                                                         \
	}
#define FIELD_OR_NONE(row, member)                                                                 \
	{                                                                                          \
		COLUMN_MEMBER(row, member), .or_none = true                                        \
	}
#define FIELD_THROUGH(row, pointer, of, member)                                                    \
	{                                                                                          \
		COLUMN_THROUGH(row, pointer, of, member)                                           \
	}

struct column {
	const char *name;    /* in --fields, --sort, --filter, csv, json */
	const char *heading; /* of the text form */
	enum table_unit unit;
	uint8_t drop; /* where the terminal is narrow the highest goes first; 0 stays */
	void (*get)(const void *context, const void *row, struct value *value); /* NULL: `field` */
	const char *what; /* for the list of fields */
	struct column_field field;
};

struct table {
	const char *name; /* of its rows, in the plural: "threads" */
	const struct column *columns;
	size_t n_columns;
	/* may be NULL: columns that the context does not have are in no form of the table */
	bool (*has)(const void *context, const struct column *column);
	bool commands; /* several processes have one name */
	bool hosts;    /* of several machines: names alone do not tell its rows apart */
	bool limits;   /* something was lost to them */
	const void *context;
	const void **rows; /* in the order of the view; belongs to the table */
	size_t n, room;
	void *own; /* what rows point into, freed with the table; or NULL */
};

/* How the user wants tables. Texts are of the command line. */
#define TABLE_FILTERS 16
struct table_options {
	const char *fields; /* "a,b", NULL: as the view has it */
	const char *sort;   /* "field" or "-field", NULL: as the view has it */
	const char *filters[TABLE_FILTERS];
	unsigned n_filters;
	unsigned top;	       /* rows to show; 0: all */
	bool top_is_fitted;    /* TOP is what the screen has room for: no option shows more */
	unsigned width;	       /* of a line; 0: as long as it gets */
	bool blocks;	       /* bars are drawn with U+2588 rather than '#' */
	unsigned json_version; /* of its keys */
	unsigned height;       /* of the screen that a report with its rows has to fit; 0: any */
};

/* Appends ROW, which stays the caller's. 0 or -ENOMEM. */
int table_add(struct table *table, const void *row);
void table_free(struct table *table);

/*
 * Are the fields of the options columns of COLUMNS? A text that says what is wrong, and which there
 * are, goes to WHY (SIZE bytes); -EINVAL.
 */
int table_check(const struct column *columns, size_t n, const struct table_options *options,
		char *why, size_t size);
/* Keeps the rows that the filters let through, and sorts them. The options have been checked. */
int table_arrange(struct table *table, const struct table_options *options);

/* The first options->top rows, with what was left out. */
int table_text(FILE *out, const struct table *table, const struct table_options *options);
/* The first options->top rows, a line of names before. RFC 4180. */
int table_csv(FILE *out, const struct table *table, const struct table_options *options);
/* {"version": ..., "view": NAME, ROWS: [{...}]} of N tables. */
int table_json(FILE *out, const char *view, const struct table *const *tables, size_t n,
	       const struct table_options *options);
/* The columns, a line each: name, unit, what it is. */
void table_list(FILE *out, const struct column *columns, size_t n);

/* A line without blanks at its end, cut at WIDTH characters; 0: not. */
void table_line(FILE *out, const char *line, unsigned width);

/* ---- for getters ---- */

/* Set V, which is known then. */
void value_whole(struct value *v, int64_t whole);
void value_real(struct value *v, double real);
void value_text(struct value *v, const char *text); /* any length */
/*
 * Time that was lost: what was faster than its reference makes less than nothing, which the text
 * shows as 0; and not as less than LEAST, a part of it.
 */
void value_lost(struct value *v, int64_t ns, int64_t least);
/* PART / WHOLE, unknown where there is no whole. */
void value_ratio(struct value *v, double part, double whole);

/* "1.61 ms": three digits, of bytes in powers of 1024. */
struct report_text report_duration(int64_t ns);
/* A little below nothing is nothing: no "-0.00". */
struct report_text report_real(double real, int digits);
struct report_text report_bytes(double bytes);

#endif
