/* Where the disks of virtual machines lie on this machine's devices, as lines of text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "extents-table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "eta-ext/base/printable.h"
#include "extents.h"
#include "qcow2-map.h"

enum { SECTOR_BYTES = 512 };

/* One disk that is being printed. */
struct print {
	FILE *to;
	int fd; /* of the image */
	struct extents extents;
	size_t pieces;
	uint64_t bytes; /* of the pieces */
	uint64_t zeros, holes, compressed, unplaced;
};

/* The first of the extents that ends behind AT. */
static size_t find_extent(const struct extents *extents, uint64_t at)
{
	size_t low = 0, high = extents->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (extents->v[middle].file + extents->v[middle].bytes <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void print_piece(struct print *p, uint64_t guest, uint64_t image, const struct extent *in,
			uint64_t bytes)
{
	if (!in->placed) {
		p->unplaced += bytes;
		return;
	}
	if (!p->pieces++)
		fprintf(p->to, "  %15s %15s %15s %15s\n", "guest", "image", "sector", "bytes");
	fprintf(p->to, "  %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " %15" PRIu64 "\n", guest, image,
		(in->device + (image - in->file)) / SECTOR_BYTES, bytes);
	p->bytes += bytes;
}

/* BYTES of the guest's disk that lie in the image from AT on. */
static void print_data(struct print *p, uint64_t guest, uint64_t at, uint64_t bytes)
{
	size_t i = find_extent(&p->extents, at);

	while (bytes) {
		const struct extent *e = i < p->extents.n ? &p->extents.v[i] : NULL;
		uint64_t n = bytes;

		if (e && at < e->file) {
			n = e->file - at < bytes ? e->file - at : bytes;
			p->holes += n;
		} else if (e) {
			n = e->file + e->bytes - at < bytes ? e->file + e->bytes - at : bytes;
			print_piece(p, guest, at, e, n);
			i++;
		} else {
			p->holes += n;
		}
		guest += n;
		at += n;
		bytes -= n;
	}
}

static int print_run(void *arg, const struct qcow2_run *run)
{
	struct print *p = arg;

	if (run->kind == QCOW2_DATA)
		print_data(p, run->guest, run->at, run->bytes);
	else if (run->kind == QCOW2_ZERO)
		p->zeros += run->bytes;
	else if (run->kind == QCOW2_COMPRESSED)
		p->compressed += run->bytes;
	else
		p->holes += run->bytes;
	return ferror(p->to) ? -EIO : 0;
}

static ssize_t read_image(void *image, void *to, size_t bytes, uint64_t at)
{
	ssize_t n = pread(*(const int *)image, to, bytes, (off_t)at);

	return n < 0 ? -errno : n;
}

static void print_rest(const struct print *p, const struct vm_image *image)
{
	struct statfs fs;

	fprintf(p->to, "  %zu pieces, %" PRIu64 " bytes", p->pieces, p->bytes);
	if (p->holes)
		fprintf(p->to, "; holes %" PRIu64 "%s", p->holes,
			image->is_qcow2 && image->header.backing ? ", or of the backing image"
								 : "");
	if (p->zeros)
		fprintf(p->to, "; zeros %" PRIu64, p->zeros);
	if (p->compressed)
		fprintf(p->to, "; compressed %" PRIu64 " (not mapped)", p->compressed);
	if (p->unplaced)
		fprintf(p->to, "; without a place of their own yet %" PRIu64, p->unplaced);
	if (image->is_qcow2 && image->header.encrypted)
		fputs("; encrypted", p->to);
	if (fstatfs(p->fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC)
		fputs("; sectors are of btrfs's own addresses, not of a device", p->to);
	fputc('\n', p->to);
}

/* The same as below, when the extents are known. */
static int print_pieces(struct print *p, const struct vm_image *image, const char **why)
{
	off_t bytes = lseek(p->fd, 0, SEEK_END);
	int rc = 0;

	if (image->is_qcow2)
		rc = qcow2_map(&image->header, read_image, &p->fd, print_run, p);
	else if (bytes > 0)
		print_data(p, 0, 0, (uint64_t)bytes);
	*why = rc == -EINVAL	? "its tables are damaged (qemu-img check IMAGE)"
	       : rc == -ENOTSUP ? "its data is in another file, or it has features that are not "
				  "known"
	       : rc == -EIO	? "it ends before its tables do"
				: strerror(-rc);
	if (rc == 0)
		print_rest(p, image);
	return rc;
}

/* 0, or what is wrong, in WHY. */
static int print_image_extents(FILE *to, const struct vm *vm, const struct vm_image *image,
			       const char **why)
{
	struct print p = { .to = to };
	char path[64];
	int rc;

	*why = "QEMU does not have it open, or as another user";
	if (!image->open)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)vm->pid, image->descriptor);
	p.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p.fd < 0) {
		*why = strerror(errno);
		return -errno;
	}
	rc = extents_find(p.fd, &p.extents);
	*why = rc == -EOPNOTSUPP ? "its file system does not say where files lie (FIEMAP)"
				 : strerror(-rc);
	if (rc == 0)
		rc = print_pieces(&p, image, why);
	extents_free(&p.extents);
	close(p.fd);
	return rc;
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
			fprintf(to, "  not mapped: %s\n", why);
			failed++;
		}
	}
	return failed;
}
