/* Bytes of guests' files, down to the pieces of the images and the sectors of the hosts' disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "vm-files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"
#include "src/analysis/tables/file-names.h"
#include "src/common/hash.h"
#include "src/common/machines.h"
#include "vm-file-columns.h"

enum { SECTOR_BYTES = 512 };

struct vm_files {
	struct guest_disks disks;
	struct vm_file *v;
	size_t n, room;
	struct slots slots; /* of V */
	/* of V by disk of the host and sector; the last sector of all up to each */
	struct vm_file **by_sector;
	uint64_t *last_sectors;
};

/* The regions that a location is in, as far as they say on which file they are. */
struct reading {
	struct vm_files *files;
	const struct eta_defs *defs;
	struct on_file {
		uint64_t inode;
		uint32_t dev;
	} * stack;
	size_t depth, room;
	uint32_t location, machine; /* that is read */
};

/* ---- rows ---- */

static struct vm_file *find(struct vm_files *f, const struct vm_file *like)
{
	uint64_t hash = hash_mix(hash_mix((uint64_t)(like->disk - f->disks.v), like->inode),
				 hash_mix(like->file_dev, like->piece));
	struct slot *slot;

	if (slots_fit(&f->slots) < 0 || !ARRAY_FITS(f->v, f->n + 1, f->room))
		return NULL;
	for (slot = slots_first(&f->slots, hash); slot->number;
	     slot = slots_next(&f->slots, slot)) {
		struct vm_file *row = &f->v[slot->number - 1];

		if (slot->hash == (uint32_t)hash && row->disk == like->disk &&
		    row->inode == like->inode && row->file_dev == like->file_dev &&
		    row->piece == like->piece)
			return row;
	}
	slots_take(&f->slots, slot, hash, (uint32_t)f->n);
	f->v[f->n] = *like;
	return &f->v[f->n++];
}

/* BYTES from AT on, which LIKE's file has in LIKE's piece. */
static int add(struct vm_files *f, const struct vm_file *like, uint64_t at, uint64_t bytes,
	       bool write)
{
	struct vm_file *row = find(f, like);

	if (!row)
		return -ENOMEM;
	if (!row->requests || at < row->begin)
		row->begin = at;
	if (at + bytes > row->end)
		row->end = at + bytes;
	row->requests++;
	row->bytes[write] += bytes;
	return 0;
}

/* A request of a guest: one row for each piece that it touches. */
static int add_request(struct vm_files *f, struct vm_file *like, uint64_t at, uint64_t bytes,
		       bool write)
{
	const struct disk_map *map = &like->disk->map;
	size_t i = disk_map_find(map, at);
	int rc = 0;

	while (rc == 0 && bytes) {
		const struct disk_piece *piece = i < map->n ? &map->v[i] : NULL;
		bool placed = piece && piece->guest <= at;
		uint64_t end = placed ? piece->guest + piece->bytes : piece ? piece->guest : at;
		uint64_t n = piece && end - at < bytes ? end - at : bytes;

		like->piece = placed ? i++ : NO_PIECE;
		rc = add(f, like, at, n, write);
		at += n;
		bytes -= n;
	}
	return rc;
}

/* ---- the guests' requests ---- */

static int file_begins(struct reading *r, const struct eta_event *e)
{
	struct on_file file = { 0 };

	if (!ARRAY_FITS(r->stack, r->depth + 1, r->room))
		return -ENOMEM;
	if (e->has & ETA_HAS_FILE)
		file = (struct on_file){ e->inode, e->dev };
	else if (r->depth)
		file = r->stack[r->depth - 1];
	r->stack[r->depth++] = file;
	return 0;
}

static int request_begins(struct reading *r, const struct eta_event *e)
{
	const uint16_t wanted = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE | ETA_HAS_OFFSET;
	struct on_file file = { 0 };
	struct vm_file like = { .path = "" };

	if ((e->has & wanted) != wanted || e->mode == ETA_IO_FLUSH ||
	    e->handle >= r->defs->n_handles || e->offset < 0 || e->size >> 40)
		return 0;
	like.disk = guest_disk_of(&r->files->disks, r->machine, r->defs->handles[e->handle].device);
	if (!like.disk)
		return 0;
	if (e->has & ETA_HAS_FILE)
		file = (struct on_file){ e->inode, e->dev };
	else if (r->depth)
		file = r->stack[r->depth - 1];
	like.inode = file.inode;
	like.file_dev = file.dev;
	return add_request(r->files, &like, (uint64_t)e->offset, e->size, e->mode == ETA_IO_WRITE);
}

