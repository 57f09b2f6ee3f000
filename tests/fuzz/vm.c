/* One input for the readers of QEMU's command line and of image headers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "src/vm/qcow2.h"
#include "src/vm/qemu-command.h"

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
	if (strcmp(format, "qcow2") != 0)
		return false;
	if (qcow2_header_read(data, bytes, &header) &&
	    (header.cluster_bytes < 512 || header.cluster_bytes > 2 << 20))
		abort();
	return true;
}
