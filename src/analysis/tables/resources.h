/* What threads may share: files and devices, as small numbers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RESOURCES_H
#define SCI_RESOURCES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/common/slots.h"

/* The definitions say no device for a file that is only known by its path; its inode is a hash. */
#define DEV_PATH_ONLY UINT32_MAX
/* All devices of the machine: of an operation on no file that waits for each, sync(2). */
#define DEV_EVERYWHERE (UINT32_MAX - 1)

struct resource_file {
	uint64_t inode;
	uint64_t dev;	   /* machine_dev() */
	uint32_t location; /* the first that used it */
	bool shared;	   /* another one did, too */
};

/*
 * Numbers are given in order of meeting, so they differ from run to run; they serve to tell
 * resources apart and must not reach any output.
 */
struct resources {
	pthread_mutex_t lock;
	struct resource_file *files;
	uint32_t n_files, room;
	struct slots by_file;
	uint64_t *devs;
	uint32_t n_devs, dev_room;
	struct slots by_dev;
};

/* What one thread of the analysis remembers, so that it seldom takes the lock. */
#define RESOURCE_CACHE 64
struct resource_cache {
	struct {
		uint64_t dev, inode;
		uint32_t index;
		bool used;
	} files[RESOURCE_CACHE];
	uint64_t dev;
	uint32_t dev_index;
	bool dev_used;
};

/* Empty tables; resources_free frees what is added to them. */
void resources_init(struct resources *r);
void resources_free(struct resources *r);

/* Forgets, because another location begins: who uses a file has to be noted anew. */
void resource_cache_reset(struct resource_cache *cache);

/*
 * The number of a file, which LOCATION uses (an unknown one has no inode: all of them on a device
 * are one), and of a device; new ones get the next. CACHE is the calling thread's. 0 or -ENOMEM.
 */
int resource_file(struct resources *r, struct resource_cache *cache, uint64_t dev, uint64_t inode,
		  uint32_t location, uint32_t *index);
int resource_dev(struct resources *r, struct resource_cache *cache, uint64_t dev, uint32_t *index);

#endif