static void look_at(struct reading *r, uint32_t location)
{
	if (r->location == location)
		return;
	r->location = location;
	r->machine = location_machine(r->defs, location);
	r->depth = 0;
}

static int take_guest(void *arg, uint32_t location, const struct eta_event *e)
{
	struct reading *r = arg;

	look_at(r, location);
	if (e->kind == ETA_ENTER)
		return file_begins(r, e);
	if (e->kind == ETA_LEAVE && r->depth)
		r->depth--;
	return e->kind == ETA_IO_BEGIN ? request_begins(r, e) : 0;
}

/* ---- the hosts' requests ---- */

static uint64_t disk_of(const struct vm_file *row)
{
	return machine_dev(row->disk->host_machine, row->disk->disk_dev);
}

static int by_sector(const void *a, const void *b)
{
	const struct vm_file *x = *(struct vm_file *const *)a, *y = *(struct vm_file *const *)b;

	if (disk_of(x) != disk_of(y))
		return disk_of(x) < disk_of(y) ? -1 : 1;
	if (x->sector != y->sector)
		return x->sector < y->sector ? -1 : 1;
	return (x > y) - (x < y);
}

static uint64_t end_sector(const struct vm_file *row)
{
	return row->sector + (row->end - row->begin + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

/* Places the rows on the hosts' disks, once they have all that was moved. */
static int place(struct vm_files *f)
{
	f->by_sector = calloc(f->n + 1, sizeof(*f->by_sector));
	f->last_sectors = calloc(f->n + 1, sizeof(*f->last_sectors));
	if (!f->by_sector || !f->last_sectors)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		struct vm_file *row = &f->v[i];
		const struct disk_piece *piece;

		f->by_sector[i] = row;
		if (row->piece == NO_PIECE)
			continue;
		piece = &row->disk->map.v[row->piece];
		row->image = piece->image + (row->begin - piece->guest);
		row->sector = (piece->device + (row->begin - piece->guest)) / SECTOR_BYTES +
			      row->disk->start_sector;
	}
	if (f->n)
		qsort(f->by_sector, f->n, sizeof(*f->by_sector), by_sector);
	for (size_t i = 0; i < f->n; i++) {
		const struct vm_file *row = f->by_sector[i];
		bool first = !i || disk_of(f->by_sector[i - 1]) != disk_of(row);
		uint64_t end = row->piece == NO_PIECE ? 0 : end_sector(row);

		f->last_sectors[i] =
			!first && f->last_sectors[i - 1] > end ? f->last_sectors[i - 1] : end;
	}
	return 0;
}

/* Number of rows up to DISK and END, a sector that is not theirs any more. */
static size_t rows_before(const struct vm_files *f, uint64_t disk, uint64_t end)
{
	struct vm_file *const *rows = f->by_sector;

	return PARTITION_POINT((size_t)0, f->n, i,
			       disk_of(rows[i]) < disk ||
				       (disk_of(rows[i]) == disk && rows[i]->sector < end));
}

static void add_host(struct vm_files *f, uint64_t disk, const struct eta_event *e)
{
	uint64_t begin = (uint64_t)e->offset / SECTOR_BYTES;
	uint64_t end = begin + e->size / SECTOR_BYTES;

	for (size_t i = rows_before(f, disk, end); i-- > 0;) {
		struct vm_file *row = f->by_sector[i];
		uint64_t from = row->sector > begin ? row->sector : begin, to;

		if (disk_of(row) != disk || f->last_sectors[i] <= begin)
			break;
		if (row->piece == NO_PIECE)
			continue;
		to = end_sector(row) < end ? end_sector(row) : end;
		if (from < to)
			row->host_bytes[e->mode == ETA_IO_WRITE] += (to - from) * SECTOR_BYTES;
	}
}

static int take_host(void *arg, uint32_t location, const struct eta_event *e)
{
	const uint16_t wanted = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE | ETA_HAS_OFFSET;
	struct reading *r = arg;
	uint32_t dev;

	look_at(r, location);
	if (e->kind != ETA_IO_BEGIN || (e->has & wanted) != wanted || e->mode == ETA_IO_FLUSH ||
	    e->handle >= r->defs->n_handles || e->offset < 0 || e->size >> 40)
		return 0;
	dev = r->defs->handles[e->handle].device;
	/* a partition's requests may be told as its own, with the sectors of the disk */
	for (size_t i = 0; i < r->files->disks.n; i++)
		if (r->files->disks.v[i].host_machine == r->machine &&
		    r->files->disks.v[i].dev == dev)
			dev = r->files->disks.v[i].disk_dev;
	add_host(r->files, machine_dev(r->machine, dev), e);
	return 0;
}

/* ---- all ---- */

static void name_files(struct vm_files *f, const struct file_names *names)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct resource_file key = {
			.inode = f->v[i].inode,
			.dev = machine_dev(f->v[i].disk->machine, f->v[i].file_dev),
		};

		if (key.inode)
			f->v[i].path = file_name(names, &key);
	}
}

