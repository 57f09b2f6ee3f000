/* OTF2 writer: the system tree, location groups and locations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/trace/machines.h"
#include "eta-ext/base/known.h"
#include "write-defs.h"

/* The node of HOST, as far as there is one already; else 0. */
static uint32_t node_of(const struct defs *defs, const char *host)
{
	uint32_t node = known_find(defs->nodes, host, strlen(host));

	return node == ETA_NONE ? 0 : node;
}

static uint32_t host_of(const struct defs *defs, uint32_t process)
{
	return process == ETA_NONE ? 0 : node_of(defs, defs->eta->processes[process].host);
}

OTF2_SystemTreeNodeRef defs_node_of(const struct defs *defs, const char *host)
{
	return *host || defs->n_hosts == 1 ? node_of(defs, host) : OTF2_UNDEFINED_SYSTEM_TREE_NODE;
}

static void need_host(struct defs *defs, const char *host)
{
	if (known_find(defs->nodes, host, strlen(host)) != ETA_NONE)
		return;
	if (known_add(&defs->nodes, host, strlen(host), defs->n_hosts) < 0)
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
	else
		defs->hosts[defs->n_hosts++] = host;
}

/* The hosts of processes, then those that only a device or a file names. There is always one. */
static void find_hosts(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;

	for (uint32_t p = 0; p < eta->n_processes; p++)
		need_host(defs, eta->processes[p].host);
	for (uint32_t i = 0; i < eta->n_locations; i++)
		if (*eta->locations[i].host)
			need_host(defs, eta->locations[i].host);
	for (uint32_t i = 0; i < eta->n_handles; i++)
		if (*eta->handles[i].host)
			need_host(defs, eta->handles[i].host);
	for (uint32_t i = 0; i < eta->n_files; i++)
		if (*eta->files[i].host && (i == 0 || eta->files[i].host != eta->files[i - 1].host))
			need_host(defs, eta->files[i].host);
	if (defs->n_hosts == 0)
		need_host(defs, "");
}

static void write_boot(struct defs *defs, uint32_t node)
{
	const char *boot = machines_boot(defs->eta, defs->hosts[node]);
	uint32_t name, text;

	if (!boot)
		return;
	name = defs_string(defs, ARCHIVE_BOOT);
	text = defs_string(defs, boot);
	WRITE(defs, SystemTreeNodeProperty, node, name, OTF2_TYPE_STRING,
	      (OTF2_AttributeValue){ .stringRef = text });
}

/* The virtual machine that a host is: of which other host, and its QEMU. */
struct virtual_machine {
	uint32_t host; /* node; ETA_NONE: none is known */
	uint32_t pid;
	char name[64];
};

static uint32_t node_named(const struct defs *defs, json_t *guest, const char *key)
{
	const char *name = json_string_value(json_object_get(guest, key));

	return name ? known_find(defs->nodes, name, strlen(name)) : ETA_NONE;
}

/* Per host; the caller frees it, NULL without memory. */
static struct virtual_machine *find_guests(const struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	struct virtual_machine *machines = calloc(defs->n_hosts, sizeof(*machines));

	for (uint32_t i = 0; machines && i < defs->n_hosts; i++)
		machines[i].host = ETA_NONE;
	for (uint32_t i = 0; machines && i < eta->n_properties; i++) {
		json_t *guest = machines_is_guest(&eta->properties[i])
					? json_loads(eta->properties[i].value, 0, NULL)
					: NULL;
		uint32_t node = node_named(defs, guest, "guest");
		const char *name = json_string_value(json_object_get(guest, "name"));

		if (node != ETA_NONE) {
			machines[node].host = node_named(defs, guest, "host");
			machines[node].pid =
				(uint32_t)json_integer_value(json_object_get(guest, "pid"));
			snprintf(machines[node].name, sizeof(machines[node].name), "%s",
				 name ? name : "");
		}
		json_decref(guest);
	}
	return machines;
}

/* Hosts, then devices, then virtual machines: those of the first ones that they are of come before.
 */
