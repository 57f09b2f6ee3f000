/* One input for the readers of QEMU's command line, its monitor's answers and of images. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "src/vm/qcow2-map.h"
#include "src/vm/qemu-command.h"
#include "src/vm/qmp.h"

/* Every text is one. */
static size_t read_command(const uint8_t *data, size_t bytes)
{
	struct qemu_command command;
	size_t n = 0;

	if (qemu_command_read((const char *)data, bytes, &command))
		return 0;
	n += strlen(command.name);
	for (size_t i = 0; i < command.n_disks; i++) {
		const struct qemu_disk *disk = &command.disks[i];

		n += strlen(disk->id) + strlen(disk->device) + strlen(disk->serial) +
		     strlen(disk->iothread) + strlen(disk->image) + strlen(disk->format) +
		     strlen(disk->cache) + strlen(disk->aio) +
		     (size_t)(qemu_command_descriptor(&command, disk->image) >= 0);
	}
	qemu_command_free(&command);
	return n;
}

/* An image in memory, and how far its map has come. */
struct image {
	const uint8_t *data;
	size_t bytes;
	uint64_t mapped;
};

static ssize_t read_image(void *image, void *to, size_t bytes, uint64_t at)
{
	const struct image *one = image;

	if (at >= one->bytes)
		return 0;
	if (bytes > one->bytes - at)
		bytes = one->bytes - at;
	memcpy(to, one->data + at, bytes);
	return (ssize_t)bytes;
}

/* The runs have no gap, and end where the disk does. */
static int take_run(void *arg, const struct qcow2_run *run)
{
	struct image *image = arg;

	if (run->guest != image->mapped || !run->bytes)
		abort();
	image->mapped += run->bytes;
	return 0;
}

static void read_map(const struct qcow2_header *header, const uint8_t *data, size_t bytes)
{
	struct image image = { .data = data, .bytes = bytes };
	int rc = qcow2_map(header, read_image, &image, take_run, &image);

	if (image.mapped > header->bytes || (rc == 0 && image.mapped != header->bytes))
		abort();
}

/* What comes from a monitor, of a machine with two disks. */
static void read_monitor(const uint8_t *data, size_t bytes)
{
	static struct qemu_disk known[] = { { .id = "d0" }, { .id = "" } };
	const struct qemu_command command = { .name = "", .disks = known, .n_disks = 2 };
	struct counts disks[2];

	if (qmp_read_answer((const char *)data, bytes, &command, disks) == 0 && bytes < 20)
		abort();
}

bool fuzz_vm(const char *format, const uint8_t *data, size_t bytes)
{
	struct qcow2_header header;

	if (strcmp(format, "qemu-command") == 0) {
		/* more text than there is would come from somewhere else; a node may be named twice
		 */
		if (read_command(data, bytes) > (bytes + 64) * (bytes + 1))
			abort();
		return true;
	}
	if (strcmp(format, "qmp") == 0) {
		read_monitor(data, bytes);
		return true;
	}
	if (strcmp(format, "qcow2") != 0)
		return false;
	if (!qcow2_header_read(data, bytes, &header))
		return true;
	if (header.cluster_bytes < 512 || header.cluster_bytes > 2 << 20)
		abort();
	read_map(&header, data, bytes);
	return true;
}
