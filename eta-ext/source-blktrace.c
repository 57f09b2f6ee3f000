/* Source: blktrace's binary files, one per CPU or merged by blkparse -d. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log-blktrace.h"

/* As the kernel writes it (linux/blktrace_api.h), in the byte order of the traced machine. */
struct blk_record {
	uint32_t magic; /* and in its last byte the version */
	uint32_t sequence;
	uint64_t time_ns;
	uint64_t sector;
	uint32_t bytes;
	uint32_t action; /* what, and above bit 16 of which category */
	uint32_t pid;
	uint32_t device; /* major << 20 | minor */
	uint32_t cpu;
	uint16_t error;
	uint16_t payload_bytes;
};
_Static_assert(sizeof(struct blk_record) == 48, "as the kernel's");

#define MAGIC 0x65617400u
#define VERSION 0x07u
enum { NOTIFY = 0x400, CATEGORY_READ = 1 << 0, CATEGORY_WRITE = 1 << 1, PAYLOAD_MAX = 1 << 16 };

/* X(number, letter): actions, with blkparse's letters. */
#define ACTIONS(X)                                                                                 \
	X(1, 'Q')                                                                                  \
	X(2, 'M')                                                                                  \
	X(3, 'F')                                                                                  \
	X(4, 'G')                                                                                  \
	X(5, 'S')                                                                                  \
	X(6, 'R')                                                                                  \
	X(7, 'D')                                                                                  \
	X(8, 'C')                                                                                  \
	X(9, 'P')                                                                                  \
	X(10, 'U')                                                                                 \
	X(11, 'T')                                                                                 \
	X(12, 'I')                                                                                 \
	X(13, 'X')                                                                                 \
	X(14, 'B')                                                                                 \
	X(15, 'A')

static char letter(uint32_t action)
{
	switch (action & 0xffff) {
#define X(number, letter)                                                                          \
	case number:                                                                               \
		return letter;
		ACTIONS(X)
#undef X
	default:
		return 0;
	}
}

static void swap(struct blk_record *r)
{
	r->magic = __builtin_bswap32(r->magic);
	r->time_ns = __builtin_bswap64(r->time_ns);
	r->sector = __builtin_bswap64(r->sector);
	r->bytes = __builtin_bswap32(r->bytes);
	r->action = __builtin_bswap32(r->action);
	r->pid = __builtin_bswap32(r->pid);
	r->device = __builtin_bswap32(r->device);
	r->error = __builtin_bswap16(r->error);
	r->payload_bytes = __builtin_bswap16(r->payload_bytes);
}

/* In this machine's order; false: it is no record. */
static bool understand(struct blk_record *r)
{
	if (__builtin_bswap32(r->magic) == (MAGIC | VERSION))
		swap(r);
	return r->magic == (MAGIC | VERSION);
}

static bool blktrace_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	struct blk_record r;

	(void)path;
	if (directory || head_bytes < sizeof(r))
		return false;
	memcpy(&r, head, sizeof(r));
	return understand(&r);
}

/* Names of processes, told when a process is first met. */
static int notify(struct log *log, const struct blk_record *r, const char *payload)
{
	char comm[17] = "";
	int rc;

	if ((r->action & 0xffff) != 0 || r->payload_bytes == 0)
		return log_pass(log);
	memcpy(comm, payload, r->payload_bytes < 16 ? r->payload_bytes : 16);
	rc = log_name(log, r->pid, comm);
	return rc ? rc : log_pass(log);
}

static int give(struct log *log, const struct blk_record *r)
{
	struct blk_action action = {
		.time_ns = r->time_ns,
		.sector = r->sector,
		.sectors = r->bytes / 512,
		.tid = r->pid,
		.major = r->device >> 20,
		.minor = r->device & 0xfffff,
		.action = letter(r->action),
		.failed = r->error != 0,
		.comm = "",
	};
	uint32_t category = r->action >> 16;

	action.mode = category & CATEGORY_WRITE	 ? ETA_IO_WRITE
		      : category & CATEGORY_READ ? ETA_IO_READ
						 : ETA_IO_FLUSH;
	return log_blktrace(log, &action);
}