struct tree {
	struct virtual_machine *machines; /* per host */
	bool *written;			  /* the same */
	uint32_t next;			  /* node of a virtual machine */
};

static OTF2_SystemTreeNodeRef write_virtual_machine(struct defs *defs, struct tree *tree,
						    const struct virtual_machine *machine)
{
	uint32_t class = defs_string(defs, ARCHIVE_GUEST_CLASS), name;
	char text[96];

	snprintf(text, sizeof(text), "%s%spid %u", machine->name, *machine->name ? " " : "",
		 machine->pid);
	name = defs_string(defs, text);
	WRITE(defs, SystemTreeNode, tree->next, name, class, machine->host);
	return tree->next++;
}

/* The node of a host, below that of its virtual machine where it is a guest. */
static void write_host(struct defs *defs, struct tree *tree, uint32_t node)
{
	const struct virtual_machine *machine = &tree->machines[node];
	uint32_t class = defs_string(defs, ARCHIVE_HOST_CLASS);
	uint32_t name = defs_string(defs, defs->hosts[node]);
	OTF2_SystemTreeNodeRef parent = OTF2_UNDEFINED_SYSTEM_TREE_NODE;

	if (tree->written[node])
		return;
	tree->written[node] = true; /* a damaged trace may name guests of each other */
	if (machine->host != ETA_NONE && machine->host != node) {
		write_host(defs, tree, machine->host);
		parent = write_virtual_machine(defs, tree, machine);
	}
	WRITE(defs, SystemTreeNode, node, name, class, parent);
	WRITE(defs, SystemTreeNodeDomain, node, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
	write_boot(defs, node);
}

static void write_hosts(struct defs *defs, uint32_t n_devices)
{
	struct tree tree = { .machines = find_guests(defs),
			     .written = calloc(defs->n_hosts, sizeof(bool)),
			     .next = defs->n_hosts + n_devices };

	if (!tree.machines || !tree.written)
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
	for (uint32_t node = 0; defs->code == OTF2_SUCCESS && node < defs->n_hosts; node++)
		write_host(defs, &tree, node);
	free(tree.machines);
	free(tree.written);
}

void defs_system_tree(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	uint32_t device_class = defs_string(defs, ARCHIVE_DEVICE_CLASS), node, n_devices = 0;

	find_hosts(defs);
	for (uint32_t i = 0; i < eta->n_locations; i++)
		n_devices += eta->locations[i].kind == ETA_LOCATION_DEVICE;
	write_hosts(defs, n_devices);
	node = defs->n_hosts;
	for (uint32_t i = 0; i < eta->n_locations; i++) {
		if (eta->locations[i].kind == ETA_LOCATION_DEVICE) {
			uint32_t name = defs_string(defs, eta->locations[i].name);

			WRITE(defs, SystemTreeNode, node++, name, device_class,
			      defs_node_of(defs, eta->locations[i].host));
		}
	}
}

static uint32_t new_group(struct defs *defs, const char *text, OTF2_LocationGroupType type,
			  uint32_t node)
{
	uint32_t name = defs_string(defs, text);

	WRITE(defs, LocationGroup, defs->n_groups, name, type, node, OTF2_UNDEFINED_LOCATION_GROUP);
	return defs->n_groups++;
}

/* Properties of a location group that are numbers; 0 is none. */

static void group_number32(struct defs *defs, uint32_t group, const char *name, uint32_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationGroupProperty, group, id, OTF2_TYPE_UINT32,
		      defs_value32(number));
	}
}

static void group_number64(struct defs *defs, uint32_t group, const char *name, uint64_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationGroupProperty, group, id, OTF2_TYPE_UINT64,
		      defs_value64(number));
	}
}

