/* Inside of eta-ext: where the bytes of a virtual machine's disk lie on its host, as properties. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_DISK_MAP_H
#define ETA_DISK_MAP_H

#include "eta-ext/base/eta.h"

/*
 * Trace properties of disk N of virtual machine PID: "SCI::DISKMAP_PID_N", JSON
 * (doc/virtual-machines.md has its keys), and its pieces in "SCI::DISKMAP_PID_N_K", K from 0 on.
 */
#define DISK_MAP_PREFIX "DISKMAP_"
#define DISK_MAP_PROPERTY "SCI::" DISK_MAP_PREFIX

/* BYTES of the guest's disk that lie in one piece: where in bytes. */
struct disk_piece {
	uint64_t guest, image;
	uint64_t device; /* of the image's file system, or that the image is */
	uint64_t bytes;
};

struct disk_map {
	struct disk_piece *v; /* in the order of the guest's disk, none in another */
	size_t n, room;
};

/* 0 or -ENOMEM. */
int disk_map_add(struct disk_map *map, const struct disk_piece *piece);
void disk_map_free(struct disk_map *map);

/* The longest power of two that all numbers of MAP are multiples of, 1 MiB at most. */
uint64_t disk_map_unit(const struct disk_map *map);

/*
 * The pieces of MAP of LEAST bytes or more as text, in parts of at most CHUNK bytes: PUT, if not
 * NULL, has each with its number. Returns the number of bytes of all parts, their number in
 * *CHUNKS.
 */
size_t disk_map_write(const struct disk_map *map, uint64_t unit, uint64_t least, size_t chunk,
		      void (*put)(void *arg, unsigned number, const char *text), void *arg,
		      unsigned *chunks);

/*
 * The pieces that DEFS have of disk DISK of virtual machine PID. -ENOENT: none; -EBADMSG: they are
 * damaged; -ENOMEM. disk_map_free in any case.
 */
int disk_map_read(const struct eta_defs *defs, uint32_t pid, uint32_t disk, struct disk_map *map);

/* Sorts MAP by places in the image; then those of the guest can be found, false: nothing is there.
 */
void disk_map_sort_by_image(struct disk_map *map);
bool disk_map_guest_of(const struct disk_map *map, uint64_t image, uint64_t *guest);

/* The first piece that ends behind AT of the guest's disk; MAP->n: none does. */
size_t disk_map_find(const struct disk_map *map, uint64_t at);

#endif
