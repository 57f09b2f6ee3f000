/* Mapped files: a table without a lock, searched from one end to the other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "maps.h"

#include "grown.h"

#define MAX_MAPS 4096
#define RESERVED 1 /* as `from`: being filled */

struct map {
	_Atomic uintptr_t from; /* 0: free */
	_Atomic uintptr_t to;
	_Atomic int64_t offset;
	struct file *_Atomic file;
};
static struct grown maps = { sizeof(struct map), 128, { NULL } };
static _Atomic int maps_top; /* entries ever used */

/* An entry that was used before. */
static struct map *map_of(int i)
{
	return grown_at(&maps, (uint32_t)i);
}

static struct map *map_at(uintptr_t at)
{
	int top = atomic_load(&maps_top);

	for (int i = 0; i < top; i++) {
		struct map *map = map_of(i);
		uintptr_t from = atomic_load(&map->from);

		if (from > RESERVED && at >= from && at < atomic_load(&map->to))
			return map;
	}
	return NULL;
}

void maps_add(const void *at, size_t bytes, struct file *file, int64_t offset)
{
	for (int i = 0; i < MAX_MAPS; i++) {
		int top = atomic_load(&maps_top);
		struct map *map = grown_make(&maps, (uint32_t)i);
		uintptr_t none = 0;

		if (!map)
			return;
		if (!atomic_compare_exchange_strong(&map->from, &none, RESERVED))
			continue;
		atomic_fetch_add(&file->references, 1);
		atomic_store(&map->to, (uintptr_t)at + bytes);
		atomic_store(&map->offset, offset);
		atomic_store(&map->file, file);
		atomic_store(&map->from, (uintptr_t)at);
		while (i >= top && !atomic_compare_exchange_weak(&maps_top, &top, i + 1))
			;
		return;
	}
}

struct file *maps_find(const void *at, int64_t *offset)
{
	const struct map *map = map_at((uintptr_t)at);

	if (!map)
		return NULL;
	*offset = atomic_load(&map->offset) + (int64_t)((uintptr_t)at - atomic_load(&map->from));
	return atomic_load(&map->file);
}

void maps_remove(const void *at, size_t bytes)
{
	const uintptr_t begin = (uintptr_t)at, end = begin + bytes;
	int top = atomic_load(&maps_top);

	for (int i = 0; i < top; i++) {
		struct map *map = map_of(i);
		uintptr_t from = atomic_load(&map->from), to = atomic_load(&map->to);

		if (from <= RESERVED || from >= end || to <= begin)
			continue;
		if (from >= begin && to <= end) {
			struct file *file = atomic_load(&map->file);

			if (!atomic_compare_exchange_strong(&map->from, &from, RESERVED))
				continue;
			atomic_store(&map->from, 0);
			files_put(file);
		} else if (from >= begin) { /* its head goes */
			atomic_fetch_add(&map->offset, (int64_t)(end - from));
			atomic_store(&map->from, end);
		} else if (to <= end) { /* its tail */
			atomic_store(&map->to, begin);
		}
		/* else a hole in the middle, on which nothing is called any more */
	}
}

void maps_forget(void)
{
	int top = atomic_load(&maps_top);

	for (int i = 0; i < top; i++)
		atomic_store_explicit(&map_of(i)->from, 0, memory_order_relaxed);
	atomic_store(&maps_top, 0);
}
