/* Guests among the inputs: which virtual machine each is, and its clock, by requests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "match-requests.h"
#include "request-streams.h"
#include "services.h"

/* Fewer that agree may do so by chance. */
enum { PAIRS_MIN = 3 };
/* What two clocks of one machine may differ by: a guest's is its host's. */
enum { RATE_PPM = 100 };
/* Further apart by the wall clocks, they are two runs that did the same. */
enum { APART_S = 60 };

/* A disk of a virtual machine, as the host's recording describes it. */
struct disk {
	uint32_t vm;	 /* index */
	uint32_t number; /* of it in the properties */
	struct request_image image;
	struct disk_map map; /* by places in the image; of one with a format of its own */
	json_t *told;	     /* the property */
};

struct vm {
	uint32_t input, pid;
	bool icount;
	char name[64];
};

/* A device of a guest, and the disk that it is thought to be. */
struct device {
	uint32_t dev;
	const char *name;
	struct request_sample sample;
	const struct disk *disk; /* NULL: none */
	struct request_vote vote;
	/* the same of the virtual machine that is tried */
	const struct disk *tried;
	struct request_vote tried_vote;
};

struct guests {
	struct merge *merge;
	const struct eta_merge_options *options;
	struct vm *vms;
	size_t n_vms, vms_room;
	struct disk *disks;
	size_t n_disks, disks_room;
	/* of the guest that is looked at */
	uint32_t input;
	struct device *devices;
	size_t n_devices;
};

/* ---- what the hosts tell ---- */

static const json_t *number(const json_t *object, const char *key, uint64_t *value)
{
	const json_t *found = json_object_get(object, key);

	*value = json_is_integer(found) ? (uint64_t)json_integer_value(found) : 0;
	return json_is_integer(found) ? found : NULL;
}

/* Offsets in the image are those of the disk. */
static bool is_raw(const struct disk *disk)
{
	const char *format = json_string_value(json_object_get(disk->told, "format"));

	return format && strcmp(format, "raw") == 0;
}

/* Of an image whose offsets are its own: which are whose, if the recording has that. */
static int read_map(const struct guests *g, const struct eta_defs *defs, struct disk *disk)
{
	int rc = is_raw(disk) ? 0 : disk_map_read(defs, disk->image.pid, disk->number, &disk->map);

	if (rc == -EBADMSG) {
		eta_warn("%s: virtual machine %s (pid %" PRIu32 "), disk %" PRIu32 ": where its "
			 "bytes lie is damaged in the recording: its requests are not compared",
			 g->merge->inputs[g->vms[disk->vm].input].trace->path,
			 g->vms[disk->vm].name, disk->image.pid, disk->number);
		disk_map_free(&disk->map);
	}
	disk_map_sort_by_image(&disk->map);
	return rc == -ENOMEM ? rc : 0;
}

/* The name of an image that is known by that alone, as in logs; NULL. */
static const char *path_of(const json_t *told)
{
	const char *by = json_string_value(json_object_get(told, "known_by"));

	return by && strcmp(by, "path") == 0 ? json_string_value(json_object_get(told, "image"))
					     : NULL;
}

static int add_disks(struct guests *g, const struct eta_defs *defs, uint32_t vm)
{
	char prefix[64];
	int rc = 0, n = snprintf(prefix, sizeof(prefix), MERGE_VM_PREFIX "%" PRIu32 "_DISK_",
				 g->vms[vm].pid);

	for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++) {
		const struct eta_property *property = &defs->properties[p];
		struct disk disk = { .vm = vm, .image = { .pid = g->vms[vm].pid } };
		uint64_t dev;

		if (property->process != ETA_NONE ||
		    strncmp(property->name, prefix, (size_t)n) != 0)
			continue;
		disk.told = json_loads(property->value, 0, NULL);
		dev = 0;
		disk.image.path = path_of(disk.told);
		if ((!disk.image.path && (!number(disk.told, "inode", &disk.image.inode) ||
					  !number(disk.told, "dev", &dev))) ||
		    !ARRAY_FITS(g->disks, g->n_disks + 1, g->disks_room)) {
			json_decref(disk.told);
			continue;
		}
		disk.image.dev = (uint32_t)dev;
		disk.number = (uint32_t)strtoul(property->name + n, NULL, 10);
		if (disk.image.path)
			disk.image.inode = disk.number + 1;
		rc = read_map(g, defs, &disk);
		g->disks[g->n_disks++] = disk;
	}
	return rc;
}

