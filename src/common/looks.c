/* Counters of devices over time: which looks are kept, and their text in the recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "looks.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	STEP_MS = 1000,
	PROPERTY_BYTES = 3800 /* of samples: a property of a spool has room for 4096 */
};

/* ---- looks ---- */

int looks_init(struct looks *l, size_t n_devices)
{
	*l = (struct looks){ .step = 1, .n_devices = n_devices };
	l->v = calloc(LOOKS_MAX, sizeof(*l->v));
	return l->v ? 0 : -ENOMEM;
}

void looks_free(struct looks *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

/* Every second one goes, but for the first, to which all counts are relative. */
static void make_room(struct looks *l)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < l->n; i++) {
		if (i % 2 == 0)
			l->v[kept++] = l->v[i];
		else
			free(l->v[i]);
	}
	l->n = kept;
	l->step *= 2;
}

struct look *looks_due(struct looks *l, bool always)
{
	if (l->times++ % l->step && !always)
		return NULL;
	return calloc(1, sizeof(struct look) + l->n_devices * sizeof(struct counts));
}

void looks_keep(struct looks *l, struct look *look)
{
	if (l->n == LOOKS_MAX)
		make_room(l);
	l->v[l->n++] = look;
}

/* ---- what is recorded ---- */

void looks_out_begin(struct looks_out *out, const char *kind,
		     void (*put)(void *arg, const char *text), void *arg)
{
	struct utsname names = { 0 };

	*out = (struct looks_out){ .kind = kind, .put = put, .arg = arg };
	uname(&names);
	snprintf(out->host, sizeof(out->host), "%.63s", names.nodename);
}

/* What was counted from BEFORE to AFTER; counters begin again where their device is reset. */
static size_t write_sample(char *text, size_t size, uint64_t ms, const struct counts *before,
			   const struct counts *after)
{
	size_t used = (size_t)snprintf(text, size, " %" PRIu64, ms);

	for (int i = 0; i < N_DISK_COUNTS; i++) {
		uint64_t n = after->n[i] < before->n[i] ? after->n[i] : after->n[i] - before->n[i];
		const char *begin = i ? "," : ":";

		if (after->n[i] == DISK_COUNT_UNKNOWN)
			used += (size_t)snprintf(text + used, size - used, "%s-", begin);
		else
			used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, begin, n);
	}
	return used;
}

static void flush(struct looks_out *out)
{
	if (!out->used)
		return;
	snprintf(out->text + out->used, sizeof(out->text) - out->used, SAMPLES_HOST "%s",
		 out->host);
	out->put(out->arg, out->text);
	out->used = 0;
}

void looks_put(struct looks_out *out, const struct looks *l, size_t device, const char *name)
{
	const struct look *before = NULL;
	uint64_t since_ns = 0;

	for (unsigned i = 0; i < l->n; i++) {
		const struct look *look = l->v[i];

		if (!look->devices[device].known)
			continue;
		if (before && !out->used) {
			since_ns = before->time_ns;
			out->used = (size_t)snprintf(out->text, sizeof(out->text),
						     "%s%u=%" PRIu64 " %s", out->kind,
						     ++out->number, since_ns, name);
		}
		if (before)
			out->used +=
				write_sample(out->text + out->used, sizeof(out->text) - out->used,
					     (look->time_ns - since_ns) / 1000000,
					     &before->devices[device], &look->devices[device]);
		before = look;
		if (out->used > PROPERTY_BYTES)
			flush(out);
	}
	flush(out);
}

/* ---- once a second ---- */

static bool has_ended(const struct each_second *e, int timeout_ms)
{
	struct pollfd end = { .fd = e->end, .events = POLLIN };

	return poll(&end, 1, timeout_ms) != 0;
}

bool each_second_ends(const struct each_second *e)
{
	return has_ended(e, 0);
}

static void *run(void *arg)
{
	struct each_second *e = arg;

	do
		e->work(e->arg);
	while (!has_ended(e, STEP_MS));
	return NULL;
}

int each_second_begin(struct each_second *e, void (*work)(void *arg), void *arg)
{
	int rc;

	*e = (struct each_second){ .end = eventfd(0, EFD_CLOEXEC), .work = work, .arg = arg };
	rc = e->end < 0 ? errno : pthread_create(&e->thread, NULL, run, e);
	if (rc && e->end >= 0)
		close(e->end);
	if (rc)
		e->end = -1;
	return -rc;
}

void each_second_end(struct each_second *e)
{
	uint64_t one = 1;

	if (write(e->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(e->thread, NULL);
	close(e->end);
	e->end = -1;
}
