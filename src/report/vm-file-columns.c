/* The columns of the table of guests' files, and of that of their disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "vm-file-columns.h"

#include <inttypes.h>

#include "vm-files.h"

#define ROW ((const struct vm_file *)row)
#define DISK ((const struct guest_disk *)row)
#define GETTER(name) static void get_##name(const void *context, const void *row, struct value *v)

GETTER(file)
{
	(void)context;
	if (*ROW->path)
		value_text(v, ROW->path);
	else if (!ROW->inode)
		value_text(v, "of the file system");
	else
		snprintf(v->shown.text, sizeof(v->shown.text), "inode %" PRIu64 " on %u:%u",
			 ROW->inode, ROW->file_dev >> 20, ROW->file_dev & 0xfffff);
	v->known = true;
}

GETTER(machine)
{
	(void)context;
	value_text(v, ROW->disk->guest);
}

GETTER(disk)
{
	(void)context;
	value_text(v, ROW->disk->name);
}

GETTER(read)
{
	(void)context;
	value_whole(v, (int64_t)ROW->bytes[0]);
}

GETTER(written)
{
	(void)context;
	value_whole(v, (int64_t)ROW->bytes[1]);
}

GETTER(host_read)
{
	(void)context;
	if (ROW->piece != NO_PIECE)
		value_whole(v, (int64_t)ROW->host_bytes[0]);
}

GETTER(host_written)
{
	(void)context;
	if (ROW->piece != NO_PIECE)
		value_whole(v, (int64_t)ROW->host_bytes[1]);
}

GETTER(range)
{
	(void)context;
	value_whole(v, (int64_t)(ROW->end - ROW->begin));
}

GETTER(image_offset)
{
	(void)context;
	if (ROW->piece != NO_PIECE)
		value_whole(v, (int64_t)ROW->image);
}

GETTER(sector)
{
	(void)context;
	if (ROW->piece != NO_PIECE)
		value_whole(v, (int64_t)ROW->sector);
}

static void device_text(uint32_t dev, struct value *v)
{
	if (!dev)
		return;
	snprintf(v->shown.text, sizeof(v->shown.text), "%u:%u", dev >> 20, dev & 0xfffff);
	v->known = true;
}

GETTER(device)
{
	(void)context;
	if (ROW->piece != NO_PIECE)
		device_text(ROW->disk->disk_dev, v);
}

static const struct column columns[] = {
	{ "read", "read", UNIT_BYTES, 0, get_read, "by the guest's requests" },
	{ "written", "written", UNIT_BYTES, 0, get_written, "by the guest's requests" },
	{ "requests", "requests", UNIT_COUNT, 5, NULL, "of the guest, or parts of such",
	  FIELD(struct vm_file, requests) },
	{ "disk", "disk", UNIT_TEXT, 3, get_disk, "in the guest" },
	{ "guest_offset", "guest offset", UNIT_COUNT, 1, NULL,
	  "the first byte of it that was moved, on the guest's disk",
	  FIELD(struct vm_file, begin) },
	{ "range", "range", UNIT_BYTES, 1, get_range, "from there to the last one" },
	{ "image_offset", "image offset", UNIT_COUNT, 1, get_image_offset,
	  "of that first byte in the image; empty: it has no place there" },
	{ "device", "device", UNIT_TEXT, 2, get_device, "disk of the host that it is on" },
	{ "sector", "sector", UNIT_COUNT, 1, get_sector,
	  "of that first byte on the host's disk, of 512 bytes" },
	{ "host_read", "host read", UNIT_BYTES, 4, get_host_read,
	  "by the host's requests to these sectors, for whomever" },
	{ "host_written", "host written", UNIT_BYTES, 4, get_host_written, "the same" },
	{ "machine", "machine", UNIT_TEXT, 0, get_machine, "the guest" },
	{ "inode", "inode", UNIT_COUNT, COLUMN_HIDDEN, NULL, "of the file",
	  FIELD_OR_NONE(struct vm_file, inode) },
	{ "file", "file of the guest", UNIT_TEXT, 0, get_file, "its path" },
};

void vm_files_columns(const struct column **list, size_t *n)
{
	*list = columns;
	*n = sizeof(columns) / sizeof(*columns);
}

#define SUM(name)                                                                                  \
	GETTER(disk_##name)                                                                        \
	{                                                                                          \
		(void)context;                                                                     \
		if (DISK->name != UINT64_MAX)                                                      \
			value_whole(v, (int64_t)DISK->name);                                       \
	}
SUM(mapped)
SUM(holes)
SUM(zeros)
SUM(compressed)
SUM(unplaced)
SUM(left_out)
SUM(grown)
SUM(filled)

GETTER(disk_guest)
{
	(void)context;
	value_text(v, DISK->guest);
}

GETTER(disk_vm)
{
	(void)context;
	snprintf(v->shown.text, sizeof(v->shown.text), "%.60s (QEMU pid %" PRIu32 ")", DISK->vm,
		 DISK->pid);
	v->known = true;
}

GETTER(disk_pieces)
{
	(void)context;
	value_whole(v, (int64_t)DISK->map.n);
}

GETTER(disk_image)
{
	(void)context;
	if (DISK->image)
		value_text(v, DISK->image);
}

GETTER(disk_state)
{
	(void)context;
	if (DISK->state)
		value_text(v, DISK->state);
}

static const struct column disk_columns[] = {
	{ "machine", "machine", UNIT_TEXT, 0, get_disk_guest, "the guest" },
	{ "disk", "disk", UNIT_TEXT, 0, NULL, "in the guest", FIELD(struct guest_disk, name) },
	{ "vm", "virtual machine", UNIT_TEXT, 3, get_disk_vm, "on the host" },
	{ "pieces", "pieces", UNIT_COUNT, 0, get_disk_pieces, "that it is in" },
	{ "mapped", "mapped", UNIT_BYTES, 0, get_disk_mapped, "have a place" },
	{ "holes", "holes", UNIT_BYTES, 1, get_disk_holes, "not in the image" },
	{ "zeros", "zeros", UNIT_BYTES, COLUMN_HIDDEN, get_disk_zeros, "qcow2: known as zeros" },
	{ "compressed", "compressed", UNIT_BYTES, COLUMN_HIDDEN, get_disk_compressed,
	  "qcow2: not mapped" },
	{ "unplaced", "unplaced", UNIT_BYTES, COLUMN_HIDDEN, get_disk_unplaced,
	  "not written yet, inline or compressed by the file system" },
	{ "left_out", "left out", UNIT_BYTES, COLUMN_HIDDEN, get_disk_left_out,
	  "in pieces that are too many to record" },
	{ "grown", "grown", UNIT_BYTES, 2, get_disk_grown, "while it was recorded" },
	{ "filled", "filled", UNIT_BYTES, 2, get_disk_filled, "holes that got a place meanwhile" },
	{ "image", "image", UNIT_TEXT, 0, get_disk_image, "its path" },
	{ "state", "state", UNIT_TEXT, 0, get_disk_state,
	  "what became of the image, or why it has no map" },
};

void vm_disk_columns(const struct column **list, size_t *n)
{
	*list = disk_columns;
	*n = sizeof(disk_columns) / sizeof(*disk_columns);
}