/* What one CPU wrote. Its records are nearly in order; those of several are merged by time. */
struct cpu_file {
	FILE *file;
	bool ended;
	struct blk_record record;
	char *payload;
};

/* The next record of F; sets ENDED behind the last one. */
static int advance(struct log *log, struct cpu_file *f, uint32_t cpu)
{
	long at = ftell(f->file);
	size_t n = fread(&f->record, 1, sizeof(f->record), f->file);

	f->ended = true;
	if (n == 0 && !ferror(f->file))
		return 0;
	log->line++;
	log->trace->counts.records++;
	if (n == sizeof(f->record) && !understand(&f->record))
		return log_bad(log,
			       "no record at byte %ld of CPU %u, nothing behind it can be found",
			       at, cpu);
	if (n < sizeof(f->record) ||
	    fread(f->payload, 1, f->record.payload_bytes, f->file) < f->record.payload_bytes)
		return log_bad(log, "truncated record at byte %ld of CPU %u", at, cpu);
	f->ended = false;
	return 0;
}

/*
 * X.blktrace.0 stands for the files of all CPUs beside it, since a request may complete on another
 * CPU. N: how many there are.
 */
static int open_files(struct log *log, struct cpu_file **out, uint32_t *n)
{
	const char *path = log->trace->path, *dot = strrchr(path, '.');
	bool family = dot && dot - path >= 9 && strncmp(dot - 9, ".blktrace", 9) == 0;
	char other[PATH_MAX];
	uint32_t cpu = 0;
	int rc = 0;

	*n = 0;
	if (family && log_u32(dot + 1, &cpu) && cpu > 0) {
		snprintf(other, sizeof(other), "%.*s.0", (int)(dot - path), path);
		if (access(other, R_OK) == 0) {
			eta_error(
				"%s: is one of several CPUs' files: name %s, which stands for all",
				path, other);
			return -EINVAL;
		}
		family = false;
	}
	for (;; ++*n) {
		struct cpu_file *files = reallocarray(*out, *n + 1, sizeof(*files));

		if (!files)
			break;
		*out = files;
		files[*n] = (struct cpu_file){ .file = log->file };
		if (*n > 0) {
			snprintf(other, sizeof(other), "%.*s.%u", (int)(dot - path), path, *n);
			files[*n].file = family ? fopen(other, "re") : NULL;
			if (!files[*n].file)
				return rc;
		}
		files[*n].payload = malloc(PAYLOAD_MAX);
		if (files[*n].payload)
			rc = advance(log, &files[*n], *n);
		if (rc || !files[*n].payload) {
			++*n;
			if (rc)
				return rc;
			break;
		}
	}
	eta_error("%s: not enough memory to read it", path);
	return -ENOMEM;
}

static int read_all(struct log *log, struct cpu_file *files, uint32_t n)
{
	for (;;) {
		struct cpu_file *first = NULL;
		const struct blk_record *r;
		int rc;

		for (uint32_t i = 0; i < n; i++)
			if (!files[i].ended &&
			    (!first || files[i].record.time_ns < first->record.time_ns))
				first = &files[i];
		if (!first)
			return 0;
		r = &first->record;
		rc = (r->action >> 16) & NOTIFY ? notify(log, r, first->payload) : give(log, r);
		if (rc == 0)
			rc = advance(log, first, (uint32_t)(first - files));
		if (rc)
			return rc;
	}
}

static int blktrace_open(struct eta_trace *trace)
{
	struct cpu_file *files = NULL;
	uint32_t n = 0;
	struct log *log;
	int rc = log_open(trace, &log);

	if (rc)
		return rc;
	rc = open_files(log, &files, &n);
	if (rc == 0)
		rc = read_all(log, files, n);
	for (uint32_t i = 0; i < n; i++) {
		free(files[i].payload);
		if (i > 0)
			fclose(files[i].file);
	}
	free(files);
	return log_end(log, rc, "CLOCK_MONOTONIC");
}

LOG_SOURCE(blktrace, "binary file of blktrace");
