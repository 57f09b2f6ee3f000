/* FILE records: what calls say of their file by a number. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <string.h>

/* Of a call that follows, with what goes before it. */
#define CALL_BYTES (4 * sizeof(struct eta_user_op))

static size_t bytes_of(size_t path_bytes)
{
	return spool_record_bytes(sizeof(struct eta_file_record) + path_bytes);
}

void names_store(struct spool *spool, const struct file *file, const char *path, size_t path_bytes,
		 uint32_t fs_magic)
{
	size_t bytes = bytes_of(path_bytes);
	struct eta_file_record *record = spool_reserve(spool, bytes);
	uint64_t at;

	if (!record)
		return;
	at = spool_offset(spool, record);
	record->head.time_ns = clock_real();
	record->head.units = (uint16_t)(bytes / ETA_UNIT_BYTES);
	record->head.id = file->id;
	record->head.flags = file->kind;
	record->dev = file->dev;
	record->open_flags = file->open_flags;
	record->inode = file->inode;
	record->prev = spool->header->last_file;
	record->fs_magic = fs_magic;
	record->path_bytes = (uint32_t)path_bytes;
	memcpy(record->path, path, path_bytes);
	__atomic_store_n(&record->head.type, ETA_RECORD_FILE, __ATOMIC_RELEASE);
	__atomic_store_n(&spool->header->last_file, at, __ATOMIC_RELEASE);
}

static uint32_t *place_of(struct spool_sink_thread *sink, uint32_t id)
{
	return &sink->named[id % SPOOL_SINK_NAMED];
}

bool names_has(struct spool_sink_thread *sink, uint32_t id)
{
	return !sink->spool.keeps_last || *place_of(sink, id) == id;
}

void names_put(struct spool_sink_thread *sink, const struct file *file, const char *path,
	       size_t path_bytes, uint32_t fs_magic)
{
	struct spool *spool = &sink->spool;
	const size_t bytes = bytes_of(path_bytes) + CALL_BYTES;

	if (spool->keeps_last) {
		/* the next window, if the call would not be in the same as its name */
		if ((size_t)(spool->end - spool->next) < bytes) {
			unsigned char *at = spool_take(spool, bytes);

			if (at)
				spool->next = at;
		}
		*place_of(sink, file->id) = file->id;
	}
	names_store(spool, file, path, path_bytes, fs_magic);
}

void names_forget(struct spool_sink_thread *sink)
{
	memset(sink->named, 0, sizeof(sink->named));
}

void spool_sink_keep_name(struct thread *t, const struct file *file, int fd)
{
	if (!names_has(spool_sink_of(t), file->id))
		files_record_again(file, fd);
}
