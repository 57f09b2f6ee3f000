/* Flushes of a guest's disk: QEMU syncs the image for them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"
#include "services.h"

/* Of one flush. */
#define SYNCS_MAX 8

/* A flush of the guest that has not ended yet, and the syncs of the image meanwhile. */
struct flush {
	struct request request;
	uint32_t syncs[SYNCS_MAX]; /* calls */
	uint32_t n;
};

/* The guest's requests, read up to a time. */
struct reading {
	struct service_requests requests;
	struct request next;
	bool has_next;
};

struct flushing {
	struct merge *merge;
	const struct service_pair *pair;
	struct reading written, flushed;
	/* who wrote last, a thread of the kernel's and any */
	struct request journal, writer;
	bool has_journal, has_writer;
	struct flush *flushes; /* that may have more syncs */
	size_t n, room;
};

static int begin_reading(struct flushing *f, struct reading *r)
{
	int rc = services_open(f->merge, f->pair, &r->requests);

	if (rc)
		return rc;
	rc = services_next(&r->requests, &r->next);
	r->has_next = rc > 0;
	return rc < 0 ? rc : 0;
}

/* The next request that begins before TIME_NS: 1, 0: none does, -errno. */
static int read_before(struct reading *r, uint64_t time_ns, struct request *request)
{
	int rc;

	if (!r->has_next || r->next.begin_ns >= time_ns)
		return 0;
	*request = r->next;
	rc = services_next(&r->requests, &r->next);
	r->has_next = rc > 0;
	return rc < 0 ? rc : 1;
}

static bool is_kernels(const struct flushing *f, const struct request *request)
{
	const struct eta_defs *defs = &f->merge->inputs[f->pair->guest].trace->defs;

	return defs->locations[request->location].kind == ETA_LOCATION_KERNEL_THREAD;
}

/* Who has written before TIME_NS, or flushes then. */
static int read_writers(struct flushing *f, uint64_t time_ns)
{
	struct request one;
	int rc;

	while ((rc = read_before(&f->written, time_ns, &one)) > 0) {
		if (!one.write && !one.flush)
			continue;
		f->writer = one;
		f->has_writer = true;
		if (is_kernels(f, &one) && one.no_file) {
			f->journal = one;
			f->has_journal = true;
		}
	}
	return rc;
}

static int read_flushes(struct flushing *f, uint64_t time_ns)
{
	struct request one;
	int rc;

	while ((rc = read_before(&f->flushed, time_ns, &one)) > 0) {
		if (!one.flush)
			continue;
		if (!ARRAY_FITS(f->flushes, f->n + 1, f->room))
			return -ENOMEM;
		f->flushes[f->n++] = (struct flush){ .request = one };
	}
	return rc;
}

static int add_flush(struct flushing *f, const struct flush *flush)
{
	int rc = flush->n ? services_add_request(f->merge, f->pair, &flush->request) : 0;

	for (uint32_t i = 0; rc == 0 && i < flush->n; i++)
		rc = services_add_link(f->merge, flush->syncs[i]);
	return rc;
}

/* Those that ended before TIME_NS have all their syncs. */
static int add_ended(struct flushing *f, uint64_t time_ns)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (rc == 0 && f->flushes[i].request.end_ns < time_ns)
			rc = add_flush(f, &f->flushes[i]);
		else
			f->flushes[kept++] = f->flushes[i];
	}
	f->n = kept;
	return rc;
}

/*
 * A write that has to be on the disk when it has ended is followed by a flush that is no request
 * in the guest's trace. Whoever waits for a commit waits for that, too.
 */
static int add_implied(struct flushing *f, const struct request *sync)
{
	struct services *s = f->merge->services;
	struct request who = f->has_journal ? f->journal : f->writer;
	int rc;

	who.begin_ns = sync->begin_ns;
	who.end_ns = sync->end_ns;
	rc = services_add_request(f->merge, f->pair, &who);
	if (rc)
		return rc;
	s->requests[s->n_requests - 1].journal = true;
	s->requests[s->n_requests - 1].implied = true;
	return 0;
}

static int add_sync(struct flushing *f, const struct request_stream *host, struct request *sync)
{
	uint64_t slack_ns = f->written.requests.clock->error_ns + SERVICE_SLACK_NS;
	int rc = add_ended(f, sync->begin_ns);

	rc = rc ? rc : read_writers(f, sync->begin_ns + slack_ns);
	rc = rc ? rc : read_flushes(f, sync->end_ns);
	/* nobody has written: QEMU's own */
	if (rc || !f->has_writer)
		return rc;
	rc = add_implied(f, sync);
	rc = rc ? rc : services_add_call(f->merge, f->pair, host, sync);
	rc = rc ? rc : services_add_link(f->merge, sync->number - 1);
	for (size_t i = 0; rc == 0 && i < f->n; i++) {
		struct flush *flush = &f->flushes[i];

		if (flush->request.end_ns > sync->begin_ns && flush->n < SYNCS_MAX)
			flush->syncs[flush->n++] = sync->number - 1;
	}
	return rc;
}

int services_flushes(struct merge *merge, const struct service_pair *pair)
{
	struct flushing f = { .merge = merge, .pair = pair };
	struct request_stream *host = NULL;
	struct request sync;
	int rc = begin_reading(&f, &f.written);

	rc = rc ? rc : begin_reading(&f, &f.flushed);
	rc = rc ? rc
		: request_stream_file(&merge->requests, merge->inputs[pair->host].trace,
				      &pair->image, &host);
	while (rc == 0 && (rc = request_stream_next(host, &sync)) > 0)
		rc = sync.flush ? add_sync(&f, host, &sync) : 0;
	rc = rc ? rc : add_ended(&f, UINT64_MAX);
	request_stream_free(f.written.requests.stream);
	request_stream_free(f.flushed.requests.stream);
	request_stream_free(host);
	free(f.flushes);
	return rc;
}
