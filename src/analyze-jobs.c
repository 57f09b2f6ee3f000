/* What rank 0 of the processes of an analysis asks the others for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze-jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

struct job {
	struct analyze_options options; /* of which opening and analysing need some */
	char **paths;
	uint64_t n_paths; /* 0: it is the end */
	char *baseline, *format;
};

/* ---- as bytes ---- */

static void put_options(struct packet *p, const struct analyze_options *o)
{
	const struct analysis_options *a = &o->analysis;
	uint64_t quantile;

	memcpy(&quantile, &a->quantile, sizeof(quantile));
	packet_put(p, o->open.lenient);
	packet_put(p, o->open.stable);
	packet_put(p, a->sci);
	packet_put(p, a->similar);
	packet_put(p, a->reference);
	packet_put(p, quantile);
	packet_put(p, a->threads);
	packet_put(p, a->callsites);
	packet_put(p, a->files);
	packet_put(p, a->n_bins);
	packet_put(p, a->n_slowed);
	packet_put(p, a->n_culprits);
	packet_put(p, a->habits);
	packet_put(p, a->squares);
	packet_put(p, a->version_1);
	packet_put(p, a->from_ns);
	packet_put(p, a->to_ns);
}

static void take_options(struct packet *p, struct analyze_options *o)
{
	struct analysis_options *a = &o->analysis;
	uint64_t quantile;

	o->open.lenient = packet_take(p);
	o->open.stable = packet_take(p);
	a->sci = (enum sci_kind)packet_take(p);
	a->similar = (enum similar)packet_take(p);
	a->reference = (enum reference_kind)packet_take(p);
	quantile = packet_take(p);
	memcpy(&a->quantile, &quantile, sizeof(quantile));
	a->threads = (unsigned)packet_take(p);
	a->callsites = packet_take(p);
	a->files = packet_take(p);
	a->n_bins = (uint32_t)packet_take(p);
	a->n_slowed = (uint32_t)packet_take(p);
	a->n_culprits = (uint32_t)packet_take(p);
	a->habits = packet_take(p);
	a->squares = packet_take(p);
	a->version_1 = packet_take(p);
	a->from_ns = packet_take(p);
	a->to_ns = packet_take(p);
}

static int put(void *arg, struct packet *p)
{
	const struct job *job = arg;

	packet_put(p, job->n_paths);
	for (uint64_t i = 0; i < job->n_paths; i++)
		packet_put_text(p, job->paths[i]);
	packet_put_text(p, job->baseline);
	packet_put_text(p, job->format);
	put_options(p, &job->options);
	return p->rc;
}

static int take(void *arg, struct packet *p)
{
	struct job *job = arg;

	/* a path takes two bytes at least */
	job->n_paths = packet_take_below(p, p->n / 2 + 1);
	job->paths = calloc(job->n_paths + 1, sizeof(*job->paths));
	if (!job->paths)
		return -ENOMEM;
	for (uint64_t i = 0; i < job->n_paths; i++)
		job->paths[i] = packet_take_text(p);
	job->baseline = packet_take_text(p);
	job->format = packet_take_text(p);
	take_options(p, &job->options);
	return p->rc;
}

static void job_free(struct job *job)
{
	for (uint64_t i = 0; job->paths && i < job->n_paths; i++)
		free(job->paths[i]);
	free(job->paths);
	free(job->baseline);
	free(job->format);
}

/* ---- at rank 0 ---- */

int analyze_job(struct exchange *x, const struct analyze_options *o, char *const *paths, size_t n)
{
	struct job job = { .options = *o,
			   .paths = (char **)(uintptr_t)paths,
			   .n_paths = n,
			   .baseline = (char *)(uintptr_t)o->baseline,
			   .format = (char *)(uintptr_t)o->open.format };

	if (!x)
		return 0;
	*x->failure = '\0';
	/* whether all could open it */
	return exchange_agree(x, exchange_broadcast(x, 0, put, take, &job));
}

void analyze_jobs_end(struct exchange *x)
{
	struct job job = { .n_paths = 0 };

	(void)exchange_broadcast(x, 0, put, take, &job);
}

/* ---- at the others ---- */

/* Rank 0 says what there is to say of the trace; what fails here it cannot know. */
static void keep_message(void *arg, enum eta_severity severity, const char *text)
{
	struct exchange *x = arg;

	if (severity == ETA_ERROR && !*x->failure)
		snprintf(x->failure, sizeof(x->failure), "rank %u: %s", x->rank, text);
}

static void do_job(struct exchange *x, struct job *job)
{
	struct eta_trace *trace = NULL;
	struct analysis *analysis = NULL;
	struct analysis_options *options = &job->options.analysis;
	int rc;

	job->options.open.format = job->format;
	rc = inputs_open(job->paths, job->n_paths, &job->options.open, &trace);
	if (!rc && job->baseline)
		rc = inputs_open(&job->baseline, 1, &job->options.open, &options->baseline);
	options->exchange = x;
	if (!exchange_agree(x, rc))
		(void)analysis_run(trace, options, &analysis);
	analysis_free(analysis);
	eta_close(trace);
	eta_close(options->baseline);
}

void analyze_jobs(struct exchange *x)
{
	bool ended = false;

	eta_set_message_fn(keep_message, x);
	while (!ended) {
		struct job job = { .n_paths = 0 };
		int rc = exchange_broadcast(x, 0, put, take, &job);

		*x->failure = '\0';
		ended = !rc && job.n_paths == 0;
		if (rc)
			(void)exchange_agree(x, rc);
		else if (!ended)
			do_job(x, &job);
		job_free(&job);
	}
}
