/* Advice for what was seen: rows with a premise, filled with the names and numbers of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "culprits.h"
#include "report.h"
#include "words.h"

/* ---- premises ---- */

#define ANY 0
#define LEVELS 1   /* the kernel was traced */
#define SEVERAL 2  /* threads of the program itself wait */
#define OTHER 4	   /* a program of another name took most */
#define SMALL 8	   /* the requests are: larger ones are possible */
#define LARGE 16   /* they are not */
#define SYNCS 32   /* the program syncs a lot itself */
#define OUTSIDE 64 /* as OTHER, and it is none of those that were traced */

/* What is read or written at a time by those that do it well. */
#define WELL_BYTES 65536

/*
 * X(LEVEL, REASON, premises, advice): the first row that is true, and all of whose names are known,
 * stands in for the general advice of verdict.c. {file}, {device}: where most of it was lost;
 * {threads} that did, {size} of their requests there, {culprit}: the program that took most,
 * {function} that lost most, {syncs}: how many.
 */
#define ADVICE(X)                                                                                  \
	X(USER, NONE, LEVELS,                                                                      \
	  "{function} takes longer while others are there, in the library or in calls whose "      \
	  "kernel side was not recorded (calls on names: sci-record --metadata).")                 \
	X(VFS, NONE, SMALL,                                                                        \
	  "Calls of {size} on {file} take longer on the way into the file system: fewer, larger "  \
	  "calls (readv, writev, larger buffers).")                                                \
	X(VFS, NONE, LARGE,                                                                        \
	  "Calls on {file} take longer on the way into the file system while others use it: a "    \
	  "file or a descriptor for each.")                                                        \
	X(VFS, FILE_POSITION_LOCK, SEVERAL,                                                        \
	  "{threads} threads share the position of {file}: use pread and pwrite, or one "          \
	  "descriptor per thread.")                                                                \
	X(VFS, ADDRESS_SPACE_LOCK, OUTSIDE,                                                        \
	  "{culprit} reads the memory map of the program (/proc/PID/smaps, as ps, pmap and "       \
	  "monitors do), whose lock mmap and munmap need: less often, or /proc/PID/statm.")        \
	X(PAGECACHE, NONE, SMALL,                                                                  \
	  "Requests of {size} on {file} take longer in the page cache: make them larger.")         \
	X(PAGECACHE, NONE, LARGE,                                                                  \
	  "Copying {size} at a time from or to {file} takes longer while others do so: fewer "     \
	  "threads at a time, or O_DIRECT for data that is not read again.")                       \
	X(PAGECACHE, DIRTY_THROTTLING, OTHER,                                                      \
	  "{culprit} writes faster than {device} takes it, and all who write are paused: limit "   \
	  "it (io.max or memory.high of its control group), or start writeback earlier.")          \
	X(PAGECACHE, PAGE_WRITEBACK_WAIT, OTHER,                                                   \
	  "Calls wait until pages are on {device}, which {culprit} keeps busy: give it a lower "   \
	  "weight (ionice, io.weight), another device, or another time.")                          \
	X(PAGECACHE, PAGE_WRITEBACK_WAIT, OTHER,                                                   \
	  "Calls wait until pages are on the disk, which {culprit} keeps busy: give it a lower "   \
	  "weight (ionice, io.weight), another disk, or another time.")                            \
	X(PAGECACHE, PAGE_LOCK, SEVERAL,                                                           \
	  "{threads} threads wait for the same pages of {file}: work on separate ranges.")         \
	X(FS, NONE, SEVERAL,                                                                       \
	  "{threads} threads are in the file system's code for {file} at a time: write to "        \
	  "separate files, preallocated, and keep metadata changes out of the hot path.")          \
	X(FS, INODE_LOCK, SEVERAL | SMALL,                                                         \
	  "{threads} threads use {file}, {size} at a time, and wait for its inode lock: give "     \
	  "each thread its own file, or write larger blocks from one thread.")                     \
	X(FS, INODE_LOCK, SEVERAL | LARGE,                                                         \
	  "{threads} threads use {file}, {size} at a time, and wait for its inode lock: give "     \
	  "each thread its own file, or let one thread write.")                                    \
	X(FS, INODE_LOCK, OTHER,                                                                   \
	  "{culprit} holds the inode lock of {file}: a file of its own for it.")                   \
	X(FS, JOURNAL_COMMIT, OTHER,                                                               \
	  "{culprit} makes the journal of {device} commit, or keeps its disk busy: fewer syncs "   \
	  "there, or its files on another file system or disk.")                                   \
	X(FS, JOURNAL_COMMIT, SYNCS,                                                               \
	  "{syncs} syncs wait for journal commits, most of {file}: fsync less often, or gather "   \
	  "several writes into one fsync.")                                                        \
	X(BLOCK, NONE, OTHER, DEVICE_OF_OTHERS)                                                    \
	X(BLOCK, NONE, SEVERAL | SMALL, DEVICE_SHARED_SMALL)                                       \
	X(BLOCK, NONE, SEVERAL | LARGE, DEVICE_SHARED_LARGE)                                       \
	X(BLOCK, QUEUE, OTHER, DEVICE_OF_OTHERS)                                                   \
	X(BLOCK, QUEUE, SEVERAL | SMALL, DEVICE_SHARED_SMALL)                                      \
	X(BLOCK, QUEUE, SEVERAL | LARGE, DEVICE_SHARED_LARGE)                                      \
	X(BLOCK, DEVICE, OTHER, DEVICE_OF_OTHERS)                                                  \
	X(BLOCK, DEVICE, SEVERAL | SMALL, DEVICE_SHARED_SMALL)                                     \
	X(BLOCK, DEVICE, SEVERAL | LARGE, DEVICE_SHARED_LARGE)                                     \
	X(CPU, RUN_QUEUE, OUTSIDE,                                                                 \
	  "{culprit} has the CPU while I/O calls could go on: run it at another time or at a "     \
	  "lower priority (nice, chrt), or give both CPUs of their own (taskset, cpuset).")        \
	X(CPU, STEAL, OTHER,                                                                       \
	  "{culprit} has the CPU of the host that the guest needs: fewer virtual CPUs on it, or "  \
	  "CPUs of their own for both (taskset, cpuset).")                                         \
	X(CPU, RUN_QUEUE, SEVERAL,                                                                 \
	  "{threads} threads of the program itself want a CPU in I/O calls, and there are not as " \
	  "many: run fewer at a time.")                                                            \
	X(NET, RPC_QUEUE, OTHER,                                                                   \
	  "{culprit} has its calls on the connection to the file server first: more connections "  \
	  "(mount with nconnect=N), or another time for it.")                                      \
	/* those whose general advice has a premise */                                             \
	X(VFS, NONE, ANY,                                                                          \
	  "Calls take longer on the way into the file system while others use it.")                \
	X(PAGECACHE, NONE, ANY, "Others use the page cache of the same file at the same time.")    \
	X(FS, INODE_LOCK, ANY, "Others hold the file's inode lock: give each its own file.")       \
	X(BLOCK, NONE, ANY, DEVICE_BUSY)                                                           \
	X(BLOCK, QUEUE, ANY, DEVICE_BUSY)                                                          \
	X(BLOCK, DEVICE, ANY, DEVICE_BUSY)