static int add_vms(struct guests *g, uint32_t input)
{
	const struct eta_defs *defs = &g->merge->inputs[input].trace->defs;
	int rc = 0;

	for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++) {
		uint32_t pid = merge_vm_pid(&defs->properties[p]);
		json_t *told = pid ? json_loads(defs->properties[p].value, 0, NULL) : NULL;
		const char *name = json_string_value(json_object_get(told, "name"));
		struct vm vm = { .input = input, .pid = pid };

		if (!told)
			continue;
		vm.icount = json_is_true(json_object_get(told, "icount"));
		snprintf(vm.name, sizeof(vm.name), "%s", name && *name ? name : "without a name");
		json_decref(told);
		if (!ARRAY_FITS(g->vms, g->n_vms + 1, g->vms_room))
			return -ENOMEM;
		g->vms[g->n_vms++] = vm;
		rc = add_disks(g, defs, (uint32_t)g->n_vms - 1);
	}
	return rc;
}

/* ---- a guest's devices ---- */

static void free_devices(struct guests *g)
{
	for (size_t i = 0; i < g->n_devices; i++)
		free(g->devices[i].sample.v);
	free(g->devices);
	g->devices = NULL;
	g->n_devices = 0;
}

/* Those of the input that is looked at, with what is compared of their requests. */
static int load_devices(struct guests *g)
{
	struct eta_trace *trace = g->merge->inputs[g->input].trace;
	int rc = 0;

	g->devices = calloc((size_t)trace->defs.n_locations + 1, sizeof(*g->devices));
	if (!g->devices)
		return -ENOMEM;
	for (uint32_t l = 0; rc == 0 && l < trace->defs.n_locations; l++) {
		const struct eta_location *location = &trace->defs.locations[l];
		struct device *device = &g->devices[g->n_devices];
		struct request_stream *stream;

		if (location->kind != ETA_LOCATION_DEVICE)
			continue;
		*device = (struct device){ .dev = location->dev, .name = location->name };
		rc = request_stream_device(&g->merge->requests, trace, device->dev, false, &stream);
		if (rc)
			break;
		rc = requests_sample(&(struct requests){ request_stream_next, stream },
				     &device->sample);
		request_stream_free(stream);
		g->n_devices += rc == 0;
	}
	return rc;
}

/* ---- which virtual machine it is ---- */

static struct request_image image_of(const struct disk *disk)
{
	struct request_image image = disk->image;

	image.map = disk->map.n ? &disk->map : NULL;
	return image;
}

static int vote_of(struct guests *g, struct device *device, const struct disk *disk,
		   struct request_vote *vote)
{
	const struct vm *vm = &g->vms[disk->vm];
	const struct request_image image = image_of(disk);
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

/* How many votes machine VM has. */
static int try_vm(struct guests *g, uint32_t vm, uint64_t *votes)
{
	int rc = 0;

	*votes = 0;
	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		struct device *device = &g->devices[d];

		device->tried = NULL;
		device->tried_vote = (struct request_vote){ 0 };
		for (size_t i = 0; rc == 0 && device->sample.n && i < g->n_disks; i++) {
			struct request_vote vote = { 0 };

			if (g->disks[i].vm == vm && (g->disks[i].map.n || is_raw(&g->disks[i])))
				rc = vote_of(g, device, &g->disks[i], &vote);
			if (vote.votes > device->tried_vote.votes) {
				device->tried_vote = vote;
				device->tried = &g->disks[i];
			}
		}
		*votes += device->tried_vote.votes;
	}
	return rc;
}

static void take_tried(struct guests *g)
{
	for (size_t d = 0; d < g->n_devices; d++) {
		g->devices[d].disk = g->devices[d].tried;
		g->devices[d].vote = g->devices[d].tried_vote;
	}
}

/* May the guest that is looked at run on the machine whose virtual machine VM is? */
static bool may_run(const struct guests *g, const struct vm *vm)
{
	const struct merge_input *host = &g->merge->inputs[vm->input];

	return !merge_same_home(g->merge, g->input, vm->input) &&
	       (!host->clock_is_given || host->host_input != ETA_NONE);
}

