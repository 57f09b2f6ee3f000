/* Inside of tables: what their forms share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TABLE_CELLS_H
#define SCI_TABLE_CELLS_H

#include "table.h"

#define TABLE_COLUMNS 64

/* "_ns" */
const char *unit_suffix(enum table_unit unit);
/* Is value.real its number? */
bool is_real(enum table_unit unit);

/*
 * The columns to show, at most TABLE_COLUMNS, in order: those of FIELDS, or of the view, with
 * HIDDEN all of it.
 */
size_t table_fields(const struct table *t, const char *fields, const struct column **list,
		    bool hidden);
/* The value's long_text is to be freed. */
void table_get(const struct table *t, const struct column *c, const void *row, struct value *v);

#endif