#define DEVICE_BUSY                                                                                \
	"The device is busy with requests of others: let fewer use it at a time, or use more "     \
	"devices."
#define DEVICE_OF_OTHERS                                                                           \
	"{culprit} has its requests on {device} first: give it a lower weight (ionice, "           \
	"io.weight), another device, or another time."
#define DEVICE_SHARED_SMALL                                                                        \
	"{threads} threads have requests on {device} at a time, {size} each: make them larger, "   \
	"or spread them over more devices."
#define DEVICE_SHARED_LARGE                                                                        \
	"{threads} threads have requests on {device} at a time, {size} each: fewer at a time, or " \
	"more devices."

static const struct row {
	enum eta_level level;
	enum eta_reason reason;
	unsigned premises;
	const char *text;
} rows[] = {
#define X(level, reason, premises, text) { ETA_LEVEL_##level, ETA_REASON_##reason, premises, text },
	ADVICE(X)
#undef X
};

/* ---- what was seen ---- */

/* The names of ADVICE. */
#define NAMES(X) X(file) X(device) X(threads) X(size) X(culprit) X(function) X(syncs)

/* Each is empty where it is not known. */
struct seen {
	enum cell cell;
	unsigned premises;
	unsigned percent; /* of the cell's time, in the file */
#define X(name) char name[160];
	NAMES(X)
#undef X
};

static enum cell cell_of_verdict(const struct verdict *v)
{
	for (int c = 0; c < N_CELLS; c++)
		if (strcmp(eta_level_name(cell_table[c].level), v->level) == 0 &&
		    strcmp(eta_reason_name(cell_table[c].reason), v->reason) == 0)
			return (enum cell)c;
	return N_CELLS;
}