/* The machine that the guest is, g->n_vms: none. -EINVAL where it may be two, reported. */
static int find_vm(struct guests *g, uint32_t *found)
{
	uint32_t wanted = g->options && g->options->guests ? g->options->guests[g->input] : 0;
	uint64_t most = 0, second = 0, votes;
	uint32_t other = 0;
	int rc = 0;

	*found = (uint32_t)g->n_vms;
	for (uint32_t v = 0; rc == 0 && v < g->n_vms; v++) {
		const struct vm *vm = &g->vms[v];

		if (!may_run(g, vm) || (wanted && vm->pid != wanted))
			continue;
		rc = try_vm(g, v, &votes);
		if (votes > most) {
			second = most;
			other = *found;
			most = votes;
			*found = v;
			take_tried(g);
		} else if (votes > second) {
			second = votes;
			other = v;
		}
	}
	if (rc == 0 && 2 * second > most) {
		eta_error("%s: may be virtual machine %s (pid %" PRIu32 ") or %s (pid %" PRIu32
			  "): --guest=%" PRIu32 ":PID says which",
			  g->merge->inputs[g->input].trace->path, g->vms[*found].name,
			  g->vms[*found].pid, g->vms[other].name, g->vms[other].pid, g->input + 1);
		return -EINVAL;
	}
	return rc;
}

/* ---- its clock ---- */

static int match_device(struct guests *g, const struct device *device, struct eta_sync *sync,
			struct requests_found *found)
{
	const struct vm *vm = &g->vms[device->disk->vm];
	const struct request_image image = image_of(device->disk);
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

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + n, size - n, format, ap);
	va_end(ap);
}

/* All of the guest's machine has the clock of RESULT. */
static void set_clock(struct guests *g, uint32_t vm, const struct eta_sync_result *result)
{
	for (uint32_t i = 0; i < g->merge->n_inputs; i++) {
		struct merge_input *input = &g->merge->inputs[i];

		if (input->clock_is_given || !merge_same_home(g->merge, g->input, i))
			continue;
		input->clock = result->map;
		input->host_input = g->vms[vm].input;
		input->clock_is_given = true;
	}
}

/* What the host did for each request, now that the clock is known. */
static int assign_devices(struct guests *g, uint32_t vm)
{
	struct service_pair pair = { .guest = g->input,
				     .host = g->vms[vm].input,
				     .image.pid = g->vms[vm].pid,
				     .name = g->vms[vm].name };
	int rc = services_begin(g->merge, &pair);

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		const struct device *device = &g->devices[d];

		if (!device->disk)
			continue;
		pair.device = device->dev;
		pair.disk = device->disk->number;
		pair.image = image_of(device->disk);
		rc = services_match(g->merge, &pair);
	}
	return rc;
}

/* By how many seconds the wall clocks differ, if the guest's clock is MAP; 0: they do not say. */
static int64_t apart_s(const struct guests *g, uint32_t vm, const struct eta_clock_map *map)
{
	const struct merge_input *guest = &g->merge->inputs[g->input];
	const struct merge_input *host = &g->merge->inputs[g->vms[vm].input];
	uint64_t at = (uint64_t)map->from_ns;
	int64_t guest_ns, host_ns;

	if (!merge_realtime_offset(g->merge, guest, &guest_ns) ||
	    !merge_realtime_offset(g->merge, host, &host_ns))
		return 0;
	host_ns += (int64_t)eta_clock_convert(map, at);
	guest_ns += (int64_t)at;
	return (host_ns > guest_ns ? host_ns - guest_ns : guest_ns - host_ns) / 1000000000;
}

/* The virtual machine was not named, and its requests may be those of another time. */
static bool is_another_run(const struct guests *g, uint32_t vm, const struct eta_clock_map *map)
{
	bool given = g->options && g->options->guests && g->options->guests[g->input];
	int64_t apart = given ? 0 : apart_s(g, vm, map);

	if (apart <= APART_S)
		return false;
	eta_warn("%s: has the requests of virtual machine %s (pid %" PRIu32
		 "), but by the wall clocks %" PRId64
		 " s apart: taken for another run, and not linked "
		 "(--guest=%" PRIu32 ":%" PRIu32 " links them)",
		 g->merge->inputs[g->input].trace->path, g->vms[vm].name, g->vms[vm].pid, apart,
		 g->input + 1, g->vms[vm].pid);
	return true;
}

