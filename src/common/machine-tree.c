/* Where the machines of a trace stand: hosts, the virtual machines on them, the guests in those. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine-tree.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "vm-name.h"

static uint32_t find_process(const struct eta_defs *defs, const char *host, json_int_t pid)
{
	for (uint32_t p = 0; p < defs->n_processes; p++)
		if (defs->processes[p].pid == pid && strcmp(defs->processes[p].host, host) == 0)
			return p;
	return ETA_NONE;
}

/* Is MACHINE one of those that HOST runs in, or that itself? What a trace says may be in a circle.
 */
static bool is_above(const struct machine_tree *tree, uint32_t machine, uint32_t host)
{
	while (host != machine && tree->within[host] != ETA_NONE)
		host = eta_machine(tree->defs, tree->defs->processes[tree->within[host]].host);
	return host == machine;
}

static void place_guest(struct machine_tree *tree, const json_t *told)
{
	const char *guest = json_string_value(json_object_get(told, "guest"));
	const char *host = json_string_value(json_object_get(told, "host"));
	json_int_t pid = json_integer_value(json_object_get(told, "pid"));
	uint32_t machine, process;

	if (!guest || !host || !pid)
		return;
	machine = eta_machine(tree->defs, guest);
	process = find_process(tree->defs, host, pid);
	if (process != ETA_NONE && !is_above(tree, machine, eta_machine(tree->defs, host)))
		tree->within[machine] = process;
}

int machine_tree_new(const struct eta_defs *defs, struct machine_tree *tree)
{
	*tree = (struct machine_tree){ .defs = defs, .has_vms = vm_any(defs) };
	if (!defs->n_processes || !machines_have_guests(defs))
		return 0;
	tree->within = malloc(sizeof(*tree->within) * defs->n_processes);
	if (!tree->within) {
		eta_error("not enough memory for %" PRIu32 " machines", defs->n_processes);
		return -ENOMEM;
	}
	for (uint32_t p = 0; p < defs->n_processes; p++)
		tree->within[p] = ETA_NONE;
	for (uint32_t p = 0; p < defs->n_properties; p++) {
		json_t *told = machines_is_guest(&defs->properties[p])
				       ? json_loads(defs->properties[p].value, 0, NULL)
				       : NULL;

		place_guest(tree, told);
		json_decref(told);
	}
	return 0;
}

void machine_tree_free(struct machine_tree *tree)
{
	free(tree->within);
	tree->within = NULL;
}

/* The machine that MACHINE, a guest, runs on. */
static uint32_t host_of(const struct machine_tree *tree, uint32_t machine)
{
	return eta_machine(tree->defs, tree->defs->processes[tree->within[machine]].host);
}

unsigned machine_depth(const struct machine_tree *tree, uint32_t machine)
{
	unsigned depth = 0;

	for (; machine_within(tree, machine) != ETA_NONE; machine = host_of(tree, machine))
		depth++;
	return depth;
}

struct machine_place machine_place(const struct machine_tree *tree, uint32_t machine)
{
	struct machine_place place = { "" };
	size_t used = 0;
	char name[128];

	for (; machine_within(tree, machine) != ETA_NONE && used < sizeof(place.text);
	     machine = host_of(tree, machine)) {
		uint32_t process = tree->within[machine];

		vm_process_name(tree->defs, process, name, sizeof(name));
		used += (size_t)snprintf(place.text + used, sizeof(place.text) - used,
					 " in %s on %.64s", name,
					 tree->defs->processes[process].host);
	}
	return place;
}

static bool is_machine(const struct machine_tree *tree, uint32_t number)
{
	return eta_machine(tree->defs, tree->defs->processes[number].host) == number;
}

static uint32_t add_machine(const struct machine_tree *tree, uint32_t machine, uint32_t *order)
{
	uint32_t n = 0;

	order[n++] = machine;
	for (uint32_t m = 0; tree->within && m < tree->defs->n_processes; m++)
		if (tree->within[m] != ETA_NONE && host_of(tree, m) == machine)
			n += add_machine(tree, m, order + n);
	return n;
}

uint32_t machine_order(const struct machine_tree *tree, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t m = 0; m < tree->defs->n_processes; m++)
		if (is_machine(tree, m) && machine_within(tree, m) == ETA_NONE)
			n += add_machine(tree, m, order + n);
	return n;
}
