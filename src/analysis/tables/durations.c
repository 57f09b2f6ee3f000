/* The bounded heap and histogram of durations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "durations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below 64 ns each value has its bucket; above, 32 buckets for each power of two. */
#define SUB_BITS 5
#define SUB (1u << SUB_BITS)
#define N_BUCKETS ((64 - SUB_BITS) * SUB + SUB)

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift;

	if (ns < 2 * SUB)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - SUB_BITS;
	return (shift + 1) * SUB + (unsigned)(ns >> shift) - SUB;
}

static uint64_t bucket_low(unsigned bucket)
{
	unsigned shift;

	if (bucket < 2 * SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return (uint64_t)(bucket % SUB + SUB) << shift;
}

static uint64_t bucket_high(unsigned bucket)
{
	return bucket + 1 < N_BUCKETS ? bucket_low(bucket + 1) - 1 : UINT64_MAX;
}

static int keep(struct durations *d, uint64_t ns)
{
	uint32_t i, child;

	if (d->n_kept < DURATIONS_KEPT) {
		if (!ARRAY_FITS(d->kept, d->n_kept + 1, d->room))
			return -ENOMEM;
		for (i = d->n_kept++; i && d->kept[(i - 1) / 2] < ns; i = (i - 1) / 2)
			d->kept[i] = d->kept[(i - 1) / 2];
		d->kept[i] = ns;
		return 0;
	}
	if (ns >= d->kept[0])
		return 0;
	for (i = 0; (child = 2 * i + 1) < d->n_kept; i = child) {
		if (child + 1 < d->n_kept && d->kept[child + 1] > d->kept[child])
			child++;
		if (d->kept[child] <= ns)
			break;
		d->kept[i] = d->kept[child];
	}
	d->kept[i] = ns;
	return 0;
}

static int histogram_begin(struct durations *d)
{
	d->histogram = calloc(N_BUCKETS, sizeof(*d->histogram));
	if (!d->histogram)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_kept; i++)
		d->histogram[bucket_of(d->kept[i])]++;
	return 0;
}

int durations_add(struct durations *d, uint64_t ns)
{
	if (d->n == DURATIONS_KEPT && histogram_begin(d) < 0)
		return -ENOMEM;
	d->n++;
	if (ns < d->min_ns)
		d->min_ns = ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
	if (d->histogram)
		d->histogram[bucket_of(ns)]++;
	return keep(d, ns);
}