static int run(struct eta_trace *trace, void **out)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct reading r = { .defs = defs, .location = ETA_NONE };
	struct file_names names = { 0 };
	int rc;

	*out = r.files = calloc(1, sizeof(*r.files));
	if (!r.files)
		return -ENOMEM;
	rc = guest_disks_find(defs, &r.files->disks);
	if (rc == 0 && r.files->disks.n)
		rc = eta_trace_read(trace, take_guest, &r);
	free(r.stack);
	r.location = ETA_NONE;
	if (rc == 0)
		rc = place(r.files);
	if (rc == 0 && r.files->n)
		rc = eta_trace_read(trace, take_host, &r);
	if (rc == 0)
		rc = file_names_new(defs, NULL, &names);
	if (rc == 0)
		name_files(r.files, &names);
	file_names_free(&names);
	return rc;
}

static void free_rows(void *rows)
{
	struct vm_files *f = rows;

	if (!f)
		return;
	guest_disks_free(&f->disks);
	slots_free(&f->slots);
	free(f->by_sector);
	free(f->last_sectors);
	free(f->v);
	free(f);
}

/* ---- tables ---- */

static int compare_files(const struct vm_file *x, const struct vm_file *y)
{
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	if (x->file_dev != y->file_dev)
		return x->file_dev < y->file_dev ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static int by_file(const void *a, const void *b)
{
	const struct vm_file *x = *(const struct vm_file *const *)a;
	const struct vm_file *y = *(const struct vm_file *const *)b;
	int order = strcmp(x->disk->guest, y->disk->guest);

	if (!order)
		order = compare_files(x, y);
	if (!order)
		order = strcmp(x->disk->name, y->disk->name);
	if (order)
		return order;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->piece > y->piece) - (x->piece < y->piece);
}

static int arrange(const void *rows, const struct table_options *options, struct table *out)
{
	const struct vm_files *f = rows;
	int rc = 0;

	*out = (struct table){ .name = "rows", .context = f };
	vm_files_columns(&out->columns, &out->n_columns);
	for (size_t i = 0; rc == 0 && i < f->n; i++)
		rc = table_add(out, &f->v[i]);
	if (rc == 0 && out->n)
		qsort(out->rows, out->n, sizeof(*out->rows), by_file);
	return rc ? rc : table_arrange(out, options);
}

/* The disks that the files are on: what of each has a place. */
static int tabulate_disks(const struct vm_files *f, struct table *out)
{
	int rc = 0;

	*out = (struct table){ .name = "disks", .context = f };
	vm_disk_columns(&out->columns, &out->n_columns);
	for (size_t i = 0; rc == 0 && i < f->disks.n; i++)
		rc = table_add(out, &f->disks.v[i]);
	return rc;
}

static int put_text(FILE *out, const void *rows, const struct table *table,
		    const struct table_options *options)
{
	const struct vm_files *f = rows;
	const struct table_options plain = { .width = options->width };
	struct table disks;
	int rc = tabulate_disks(f, &disks);

	if (!f->disks.n)
		fputs("no guest here whose disks are known (a host recorded with sci-kernel --vm, "
		      "merged with its guests)\n",
		      out);
	else if (rc == 0)
		rc = table_text(out, &disks, &plain);
	table_free(&disks);
	if (rc || !table->n)
		return rc;
	fputc('\n', out);
	return table_text(out, table, options);
}

static int put_json(FILE *out, const void *rows, const struct table *table,
		    const struct table_options *options)
{
	struct table disks;
	const struct table *tables[] = { table, &disks };
	int rc = tabulate_disks(rows, &disks);

	if (rc == 0)
		rc = table_json(out, vm_files_rows.name, tables, options->fields ? 1 : 2, options);
	table_free(&disks);
	return rc;
}

const struct trace_rows vm_files_rows = {
	.name = "vm-files",
	.run = run,
	.free = free_rows,
	.table = arrange,
	.text = put_text,
	.json = put_json,
};
