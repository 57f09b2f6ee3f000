/* What a program does that makes its I/O slow also alone: rules over what was counted of files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "premises.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/plural.h"
#include "report.h"
#include "src/analysis/tables/io-time.h"
#include "src/common/share.h"

#define READS(f) (&(f)->habit.calls[HABIT_READ])
#define WRITES(f) (&(f)->habit.calls[HABIT_WRITE])
#define SYNCS(f) (&(f)->habit.calls[HABIT_SYNC])
#define OPENS(f) (&(f)->habit.calls[HABIT_OPEN])
#define OTHERS(f) (&(f)->habit.calls[HABIT_OTHER])

/* From how many calls on it matters, and how much should be read or written at a time. */
#define MANY 100
#define WELL_BYTES 65536
#define SMALL_FILE_BYTES 65536

static struct report_text mean_bytes(uint64_t bytes, uint64_t n)
{
	return report_bytes(n ? (double)bytes / (double)n : 0);
}

/* ---- each: was it seen of this file, how long did that take; and how to say it ---- */

static const struct habit_calls *tiny_of(const struct file_habit *f)
{
	const struct habit_calls *c =
		WRITES(f)->small_ns >= READS(f)->small_ns ? WRITES(f) : READS(f);
	bool many = c->small >= 10 * MANY && 2 * c->small > c->n;
	uint64_t waited = c->sequential.waited + c->elsewhere.waited;

	/* those that wait for the device, or jump, have rules of their own */
	return many && 2 * c->elsewhere.n <= c->judged && 2 * waited < c->n ? c : NULL;
}

static uint64_t tiny(const struct file_habit *f)
{
	const struct habit_calls *c = tiny_of(f);

	return c ? c->small_ns : 0;
}

static void put_tiny(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_calls *c = tiny_of(f);
	/* analyzer: given only where there are any */
	uint64_t fewer = (c->small_bytes + WELL_BYTES - 1) / WELL_BYTES;

	snprintf(text, size,
		 "%s %s of %s %s %s: %s at a time would be %s call%s (a larger buffer, stdio).",
		 report_count(c->small).text, c == WRITES(f) ? "writes" : "reads",
		 mean_bytes(c->small_bytes, c->small).text, c == WRITES(f) ? "to" : "of", name,
		 report_bytes(WELL_BYTES).text, report_count(fewer).text, plural(fewer));
}

static uint64_t synced_often(const struct file_habit *f)
{
	bool often = SYNCS(f)->n >= 20 && 2 * f->habit.syncs_after_write > SYNCS(f)->n &&
		     WRITES(f)->n <= 16 * SYNCS(f)->n;

	return often ? SYNCS(f)->ns : 0;
}

static void tell_synced_often(const struct file_habit *f, const char *name, char *text, size_t size)
{
	double writes = (double)WRITES(f)->n / (double)SYNCS(f)->n;
	char every[64] = "after each write";

	if (writes >= 1.5)
		snprintf(every, sizeof(every), "after every %.1f writes", writes);
	snprintf(text, size,
		 "%s is synced %s times, %s of %s, and waits %s each time: several writes for one "
		 "fsync.",
		 name, report_count(SYNCS(f)->n).text, every,
		 mean_bytes(WRITES(f)->bytes, WRITES(f)->n).text,
		 report_duration((int64_t)(SYNCS(f)->ns / SYNCS(f)->n)).text);
}

static uint64_t synchronous(const struct file_habit *f)
{
	const struct habit_calls *c = WRITES(f);

	return c->synchronous >= 20 && 2 * c->synchronous > c->n &&
			       c->bytes < c->n * 16 * WELL_BYTES
		       ? c->ns
		       : 0;
}

static void put_synchronous(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_calls *c = WRITES(f);

	snprintf(
		text, size,
		"%s writes of %s to %s, open with O_SYNC or O_DSYNC, wait for the device, %s each: "
		"write more at once, or without the flag and fsync when it matters.",
		report_count(c->n).text, mean_bytes(c->bytes, c->n).text, name,
		report_duration((int64_t)(c->ns / c->n)).text);
}

