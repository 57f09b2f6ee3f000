/* Source: blktrace's binary files, one per CPU or merged by blkparse -d. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log-defs.h"
#include "log-text.h"
#include "blktrace-records.h"

/*
 * As the kernel writes it (linux/blktrace_api.h, version 7), in the byte order of the traced
 * machine.
 */
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

/* Version 8 (Linux 6.19): wider actions, whose low half means the same. */
struct blk_record2 {
	uint32_t magic;
	uint32_t sequence;
	uint64_t time_ns;
	uint64_t sector;
	uint32_t bytes;
	uint32_t pid;
	uint64_t action;
	uint32_t device;
	uint32_t cpu;
	uint16_t error;
	uint16_t payload_bytes;
	uint8_t padding[12];
};
_Static_assert(sizeof(struct blk_record2) == 64, "as the kernel's");

#define MAGIC 0x65617400u
#define VERSION 0x07u
#define VERSION2 0x08u
enum {
	NOTIFY = 0x400,
	CATEGORY_READ = 1 << 0,
	CATEGORY_WRITE = 1 << 1,
	CATEGORY_DISCARD = 1 << 13,
	PAYLOAD_MAX = 1 << 16,
	/* the rest of an action is its number; this: a control group's number leads the payload */
	ACTION = 0xff,
	ACTION_CGROUP = 1 << 8,
	CGROUP_BYTES = 8,
};

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
	switch (action & ACTION) {
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

/* The bytes of a record whose first four are at HEAD; 0: it is none. SWAPPED: of another order. */
static size_t record_bytes(const void *head, bool *swapped)
{
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	*swapped = (__builtin_bswap32(magic) & ~0xffu) == MAGIC;
	if (*swapped)
		magic = __builtin_bswap32(magic);
	return magic == (MAGIC | VERSION)    ? sizeof(struct blk_record)
	       : magic == (MAGIC | VERSION2) ? sizeof(struct blk_record2)
					     : 0;
}

/* FROM, of version 8, as one of version 7. */
static struct blk_record narrow(const struct blk_record2 *from, bool swapped)
{
	uint64_t action = swapped ? __builtin_bswap64(from->action) : from->action;
	uint32_t low = (uint32_t)action;

	return (struct blk_record){
		.magic = from->magic,
		.time_ns = from->time_ns,
		.sector = from->sector,
		.bytes = from->bytes,
		.action = swapped ? __builtin_bswap32(low) : low,
		.pid = from->pid,
		.device = from->device,
		.error = from->error,
		.payload_bytes = from->payload_bytes,
	};
}

static bool blktrace_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	bool swapped;
	size_t n;

	(void)path;
	if (directory || head_bytes < sizeof(struct blk_record))
		return false;
	n = record_bytes(head, &swapped);
	return n > 0 && n <= head_bytes;
}

/* Names of processes, reported when a process first appears. */
static int notify(struct log *log, const struct blk_record *r, const char *payload)
{
	size_t skip = r->action & ACTION_CGROUP ? CGROUP_BYTES : 0, n;
	char comm[17] = "";
	int rc;

	if ((r->action & ACTION) != 0 || r->payload_bytes <= skip)
		return log_pass(log);
	n = r->payload_bytes - skip;
	memcpy(comm, payload + skip, n < 16 ? n : 16);
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

	/* the kernel calls a discard a write; it transfers nothing */
	action.mode = category & CATEGORY_DISCARD ? ETA_IO_FLUSH
		      : category & CATEGORY_WRITE ? ETA_IO_WRITE
		      : category & CATEGORY_READ  ? ETA_IO_READ
						  : ETA_IO_FLUSH;
	return log_blktrace(log, &action);
}

/* What one CPU wrote. Its records are nearly in order; those of several are merged by time. */
struct cpu_file {
	uint32_t cpu;
	FILE *file;
	bool ended;
	struct blk_record record;
	char *payload;
};

struct cpu_files {
	struct cpu_file *of;
	uint32_t n;
};

/* The next record of F; sets ENDED behind the last one. */
static int advance(struct log *log, struct cpu_file *f)
{
	union {
		struct blk_record one;
		struct blk_record2 two;
	} raw = { 0 };
	long at = ftell(f->file);
	size_t n = fread(&raw, 1, sizeof(raw.one), f->file), whole = 0;
	bool swapped = false;

	f->ended = true;
	if (n == 0 && !ferror(f->file))
		return 0;
	log->line++;
	log->trace->counts.records++;
	if (n >= sizeof(raw.one.magic)) {
		whole = record_bytes(&raw, &swapped);
		if (whole == 0)
			return log_bad(
				log,
				"no record at byte %ld of CPU %u, nothing behind it can be found",
				at, f->cpu);
	}
	if (whole > n && n == sizeof(raw.one))
		n += fread((char *)&raw + n, 1, whole - n, f->file);
	f->record = whole == sizeof(raw.two) ? narrow(&raw.two, swapped) : raw.one;
	if (swapped)
		swap(&f->record);
	if (whole == 0 || n < whole ||
	    fread(f->payload, 1, f->record.payload_bytes, f->file) < f->record.payload_bytes)
		return log_bad(log, "truncated record at byte %ld of CPU %u", at, f->cpu);
	f->ended = false;
	return 0;
}

