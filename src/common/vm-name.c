/* What a traced virtual machine is called, and which process of which host it is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "vm-name.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "machines.h"

#define VM_PREFIX "SCI::VM_"

bool vm_any(const struct eta_defs *defs)
{
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (defs->properties[p].process == ETA_NONE &&
		    strncmp(defs->properties[p].name, VM_PREFIX, strlen(VM_PREFIX)) == 0)
			return true;
	return false;
}

/* What the recording of its host says of virtual machine PID; the caller releases it, NULL: no
 * such. */
static json_t *describe(const struct eta_defs *defs, uint32_t pid)
{
	char property[64];

	snprintf(property, sizeof(property), VM_PREFIX "%" PRIu32, pid);
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (defs->properties[p].process == ETA_NONE &&
		    strcmp(defs->properties[p].name, property) == 0)
			return json_loads(defs->properties[p].value, 0, NULL);
	return NULL;
}

static void put_name(const json_t *told, uint32_t pid, char *text, size_t size)
{
	const char *name = json_string_value(json_object_get(told, "name"));

	snprintf(text, size, "%.63s (QEMU pid %" PRIu32 ")",
		 name && *name ? name : "a virtual machine", pid);
}

bool vm_name(const struct eta_defs *defs, uint32_t pid, char *text, size_t size)
{
	json_t *told = describe(defs, pid);
	bool found = told;

	*text = '\0';
	if (found)
		put_name(told, pid, text, size);
	json_decref(told);
	return found;
}

/* Is the virtual machine PID of HOST that of the guest in PROPERTY? */
static bool is_host_of_guest(const struct eta_property *property, uint32_t pid, const char *host,
			     char *guest, size_t size)
{
	json_t *told = machines_is_guest(property) ? json_loads(property->value, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(told, "guest"));
	const char *of = json_string_value(json_object_get(told, "host"));
	bool found = name && of && strcmp(of, host) == 0 &&
		     json_integer_value(json_object_get(told, "pid")) == pid;

	if (found)
		snprintf(guest, size, "%s", name);
	json_decref(told);
	return found;
}

bool vm_guest(const struct eta_defs *defs, uint32_t pid, const char *host, char *text, size_t size)
{
	*text = '\0';
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (is_host_of_guest(&defs->properties[p], pid, host, text, size))
			return true;
	return false;
}

/* [number, tid] or [name, tid] of TID in a list of TOLD; NULL. */
static const json_t *find_thread(const json_t *told, const char *list, uint32_t tid)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (json_object_get(told, list), i, pair)
		if (json_integer_value(json_array_get(pair, 1)) == tid)
			return json_array_get(pair, 0);
	return NULL;
}

static bool has_its_threads(const struct eta_defs *defs, uint32_t process, const json_t *told)
{
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->process == process && location->tid &&
		    (find_thread(told, "vcpus", location->tid) ||
		     find_thread(told, "iothreads", location->tid)))
			return true;
	}
	return false;
}

/* How much speaks for PROCESS, which has its number, to be the virtual machine of TOLD; 0: nothing.
 */
static int likeness(const struct eta_defs *defs, uint32_t process, const json_t *told)
{
	const struct eta_process *p = &defs->processes[process];
	char guest[128];

	if (vm_guest(defs, p->pid, p->host, guest, sizeof(guest)))
		return 3;
	if (has_its_threads(defs, process, told))
		return 2;
	return strncmp(p->name, "qemu", 4) == 0 || strncmp(p->name, "kvm", 3) == 0;
}

/* Of the processes that have the number of a virtual machine: is this the one? */
static bool is_machine(const struct eta_defs *defs, uint32_t process, const json_t *told)
{
	int its = -1;

	for (uint32_t p = 0; p < defs->n_processes; p++) {
		if (p == process || defs->processes[p].pid != defs->processes[process].pid)
			continue;
		if (its < 0)
			its = likeness(defs, process, told);
		if (its == 0 || likeness(defs, p, told) > its)
			return false;
	}
	return true;
}

/* What is told of the virtual machine that PROCESS is; NULL: it is none. The caller releases it. */
static json_t *describe_process(const struct eta_defs *defs, uint32_t process)
{
	json_t *told;

	if (process == ETA_NONE || !defs->processes[process].pid)
		return NULL;
	told = describe(defs, defs->processes[process].pid);
	if (told && !is_machine(defs, process, told)) {
		json_decref(told);
		told = NULL;
	}
	return told;
}

bool vm_process_name(const struct eta_defs *defs, uint32_t process, char *text, size_t size)
{
	json_t *told = describe_process(defs, process);
	bool found = told;

	*text = '\0';
	if (found)
		put_name(told, defs->processes[process].pid, text, size);
	json_decref(told);
	return found;
}

bool vm_thread_role(const struct eta_defs *defs, uint32_t location, char *text, size_t size)
{
	const struct eta_location *l = &defs->locations[location];
	json_t *told = describe_process(defs, l->process);
	const json_t *vcpu = find_thread(told, "vcpus", l->tid);
	const json_t *io = find_thread(told, "iothreads", l->tid);
	unsigned number;
	int n = 0;

	*text = '\0';
	if (told && l->tid && !l->track) {
		if (json_is_integer(vcpu))
			snprintf(text, size, "vCPU %lld", (long long)json_integer_value(vcpu));
		else if (vcpu)
			snprintf(text, size, "vCPUs");
		/* plugged in later: it has its name only ("CPU 2/KVM") */
		else if (sscanf(l->name, "CPU %u/%n", &number, &n) == 1 && n)
			snprintf(text, size, "vCPU %u", number);
		else if (io)
			snprintf(text, size, "I/O thread %s", json_string_value(io));
	}
	json_decref(told);
	return *text;
}
