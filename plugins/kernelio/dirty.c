/* How much of the page cache was dirty, over time: a property of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/format/samples.h"
#include "internal.h"

#define STEP_NS 50000000 /* between two looks, until there are too many of them */
#define IDLE_STEP_NS                                                                               \
	1000000000	    /* where nothing was recorded meanwhile: it may still be written       \
			     */
#define PROPERTY_BYTES 3800 /* of samples: a property of a spool has room for 4096 */

/* The value behind NAME in a file of lines of a name and a value; 0: none. */
static uint64_t value_of(const char *lines, const char *name)
{
	const char *at = strstr(lines, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Pages that are dirty or being written out, of the whole machine. False: nobody says. */
static bool read_pages(struct dirty *d, uint64_t *pages)
{
	char text[16384];
	ssize_t n = d->fd < 0 ? -1 : pread(d->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	*pages = value_of(text, "\nnr_dirty ") + value_of(text, "\nnr_writeback ");
	return true;
}

/*
 * Room for more: where the records are the last ones only, so are these; else every second one
 * goes, and from now on there are half as many.
 */
static void make_room(struct dirty *d, bool last_only)
{
	const unsigned half = DIRTY_SAMPLES / 2;

	if (last_only) {
		memmove(d->samples, d->samples + half, half * sizeof(*d->samples));
	} else {
		for (unsigned i = 0; i < half; i++)
			d->samples[i] = d->samples[2 * i];
		d->step_ns *= 2;
	}
	d->n = half;
}

static void look(struct kernelio *k, uint64_t now_ns)
{
	const uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	struct dirty *d = &k->dirty;
	uint64_t pages;

	d->looked_ns = now_ns;
	d->busy = false;
	if (!read_pages(d, &pages))
		return;
	pthread_mutex_lock(&d->lock);
	if (d->n == DIRTY_SAMPLES)
		make_room(d, k->definitions != NULL);
	/* of equal ones the first */
	if (d->n == 0 || d->samples[d->n - 1].kib != pages * page_kib)
		d->samples[d->n++] =
			(struct dirty_sample){ .time_ns = now_ns, .kib = pages * page_kib };
	pthread_mutex_unlock(&d->lock);
}

void dirty_open(struct kernelio *k, uint64_t now_ns)
{
	k->dirty.fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	k->dirty.step_ns = STEP_NS;
	pthread_mutex_init(&k->dirty.lock, NULL);
	look(k, now_ns);
}

void dirty_sample(struct kernelio *k, uint64_t now_ns, bool busy)
{
	struct dirty *d = &k->dirty;
	uint64_t step_ns;

	d->busy |= busy;
	step_ns = d->busy || d->step_ns > IDLE_STEP_NS ? d->step_ns : IDLE_STEP_NS;
	if (now_ns - d->looked_ns >= step_ns)
		look(k, now_ns);
}

void dirty_end(struct kernelio *k, uint64_t now_ns)
{
	look(k, now_ns);
}

void dirty_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text))
{
	struct dirty *d = &k->dirty;
	unsigned i = 0;
	char text[4096];

	pthread_mutex_lock(&d->lock);
	for (unsigned number = 1; i < d->n; number++) {
		uint64_t since_ns = d->samples[i].time_ns;
		size_t used =
			(size_t)snprintf(text, sizeof(text), "DIRTY_%u=%" PRIu64, number, since_ns);

		for (; i < d->n && used < PROPERTY_BYTES; i++)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %" PRIu64 ":%" PRIu64,
				(d->samples[i].time_ns - since_ns) / 1000000, d->samples[i].kib);
		snprintf(text + used, sizeof(text) - used, SAMPLES_HOST "%s", k->meta.header->host);
		put(k, text);
	}
	pthread_mutex_unlock(&d->lock);
}

void dirty_close(struct kernelio *k)
{
	if (!k->dirty.step_ns)
		return;
	if (k->dirty.fd >= 0)
		close(k->dirty.fd);
	pthread_mutex_destroy(&k->dirty.lock);
	k->dirty.step_ns = 0;
}
