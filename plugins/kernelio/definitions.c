/* Where the CPUs' files keep their last records: what those refer to, in a file of its own. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool-budget.h"
#include "internal.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define N_KNOWN ((size_t)1 << 16)

struct definitions {
	struct spool spool;
	/* hashes of what was stored, each at a place of its own: what takes the place of another is
	 * stored once more */
	uint64_t known[N_KNOWN];
};

int definitions_new(struct kernelio *k, struct definitions **out)
{
	struct eta_spool_header header;
	char path[PATH_MAX + 32];
	int rc;

	*out = NULL;
	if (!k->options.budget || !k->options.budget->keeps_last)
		return 0;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	meta_header(&header, ETA_SPOOL_KERNEL);
	header.flags = ETA_SPOOL_DEFINITIONS;
	snprintf(path, sizeof(path), "%s/cpu.definitions", k->directory);
	rc = spool_create(&(*out)->spool, path, &header, WINDOW_BYTES, WINDOW_BYTES);
	if (rc)
		eta_error("%s/cpu.definitions: cannot create (%s)", k->options.name, strerror(-rc));
	return rc;
}

void definitions_free(struct definitions *definitions)
{
	if (definitions)
		spool_close(&definitions->spool);
	free(definitions);
}

struct spool *definitions_spool(struct definitions *definitions)
{
	return &definitions->spool;
}

bool definitions_take(const struct eta_record_head *head)
{
	return head->type == ETA_RECORD_FILE || head->type == ETA_RECORD_TASK ||
	       head->type == ETA_RECORD_LOSS;
}

/* FNV-1a */
static uint64_t hash_of(uint64_t hash, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

bool definitions_known(struct definitions *definitions, const struct eta_record_head *head,
		       const void *rest, size_t rest_bytes)
{
	struct {
		struct eta_record_head head;
		unsigned char rest[KERNELIO_PATH_BYTES * 2 + sizeof(struct eta_file_record)];
	} record = { .head = *head };
	struct eta_file_record *file = (void *)&record;
	struct eta_task_record *task = (void *)&record;
	uint64_t hash, *place;

	if (head->type == ETA_RECORD_LOSS || rest_bytes > sizeof(record.rest))
		return false;
	memcpy(record.rest, rest, rest_bytes);
	/* when it was met says nothing new */
	if (head->type == ETA_RECORD_FILE) {
		record.head.time_ns = record.head.end_ns = 0;
		file->prev = 0;
	} else {
		task->noted_ns = 0;
	}
	hash = hash_of(0xcbf29ce484222325, &record, sizeof(record.head) + rest_bytes);
	place = &definitions->known[hash % N_KNOWN];
	if (*place == hash)
		return true;
	*place = hash;
	return false;
}
