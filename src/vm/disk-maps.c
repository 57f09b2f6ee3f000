/* Where the disks of traced virtual machines lie when their recording ends, as properties of it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "disk-maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "pieces.h"

enum {
	CHUNK_BYTES = 3840,	/* of a property, with its name below 4 KiB */
	MAP_BYTES_MAX = 1 << 20 /* of all pieces of a disk: some 130 000 that lie anywhere */
};

struct held_image {
	int fd;		 /* -1: not open, */
	const char *why; /* therefore */
	bool named;	 /* its name was that of this file */
	struct stat status;
};

/* ---- at the begin ---- */

static bool has_name(const struct vm_image *image, const struct stat *status)
{
	struct stat named;

	return stat(image->path, &named) == 0 && named.st_dev == status->st_dev &&
	       named.st_ino == status->st_ino;
}

static void hold(pid_t pid, const struct vm_image *image, struct held_image *held)
{
	held->fd = pieces_open(pid, image, &held->why);
	if (held->fd < 0)
		return;
	if (fstat(held->fd, &held->status) == 0) {
		held->named = has_name(image, &held->status);
		return;
	}
	held->why = strerror(errno);
	close(held->fd);
	held->fd = -1;
}

int disk_maps_hold(const struct vms *vms, struct disk_maps *maps)
{
	size_t n = 0;

	for (size_t i = 0; i < vms->n; i++)
		n += vms->v[i].command.n_disks;
	*maps = (struct disk_maps){ .v = calloc(n + 1, sizeof(*maps->v)) };
	if (!maps->v) {
		eta_error("not enough memory for %zu disks", n);
		return -ENOMEM;
	}
	for (size_t i = 0; i < vms->n; i++)
		for (size_t k = 0; k < vms->v[i].command.n_disks; k++)
			hold(vms->v[i].pid, &vms->v[i].images[k], &maps->v[maps->n++]);
	return 0;
}

void disk_maps_free(struct disk_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].fd >= 0)
			close(maps->v[i].fd);
	free(maps->v);
	*maps = (struct disk_maps){ 0 };
}

/* ---- at the end ---- */

/* One disk that is put. */
struct putting {
	void (*put)(void *arg, const char *text);
	void *arg;
	char name[64]; /* of its properties */
};

static int take_piece(void *map, const struct disk_piece *piece)
{
	return disk_map_add(map, piece);
}

static void put_chunk(void *arg, unsigned number, const char *chunk)
{
	const struct putting *p = arg;
	char text[CHUNK_BYTES + 128];

	snprintf(text, sizeof(text), "%s_%u=%s", p->name, number, chunk);
	p->put(p->arg, text);
}

static void set(json_t *told, const char *key, uint64_t value)
{
	json_object_set_new(told, key, json_integer((json_int_t)value));
}

static void set_known(json_t *told, const char *key, uint64_t value)
{
	if (value)
		set(told, key, value);
}

/* The pieces as they fit: of too many the largest. What they are in the text goes to TOLD. */
static void put_pieces(struct putting *p, const struct disk_map *map, json_t *told)
{
	uint64_t unit = disk_map_unit(map), least = 0, left_out = 0, n_left_out = 0;
	unsigned chunks;

	while (disk_map_write(map, unit, least, CHUNK_BYTES, NULL, NULL, &chunks) > MAP_BYTES_MAX)
		least = least ? 2 * least : unit;
	for (size_t i = 0; i < map->n; i++)
		if (map->v[i].bytes < least) {
			left_out += map->v[i].bytes;
			n_left_out++;
		}
	disk_map_write(map, unit, least, CHUNK_BYTES, put_chunk, p, &chunks);
	set(told, "chunks", chunks);
	set(told, "unit", unit);
	set_known(told, "left_out", n_left_out);
	set_known(told, "left_out_bytes", left_out);
}

/* Not of a process that has ended, though its parent does not know yet: that has no command line.
 */
static bool runs(pid_t pid)
{
	char path[64], first;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, &first, 1);
	if (fd >= 0)
		close(fd);
	return n == 1;
}