/*
 * Do reads of F in order O wait for the device one by one? Of those that are under way at the same
 * time, on tracks of their own, the order is not known, and there are several already.
 */
static bool waits_small(const struct file_habit *f, const struct habit_order *o)
{
	return f->habit.read_tracks <= 1 && o->n >= MANY && o->bytes < o->n * WELL_BYTES &&
	       10 * o->waited >= o->n;
}

static uint64_t random_reads(const struct file_habit *f)
{
	const struct habit_order *o = &READS(f)->elsewhere;

	return waits_small(f, o) ? o->waited_ns : 0;
}

/* Are they faults on mapped pages? These have no block size, and advice of their own. */
static bool is_mapped(const struct habit_calls *c)
{
	return 2 * c->mapped > c->n;
}

static void tell_random_reads(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_order *o = &READS(f)->elsewhere;

	snprintf(
		text, size,
		"%s of %s random reads of %s of %s wait for the device, %s each: several at a time "
		"(threads, %s WILLNEED), or in the order of their offsets.",
		report_count(o->waited).text, report_count(o->n).text,
		mean_bytes(o->bytes, o->n).text, name,
		report_duration((int64_t)(o->waited_ns / o->waited)).text,
		is_mapped(READS(f)) ? "madvise" : "io_uring, posix_fadvise");
}

static uint64_t no_readahead(const struct file_habit *f)
{
	const struct habit_order *o = &READS(f)->sequential;

	return waits_small(f, o) && 2 * o->waited > o->n ? o->waited_ns : 0;
}

static void tell_no_readahead(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_order *o = &READS(f)->sequential;
	bool direct = 2 * READS(f)->direct > READS(f)->n;

	snprintf(text, size,
		 "%s is read in sequence, %s at a time, and %s of %s reads wait for the device%s: "
		 "%s.",
		 name, mean_bytes(o->bytes, o->n).text, report_count(o->waited).text,
		 report_count(o->n).text, direct ? " (O_DIRECT)" : "",
		 is_mapped(READS(f)) ? "madvise SEQUENTIAL"
		 : direct	     ? "read larger blocks, or without O_DIRECT"
				     : "read larger blocks, or posix_fadvise SEQUENTIAL");
}

static uint64_t read_again(const struct file_habit *f)
{
	const struct habit_calls *c = READS(f);

	return f->habit.read_end && c->bytes >= 1 << 20 && c->bytes >= 3 * f->habit.read_end &&
			       c->judged == c->n
		       ? c->ns
		       : 0;
}

static void tell_read_again(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_calls *c = READS(f);

	snprintf(text, size,
		 "%s are read of %s's first %s, %.1f times as much: keep it in memory%s.",
		 report_bytes((double)c->bytes).text, name,
		 report_bytes((double)f->habit.read_end).text,
		 (double)c->bytes / (double)f->habit.read_end, is_mapped(c) ? "" : ", or map it");
}

static uint64_t misaligned_of(const struct habit_calls *c)
{
	return c->misaligned >= MANY && 10 * c->misaligned >= c->direct ? c->ns : 0;
}

static uint64_t misaligned(const struct file_habit *f)
{
	return misaligned_of(READS(f)) + misaligned_of(WRITES(f));
}

static void put_misaligned(const struct file_habit *f, const char *name, char *text, size_t size)
{
	const struct habit_calls *c = misaligned_of(WRITES(f)) ? WRITES(f) : READS(f);

	snprintf(text, size,
		 "%s of %s O_DIRECT %s %s do not begin and end at multiples of 4 KiB: align offset "
		 "and length, or whole pages are read or locked for each.",
		 report_count(c->misaligned).text, report_count(c->direct).text,
		 c == WRITES(f) ? "writes to" : "reads of", name);
}

