/* Which virtual machine of a host a guest is, by the requests that both have. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "guests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "request-streams.h"

struct request_image guest_image_of(const struct disk *disk)
{
	struct request_image image = disk->image;

	image.map = disk->map.n ? &disk->map : NULL;
	return image;
}

static int vote_of(struct guests *g, struct device *device, const struct disk *disk,
		   struct request_vote *vote)
{
	const struct vm *vm = &g->hosts.vms[disk->vm];
	const struct request_image image = guest_image_of(disk);
	struct request_stream *stream;
	int rc = request_stream_file(&g->merge->requests, g->merge->inputs[vm->input].trace, &image,
				     &stream);

	if (rc)
		return rc;
	rc = requests_vote(&device->sample, &(struct requests){ request_stream_next, stream },
			   vote);
	request_stream_free(stream);
	/* as many say something else */
	if (vote->votes < PAIRS_MIN || vote->votes < 2 * vote->second)
		vote->votes = 0;
	return rc;
}

/*
 * Reads what machine VM did, once: on all of its disks, which are asked for one by one then, and
 * when it had no CPU.
 */
static int keep_requests(struct guests *g, uint32_t vm)
{
	struct vm *of = &g->hosts.vms[vm];
	struct request_image *images;
	size_t n = 0;
	int rc;

	if (of->is_read)
		return 0;
	images = calloc(g->hosts.n_disks + 1, sizeof(*images));
	rc = images ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < g->hosts.n_disks; i++)
		if (g->hosts.disks[i].vm == vm && g->hosts.disks[i].is_comparable)
			images[n++] = guest_image_of(&g->hosts.disks[i]);
	if (rc == 0)
		rc = request_streams_keep_files(&g->merge->requests,
						g->merge->inputs[of->input].trace, images, n,
						steals_take, &g->merge->steals);
	of->is_read = true;
	free(images);
	return rc;
}

/* What each device votes for on each disk of machine VM: VOTES[device * n_disks + disk]. */
static int vote_all(struct guests *g, uint32_t vm, struct request_vote *votes)
{
	int rc = keep_requests(g, vm);

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++)
		for (size_t i = 0; rc == 0 && g->devices[d].sample.n && i < g->hosts.n_disks; i++)
			if (g->hosts.disks[i].vm == vm && g->hosts.disks[i].is_comparable)
				rc = vote_of(g, &g->devices[d], &g->hosts.disks[i],
					     &votes[d * g->hosts.n_disks + i]);
	return rc;
}

static uint64_t apart_ns(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)(a - b) : (uint64_t)(b - a);
}

/* What disks are tried: more votes are better, of as many those that agree better on the clock. */
struct choice {
	uint64_t votes, apart_ns;
};

static bool is_better(const struct choice *a, const struct choice *b)
{
	return a->votes != b->votes ? a->votes > b->votes : a->apart_ns < b->apart_ns;
}

/*
 * Tries for each device the disk with most votes that is not another's; of as many the one by which
 * the host's clock is nearest to AHEAD_NS.
 */
static struct choice try_disks(struct guests *g, const struct request_vote *votes, int64_t ahead_ns)
{
	const size_t n_disks = g->hosts.n_disks;
	struct choice all = { 0 };

	for (size_t d = 0; d < g->n_devices; d++)
		g->devices[d].tried = NULL;
	for (size_t i = 0; i < n_disks; i++)
		g->hosts.disks[i].is_tried = false;
	for (;;) {
		struct choice best = { 0 };
		size_t at = 0;

		for (size_t i = 0; i < g->n_devices * n_disks; i++) {
			const struct choice one = { votes[i].votes,
						    apart_ns(votes[i].ahead_ns, ahead_ns) };

			if (!g->devices[i / n_disks].tried &&
			    !g->hosts.disks[i % n_disks].is_tried && is_better(&one, &best)) {
				best = one;
				at = i;
			}
		}
		if (!best.votes)
			return all;
		g->devices[at / n_disks].tried = &g->hosts.disks[at % n_disks];
		g->devices[at / n_disks].tried_vote = votes[at];
		g->hosts.disks[at % n_disks].is_tried = true;
		all.votes += best.votes;
		all.apart_ns += best.apart_ns;
	}
}

/*
 * How many votes machine VM has. What an idle guest's tracer read of one disk it read of the others
 * a moment later: all of them vote for each, and that they say the same of the clock decides.
 */
static int try_vm(struct guests *g, uint32_t vm, uint64_t *n_votes)
{
	const size_t n = g->n_devices * g->hosts.n_disks;
	struct request_vote *votes = calloc(n + 1, sizeof(*votes));
	struct choice best = { 0 };
	size_t like = 0;
	int rc = votes ? vote_all(g, vm, votes) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct choice one = { 0 };

		if (votes[i].votes)
			one = try_disks(g, votes, votes[i].ahead_ns);
		if (is_better(&one, &best)) {
			best = one;
			like = i;
		}
	}
	if (rc == 0)
		best = try_disks(g, votes, votes[like].ahead_ns);
	*n_votes = best.votes;
	free(votes);
	return rc;
}

