/* The disks of guests whose host is in the trace: what the merge and the host's recording say. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "guest-disks.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/trace/machines.h"

static json_t *told(const struct eta_defs *defs, const char *name)
{
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (defs->properties[p].process == ETA_NONE &&
		    strcmp(defs->properties[p].name, name) == 0)
			return json_loads(defs->properties[p].value, 0, NULL);
	return NULL;
}

static uint64_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? (uint64_t)json_integer_value(value) : UINT64_MAX;
}

static void text(const json_t *object, const char *key, char *to, size_t size)
{
	const char *value = json_string_value(json_object_get(object, key));

	snprintf(to, size, "%s", value ? value : "");
}

static char *copy(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? strdup(value) : NULL;
}

static const char *device_name(const struct eta_defs *defs, uint32_t machine, uint32_t dev)
{
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE &&
		    defs->locations[l].dev == dev &&
		    eta_machine(defs, defs->locations[l].host) == machine)
			return defs->locations[l].name;
	return "";
}

static char *state_of(const json_t *map, int rc)
{
	static const char *const became[][2] = {
		{ "deleted", "deleted while it was recorded" },
		{ "exchanged", "QEMU has another image open since" },
		{ "closed", "QEMU has closed it since" },
		{ "replaced", "another file has its name since" },
	};
	char word[32];

	if (rc == -EBADMSG)
		return strdup("its map is damaged in the recording");
	if (!map)
		return strdup("the host's recording has no map of it");
	if (json_object_get(map, "why"))
		return copy(map, "why");
	text(map, "became", word, sizeof(word));
	for (size_t i = 0; i < sizeof(became) / sizeof(*became); i++)
		if (strcmp(word, became[i][0]) == 0)
			return strdup(became[i][1]);
	if (json_object_get(map, "own_addresses"))
		return strdup("sectors are of btrfs's own addresses");
	return NULL;
}

/* What the host's recording says of DISK, its number NUMBER. */
static int read_map(const struct eta_defs *defs, uint32_t which, struct guest_disk *disk)
{
	char name[96];
	json_t *vm, *map;
	uint64_t value;
	int rc;

	snprintf(name, sizeof(name), "SCI::VM_%" PRIu32 "_DISK_%" PRIu32, disk->pid, which);
	vm = told(defs, name);
	disk->image = copy(vm, "image");
	json_decref(vm);
	snprintf(name, sizeof(name), DISK_MAP_PROPERTY "%" PRIu32 "_%" PRIu32, disk->pid, which);
	map = told(defs, name);
	rc = disk_map_read(defs, disk->pid, which, &disk->map);
	if (rc == -EBADMSG)
		disk_map_free(&disk->map);
	disk->mapped = number(map, "mapped_bytes");
	disk->holes = number(map, "holes_bytes");
	disk->zeros = number(map, "zeros_bytes");
	disk->compressed = number(map, "compressed_bytes");
	disk->unplaced = number(map, "unplaced_bytes");
	disk->left_out = number(map, "left_out_bytes");
	disk->grown = number(map, "grown_bytes");
	disk->filled = number(map, "filled_bytes");
	value = number(map, "dev");
	disk->dev = value <= UINT32_MAX ? (uint32_t)value : 0;
	value = number(map, "disk_dev");
	disk->disk_dev = value <= UINT32_MAX ? (uint32_t)value : disk->dev;
	value = number(map, "start_sector");
	disk->start_sector = value < UINT64_MAX ? value : 0;
	disk->state = state_of(map, rc);
	json_decref(map);
	return rc == -ENOMEM ? rc : 0;
}

/* The disks of the guest that PROPERTY is about. */
static int take_guest(const struct eta_defs *defs, const struct eta_property *property,
		      struct guest_disks *disks)
{
	json_t *guest = json_loads(property->value, 0, NULL), *pair;
	size_t i;
	int rc = 0;

	json_array_foreach (json_object_get(guest, "disks"), i, pair) {
		struct guest_disk disk = {
			.pid = (uint32_t)number(guest, "pid"),
			.device = (uint32_t)json_integer_value(json_array_get(pair, 0)),
		};

		text(guest, "guest", disk.guest, sizeof(disk.guest));
		text(guest, "host", disk.host, sizeof(disk.host));
		text(guest, "name", disk.vm, sizeof(disk.vm));
		disk.machine = eta_machine(defs, disk.guest);
		disk.host_machine = eta_machine(defs, disk.host);
		disk.name = device_name(defs, disk.machine, disk.device);
		if (!ARRAY_FITS(disks->v, disks->n + 1, disks->room)) {
			rc = -ENOMEM;
			break;
		}
		rc = read_map(defs, (uint32_t)json_integer_value(json_array_get(pair, 1)), &disk);
		disks->v[disks->n++] = disk;
		if (rc)
			break;
	}
	json_decref(guest);
	return rc;
}

/* Whatever the order of the inputs was. */
static int by_name(const void *a, const void *b)
{
	const struct guest_disk *x = a, *y = b;
	int order = strcmp(x->guest, y->guest);

	return order ? order : (x->device > y->device) - (x->device < y->device);
}

int guest_disks_find(const struct eta_defs *defs, struct guest_disks *disks)
{
	int rc = 0;

	*disks = (struct guest_disks){ 0 };
	for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++)
		if (machines_is_guest(&defs->properties[p]))
			rc = take_guest(defs, &defs->properties[p], disks);
	if (disks->n)
		qsort(disks->v, disks->n, sizeof(*disks->v), by_name);
	return rc;
}

void guest_disks_free(struct guest_disks *disks)
{
	for (size_t i = 0; i < disks->n; i++) {
		free(disks->v[i].image);
		free(disks->v[i].state);
		disk_map_free(&disks->v[i].map);
	}
	free(disks->v);
	*disks = (struct guest_disks){ 0 };
}

const struct guest_disk *guest_disk_of(const struct guest_disks *disks, uint32_t machine,
				       uint32_t device)
{
	for (size_t i = 0; i < disks->n; i++)
		if (disks->v[i].machine == machine && disks->v[i].device == device)
			return &disks->v[i];
	return NULL;
}
