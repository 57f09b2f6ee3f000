/* What the regions are called that the spans of kernel operations become. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-index.h"

#define FS_SPANS                                                                                   \
	(1u << ETA_SPAN_FS_READ | 1u << ETA_SPAN_FS_WRITE | 1u << ETA_SPAN_FS_SYNC |               \
	 1u << ETA_SPAN_FS_WRITEPAGES)

static const char *const span_regions[ETA_N_SPANS] = {
#define X(id, region) [ETA_SPAN_##id] = region,
	ETA_SPANS(X)
#undef X
};

/* "fs:sync_file" on ext4 is "fs:ext4_sync_file"; what is not in FS_SPANS has one name on all. */
static uint32_t fs_region(struct eta_trace *trace, const char *fs, const char *region)
{
	char name[128];

	snprintf(name, sizeof(name), "fs:%s%s%s", fs, *fs ? "_" : "", region + strlen("fs:"));
	return spool_region(trace, name);
}

/* Does anybody sleep there without another name? */
static bool has_other_waits(int level)
{
	return level != ETA_LEVEL_USER && level != ETA_LEVEL_CPU && level != ETA_LEVEL_NET;
}

static void other_wait_name(int level, char *name, size_t room)
{
	snprintf(name, room, "%s:%s", eta_level_name((enum eta_level)level),
		 span_regions[ETA_SPAN_SLEEP]);
}

static int define_fs(struct eta_trace *trace, struct index_fs *fs)
{
	const char *name = spool_fs_name(fs->magic);
	bool ok = true;

	for (int kind = 1; ok && kind < ETA_N_SPANS; kind++) {
		if (!(fs->span_kinds & 1u << kind) || kind == ETA_SPAN_SLEEP)
			continue;
		fs->regions[kind] = FS_SPANS & 1u << kind
					    ? fs_region(trace, name, span_regions[kind])
					    : spool_region(trace, span_regions[kind]);
		ok = fs->regions[kind] != ETA_NONE;
	}
	if (ok && fs->span_kinds & FS_WORK) {
		fs->file_read = fs_region(trace, name, span_regions[ETA_SPAN_FS_READ]);
		fs->file_write = fs_region(trace, name, span_regions[ETA_SPAN_FS_WRITE]);
		ok = fs->file_read != ETA_NONE && fs->file_write != ETA_NONE;
	}
	return ok ? 0 : -ENOMEM;
}

/* The region called NAME of what is at PLACE. */
static uint32_t place_region(struct eta_trace *trace, const char *name, const char *place)
{
	char text[1200];
	enum eta_level level;
	enum eta_reason reason;

	eta_region_name_split(name, &level, &reason);
	snprintf(text, sizeof(text), ETA_PLACE "%s", place);
	return eta_defs_region(trace, name, level, text);
}

static int define_places(struct eta_trace *trace, struct spool_index *index)
{
	bool ok = true;

	index->places = calloc(index->n_sleeps + 1, sizeof(*index->places));
	if (!index->places)
		return -ENOMEM;
	memset(index->places, 0xff, index->n_sleeps * sizeof(*index->places)); /* ETA_NONE */
	for (uint32_t i = 0; ok && i < index->n_sleeps; i++) {
		struct index_place *place = &index->places[i];
		const char *functions = index->sleeps[i].functions;

		if (!functions)
			continue;
		place->lock = place_region(trace, span_regions[ETA_SPAN_OTHER_LOCK], functions);
		place->journal_commit = place_region(trace, "fs:journal commit", functions);
		ok = place->lock != ETA_NONE && place->journal_commit != ETA_NONE;
		for (int level = 0; ok && level < ETA_N_LEVELS; level++) {
			char name[64];

			if (!has_other_waits(level))
				continue;
			other_wait_name(level, name, sizeof(name));
			place->other_wait[level] = place_region(trace, name, functions);
			ok = place->other_wait[level] != ETA_NONE;
		}
	}
	return ok ? 0 : -ENOMEM;
}

static bool has_fuse(const struct spool_index *index)
{
	for (size_t i = 0; i < index->n_fs; i++)
		if (index->fs[i].magic == FUSE_SUPER_MAGIC)
			return true;
	return false;
}

