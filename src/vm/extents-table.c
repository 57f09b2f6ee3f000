/* Where the disks of virtual machines lie on this machine's devices, as lines of text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "extents-table.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "eta-ext/base/printable.h"
#include "pieces.h"

enum { SECTOR_BYTES = 512 };

struct print {
	FILE *to;
	bool begun;
};

static int print_piece(void *arg, const struct disk_piece *piece)
{
	struct print *p = arg;

	if (!p->begun)
		fprintf(p->to, "  %15s %15s %15s %15s\n", "guest", "image", "sector", "bytes");
	p->begun = true;
	fprintf(p->to, "  %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " %15" PRIu64 "\n", piece->guest,
		piece->image, piece->device / SECTOR_BYTES, piece->bytes);
	return 0;
}

static void print_rest(FILE *to, const struct pieces_sums *sums, const struct vm_image *image)
{
	fprintf(to, "  %zu pieces, %" PRIu64 " bytes", sums->pieces, sums->bytes);
	if (sums->holes)
		fprintf(to, "; holes %" PRIu64 "%s", sums->holes,
			image->is_qcow2 && image->header.backing ? ", or of the backing image"
								 : "");
	if (sums->zeros)
		fprintf(to, "; zeros %" PRIu64, sums->zeros);
	if (sums->compressed)
		fprintf(to, "; compressed %" PRIu64 " (not mapped)", sums->compressed);
	if (sums->unplaced)
		fprintf(to, "; without a place of their own yet %" PRIu64, sums->unplaced);
	if (image->is_qcow2 && image->header.encrypted)
		fputs("; encrypted", to);
	if (sums->own_addresses)
		fputs("; sectors are of btrfs's own addresses, not of a device", to);
	fputc('\n', to);
}

/* 0, or what is wrong, in WHY. */
static int print_image_extents(FILE *to, const struct vm *vm, const struct vm_image *image,
			       const char **why)
{
	struct print p = { .to = to };
	struct pieces_sums sums;
	int fd = pieces_open(vm->pid, image, why), rc;

	if (fd < 0)
		return fd;
	rc = pieces_find(fd, image, print_piece, &p, &sums, why);
	if (rc == 0)
		print_rest(to, &sums, image);
	close(fd);
	return rc;
}

static bool has_ended(const struct vm *vm)
{
	return kill(vm->pid, 0) && errno == ESRCH;
}

size_t vm_extents_print(FILE *to, const struct vms *vms)
{
	size_t failed = 0;

	for (size_t i = 0; i < vms->n; i++) {
		const struct vm *vm = &vms->v[i];

		for (size_t k = 0; k < vm->command.n_disks; k++) {
			const char *why;

			printable_put(to, *vm->command.name ? vm->command.name : "(no name)");
			fprintf(to, " pid %d, disk ", (int)vm->pid);
			printable_put(to, *vm->command.disks[k].id ? vm->command.disks[k].id : "-");
			fputs(": ", to);
			printable_put(to, *vm->images[k].path ? vm->images[k].path : "no image");
			fputc('\n', to);
			if (print_image_extents(to, vm, &vm->images[k], &why) == 0)
				continue;
			if (has_ended(vm)) {
				fputs("  not mapped: the virtual machine has ended\n", to);
				continue;
			}
			fprintf(to, "  not mapped: %s\n", why);
			failed++;
		}
	}
	return failed;
}
