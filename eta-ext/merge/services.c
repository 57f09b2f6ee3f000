/* What hosts did for the requests of their guests: which calls, and where their time went. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "services.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/fnv.h"
#include "eta-ext/base/paged-array.h"
#include "eta-ext/base/search.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/trace/machines.h"
#include "request-streams.h"

void services_free(struct services *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_guests; i++)
		free(s->guests[i].disks);
	free(s->guests);
	paged_free(s->calls);
	paged_free(s->requests);
	paged_free(s->pieces);
	paged_free(s->links);
	paged_free(s->calls_by_thread);
	paged_free(s->calls_by_image);
	paged_free(s->by_thread.at);
	paged_free(s->by_owner.at);
	paged_free(s->journals.at);
	free(s->threads);
	free(s->machines);
	free(s->located);
	free(s->vcpus);
	paged_free(s->steals);
	free(s);
}

int services_begin(struct merge *merge, const struct service_pair *pair)
{
	struct services *s = merge->services;

	if (!s)
		s = merge->services = calloc(1, sizeof(*s));
	if (!s || !ARRAY_FITS(s->guests, s->n_guests + 1, s->guests_room))
		return -ENOMEM;
	s->guests[s->n_guests] = (struct service_guest){ .guest = pair->guest,
							 .host = pair->host,
							 .pid = pair->image.pid };
	snprintf(s->guests[s->n_guests].name, sizeof(s->guests->name), "%s", pair->name);
	return services_steals(merge, s->n_guests++);
}

/* ---- which calls ---- */

struct assigning {
	struct merge *merge;
	const struct service_pair *pair;
	const struct request_stream *host;
	struct request last_guest;
	bool any;
};

static bool same_request(const struct request *a, const struct request *b)
{
	return a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->offset == b->offset &&
	       a->location == b->location;
}

/*
 * What a commit waits for: requests of the kernel's threads that are of no file, and all of ext4's
 * journal, which writes data that has to be on the disk before.
 */
static bool is_journal(const struct eta_location *location, const struct request *guest)
{
	return location->kind == ETA_LOCATION_KERNEL_THREAD &&
	       (guest->no_file || strncmp(location->name, "jbd2/", 5) == 0);
}

int services_add_request(struct merge *merge, const struct service_pair *pair,
			 const struct request *guest)
{
	struct services *s = merge->services;
	const struct eta_defs *defs = &merge->inputs[pair->guest].trace->defs;

	if (!PAGED_FITS(s->requests, s->n_requests + 1, s->requests_room))
		return -ENOMEM;
	s->requests[s->n_requests++] = (struct service_request){
		.begin_ns = guest->begin_ns,
		.end_ns = guest->end_ns,
		.input = pair->guest,
		.location = guest->location,
		.device = pair->device,
		.owner = guest->owner,
		.first_link = (uint32_t)s->n_links,
		.journal = is_journal(&defs->locations[guest->location], guest),
	};
	return 0;
}

int services_add_call(struct merge *merge, const struct service_pair *pair,
		      const struct request_stream *stream, struct request *host)
{
	struct services *s = merge->services;

	if (!PAGED_FITS(s->calls, s->n_calls + 1, s->calls_room) ||
	    !PAGED_FITS(s->pieces, s->n_pieces + host->n_pieces, s->pieces_room))
		return -ENOMEM;
	s->calls[s->n_calls++] = (struct service_call){
		.begin_ns = host->begin_ns,
		.end_ns = host->end_ns,
		.inode = pair->image.inode,
		.dev = pair->image.dev,
		.input = pair->host,
		.location = host->location,
		.request = (uint32_t)s->n_requests - 1,
		.first_piece = (uint32_t)s->n_pieces,
		.n_pieces = host->n_pieces,
		.write = host->write,
		.sync = host->flush,
	};
	if (host->n_pieces)
		memcpy(s->pieces + s->n_pieces, request_stream_pieces(stream, host),
		       host->n_pieces * sizeof(*s->pieces));
	s->n_pieces += host->n_pieces;
	host->number = (uint32_t)s->n_calls;
	return 0;
}

int services_add_link(struct merge *merge, uint32_t call)
{
	struct services *s = merge->services;

	if (!PAGED_FITS(s->links, s->n_links + 1, s->links_room))
		return -ENOMEM;
	s->links[s->n_links++] = call;
	s->requests[s->n_requests - 1].n_links++;
	return 0;
}