static void see_sizes(const struct analysis *a, const struct file_score *file, struct seen *s)
{
	const struct habit_calls *most = NULL;
	uint64_t syncs = 0;

	for (uint32_t i = 0; i < a->n_file_habits; i++) {
		const struct file_habit *f = &a->file_habits[i];

		syncs += f->habit.calls[HABIT_SYNC].n;
		if (f->dev != file->dev || f->inode != file->inode || f->path != file->path)
			continue;
		most = &f->habit.calls[HABIT_READ];
		if (f->habit.calls[HABIT_WRITE].ns > most->ns)
			most = &f->habit.calls[HABIT_WRITE];
	}
	if (syncs >= 20) {
		s->premises |= SYNCS;
		snprintf(s->syncs, sizeof(s->syncs), "%s", report_count(syncs).text);
	}
	if (!most || !most->n || !most->bytes)
		return;
	s->premises |= most->bytes < most->n * WELL_BYTES ? SMALL : LARGE;
	snprintf(s->size, sizeof(s->size), "%s",
		 report_bytes((double)most->bytes / (double)most->n).text);
}

/* The file with most of it. */
static void see_file(const struct analysis *a, struct seen *s)
{
	const struct file_score *most = NULL;
	int64_t sum_ns = 0, most_ns = 0;

	for (uint32_t i = 0; i < a->n_files; i++) {
		int64_t ns = a->files[i].slowdown.interference_cell_ns[s->cell];

		sum_ns += ns > 0 ? ns : 0;
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		most = &a->files[i];
	}
	if (!most || (!*most->path && !most->inode))
		return;
	s->percent = (unsigned)(100 * (double)most_ns / (double)sum_ns + 0.5);
	snprintf(s->file, sizeof(s->file), "%s",
		 report_file(a, most->path, most->dev, most->inode).text);
	/* the file system of a device's own file has no device (devtmpfs) */
	if (strncmp(most->path, "/dev/", 5) == 0 && most->dev >> 20 == 0)
		snprintf(s->device, sizeof(s->device), "%.64s", most->path + strlen("/dev/"));
	else if (most->dev)
		snprintf(s->device, sizeof(s->device), "%s", report_device_name(a, most->dev).text);
	see_sizes(a, most, s);
}

static void see_threads(const struct analysis *a, struct seen *s)
{
	int64_t sum_ns = a->slowdown.interference_cell_ns[s->cell];
	uint32_t n = 0;

	/* those that lost next to nothing there do not count */
	for (uint32_t i = 0; i < a->n_threads; i++)
		n += a->threads[i].scored &&
		     a->threads[i].slowdown.interference_cell_ns[s->cell] * 50 > sum_ns;
	if (n < 2)
		return;
	s->premises |= SEVERAL;
	snprintf(s->threads, sizeof(s->threads), "%" PRIu32, n);
}

static const char *program_of(const struct analysis *a, uint32_t thread)
{
	uint32_t process = a->defs->locations[a->threads[thread].location].process;

	return process == ETA_NONE ? "" : a->defs->processes[process].name;
}

static bool is_traced(const struct analysis *a, const char *program)
{
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].operations && strcmp(program_of(a, i), program) == 0)
			return true;
	return false;
}

/*
 * Who took most of everything may have done so on a CPU alone: where the CPU stands beside the
 * cause, the cause is that program's only for what it took more than all had on CPUs together.
 */
static bool is_of_cause(const struct analysis *a, const struct culprit *list, uint32_t n)
{
	int64_t sum_ns = 0;

	for (uint32_t i = 0; i < n; i++)
		sum_ns += list[i].ns;
	return (double)list[0].ns > a->verdict.cpu_share * (double)sum_ns;
}

/* The program that took most, unless it is the one that lost most. */
static void see_culprit(const struct analysis *a, struct seen *s)
{
	struct culprit *list;
	uint32_t n;

	if (culprits_new(a, a->blame, a->n_blame, &list, &n) == 0 && n && list[0].processes &&
	    list[0].is_program && is_of_cause(a, list, n) &&
	    strcmp(list[0].name, program_of(a, a->headline)) != 0) {
		s->premises |= is_traced(a, list[0].name) ? OTHER : OTHER | OUTSIDE;
		snprintf(s->culprit, sizeof(s->culprit), "%s", list[0].name);
		if (list[0].processes > 1)
			snprintf(s->culprit, sizeof(s->culprit), "%s (%" PRIu32 " processes)",
				 list[0].name, list[0].processes);
	}
	free(list);
}