static int find_clock(struct guests *g, uint32_t vm)
{
	const char *path = g->merge->inputs[g->input].trace->path;
	struct requests_found found = { 0 };
	struct eta_sync_result result;
	struct eta_sync *sync;
	char disks[512] = "";
	int rc = eta_sync_new(RATE_PPM, &sync);

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		const struct device *device = &g->devices[d];
		const char *image;

		if (!device->disk)
			continue;
		rc = match_device(g, device, sync, &found);
		image = json_string_value(json_object_get(device->disk->told, "image"));
		append(disks, sizeof(disks), ", %s is %s", device->name, image ? image : "?");
	}
	if (rc)
		goto out;
	if (eta_sync_result(sync, &result) || result.pairs < PAIRS_MIN) {
		eta_warn("%s: virtual machine %s (pid %" PRIu32 ")%s; %" PRIu64 " of %" PRIu64
			 " requests found, too few that agree: its clock is not known by them",
			 path, g->vms[vm].name, g->vms[vm].pid, disks, found.found, found.requests);
		goto out;
	}
	if (is_another_run(g, vm, &result.map))
		goto out;
	set_clock(g, vm, &result);
	rc = assign_devices(g, vm);
	if (rc)
		goto out;
	eta_note("%s: virtual machine %s (pid %" PRIu32 ")%s; %" PRIu64 " of %" PRIu64
		 " requests found, %" PRIu64 " pairs wrong, clock +-%" PRIu64 " ns",
		 path, g->vms[vm].name, g->vms[vm].pid, disks, found.found, found.requests,
		 found.dropped + result.bad, result.map.error_ns);
out:
	eta_sync_free(sync);
	return rc;
}

static int find_guest(struct guests *g)
{
	const char *path = g->merge->inputs[g->input].trace->path;
	uint32_t vm = (uint32_t)g->n_vms;
	bool hosts = false, requests = false;
	int rc;

	for (size_t v = 0; v < g->n_vms; v++)
		hosts |= may_run(g, &g->vms[v]);
	if (!hosts)
		return 0;
	rc = load_devices(g);
	for (size_t d = 0; d < g->n_devices; d++)
		requests |= g->devices[d].sample.n > 0;
	if (rc == 0 && requests)
		rc = find_vm(g, &vm);
	if (rc == 0 && vm < g->n_vms && g->vms[vm].icount) {
		eta_error("%s: virtual machine %s (pid %" PRIu32 ") runs with -icount: its clock "
			  "counts instructions, and there is no conversion of it (--clock=%" PRIu32
			  ":NS merges it all the same)",
			  path, g->vms[vm].name, g->vms[vm].pid, g->input + 1);
		rc = -EINVAL;
	}
	if (rc == 0 && vm < g->n_vms)
		rc = find_clock(g, vm);
	else if (rc == 0 && requests)
		eta_warn("%s: is of another machine, and its requests are not found in what the "
			 "virtual machines did: its clock is not known by them",
			 path);
	free_devices(g);
	return rc;
}

/* ---- guests of guests ---- */

/* FIRST, then SECOND. */
static struct eta_clock_map compose(const struct eta_clock_map *first,
				    const struct eta_clock_map *second)
{
	struct eta_clock_map map = *first;

	map.to_ns = (int64_t)eta_clock_convert(second, (uint64_t)first->to_ns);
	map.error_ns = first->error_ns + second->error_ns;
	map.rate_error_ppb = first->rate_error_ppb + second->rate_error_ppb;
	if (first->num == first->den) {
		map.num = second->num;
		map.den = second->den;
	} else if (second->num != second->den) {
		map.num = (uint64_t)((unsigned __int128)first->num * second->num / second->den);
	}
	return map;
}

int merge_guests_settle(struct merge *merge)
{
	struct eta_clock_map *maps = calloc(merge->n_inputs, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		uint32_t host = merge->inputs[i].host_input;

		maps[i] = merge->inputs[i].clock;
		for (size_t n = 0; host != ETA_NONE && n < merge->n_inputs; n++) {
			maps[i] = compose(&maps[i], &merge->inputs[host].clock);
			host = merge->inputs[host].host_input;
		}
	}
	for (uint32_t i = 0; i < merge->n_inputs; i++)
		merge->inputs[i].clock = maps[i];
	free(maps);
	return 0;
}

int merge_guests(struct merge *merge, const struct eta_merge_options *options)
{
	struct guests g = { .merge = merge, .options = options };
	int rc = 0;

	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		merge->inputs[i].host_input = ETA_NONE;
		merge->inputs[i].clock_is_given = options && options->clocks && options->clocks[i];
	}
	for (uint32_t i = 0; rc == 0 && i < merge->n_inputs; i++)
		rc = add_vms(&g, i);
	for (uint32_t i = 0; rc == 0 && g.n_vms && i < merge->n_inputs; i++) {
		if (merge->inputs[i].clock_is_given || !merge_home(merge, i))
			continue;
		g.input = i;
		rc = find_guest(&g);
	}
	for (size_t i = 0; i < g.n_disks; i++) {
		json_decref(g.disks[i].told);
		disk_map_free(&g.disks[i].map);
	}
	free(g.disks);
	free(g.vms);
	return rc;
}