/* A call's number, for who meets it again, is 1 + where it is in the list. */
static int add_pair(void *arg, const struct request *guest, struct request *host)
{
	struct assigning *a = arg;
	int rc = 0;

	if (!a->any || !same_request(&a->last_guest, guest)) {
		rc = services_add_request(a->merge, a->pair, guest);
		a->last_guest = *guest;
		a->any = true;
	}
	if (rc == 0 && !host->number)
		rc = services_add_call(a->merge, a->pair, a->host, host);
	return rc ? rc : services_add_link(a->merge, host->number - 1);
}

int services_open(struct merge *merge, const struct service_pair *pair,
		  struct service_requests *requests)
{
	const struct merge_input *input = &merge->inputs[pair->guest];

	requests->clock = &input->clock;
	return request_stream_device(&merge->requests, input->trace, pair->device, false,
				     &requests->stream);
}

int services_next(void *requests, struct request *request)
{
	const struct service_requests *r = requests;
	int rc = request_stream_next(r->stream, request);

	if (rc > 0) {
		request->begin_ns = eta_clock_convert(r->clock, request->begin_ns);
		request->end_ns = eta_clock_convert(r->clock, request->end_ns);
	}
	return rc;
}

static int note_disk(struct service_guest *guest, const struct service_pair *pair)
{
	if (!ARRAY_FITS(guest->disks, guest->n_disks + 1, guest->disks_room))
		return -ENOMEM;
	guest->disks[guest->n_disks++] = (struct service_disk){ pair->device, pair->disk };
	return 0;
}

int services_match(struct merge *merge, const struct service_pair *pair)
{
	struct services *s = merge->services;
	struct service_requests guest = { 0 };
	struct request_stream *host = NULL;
	struct assigning a = { .merge = merge, .pair = pair };
	int rc = note_disk(&s->guests[s->n_guests - 1], pair);

	if (rc == 0)
		rc = services_open(merge, pair, &guest);
	if (rc == 0)
		rc = request_stream_file(&merge->requests, merge->inputs[pair->host].trace,
					 &pair->image, &host);
	a.host = host;
	if (rc == 0)
		rc = requests_assign(&(struct requests){ services_next, &guest },
				     &(struct requests){ request_stream_next, host },
				     guest.clock->error_ns + SERVICE_SLACK_NS, add_pair, &a);
	request_stream_free(guest.stream);
	request_stream_free(host);
	return rc ? rc : services_flushes(merge, pair);
}

/* ---- in the result ---- */

/* Times are by the host's clock until here. */
static void convert(struct merge *merge)
{
	struct services *s = merge->services;

	services_convert_steals(merge);
	for (size_t i = 0; i < s->n_requests; i++) {
		const struct service_call *call = &s->calls[s->links[s->requests[i].first_link]];
		const struct eta_clock_map *clock = &merge->inputs[call->input].clock;

		s->requests[i].begin_ns = eta_clock_convert(clock, s->requests[i].begin_ns);
		s->requests[i].end_ns = eta_clock_convert(clock, s->requests[i].end_ns);
	}
	for (size_t i = 0; i < s->n_calls; i++) {
		struct service_call *call = &s->calls[i];
		const struct eta_clock_map *clock = &merge->inputs[call->input].clock;
		struct service_piece *piece = s->pieces + call->first_piece;

		call->begin_ns = eta_clock_convert(clock, call->begin_ns);
		call->end_ns = eta_clock_convert(clock, call->end_ns);
		for (uint32_t p = 0; p < call->n_pieces; p++) {
			piece[p].begin_ns = eta_clock_convert(clock, piece[p].begin_ns);
			piece[p].end_ns = eta_clock_convert(clock, piece[p].end_ns);
		}
	}
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int calls_by_thread(const void *left, const void *right, void *arg)
{
	const struct services *s = arg;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct service_call *a = &s->calls[l], *b = &s->calls[r];
	int order = compare(a->input, b->input);

	order = order ? order : compare(a->location, b->location);
	order = order ? order : compare(a->begin_ns, b->begin_ns);
	return order ? order : compare(l, r);
}

static int calls_by_image(const void *left, const void *right, void *arg)
{
	const struct services *s = arg;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct service_call *a = &s->calls[l], *b = &s->calls[r];
	int order = compare(a->input, b->input);

	order = order ? order : compare(a->dev, b->dev);
	order = order ? order : compare(a->inode, b->inode);
	order = order ? order : compare(a->begin_ns, b->begin_ns);
	order = order ? order : compare(a->location, b->location);
	return order ? order : compare(l, r);
}

static uint32_t location_of(const struct service_request *r)
{
	return r->location;
}

static uint32_t owner_of(const struct service_request *r)
{
	return r->owner;
}

/* By input, what KEY says (NULL: nothing), begin. */
static int order_requests(const void *left, const void *right, const struct services *s,
			  uint32_t (*key)(const struct service_request *))
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct service_request *a = &s->requests[l], *b = &s->requests[r];
	int order = compare(a->input, b->input);

	if (!order && key)
		order = compare(key(a), key(b));
	order = order ? order : compare(a->begin_ns, b->begin_ns);
	return order ? order : compare(l, r);
}

