/* The tables of files and devices. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "resources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"

void resources_init(struct resources *r)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
}

void resources_free(struct resources *r)
{
	free(r->files);
	free(r->slots);
	free(r->devs);
	free(r->dev_slots);
	pthread_mutex_destroy(&r->lock);
}

void resource_cache_reset(struct resource_cache *cache)
{
	for (int i = 0; i < RESOURCE_CACHE; i++)
		cache->files[i].used = false;
}

static int slots_grow(struct resources *r)
{
	uint32_t n = r->n_slots ? 2 * r->n_slots : 64;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_files; i++) {
		uint32_t s = (uint32_t)hash_mix(r->files[i].dev, r->files[i].inode) & (n - 1);

		while (slots[s])
			s = (s + 1) & (n - 1);
		slots[s] = i + 1;
	}
	free(r->slots);
	r->slots = slots;
	r->n_slots = n;
	return 0;
}

static int file_find(struct resources *r, uint64_t dev, uint64_t inode, uint32_t location,
		     uint32_t *index)
{
	uint32_t s;

	if (2 * r->n_files >= r->n_slots && slots_grow(r) < 0)
		return -ENOMEM;
	s = (uint32_t)hash_mix(dev, inode) & (r->n_slots - 1);
	for (; r->slots[s]; s = (s + 1) & (r->n_slots - 1)) {
		struct resource_file *f = &r->files[r->slots[s] - 1];

		if (f->dev != dev || f->inode != inode)
			continue;
		if (f->location != location)
			f->shared = true;
		*index = r->slots[s] - 1;
		return 0;
	}
	if (!ARRAY_FITS(r->files, r->n_files + 1, r->room))
		return -ENOMEM;
	*index = r->n_files;
	r->files[r->n_files++] =
		(struct resource_file){ .inode = inode, .dev = dev, .location = location };
	r->slots[s] = r->n_files;
	return 0;
}

int resource_file(struct resources *r, struct resource_cache *cache, uint64_t dev, uint64_t inode,
		  uint32_t location, uint32_t *index)
{
	unsigned c = (unsigned)hash_mix(dev, inode) % RESOURCE_CACHE;
	int rc;

	if (cache->files[c].used && cache->files[c].dev == dev && cache->files[c].inode == inode) {
		*index = cache->files[c].index;
		return 0;
	}
	pthread_mutex_lock(&r->lock);
	rc = file_find(r, dev, inode, location, index);
	pthread_mutex_unlock(&r->lock);
	if (rc < 0)
		return rc;
	cache->files[c].dev = dev;
	cache->files[c].inode = inode;
	cache->files[c].index = *index;
	cache->files[c].used = true;
	return 0;
}

static int dev_slots_grow(struct resources *r)
{
	uint32_t n = r->n_dev_slots ? 2 * r->n_dev_slots : 16;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_devs; i++) {
		uint32_t s = (uint32_t)hash_mix(r->devs[i], 0) & (n - 1);

		while (slots[s])
			s = (s + 1) & (n - 1);
		slots[s] = i + 1;
	}
	free(r->dev_slots);
	r->dev_slots = slots;
	r->n_dev_slots = n;
	return 0;
}

/* A trace of many machines has many devices. */
static int dev_find(struct resources *r, uint64_t dev, uint32_t *index)
{
	uint32_t s;

	if (2 * r->n_devs >= r->n_dev_slots && dev_slots_grow(r) < 0)
		return -ENOMEM;
	s = (uint32_t)hash_mix(dev, 0) & (r->n_dev_slots - 1);
	for (; r->dev_slots[s]; s = (s + 1) & (r->n_dev_slots - 1)) {
		*index = r->dev_slots[s] - 1;
		if (r->devs[*index] == dev)
			return 0;
	}
	if (!ARRAY_FITS(r->devs, r->n_devs + 1, r->dev_room))
		return -ENOMEM;
	*index = r->n_devs;
	r->devs[r->n_devs++] = dev;
	r->dev_slots[s] = r->n_devs;
	return 0;
}

int resource_dev(struct resources *r, struct resource_cache *cache, uint64_t dev, uint32_t *index)
{
	int rc;

	if (cache->dev_used && cache->dev == dev) {
		*index = cache->dev_index;
		return 0;
	}
	pthread_mutex_lock(&r->lock);
	rc = dev_find(r, dev, index);
	pthread_mutex_unlock(&r->lock);
	if (rc < 0)
		return rc;
	cache->dev = dev;
	cache->dev_index = *index;
	cache->dev_used = true;
	return 0;
}
