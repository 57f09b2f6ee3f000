/* bench-read: how fast an archive can be read: bare libotf2 with empty callbacks, or through
 * eta-ext. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <otf2/otf2.h>
#include <otf2/OTF2_Pthread_Locks.h>

#include "eta-ext/base/eta.h"
#include "src/cli.h"
#include "src/options.h"

struct settings {
	const char *anchor;
	unsigned threads;
	bool eta;
};

struct job {
	const struct settings *settings;
	struct eta_trace *trace; /* NULL: bare */
	OTF2_Reader *reader;
	uint64_t *locations;
	uint64_t n_locations;
	uint64_t next;	 /* atomic */
	uint64_t events; /* atomic */
	int failed;
};

#define HEAD                                                                                       \
	OTF2_LocationRef location __attribute__((unused)),                                         \
		OTF2_TimeStamp time __attribute__((unused)),                                       \
		uint64_t position __attribute__((unused)), void *arg __attribute__((unused)),      \
		OTF2_AttributeList *list __attribute__((unused))

static OTF2_CallbackCode on_region(HEAD, OTF2_RegionRef region)
{
	(void)region;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_begin(HEAD, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
				  OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t match)
{
	(void)handle;
	(void)mode;
	(void)flags;
	(void)bytes;
	(void)match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_issued(HEAD, OTF2_IoHandleRef handle, uint64_t match)
{
	(void)handle;
	(void)match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_complete(HEAD, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t match)
{
	(void)handle;
	(void)bytes;
	(void)match;
	return OTF2_CALLBACK_SUCCESS;
}

static bool read_bare(struct job *job, uint64_t i, uint64_t *events)
{
	OTF2_EvtReader *evt = OTF2_Reader_GetEvtReader(job->reader, job->locations[i]);
	OTF2_EvtReaderCallbacks *cb = OTF2_EvtReaderCallbacks_New();
	uint64_t n = 0;
	bool ok = evt && cb;

	if (ok) {
		OTF2_EvtReaderCallbacks_SetEnterCallback(cb, on_region);
		OTF2_EvtReaderCallbacks_SetLeaveCallback(cb, on_region);
		OTF2_EvtReaderCallbacks_SetIoOperationBeginCallback(cb, on_begin);
		OTF2_EvtReaderCallbacks_SetIoOperationIssuedCallback(cb, on_issued);
		OTF2_EvtReaderCallbacks_SetIoOperationCompleteCallback(cb, on_complete);
		OTF2_Reader_RegisterEvtCallbacks(job->reader, evt, cb, NULL);
		ok = OTF2_Reader_ReadAllLocalEvents(job->reader, evt, &n) == OTF2_SUCCESS;
		OTF2_Reader_CloseEvtReader(job->reader, evt);
	}
	OTF2_EvtReaderCallbacks_Delete(cb);
	*events += n;
	return ok;
}

static bool read_eta(struct job *job, uint64_t i, uint64_t *events)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	ssize_t n;

	if (eta_cursor_open(job->trace, (uint32_t)i, &cursor) < 0)
		return false;
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		*events += (uint64_t)n;
	eta_cursor_close(cursor);
	return n == 0;
}

static void *worker(void *arg)
{
	struct job *job = arg;
	uint64_t events = 0;

	for (;;) {
		uint64_t i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
		bool ok;

		if (i >= job->n_locations)
			break;
		ok = job->trace ? read_eta(job, i, &events) : read_bare(job, i, &events);
		if (!ok)
			__atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&job->events, events, __ATOMIC_RELAXED);
	return NULL;
}

static OTF2_CallbackCode on_location(void *arg, OTF2_LocationRef self, OTF2_StringRef name,
				     OTF2_LocationType type, uint64_t events,
				     OTF2_LocationGroupRef group)
{
	struct job *job = arg;

	(void)name;
	(void)type;
	(void)events;
	(void)group;
	job->locations = realloc(job->locations, (job->n_locations + 1) * sizeof(*job->locations));
	if (!job->locations)
		return OTF2_CALLBACK_ERROR;
	job->locations[job->n_locations++] = self;
	return OTF2_CALLBACK_SUCCESS;
}

static bool open_bare(struct job *job)
{
	OTF2_GlobalDefReaderCallbacks *cb = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_GlobalDefReader *defs;
	uint64_t n;
	bool ok;

	job->reader = OTF2_Reader_Open(job->settings->anchor);
	if (!job->reader)
		return false;
	OTF2_Pthread_Reader_SetLockingCallbacks(job->reader, NULL);
	OTF2_Reader_SetSerialCollectiveCallbacks(job->reader);
	defs = OTF2_Reader_GetGlobalDefReader(job->reader);
	OTF2_GlobalDefReaderCallbacks_SetLocationCallback(cb, on_location);
	OTF2_Reader_RegisterGlobalDefCallbacks(job->reader, defs, cb, job);
	ok = OTF2_Reader_ReadAllGlobalDefinitions(job->reader, defs, &n) == OTF2_SUCCESS;
	OTF2_GlobalDefReaderCallbacks_Delete(cb);
	OTF2_Reader_CloseGlobalDefReader(job->reader, defs);
	for (uint64_t i = 0; i < job->n_locations; i++)
		OTF2_Reader_SelectLocation(job->reader, job->locations[i]);
	return ok && OTF2_Reader_OpenEvtFiles(job->reader) == OTF2_SUCCESS;
}

static const struct option_row rows[] = {
	{ "eta", 'e', NULL, "through eta-ext, not bare", SETS_FLAG(struct settings, eta) },
	{ "threads", 't', "THREADS", "that read (default 1)",
	  SETS_NUMBER(struct settings, threads, 1, 64) },
	{ 0 },
};

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		settings->anchor = arg;
		return 0;
	case ARGP_KEY_END:
		if (!settings->anchor)
			argp_error(state, "no archive given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct command_line command_line = {
		rows, "ARCHIVE",
		"Read every event and print events, seconds, events per second and resident "
		"memory.",
		parse_words
	};
	struct settings settings = { .threads = 1 };
	struct job job = { .settings = &settings };
	pthread_t helpers[64];
	struct rusage usage;
	double start, seconds;

	options_parse(&command_line, argc, argv, &settings);
	start = now_s();
	if (settings.eta) {
		if (eta_open(settings.anchor, NULL, &job.trace) < 0)
			return CLI_FAILED;
		job.n_locations = eta_trace_defs(job.trace)->n_locations;
	} else if (!open_bare(&job)) {
		return CLI_FAILED;
	}
	for (unsigned i = 1; i < settings.threads; i++)
		if (pthread_create(&helpers[i], NULL, worker, &job) != 0)
			return CLI_FAILED;
	worker(&job);
	for (unsigned i = 1; i < settings.threads; i++)
		pthread_join(helpers[i], NULL);
	eta_close(job.trace);
	if (job.reader)
		OTF2_Reader_Close(job.reader);
	free(job.locations);
	seconds = now_s() - start;
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu events %.3f s %.1f M/s %.0f MiB\n", (unsigned long long)job.events, seconds,
	       (double)job.events / seconds / 1e6, (double)usage.ru_maxrss / 1024);
	return job.failed ? CLI_FAILED : CLI_OK;
}