static int requests_by_thread(const void *left, const void *right, void *arg)
{
	return order_requests(left, right, arg, location_of);
}

static int requests_by_owner(const void *left, const void *right, void *arg)
{
	return order_requests(left, right, arg, owner_of);
}

static int requests_by_input(const void *left, const void *right, void *arg)
{
	return order_requests(left, right, arg, NULL);
}

static uint32_t *sorted(struct services *s, size_t n,
			int (*order)(const void *, const void *, void *))
{
	uint32_t *list = paged_grow(NULL, 0, n + 1, sizeof(*list), SIZE_MAX).at;

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		list[i] = i;
	if (n)
		qsort_r(list, n, sizeof(*list), order, s);
	return list;
}

static bool has_thread(const struct service_request *r)
{
	return !r->implied;
}

static bool has_owner(const struct service_request *r)
{
	return r->owner && !r->implied;
}

static bool of_journal(const struct service_request *r)
{
	return r->journal;
}

/* The requests that are WANTED. 0 or -ENOMEM. */
static int list_requests(struct services *s, struct service_list *list,
			 bool (*wanted)(const struct service_request *),
			 int (*order)(const void *, const void *, void *))
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_requests; i++)
		n += wanted(&s->requests[i]);
	list->at = paged_grow(NULL, 0, n + 1, sizeof(*list->at), SIZE_MAX).at;
	if (!list->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_requests; i++)
		if (wanted(&s->requests[i]))
			list->at[list->n++] = i;
	if (list->n)
		qsort_r(list->at, list->n, sizeof(*list->at), order, s);
	return 0;
}

/* Asked for at each wait, so that the hosts' names are looked up once. */
static uint32_t machine_of(const struct eta_defs *defs, const struct eta_location *location)
{
	if (location->kind == ETA_LOCATION_DEVICE)
		return eta_machine(defs, location->host);
	return location->process == ETA_NONE
		       ? 0
		       : eta_machine(defs, defs->processes[location->process].host);
}

static int by_number(const void *left, const void *right, void *arg)
{
	const struct services *s = arg;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct eta_location *a = &s->trace->defs.locations[l];
	const struct eta_location *b = &s->trace->defs.locations[r];
	int order = compare(s->machines[l], s->machines[r]);

	order = order ? order : compare(a->tid, b->tid);
	order = order ? order : compare(a->start_ns, b->start_ns);
	return order ? order : compare(l, r);
}

static int find_threads(struct services *s)
{
	const struct eta_defs *defs = &s->trace->defs;

	s->threads = calloc((size_t)defs->n_locations + 1, sizeof(*s->threads));
	s->machines = calloc((size_t)defs->n_locations + 1, sizeof(*s->machines));
	if (!s->threads || !s->machines)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++)
		s->machines[l] = machine_of(defs, &defs->locations[l]);
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind != ETA_LOCATION_DEVICE && defs->locations[l].tid &&
		    !defs->locations[l].track)
			s->threads[s->n_threads++] = l;
	qsort_r(s->threads, s->n_threads, sizeof(*s->threads), by_number, s);
	return 0;
}