static uint32_t new_process_group(struct defs *defs, uint32_t p)
{
	const struct eta_process *process = &defs->eta->processes[p];
	uint32_t group;
	char text[256];

	if (process->pid)
		snprintf(text, sizeof(text), "%.200s pid %u", process->name, process->pid);
	else
		snprintf(text, sizeof(text), "%.200s", process->name);
	group = new_group(defs, text, OTF2_LOCATION_GROUP_TYPE_PROCESS, host_of(defs, p));
	group_number32(defs, group, ARCHIVE_PID, process->pid);
	group_number32(defs, group, ARCHIVE_PPID, process->ppid);
	group_number32(defs, group, ARCHIVE_PARENT_TID, process->parent_tid);
	group_number64(defs, group, ARCHIVE_CGROUP, process->cgroup);
	group_number32(defs, group, ARCHIVE_NS_PID, process->ns_pid);
	group_number32(defs, group, ARCHIVE_PID_NS, process->pid_ns);
	group_number64(defs, group, ARCHIVE_START, process->start_ns);
	return group;
}

uint32_t defs_process_group(struct defs *defs, uint32_t process)
{
	uint32_t *group = &defs->process_group[process];

	if (*group == ETA_NONE)
		*group = new_process_group(defs, process);
	return *group;
}

/* The group of LOCATION, written when it is new. DEVICES: how many devices came before. */
static uint32_t group_of(struct defs *defs, const struct eta_location *location, uint32_t devices)
{
	uint32_t *group;

	if (location->kind == ETA_LOCATION_DEVICE)
		return new_group(defs, location->name, OTF2_LOCATION_GROUP_TYPE_UNKNOWN,
				 defs->n_hosts + devices);
	if (location->kind == ETA_LOCATION_KERNEL_THREAD) {
		uint32_t host = host_of(defs, location->process);

		group = &defs->kernel_group[host];
		if (*group == ETA_NONE)
			*group = new_group(defs, ARCHIVE_KERNEL_GROUP,
					   OTF2_LOCATION_GROUP_TYPE_PROCESS, host);
	} else if (location->process == ETA_NONE) {
		group = &defs->unknown_group;
		if (*group == ETA_NONE)
			*group = new_group(defs, "unknown", OTF2_LOCATION_GROUP_TYPE_PROCESS, 0);
	} else {
		return defs_process_group(defs, location->process);
	}
	return *group;
}

static void location_number32(struct defs *defs, uint64_t location, const char *name,
			      uint32_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationProperty, location, id, OTF2_TYPE_UINT32, defs_value32(number));
	}
}

static void location_number64(struct defs *defs, uint64_t id, const char *name, uint64_t number)
{
	if (number) {
		uint32_t name_id = defs_string(defs, name);

		WRITE(defs, LocationProperty, id, name_id, OTF2_TYPE_UINT64, defs_value64(number));
	}
}

static void write_location_properties(struct defs *defs, const struct eta_location *location)
{
	const uint64_t id = location->id;

	if (location->process != ETA_NONE)
		location_number32(defs, id, ARCHIVE_PID,
				  defs->eta->processes[location->process].pid);
	location_number32(defs, id, ARCHIVE_TID, location->tid);
	if (location->ns_tid != location->tid)
		location_number32(defs, id, ARCHIVE_NS_TID, location->ns_tid);
	location_number32(defs, id, ARCHIVE_TRACK, location->track);
	location_number64(defs, id, ARCHIVE_START, location->start_ns);
	location_number64(defs, id, ARCHIVE_EXIT, location->end_ns);
	location_number32(defs, id, ARCHIVE_UNTRACED, location->kind == ETA_LOCATION_UNTRACED);
	if (location->kind == ETA_LOCATION_DEVICE) {
		uint32_t dev = defs_string(defs, ARCHIVE_DEV_PROPERTY);

		WRITE(defs, LocationProperty, id, dev, OTF2_TYPE_UINT32,
		      defs_value32(location->dev));
	}
}

void defs_locations(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	uint32_t devices = 0;

	for (uint32_t i = 0; i < eta->n_locations; i++) {
		const struct eta_location *location = &eta->locations[i];
		uint32_t group = group_of(defs, location, devices);
		uint32_t name = defs_string(defs, location->name);

		if (location->kind == ETA_LOCATION_DEVICE)
			devices++;
		WRITE(defs, Location, location->id, name, OTF2_LOCATION_TYPE_CPU_THREAD,
		      defs->writer->written[i].events, group);
		write_location_properties(defs, location);
	}
}