static uint64_t opened_often(const struct file_habit *f)
{
	return f->habit.opens_by_one >= 10 ? OPENS(f)->ns + OTHERS(f)->ns : 0;
}

static void tell_opened_often(const struct file_habit *f, const char *name, char *text, size_t size)
{
	snprintf(text, size, "%s is opened %s times, %.1f reads and writes each: keep it open.",
		 name, report_count(OPENS(f)->n).text,
		 (double)(READS(f)->n + WRITES(f)->n) / (double)OPENS(f)->n);
}

static uint64_t small_file(const struct file_habit *f)
{
	uint64_t bytes = READS(f)->bytes + WRITES(f)->bytes;

	return OPENS(f)->n && OPENS(f)->n < 10 && bytes && bytes < SMALL_FILE_BYTES
		       ? OPENS(f)->ns + OTHERS(f)->ns
		       : 0;
}

static void tell_small_file(const struct file_habit *f, const char *name, char *text, size_t size)
{
	snprintf(text, size,
		 "%s, with %s, is one of many small files that are opened for little: fewer and "
		 "larger ones (an archive, a database).",
		 name, report_bytes((double)(READS(f)->bytes + WRITES(f)->bytes)).text);
}

/* X(name, from how many files on) */
static const struct rule {
	const char *name;
	uint64_t files;
	uint64_t (*seen)(const struct file_habit *f);
	void (*put)(const struct file_habit *f, const char *name, char *text, size_t size);
} rules[] = {
	{ "tiny requests", 1, tiny, put_tiny },
	{ "synced often", 1, synced_often, tell_synced_often },
	{ "synchronous writes", 1, synchronous, put_synchronous },
	{ "random reads", 1, random_reads, tell_random_reads },
	{ "no readahead", 1, no_readahead, tell_no_readahead },
	{ "read again", 1, read_again, tell_read_again },
	{ "misaligned", 1, misaligned, put_misaligned },
	{ "opened often", 1, opened_often, tell_opened_often },
	{ "small files", 5 * MANY, small_file, tell_small_file },
};
#define N_RULES (sizeof(rules) / sizeof(*rules))

/* ---- all files ---- */

static bool find(const struct analysis *a, const struct rule *rule, struct premise *p)
{
	struct file_habit first = { 0 };
	uint64_t most = 0;
	size_t used;

	*p = (struct premise){ .name = rule->name };
	for (uint32_t i = 0; i < a->n_file_habits; i++) {
		struct file_habit f = a->file_habits[i];
		uint64_t ns;

		f.habit = habit_mean(&f.habit, f.files);
		/* all files that are not known are one here */
		ns = *f.path || f.inode ? rule->seen(&f) : 0;
		if (!ns)
			continue;
		p->files += f.files;
		p->ns += f.files * ns;
		if (f.files * ns > most) {
			most = f.files * ns;
			first = f;
		}
	}
	if (!most || p->files < rule->files)
		return false;
	rule->put(&first, report_file(a, first.path, first.dev, first.inode).text, p->text,
		  sizeof(p->text));
	used = strlen(p->text);
	if (p->files > 1)
		snprintf(p->text + used, sizeof(p->text) - used, " The same of %s more file%s.",
			 report_count(p->files - 1).text, plural(p->files - 1));
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct premise *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

uint32_t premises_find(const struct analysis *a, struct premise *list, uint32_t most)
{
	struct premise all[N_RULES];
	const uint64_t lifetime_ns = io_times(a).lifetime_ns;
	uint32_t n = 0;

	for (size_t i = 0; i < N_RULES; i++)
		/* what takes less than a twentieth of the time is not why */
		if (find(a, &rules[i], &all[n]) && all[n].ns * 20 >= lifetime_ns)
			n++;
	if (n)
		qsort(all, n, sizeof(*all), by_time);
	n = n < most ? n : most;
	memcpy(list, all, n * sizeof(*all));
	return n;
}
