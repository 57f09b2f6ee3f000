/* The files, those with most interference first. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "src/common/machines.h"
#include "views.h"

#define FILE_OF(row) ((const struct file_score *)((const struct score_row *)(row))->item)

static void get_path(const void *context, const void *row, struct value *v)
{
	const struct file_score *f = FILE_OF(row);

	value_text(v, f->path);
	if (*f->path)
		return;
	/* without a name, the device and inode; csv has them in columns */
	if (f->inode)
		v->shown = report_file(context, "", f->dev, f->inode);
	else
		snprintf(v->shown.text, sizeof(v->shown.text), "(no file known)");
}

static void get_host(const void *context, const void *row, struct value *v)
{
	const struct file_score *f = FILE_OF(row);

	if (f->machines == 1) {
		value_text(v, machine_name(((const struct analysis *)context)->defs, f->machine));
		return;
	}
	value_text(v, "");
	snprintf(v->shown.text, sizeof(v->shown.text), "%" PRIu32 " machines", f->machines);
}

static void get_device(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (!FILE_OF(row)->dev)
		return;
	v->known = true;
	v->shown = report_device(FILE_OF(row)->dev);
}

static const struct column columns[] = {
	SCORE_NUMBERS,
	{ "read", "read", UNIT_BYTES, 2, NULL, "bytes that calls read",
	  ITEM(struct file_score, bytes_read) },
	{ "written", "written", UNIT_BYTES, 2, NULL, "bytes that calls wrote",
	  ITEM(struct file_score, bytes_written) },
	SCORE_VERDICT,
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "whose it is" },
	{ "file", "file", UNIT_TEXT, 0, get_path, "its path, or what is known of it" },
	{ "device", "device", UNIT_TEXT, COLUMN_HIDDEN, get_device, "of its file system" },
	{ "inode", "inode", UNIT_COUNT, COLUMN_HIDDEN, NULL, "its number there",
	  ITEM_OR_NONE(struct file_score, inode) },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	struct score_row *rows = calloc(a->n_files ? a->n_files : 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	t->own = rows;
	for (uint32_t i = 0; i < a->n_files; i++)
		rows[i] = (struct score_row){ .slowdown = &a->files[i].slowdown,
					      .verdict = &a->files[i].verdict,
					      .operations = a->files[i].operations,
					      .io_ns = a->files[i].io_ns,
					      .item = &a->files[i] };
	return view_add_scores(t, a->n_files);
}

const struct view view_file = {
	.name = "file", .rows = "files", COLUMNS_OF(columns), .needs = NEEDS_FILES, .fill = fill
};