int durations_merge(struct durations *into, const struct durations *from)
{
	if (!into->histogram && into->n + from->n > DURATIONS_KEPT && histogram_begin(into) < 0)
		return -ENOMEM;
	if (into->histogram && from->histogram)
		for (unsigned b = 0; b < N_BUCKETS; b++)
			into->histogram[b] += from->histogram[b];
	else if (into->histogram)
		for (uint32_t i = 0; i < from->n_kept; i++)
			into->histogram[bucket_of(from->kept[i])]++;
	for (uint32_t i = 0; i < from->n_kept; i++)
		if (keep(into, from->kept[i]) < 0)
			return -ENOMEM;
	into->n += from->n;
	if (from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	return 0;
}

void durations_free(struct durations *d)
{
	free(d->kept);
	free(d->histogram);
	d->kept = NULL;
	d->histogram = NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void durations_sort(struct durations *d)
{
	if (d->n_kept)
		qsort(d->kept, d->n_kept, sizeof(*d->kept), compare);
}

static int descending(const void *a, const void *b)
{
	return compare(b, a);
}

/* What is kept goes by differences, which are small, and the histogram by what is not 0 in it. */
int durations_put(const struct durations *d, struct packet *p)
{
	uint64_t kept[DURATIONS_KEPT], last;
	uint32_t n = 0;

	packet_put(p, d->n);
	packet_put(p, d->n_kept);
	if (d->n == 0)
		return p->rc;
	packet_put(p, d->min_ns);
	packet_put(p, d->max_ns);
	memcpy(kept, d->kept, d->n_kept * sizeof(*kept));
	qsort(kept, d->n_kept, sizeof(*kept), descending);
	last = d->max_ns;
	for (uint32_t i = 0; i < d->n_kept; i++) {
		packet_put(p, last - kept[i]);
		last = kept[i];
	}
	for (unsigned b = 0; d->histogram && b < N_BUCKETS; b++)
		n += d->histogram[b] != 0;
	packet_put(p, n);
	for (unsigned b = 0, before = 0; d->histogram && b < N_BUCKETS; b++) {
		if (!d->histogram[b])
			continue;
		packet_put(p, b - before);
		packet_put(p, d->histogram[b]);
		before = b;
	}
	return p->rc;
}

/* Descending order is that of a heap with the longest on top. */
int durations_take(struct durations *d, struct packet *p)
{
	uint64_t last;
	uint32_t n, bucket = 0;

	*d = DURATIONS_EMPTY;
	d->n = packet_take(p);
	n = packet_take_below(p, DURATIONS_KEPT + 1);
	if (p->rc || d->n == 0)
		return p->rc;
	d->min_ns = packet_take(p);
	last = d->max_ns = packet_take(p);
	if (!ARRAY_FITS(d->kept, n, d->room))
		return -ENOMEM;
	for (; d->n_kept < n; d->kept[d->n_kept++] = last)
		last -= packet_take(p);
	n = packet_take_below(p, N_BUCKETS + 1);
	if (n && !(d->histogram = calloc(N_BUCKETS, sizeof(*d->histogram))))
		return -ENOMEM;
	for (; n && !p->rc; n--) {
		bucket += packet_take_below(p, N_BUCKETS - bucket);
		d->histogram[bucket] = packet_take(p);
	}
	return p->rc;
}

void durations_rank(const struct durations *d, uint64_t rank, uint64_t *low, uint64_t *high)
{
	uint64_t below = 0;

	if (rank <= d->n_kept) {
		*low = *high = d->kept[rank - 1];
		return;
	}
	for (unsigned b = 0; b < N_BUCKETS; b++) {
		below += d->histogram[b];
		if (below < rank)
			continue;
		*low = bucket_low(b) > d->min_ns ? bucket_low(b) : d->min_ns;
		*high = bucket_high(b) < d->max_ns ? bucket_high(b) : d->max_ns;
		return;
	}
	*low = *high = d->max_ns;
}

static uint64_t bucket_middle(unsigned bucket)
{
	return bucket_low(bucket) + (bucket_high(bucket) - bucket_low(bucket)) / 2;
}

uint64_t durations_level(const struct durations *d, unsigned __int128 sum)
{
	uint64_t left = d->n; /* not shorter than those passed */

	for (uint32_t i = 0; !d->histogram && i < d->n_kept; i++) {
		if ((unsigned __int128)d->kept[i] * left >= sum)
			return (uint64_t)(sum / left);
		sum -= d->kept[i];
		left--;
	}
	for (unsigned b = 0; d->histogram && left && b < N_BUCKETS; b++) {
		if ((unsigned __int128)bucket_middle(b) * left >= sum)
			return (uint64_t)(sum / left);
		sum -= (unsigned __int128)bucket_middle(b) * d->histogram[b];
		left -= d->histogram[b];
	}
	return 0;
}

/* ---- moments ---- */

static void moment_add(struct durations_moments *m, uint64_t ns, uint64_t n)
{
	m->n += n;
	m->sum += n * ns;
	m->squares += (unsigned __int128)ns * ns * n;
}

void durations_moments_add(struct durations_moments *m, const struct durations *d)
{
	if (d->n == 0)
		return;
	if (m->n == 0 || d->min_ns < m->min_ns)
		m->min_ns = d->min_ns;
	if (d->max_ns > m->max_ns)
		m->max_ns = d->max_ns;
	for (uint32_t i = 0; !d->histogram && i < d->n_kept; i++)
		moment_add(m, d->kept[i], 1);
	for (unsigned b = 0; d->histogram && b < N_BUCKETS; b++)
		if (d->histogram[b])
			moment_add(m, bucket_middle(b), d->histogram[b]);
}

void durations_moments_add_equal(struct durations_moments *m, uint64_t ns, uint64_t n)
{
	if (n == 0)
		return;
	if (m->n == 0 || ns < m->min_ns)
		m->min_ns = ns;
	if (ns > m->max_ns)
		m->max_ns = ns;
	moment_add(m, ns, n);
}

double durations_standard_error(const struct durations_moments *m)
{
	long double n = (long double)m->n, mean, variance;

	if (m->n < 2)
		return 0;
	mean = (long double)m->sum / n;
	variance = ((long double)m->squares - n * mean * mean) / (n - 1);
	return variance > 0 ? (double)sqrtl(variance / n) : 0;
}
