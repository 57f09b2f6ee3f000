/* What the analysis needs to know of each region. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/name-calls.h"
#include "src/common/hash.h"

static bool is_scheduling(const struct eta_region *r)
{
	switch (r->reason) {
	case ETA_REASON_RUN_QUEUE:
	case ETA_REASON_WAKE_UP:
	case ETA_REASON_OWN_WORK:
	case ETA_REASON_OTHER_WAIT:
	case ETA_REASON_QUEUE:
	case ETA_REASON_DEVICE:
	case ETA_REASON_RPC_QUEUE:
	case ETA_REASON_SERVER:
	case ETA_REASON_RETRANSMIT:
	case ETA_REASON_THROTTLED:
	case ETA_REASON_THROTTLED_BY_OWN_LIMIT:
	case ETA_REASON_QUOTA:
	case ETA_REASON_STOPPED:
		return true;
	default:
		return false;
	}
}

/*
 * submit_bio returns at once; the wait happens in a file system or page cache frame. If the trace
 * has off-CPU time, only waits without a better name are waits for the bio; if not, all time below
 * the library is. Throttling is a pause, whatever is in flight.
 */
static bool bio_explains(const struct eta_region *r, bool scheduler)
{
	if (r->level != ETA_LEVEL_VFS && r->level != ETA_LEVEL_PAGECACHE &&
	    r->level != ETA_LEVEL_FS)
		return false;
	if (!scheduler)
		return r->reason != ETA_REASON_DIRTY_THROTTLING;
	return r->reason == ETA_REASON_OTHER_WAIT || r->reason == ETA_REASON_PAGE_LOCK ||
	       r->reason == ETA_REASON_PAGE_WRITEBACK_WAIT;
}

static enum operation_mode mode_of(const char *name)
{
	/* read or get something, but no bytes of a file */
	static const char *const others[] = { "readahead", "readdir", "readlink",
					      "getdents",  "getcwd",  "getxattr" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strstr(name, others[i]))
			return MODE_OTHER;
	if (strstr(name, "write") || strstr(name, "put") || strstr(name, "printf"))
		return MODE_WRITE;
	if (strstr(name, "read") || strstr(name, "get") || strstr(name, "scanf"))
		return MODE_READ;
	return MODE_OTHER;
}

/*
 * May it give a journal something to do? An open that creates a file differs from no other by its
 * name; what is done with that file then is.
 */
static bool changes_files(const char *name)
{
	static const char *const looks[] = { "open",   "close",	   "stat",	"access",
					     "seek",   "readdir",  "readlink",	"getdents",
					     "getcwd", "getxattr", "readahead", "fadvise",
					     "lock",   "fcntl",	   "mmap" };

	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
		if (strstr(name, looks[i]))
			return strcmp(name, "fclose") == 0;
	return true;
}

/* Recorded only if it waits: not part of a call's path. */
static bool is_there_if_it_waits(const struct eta_region *r)
{
	static const char *const names[] = {
#define X(name, kind, shape) "vfs:sys_" #name,
		ETA_NAME_CALLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(r->name, names[i]) == 0)
			return true;
	return false;
}

bool call_reaps(const char *name)
{
	/* some of these submit, too; what takes long is that they wait */
	static const char *const begins[] = { "io_getevents",	 "io_pgetevents",
					      "io_uring_enter",	 "io_uring_wait_cqe",
					      "__io_uring_get_", "io_uring_submit_and_wait",
					      "aio_suspend" };

	if (strncmp(name, "vfs:sys_", 8) == 0)
		name += 8;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool regions_are_light(const struct eta_defs *defs)
{
	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (defs->properties[i].process == ETA_NONE &&
		    strcmp(defs->properties[i].name, "SCI::KERNEL_MODE") == 0)
			return strcmp(defs->properties[i].value, "light") == 0;
	return false;
}

static enum syncs syncs_of(const char *name)
{
	static const struct {
		const char *name;
		enum syncs syncs;
	} calls[] = {
		{ "fsync", SYNCS_FILE },	  { "fdatasync", SYNCS_FILE },
		{ "msync", SYNCS_FILE },	  { "sync_file_range", SYNCS_FILE },
		{ "io_uring_fsync", SYNCS_FILE }, { "sync", SYNCS_ALL },
		{ "syncfs", SYNCS_ALL },
	};

	if (strncmp(name, "vfs:", 4) == 0)
		name += strncmp(name + 4, "sys_", 4) == 0 ? 8 : 4;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strcmp(name, calls[i].name) == 0)
			return calls[i].syncs;
	return SYNCS_NOTHING;
}

int regions_new(const struct eta_defs *defs, struct regions *regions)
{
	memset(regions, 0, sizeof(*regions));
	regions->n = defs->n_regions;
	regions->light = regions_are_light(defs);
	regions->info = calloc(defs->n_regions ? defs->n_regions : 1, sizeof(*regions->info));
	if (!regions->info)
		return -ENOMEM;
	for (uint32_t i = 0; i < defs->n_regions; i++)
		if (is_scheduling(&defs->regions[i]))
			regions->scheduler = true;
	for (uint32_t i = 0; i < defs->n_regions; i++) {
		const struct eta_region *r = &defs->regions[i];
		struct region_info *info = &regions->info[i];

		info->hash = hash_text(r->name);
		/* a wait for the CPU between two operations is no I/O */
		info->io = r->level < ETA_LEVEL_NONE && r->level != ETA_LEVEL_CPU;
		info->cell = (uint8_t)cell_of(r->level, r->reason);
		info->mode = (uint8_t)mode_of(r->name);
		info->changes = info->mode == MODE_WRITE ||
				(info->mode != MODE_READ && changes_files(r->name));
		info->is_memory_fault = strcmp(r->name, "pagecache:memory fault") == 0;
		info->is_write_fault = strcmp(r->name, "pagecache:mmap write fault") == 0;
		info->only_waits = is_there_if_it_waits(r) || info->is_memory_fault ||
				   strcmp(r->name, "pagecache:mmap read fault") == 0 ||
				   (regions->light && r->level != ETA_LEVEL_USER);
		info->is_reason = r->reason != ETA_REASON_NONE || is_there_if_it_waits(r);
		info->adds_pages =
			r->level == ETA_LEVEL_PAGECACHE &&
			(strstr(r->name, "page_cache_ra") || strstr(r->name, "readahead"));
		info->bio_explains = bio_explains(r, regions->scheduler);
		info->reaps = call_reaps(r->name);
		info->everywhere = strcmp(r->name, "vfs:sys_sync") == 0;
		info->syncs = (uint8_t)syncs_of(r->name);
	}
	return 0;
}

void regions_free(struct regions *regions)
{
	free(regions->info);
	regions->info = NULL;
}
