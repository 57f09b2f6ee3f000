/* The virtual machines of the hosts in a merge, as the recordings describe them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "host-vms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"

static bool number(const json_t *object, const char *key, uint64_t *value)
{
	const json_t *found = json_object_get(object, key);

	*value = json_is_integer(found) ? (uint64_t)json_integer_value(found) : 0;
	return json_is_integer(found);
}

/* Offsets in the image are those of the disk. */
static bool is_raw(const struct disk *disk)
{
	const char *format = json_string_value(json_object_get(disk->json, "format"));

	return format && strcmp(format, "raw") == 0;
}

/* Of an image of VM whose offsets are its own: which are whose, if the recording has that. */
static int read_map(const struct eta_trace *trace, const struct vm *vm, struct disk *disk)
{
	int rc = is_raw(disk) ? 0 : disk_map_read(&trace->defs, vm->pid, disk->number, &disk->map);

	if (rc == -EBADMSG) {
		eta_warn("%s: virtual machine %s (pid %" PRIu32 "), disk %" PRIu32 ": where its "
			 "bytes lie is damaged in the recording: its requests are not compared",
			 trace->path, vm->name, vm->pid, disk->number);
		disk_map_free(&disk->map);
	}
	disk_map_sort_by_image(&disk->map);
	disk->is_comparable = disk->map.n || is_raw(disk);
	return rc == -ENOMEM ? rc : 0;
}

/* The name of an image that is known by that alone, as in logs; NULL. */
static const char *path_of(const json_t *disk)
{
	const char *by = json_string_value(json_object_get(disk, "known_by"));

	return by && strcmp(by, "path") == 0 ? json_string_value(json_object_get(disk, "image"))
					     : NULL;
}

/* Those of the last machine. */
static int add_disks(struct host_vms *hosts, const struct eta_trace *trace)
{
	const struct vm *vm = &hosts->vms[hosts->n_vms - 1];
	char prefix[64];
	int rc = 0,
	    n = snprintf(prefix, sizeof(prefix), MERGE_VM_PREFIX "%" PRIu32 "_DISK_", vm->pid);

	for (uint32_t p = 0; rc == 0 && p < trace->defs.n_properties; p++) {
		const struct eta_property *property = &trace->defs.properties[p];
		struct disk disk = { .vm = (uint32_t)hosts->n_vms - 1,
				     .image = { .pid = vm->pid } };
		uint64_t dev;

		if (property->process != ETA_NONE ||
		    strncmp(property->name, prefix, (size_t)n) != 0)
			continue;
		disk.json = json_loads(property->value, 0, NULL);
		dev = 0;
		disk.image.path = path_of(disk.json);
		if ((!disk.image.path && (!number(disk.json, "inode", &disk.image.inode) ||
					  !number(disk.json, "dev", &dev))) ||
		    !ARRAY_FITS(hosts->disks, hosts->n_disks + 1, hosts->disks_room)) {
			json_decref(disk.json);
			continue;
		}
		disk.image.dev = (uint32_t)dev;
		disk.number = (uint32_t)strtoul(property->name + n, NULL, 10);
		if (disk.image.path)
			disk.image.inode = disk.number + 1;
		rc = read_map(trace, vm, &disk);
		hosts->disks[hosts->n_disks++] = disk;
	}
	return rc;
}

static int add_vms(struct host_vms *hosts, const struct eta_trace *trace, uint32_t input)
{
	const struct eta_defs *defs = &trace->defs;
	int rc = 0;

	for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++) {
		uint32_t pid = merge_vm_pid(&defs->properties[p]);
		json_t *machine = pid ? json_loads(defs->properties[p].value, 0, NULL) : NULL;
		const char *name = json_string_value(json_object_get(machine, "name"));
		struct vm vm = { .input = input, .pid = pid };

		if (!machine)
			continue;
		vm.icount = json_is_true(json_object_get(machine, "icount"));
		snprintf(vm.name, sizeof(vm.name), "%s", name && *name ? name : "without a name");
		json_decref(machine);
		if (!ARRAY_FITS(hosts->vms, hosts->n_vms + 1, hosts->vms_room))
			return -ENOMEM;
		hosts->vms[hosts->n_vms++] = vm;
		rc = add_disks(hosts, trace);
	}
	return rc;
}

int host_vms_read(const struct merge *merge, struct host_vms *hosts)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < merge->n_inputs; i++)
		rc = add_vms(hosts, merge->inputs[i].trace, i);
	return rc;
}

void host_vms_free(struct host_vms *hosts)
{
	for (size_t i = 0; i < hosts->n_disks; i++) {
		json_decref(hosts->disks[i].json);
		disk_map_free(&hosts->disks[i].map);
	}
	free(hosts->disks);
	free(hosts->vms);
}