/* Classes are sorted by what they lost: the first that lost at the level. */
static void see_function(const struct analysis *a, struct seen *s)
{
	enum eta_level level = cell_table[s->cell].level;
	const struct class_score *most = NULL;

	for (uint32_t i = 0; i < a->n_classes; i++)
		if (a->classes[i].level_ns[level] > (most ? most->level_ns[level] : 0))
			most = &a->classes[i];
	if (most)
		snprintf(s->function, sizeof(s->function), "%s", most->function);
}

/* ---- the sentence ---- */

static const char *value_of(const struct seen *s, const char *name, size_t length)
{
#define X(known)                                                                                   \
	if (length == strlen(#known) && memcmp(name, #known, length) == 0)                         \
		return s->known;
	NAMES(X)
#undef X
	return "";
}

/* TEXT with its names filled in; false: one of them is not known. */
static bool fill(const char *text, const struct seen *s, char *out, size_t size)
{
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t length = strcspn(text, "{");
		const char *end, *value;

		used += (size_t)snprintf(out + used, size - used, "%.*s", (int)length, text);
		text += length;
		if (!*text)
			break;
		end = strchr(text, '}');
		value = end ? value_of(s, text + 1, (size_t)(end - text) - 1) : "";
		if (!*value || used >= size)
			return false;
		used += (size_t)snprintf(out + used, size - used, "%s", value);
		text = end + 1;
	}
	return true;
}

/* Where most of it was, unless the advice says that. */
static void put_where(const struct seen *s, char *out, size_t size)
{
	size_t used = strlen(out);

	if (*s->file && cell_table[s->cell].level != ETA_LEVEL_CPU && !strstr(out, s->file))
		snprintf(out + used, size - used, " %s has %u %% of it.", s->file, s->percent);
}

#define PARTS_SHOWN 3
#define LEAST_PART 0.1	 /* that is worth a word */
#define ADVISED_PART 0.2 /* and advice */

/*
 * Where no level has half: the causes with most of what was lost, each with its part of it; OUT
 * stays as it is where none has much. Returns the largest; N_CELLS: it is not large.
 */
static enum cell put_parts(const struct analysis *a, char *out, size_t size)
{
	int64_t cell_ns[N_CELLS], all = 0;
	enum cell first = N_CELLS;
	size_t used = 0;

	slowdown_counted_cells(&a->slowdown, a->options.sci, cell_ns);
	for (int c = 0; c < N_CELLS; c++)
		all += cell_ns[c] > 0 ? cell_ns[c] : 0;
	for (int i = 0; i < PARTS_SHOWN && used < size; i++) {
		enum cell best = N_CELLS;
		double part;

		for (int c = 0; c < N_CELLS; c++)
			if (cell_table[c].reason != ETA_REASON_NONE && cell_ns[c] > 0 &&
			    (best == N_CELLS || cell_ns[c] > cell_ns[best]))
				best = (enum cell)c;
		part = best == N_CELLS ? 0 : (double)cell_ns[best] / (double)all;
		if (part < LEAST_PART)
			break;
		used += (size_t)snprintf(out + used, size - used, "%s %s: %s %.0f %%",
					 i ? "," : "No level has half of the slowdown:",
					 eta_level_name(cell_table[best].level),
					 word_of_reason(eta_reason_name(cell_table[best].reason)),
					 100 * part);
		cell_ns[best] = 0;
		if (i == 0 && part >= ADVISED_PART)
			first = best;
	}
	if (used && used < size)
		snprintf(out + used, size - used, ".");
	return first;
}

void advice_text(const struct analysis *a, char *out, size_t size)
{
	struct seen s = { .cell = cell_of_verdict(&a->verdict) };
	char text[1024];
	size_t used = 0;

	snprintf(out, size, "%s", a->verdict.advice);
	if (a->options.sci == SCI_DEFAULT && strcmp(a->verdict.level, "mixed") == 0) {
		s.cell = put_parts(a, out, size);
		used = strlen(out);
		if (s.cell != N_CELLS)
			snprintf(out + used, size - used, " %s", verdict_advice(s.cell));
	}
	if (a->options.sci != SCI_DEFAULT || a->verdict.share <= 0 || s.cell == N_CELLS)
		return;
	s.premises = a->has_levels ? LEVELS : 0;
	see_file(a, &s);
	see_threads(a, &s);
	see_culprit(a, &s);
	see_function(a, &s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];

		if (row->level == cell_table[s.cell].level &&
		    row->reason == cell_table[s.cell].reason &&
		    (row->premises & s.premises) == row->premises &&
		    fill(row->text, &s, text, sizeof(text))) {
			snprintf(out + used, size - used, "%s%s", used ? " " : "", text);
			break;
		}
	}
	put_where(&s, out, size);
}