static void take_tried(struct guests *g)
{
	for (size_t d = 0; d < g->n_devices; d++) {
		g->devices[d].disk = g->devices[d].tried;
		g->devices[d].vote = g->devices[d].tried_vote;
	}
}

bool guest_may_run(const struct guests *g, const struct vm *vm)
{
	const struct merge_input *host = &g->merge->inputs[vm->input];

	return !merge_same_home(g->merge, g->input, vm->input) &&
	       (!host->clock_is_given || host->host_input != ETA_NONE);
}

static int match_device(struct guests *g, const struct device *device, struct eta_sync *sync,
			struct requests_found *found)
{
	const struct vm *vm = &g->hosts.vms[device->disk->vm];
	const struct request_image image = guest_image_of(device->disk);
	struct request_stream *guest = NULL, *host = NULL;
	int rc = request_stream_device(&g->merge->requests, g->merge->inputs[g->input].trace,
				       device->dev, true, &guest);

	if (rc == 0)
		rc = request_stream_file(&g->merge->requests, g->merge->inputs[vm->input].trace,
					 &image, &host);
	if (rc == 0)
		rc = requests_match(&(struct requests){ request_stream_next, guest },
				    &(struct requests){ request_stream_next, host },
				    device->vote.ahead_ns, sync, found);
	request_stream_free(guest);
	request_stream_free(host);
	return rc;
}

/* The same of all its devices. */
int guest_match_devices(struct guests *g, struct eta_sync *sync, struct requests_found *found)
{
	int rc = 0;

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++)
		if (g->devices[d].disk)
			rc = match_device(g, &g->devices[d], sync, found);
	return rc;
}

/* ---- of several that may be ---- */

/*
 * How many of its requests agree on a clock, if the guest is machine VM: two that do the same at
 * the same pace have each other's requests, but no request of the one holds that of the other.
 */
static int agreeing(struct guests *g, uint32_t vm, uint64_t *n)
{
	struct requests_found found = { 0 };
	struct eta_sync_result result;
	struct eta_sync *sync;
	int rc = try_vm(g, vm, n);

	if (rc == 0)
		rc = eta_sync_new(RATE_PPM, &sync);
	if (rc)
		return rc;
	take_tried(g);
	rc = guest_match_devices(g, sync, &found);
	*n = rc == 0 && eta_sync_result(sync, &result) == 0 ? result.pairs : 0;
	eta_sync_free(sync);
	return rc;
}

static int may_be_two(const struct guests *g, uint32_t one, uint32_t other)
{
	eta_error("%s: may be virtual machine %s (pid %" PRIu32 ") or %s (pid %" PRIu32
		  "): --guest=%" PRIu32 ":PID says which",
		  g->merge->inputs[g->input].trace->path, g->hosts.vms[one].name,
		  g->hosts.vms[one].pid, g->hosts.vms[other].name, g->hosts.vms[other].pid,
		  g->input + 1);
	return -EINVAL;
}

/* Of the machines whose N_VOTES are more than half of MOST the one that fits. */
static int choose_vm(struct guests *g, const uint64_t *n_votes, uint64_t most, uint32_t *found)
{
	const uint32_t none = (uint32_t)g->hosts.n_vms;
	uint64_t best = 0, second = 0, n;
	uint32_t other = none;
	int rc = 0;

	*found = none;
	for (uint32_t v = 0; rc == 0 && v < none; v++) {
		if (2 * n_votes[v] <= most)
			continue;
		rc = agreeing(g, v, &n);
		if (*found == none || n > best) {
			second = best;
			other = *found;
			best = n;
			*found = v;
		} else if (other == none || n > second) {
			second = n;
			other = v;
		}
	}
	if (rc == 0 && 2 * second >= best)
		return may_be_two(g, *found, other);
	return rc;
}

int guest_find_vm(struct guests *g, uint32_t *found)
{
	uint32_t wanted = g->options && g->options->guests ? g->options->guests[g->input] : 0;
	uint64_t *n_votes = calloc(g->hosts.n_vms, sizeof(*n_votes)), most = 0, second = 0;
	int rc = n_votes ? 0 : -ENOMEM;

	*found = (uint32_t)g->hosts.n_vms;
	for (uint32_t v = 0; rc == 0 && v < g->hosts.n_vms; v++) {
		const struct vm *vm = &g->hosts.vms[v];

		if (!guest_may_run(g, vm) || (wanted && vm->pid != wanted))
			continue;
		rc = try_vm(g, v, &n_votes[v]);
		if (n_votes[v] > most) {
			second = most;
			most = n_votes[v];
			*found = v;
			take_tried(g);
		} else if (n_votes[v] > second) {
			second = n_votes[v];
		}
	}
	if (rc == 0 && 2 * second > most) {
		rc = choose_vm(g, n_votes, most, found);
		if (rc == 0)
			rc = try_vm(g, *found, &most);
		if (rc == 0)
			take_tried(g);
	}
	free(n_votes);
	return rc;
}
