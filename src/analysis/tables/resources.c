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
	slots_free(&r->by_file);
	free(r->devs);
	slots_free(&r->by_dev);
	pthread_mutex_destroy(&r->lock);
}

void resource_cache_reset(struct resource_cache *cache)
{
	for (int i = 0; i < RESOURCE_CACHE; i++)
		cache->files[i].used = false;
}

static int file_find(struct resources *r, uint64_t dev, uint64_t inode, uint32_t location,
		     uint32_t *index)
{
	const uint64_t hash = hash_mix(dev, inode);
	struct slot *slot;

	if (slots_fit(&r->by_file) < 0)
		return -ENOMEM;
	slot = slots_first(&r->by_file, hash);
	for (; slot->number; slot = slots_next(&r->by_file, slot)) {
		struct resource_file *f = &r->files[slot->number - 1];

		if (f->dev != dev || f->inode != inode)
			continue;
		if (f->location != location)
			f->shared = true;
		*index = slot->number - 1;
		return 0;
	}
	if (!ARRAY_FITS(r->files, r->n_files + 1, r->room))
		return -ENOMEM;
	*index = r->n_files++;
	r->files[*index] =
		(struct resource_file){ .inode = inode, .dev = dev, .location = location };
	slots_take(&r->by_file, slot, hash, *index);
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

/* A hash: a trace of many machines has many devices. */
static int dev_find(struct resources *r, uint64_t dev, uint32_t *index)
{
	const uint64_t hash = hash_mix(dev, 0);
	struct slot *slot;

	if (slots_fit(&r->by_dev) < 0)
		return -ENOMEM;
	slot = slots_first(&r->by_dev, hash);
	for (; slot->number; slot = slots_next(&r->by_dev, slot)) {
		*index = slot->number - 1;
		if (r->devs[*index] == dev)
			return 0;
	}
	if (!ARRAY_FITS(r->devs, r->n_devs + 1, r->dev_room))
		return -ENOMEM;
	*index = r->n_devs++;
	r->devs[*index] = dev;
	slots_take(&r->by_dev, slot, hash, *index);
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
