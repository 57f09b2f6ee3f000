/* Spools made by hand for the tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-maker.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			perror(#what);                                                             \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

void maker_begin(char *dir)
{
	EXPECT(mkdtemp(dir));
}

void maker_end(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[512];

	EXPECT(d);
	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (*entry->d_name != '.')
			EXPECT(unlink(path) == 0);
	}
	closedir(d);
	EXPECT(rmdir(dir) == 0);
}

void maker_file(struct spool *spool, const char *dir, const char *name,
		const struct eta_spool_header *header)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	EXPECT(spool_create(spool, path, header, 4096, 65536) == 0);
}

static void *reserve(struct spool *spool, struct eta_record_head *head, size_t bytes)
{
	size_t whole = (bytes + ETA_UNIT_BYTES - 1) / ETA_UNIT_BYTES * ETA_UNIT_BYTES;
	void *at = spool_reserve(spool, whole);

	EXPECT(at);
	head->units = (uint16_t)(whole / ETA_UNIT_BYTES);
	return at;
}

void maker_record(struct spool *spool, struct eta_record_head head, const void *body, size_t bytes)
{
	unsigned char *at = reserve(spool, &head, sizeof(head) + bytes);

	memcpy(at, &head, sizeof(head));
	if (bytes)
		memcpy(at + sizeof(head), body, bytes);
}

void maker_name(struct spool *spool, enum eta_record_type type, uint32_t id, uint8_t kind,
		const char *text)
{
	size_t n = strlen(text);
	struct eta_name_record name = {
		.head = { .type = (uint8_t)type, .flags = kind, .id = id },
		.text_bytes = (uint32_t)n,
	};
	unsigned char *at = reserve(spool, &name.head, sizeof(name) + n);

	memcpy(at, &name, sizeof(name));
	memcpy(at + sizeof(name), text, n);
}

void maker_user_op(struct spool *spool, struct eta_user_op op)
{
	void *at = reserve(spool, &op.head, sizeof(op));

	op.head.type = ETA_RECORD_USER_OP;
	memcpy(at, &op, sizeof(op));
}

void maker_file_record(struct spool *spool, struct eta_file_record file, const char *path)
{
	size_t n = strlen(path);
	unsigned char *at = reserve(spool, &file.head, sizeof(file) + n);

	file.head.type = ETA_RECORD_FILE;
	file.prev = spool->header->last_file;
	file.path_bytes = (uint32_t)n;
	memcpy(at, &file, sizeof(file));
	memcpy(at + sizeof(file), path, n);
	spool->header->last_file = spool_offset(spool, at);
}

void maker_kernel_op(struct spool *spool, struct eta_kernel_op op, const struct eta_span *spans,
		     size_t n_spans)
{
	unsigned char *at = reserve(spool, &op.head, sizeof(op) + n_spans * sizeof(*spans));

	op.head.type = ETA_RECORD_KERNEL_OP;
	memcpy(at, &op, sizeof(op));
	if (n_spans)
		memcpy(at + sizeof(op), spans, n_spans * sizeof(*spans));
}

void maker_async_op(struct spool *spool, struct eta_kernel_op op)
{
	void *at = reserve(spool, &op.head, sizeof(op));

	op.head.type = ETA_RECORD_ASYNC_OP;
	memcpy(at, &op, sizeof(op));
}

void maker_bio(struct spool *spool, struct eta_bio_record bio)
{
	void *at = reserve(spool, &bio.head, sizeof(bio));

	bio.head.type = ETA_RECORD_BIO;
	memcpy(at, &bio, sizeof(bio));
}

void maker_task(struct spool *spool, struct eta_task_record task)
{
	void *at = reserve(spool, &task.head, sizeof(task));

	task.head.type = ETA_RECORD_TASK;
	memcpy(at, &task, sizeof(task));
}

void maker_thread(struct spool *spool, uint32_t tid, uint64_t start_ns, const char *comm)
{
	struct eta_thread_record thread = {
		.head = { .type = ETA_RECORD_THREAD, .id = tid, .time_ns = start_ns },
		.prev = spool->header->last_thread,
	};
	unsigned char *at = reserve(spool, &thread.head, sizeof(thread));

	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	memcpy(at, &thread, sizeof(thread));
	spool->header->last_thread = spool_offset(spool, at);
}