/* FILE, which CPU wrote, with its first record. It belongs to FILES in any case. */
static int add_file(struct log *log, struct cpu_files *files, uint32_t cpu, FILE *file)
{
	struct cpu_file *of = reallocarray(files->of, files->n + 1, sizeof(*of));
	char *payload = malloc(PAYLOAD_MAX);

	if (of)
		files->of = of;
	if (!of || !payload) {
		log_no_memory(log, "its CPUs' files");
		free(payload);
		if (file != log->file)
			fclose(file);
		return -ENOMEM;
	}
	of[files->n] = (struct cpu_file){ .cpu = cpu, .file = file, .payload = payload };
	return advance(log, &of[files->n++]);
}

static void close_files(const struct log *log, struct cpu_files *files)
{
	for (uint32_t i = 0; i < files->n; i++) {
		free(files->of[i].payload);
		if (files->of[i].file != log->file)
			fclose(files->of[i].file);
	}
	free(files->of);
}

/* TEXT as such a file's name ends with it: "0", "12". */
static bool cpu_number(const char *text, uint32_t *cpu)
{
	return (text[0] != '0' || text[1] == '\0') && log_u32(text, cpu);
}

static int ascending(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * The CPUs that have a file of the name of this one up to DOT, ascending: those that were offline
 * have none. *OUT is the caller's to free.
 */
static int find_cpus(const struct log *log, const char *dot, uint32_t **out, uint32_t *n)
{
	const char *path = log->trace->path, *slash = strrchr(path, '/'),
		   *name = slash ? slash + 1 : path;
	size_t same = (size_t)(dot + 1 - name);
	char folder[PATH_MAX];
	const struct dirent *entry;
	DIR *dir;
	int rc = 0;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	dir = opendir(folder);
	if (!dir) {
		rc = -errno;
		eta_error("%s: cannot look for the other CPUs' files: %s", folder, strerror(-rc));
		return rc;
	}
	while ((entry = readdir(dir))) {
		uint32_t cpu, *cpus;

		if (strncmp(entry->d_name, name, same) != 0 ||
		    !cpu_number(entry->d_name + same, &cpu))
			continue;
		cpus = reallocarray(*out, *n + 1, sizeof(*cpus));
		if (!cpus) {
			rc = log_no_memory(log, "its CPUs' files");
			break;
		}
		*out = cpus;
		cpus[(*n)++] = cpu;
	}
	closedir(dir);
	if (rc == 0 && *n)
		qsort(*out, *n, sizeof(**out), ascending);
	return rc;
}

/* The file of CPU that is OTHER, beside that of OWN at hand. */
static int open_other(struct log *log, struct cpu_files *files, uint32_t cpu, uint32_t own,
		      const char *other)
{
	const char *path = log->trace->path;
	FILE *file = fopen(other, "re");
	struct stat st;
	int rc = 0;

	if (!file) {
		rc = -errno;
		eta_error("%s: cannot open: %s (%s is of the same trace)", other, strerror(-rc),
			  path);
		return rc;
	}
	/* a CPU that saw no request has an empty file, which cannot stand for others */
	if (cpu < own && fstat(fileno(file), &st) == 0 && st.st_size > 0) {
		eta_error("%s: is one of several CPUs' files: name %s, which stands for all", path,
			  other);
		fclose(file);
		return -EINVAL;
	}
	return add_file(log, files, cpu, file);
}

/*
 * The first of X.blktrace.0, .1, ... that is not empty stands for the files of all CPUs, since a
 * request may complete on another CPU.
 */
static int open_files(struct log *log, struct cpu_files *files)
{
	const char *path = log->trace->path, *dot = strrchr(path, '.');
	uint32_t *cpus = NULL, n = 0, own;
	char other[PATH_MAX];
	int rc;

	if (!dot || dot - path < 9 || strncmp(dot - 9, ".blktrace", 9) != 0 ||
	    !cpu_number(dot + 1, &own))
		return add_file(log, files, 0, log->file);
	rc = find_cpus(log, dot, &cpus, &n);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		snprintf(other, sizeof(other), "%.*s.%u", (int)(dot - path), path, cpus[i]);
		rc = cpus[i] == own ? add_file(log, files, own, log->file)
				    : open_other(log, files, cpus[i], own, other);
	}
	free(cpus);
	return rc;
}

static int read_all(struct log *log, struct cpu_files *files)
{
	for (;;) {
		struct cpu_file *first = NULL;
		const struct blk_record *r;
		int rc;

		for (struct cpu_file *f = files->of; f < files->of + files->n; f++)
			if (!f->ended && (!first || f->record.time_ns < first->record.time_ns))
				first = f;
		if (!first)
			return 0;
		r = &first->record;
		rc = (r->action >> 16) & NOTIFY ? notify(log, r, first->payload) : give(log, r);
		if (rc == 0)
			rc = advance(log, first);
		if (rc)
			return rc;
	}
}

static int blktrace_open(struct eta_trace *trace)
{
	struct cpu_files files = { 0 };
	struct log *log;
	int rc = log_open(trace, &log);

	if (rc)
		return rc;
	rc = open_files(log, &files);
	if (rc == 0)
		rc = read_all(log, &files);
	close_files(log, &files);
	return log_end(log, rc, "CLOCK_MONOTONIC");
}

LOG_SOURCE(blktrace, "binary file of blktrace");