/* What became of the file while it was recorded, NULL: nothing. */
static const char *fate(pid_t pid, const struct vm_image *image, const struct held_image *held,
			const struct stat *now)
{
	struct stat status;
	char path[64];
	bool there;

	if (now->st_nlink == 0)
		return "deleted";
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, image->descriptor);
	there = stat(path, &status) == 0;
	if (there && (status.st_dev != now->st_dev || status.st_ino != now->st_ino))
		/* the number may be that of a socket since */
		return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) ? "exchanged" : "closed";
	if (!there && errno == ENOENT && runs(pid))
		return "closed";
	return held->named && !has_name(image, now) ? "replaced" : NULL;
}

static void set_changes(json_t *told, pid_t pid, const struct vm_image *image,
			const struct held_image *held)
{
	const char *became;
	struct stat now;

	if (fstat(held->fd, &now))
		return;
	became = fate(pid, image, held, &now);
	if (became)
		json_object_set_new(told, "became", json_string(became));
	set(told, "size_bytes", (uint64_t)now.st_size);
	if (now.st_size > held->status.st_size)
		set(told, "grown_bytes", (uint64_t)(now.st_size - held->status.st_size));
	if (now.st_blocks > held->status.st_blocks)
		set(told, "filled_bytes", (uint64_t)(now.st_blocks - held->status.st_blocks) * 512);
}

/* Of a partition its disk, and the sector that it begins at: requests have those of the disk. */
static void set_partition(json_t *told, uint32_t dev)
{
	unsigned long long start;
	unsigned disk[2];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/start", dev >> 20, dev & 0xfffff);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu", &start) == 1)
		set(told, "start_sector", start);
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", dev >> 20, dev & 0xfffff);
	file = fopen(path, "re");
	if (file && fscanf(file, "%u:%u", &disk[0], &disk[1]) == 2)
		set(told, "disk_dev", disk[0] << 20 | disk[1]);
	if (file)
		fclose(file);
}

static void set_sums(json_t *told, const struct pieces_sums *sums)
{
	set(told, "pieces", sums->pieces);
	set(told, "mapped_bytes", sums->bytes);
	set_known(told, "holes_bytes", sums->holes);
	set_known(told, "zeros_bytes", sums->zeros);
	set_known(told, "compressed_bytes", sums->compressed);
	set_known(told, "unplaced_bytes", sums->unplaced);
	if (sums->own_addresses)
		json_object_set_new(told, "own_addresses", json_true());
}

static int put_disk(struct putting *p, const struct vm *vm, const struct vm_image *image,
		    const struct held_image *held)
{
	uint32_t dev = image->block ? image->block : image->dev;
	struct pieces_sums sums = { 0 };
	struct disk_map map = { 0 };
	const char *why = held->why;
	json_t *told = json_object();
	char *json, *text = NULL;
	int rc = held->fd < 0 ? -ENOENT
			      : pieces_find(held->fd, image, take_piece, &map, &sums, &why);

	if (rc) {
		json_object_set_new(told, "why", json_string(why));
		if (image->open)
			eta_warn("%s: where it lies is not recorded: %s", image->path, why);
	} else {
		set(told, "dev", dev);
		set_partition(told, dev);
		set_sums(told, &sums);
		put_pieces(p, &map, told);
	}
	if (held->fd >= 0)
		set_changes(told, vm->pid, image, held);
	json = json_dumps(told, JSON_COMPACT | JSON_PRESERVE_ORDER);
	rc = json && asprintf(&text, "%s=%s", p->name, json) >= 0 ? 0 : -ENOMEM;
	if (rc == 0)
		p->put(p->arg, text);
	free(text);
	free(json);
	json_decref(told);
	disk_map_free(&map);
	return rc;
}

void disk_maps_put(const struct vms *vms, const struct disk_maps *maps,
		   void (*put)(void *arg, const char *text), void *arg)
{
	struct putting p = { .put = put, .arg = arg };
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < vms->n; i++)
		for (size_t k = 0; rc == 0 && k < vms->v[i].command.n_disks; k++, at++) {
			snprintf(p.name, sizeof(p.name), DISK_MAP_PREFIX "%d_%zu",
				 (int)vms->v[i].pid, k);
			rc = put_disk(&p, &vms->v[i], &vms->v[i].images[k], &maps->v[at]);
		}
	if (rc)
		eta_warn("not enough memory to note where the disks of the virtual machines lie");
}