int expand_define(struct eta_trace *trace, struct spool_index *index)
{
	const struct spool *spool = trace->data;
	uint32_t kinds = 0;
	enum eta_reason reason;
	bool ok = true;
	int rc = 0;

	for (int kind = 1; kind < ETA_N_SPANS; kind++)
		eta_region_name_split(span_regions[kind], &index->span_levels[kind], &reason);
	index->span_levels[ETA_N_SPANS] = ETA_LEVEL_FS;
	index->sleeps = spool->images[0].sleeps;
	index->n_sleeps = spool->images[0].n_sleeps;
	index->listener_tid = spool->listener_tid;
	rc = define_places(trace, index);
	/* between two operations it is of no file system, and may be part of the first one */
	for (size_t i = 0; i < index->n_fs; i++)
		kinds |= index->fs[i].span_kinds & INDEX_RETURNING_KINDS;
	for (size_t i = 0; rc == 0 && i < index->n_fs; i++) {
		index->fs[i].span_kinds |= kinds & INDEX_RETURNING_KINDS;
		rc = define_fs(trace, &index->fs[i]);
		kinds |= index->fs[i].span_kinds;
	}
	if (rc == 0 && kinds & 1u << ETA_SPAN_RUN_QUEUE) {
		index->regions.own_work = spool_region(trace, "cpu:own work");
		rc = index->regions.own_work == ETA_NONE ? -ENOMEM : 0;
	}
	if (rc == 0 && kinds & 1u << ETA_SPAN_EVICTION) {
		index->regions.dropped_pages = spool_region(trace, "pagecache:dropped pages");
		rc = index->regions.dropped_pages == ETA_NONE ? -ENOMEM : 0;
	}
	if (rc || !(index->has_tracks ||
		    kinds & (1u << ETA_SPAN_SLEEP | 1u << ETA_SPAN_PAGE_WRITEBACK_WAIT)))
		return rc;
	for (int level = 0; ok && level < ETA_N_LEVELS; level++) {
		char name[64];

		if (!has_other_waits(level))
			continue;
		other_wait_name(level, name, sizeof(name));
		index->regions.other_wait[level] = spool_region(trace, name);
		ok = index->regions.other_wait[level] != ETA_NONE;
	}
	if (ok) {
		index->regions.queue = spool_region(trace, "block:queue");
		index->regions.device = spool_region(trace, "block:device");
		index->regions.throttled = spool_region(trace, "block:held back");
		index->regions.throttled_by_own_limit =
			spool_region(trace, "block:held back by own limit");
		index->regions.reclaim = spool_region(trace, "pagecache:reclaim");
		index->regions.journal_commit = spool_region(trace, "fs:journal commit");
		index->regions.page_lock = spool_region(trace, "pagecache:page lock");
		index->regions.writeback_wait =
			spool_region(trace, span_regions[ETA_SPAN_PAGE_WRITEBACK_WAIT]);
		index->regions.fuse_server =
			has_fuse(index) ? spool_region(trace, "fs:FUSE server") : ETA_NONE;
		index->regions.fanotify_listener =
			index->listener_tid ? spool_region(trace, "vfs:fanotify listener")
					    : ETA_NONE;
		ok = index->regions.queue != ETA_NONE && index->regions.device != ETA_NONE &&
		     index->regions.throttled != ETA_NONE &&
		     index->regions.throttled_by_own_limit != ETA_NONE &&
		     index->regions.reclaim != ETA_NONE &&
		     index->regions.journal_commit != ETA_NONE &&
		     index->regions.page_lock != ETA_NONE &&
		     index->regions.writeback_wait != ETA_NONE;
	}
	if (ok && index->has_rpcs) {
		index->regions.rpc_queue = spool_region(trace, "net:rpc queue");
		index->regions.retransmit = spool_region(trace, "net:retransmit");
		index->regions.server = spool_region(trace, "net:server");
		ok = index->regions.rpc_queue != ETA_NONE &&
		     index->regions.retransmit != ETA_NONE && index->regions.server != ETA_NONE;
	}
	return ok ? 0 : -ENOMEM;
}

uint32_t index_region(const struct spool_index *index, const struct index_fs *fs, uint8_t kind,
		      uint8_t flags)
{
	if (kind == ETA_SPAN_RUN_QUEUE && flags & ETA_SPAN_OWN_WORK)
		return index->regions.own_work;
	if (kind == ETA_SPAN_EVICTION && flags & ETA_SPAN_DROPPED)
		return index->regions.dropped_pages;
	return fs->regions[kind];
}