uint32_t services_thread(const struct services *s, uint32_t machine, uint32_t tid, uint64_t time_ns)
{
	const struct eta_location *locations = s->trace->defs.locations;
	const uint32_t *threads = s->threads, *machines = s->machines;
	size_t low = PARTITION_POINT(
		(size_t)0, s->n_threads, i,
		machines[threads[i]] < machine ||
			(machines[threads[i]] == machine && locations[threads[i]].tid < tid));
	uint32_t found = ETA_NONE;

	for (; low < s->n_threads; low++) {
		uint32_t l = s->threads[low];

		if (s->machines[l] != machine || s->trace->defs.locations[l].tid != tid)
			break;
		if (found == ETA_NONE || s->trace->defs.locations[l].start_ns <= time_ns)
			found = l;
	}
	return found;
}

/* Which location of the result each of the inputs' is a part of. */
static int locate(struct services *s, const struct merge *merge)
{
	uint32_t **located = NULL, *next;
	size_t n = 0;

	for (size_t i = 0; i < merge->n_inputs; i++)
		n += merge->inputs[i].trace->defs.n_locations;
	located = malloc(merge->n_inputs * sizeof(*located) + (n + 1) * sizeof(**located));
	if (!located)
		return -ENOMEM;
	next = (uint32_t *)(located + merge->n_inputs);
	for (size_t i = 0; i < merge->n_inputs; i++) {
		located[i] = next;
		next += merge->inputs[i].trace->defs.n_locations;
	}
	for (uint32_t l = 0; l < s->trace->defs.n_locations; l++)
		for (uint32_t p = merge->first[l]; p < merge->first[l + 1]; p++)
			located[merge->parts[p].input][merge->parts[p].location] = l;
	s->located = located;
	return 0;
}

/* Says of which virtual machine each guest is. */
static int name_guests(struct eta_trace *trace, const struct merge *merge)
{
	const struct services *s = merge->services;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->n_guests; i++) {
		const struct service_guest *guest = &s->guests[i];
		const struct eta_process *inner = merge_home(merge, guest->guest);
		const struct eta_process *outer = merge_home(merge, guest->host);
		const char *own;
		char name[64], *text;
		json_t *told, *disks;

		if (!inner || !outer)
			continue;
		own = merge_host(trace, &merge->inputs[guest->guest], inner->host);
		snprintf(name, sizeof(name), ARCHIVE_GUEST "%016" PRIX64, fnv_of_text(own));
		told = json_object();
		json_object_set_new(told, "guest", json_string(own));
		json_object_set_new(
			told, "host",
			json_string(merge_host(trace, &merge->inputs[guest->host], outer->host)));
		json_object_set_new(told, "pid", json_integer(guest->pid));
		json_object_set_new(told, "name", json_string(guest->name));
		disks = json_array();
		for (size_t d = 0; d < guest->n_disks; d++)
			json_array_append_new(disks,
					      json_pack("[i, i]", (int)guest->disks[d].device,
							(int)guest->disks[d].disk));
		json_object_set_new(told, "disks", disks);
		text = json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS);
		if (!text || eta_defs_property(trace, name, text) == ETA_NONE)
			rc = -ENOMEM;
		free(text);
		json_decref(told);
	}
	return rc;
}

int services_settle(struct eta_trace *trace, struct merge *merge)
{
	struct services *s = merge->services;
	int rc;

	if (!s && !merge->as_is && machines_have_guests(&trace->defs))
		s = merge->services = calloc(1, sizeof(*s));
	if (!s)
		return merge->as_is || !machines_have_guests(&trace->defs) ? 0 : -ENOMEM;
	s->trace = trace;
	convert(merge);
	s->calls_by_thread = sorted(s, s->n_calls, calls_by_thread);
	s->calls_by_image = sorted(s, s->n_calls, calls_by_image);
	rc = list_requests(s, &s->by_thread, has_thread, requests_by_thread);
	rc = rc ? rc : list_requests(s, &s->by_owner, has_owner, requests_by_owner);
	rc = rc ? rc : list_requests(s, &s->journals, of_journal, requests_by_input);
	if (rc)
		return rc;
	s->virtio = eta_defs_region(trace, "block:virtio", ETA_LEVEL_BLOCK, "");
	s->steal = eta_defs_region(trace, "cpu:steal", ETA_LEVEL_CPU, "");
	if (!s->calls_by_thread || !s->calls_by_image || s->virtio == ETA_NONE ||
	    s->steal == ETA_NONE)
		return -ENOMEM;
	rc = find_threads(s);
	if (rc == 0)
		rc = services_nameless(trace, merge);
	if (rc == 0)
		rc = locate(s, merge);
	if (rc == 0)
		rc = name_guests(trace, merge);
	return rc;
}
