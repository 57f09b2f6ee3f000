/* Perfetto's form: the tracks of threads, processes and devices. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "perfetto.h"
#include "src/common/machines.h"

int perfetto_track(struct perfetto *p, TrackDescriptor *track, uint64_t uuid, uint64_t parent)
{
	TracePacket packet = TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	track->has_parent_uuid = parent != 0;
	track->parent_uuid = parent;
	packet.track_descriptor = track;
	return perfetto_packet(p, &packet, SEQUENCE_OF_ALL);
}

/* A track that has its name alone, whose place in the tree is that of PARENT. */
static int put_named(struct perfetto *p, const char *name, uint64_t uuid, uint64_t parent)
{
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;
	int rc;

	track.name = perfetto_text(name);
	rc = track.name ? perfetto_track(p, &track, uuid, parent) : -ENOMEM;
	free(track.name);
	return rc;
}

static int put_process(struct perfetto *p, uint32_t l)
{
	const struct eta_location *location = &p->e->defs->locations[l];
	const char *host = export_host(p->e, location);
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;
	ProcessDescriptor process = PROCESS_DESCRIPTOR__INIT;
	char name[256], whole[400];
	int rc;

	export_process_name(p->e, location->process, name, sizeof(name));
	snprintf(whole, sizeof(whole), "%s%s%s", name, *host ? " on " : "", host);
	process.has_pid = true;
	process.pid = (int32_t)p->numbers.pids[l];
	process.process_name = perfetto_text(whole);
	track.process = &process;
	rc = process.process_name ? perfetto_track(p, &track, process_uuid(p, location->process), 0)
				  : -ENOMEM;
	free(process.process_name);
	return rc;
}

static int put_thread(struct perfetto *p, uint32_t l)
{
	const struct eta_location *location = &p->e->defs->locations[l];
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;
	ThreadDescriptor thread = THREAD_DESCRIPTOR__INIT;
	char text[256], *name;
	int rc;

	export_thread_name(p->e, l, text, sizeof(text));
	name = perfetto_text(text);
	if (!name)
		return -ENOMEM;
	thread.has_pid = true;
	thread.pid = (int32_t)p->numbers.pids[l];
	thread.has_tid = true;
	thread.tid = (int32_t)p->numbers.tids[l];
	thread.thread_name = name;
	/*
	 * What a thread's tracks do goes on while it does something else; and tracks of threads
	 * have no place in a tree that is deeper than their processes.
	 */
	if (location->track || p->e->machines.within)
		track.name = name;
	else
		track.thread = &thread;
	rc = perfetto_track(p, &track, location_uuid(l), process_uuid(p, location->process));
	free(name);
	return rc;
}

int perfetto_counter(struct perfetto *p, char *name, char *unit, uint64_t uuid, uint64_t parent)
{
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;
	CounterDescriptor counter = COUNTER_DESCRIPTOR__INIT;

	counter.unit_name = unit;
	track.name = name;
	track.counter = &counter;
	return perfetto_track(p, &track, uuid, parent);
}

static int put_device(struct perfetto *p, uint32_t l)
{
	const struct eta_defs *defs = p->e->defs;
	static char name[] = "requests in flight", unit[] = "requests";
	uint64_t parent = p->e->machines.within ? machine_uuid(p, location_machine(defs, l)) : 0;
	char whole[400];
	int rc;

	snprintf(whole, sizeof(whole), "%.300s%s", defs->locations[l].name,
		 machine_suffix(defs, location_host(defs, l)).text);
	rc = put_named(p, whole, location_uuid(l), parent);
	if (rc || defs->locations[l].kind != ETA_LOCATION_DEVICE)
		return rc;
	return perfetto_counter(p, name, unit, counter_uuid(p, l), location_uuid(l));
}

/* Of a trace with guests: machines and their processes, each below what it runs in. */
static int put_tree(struct perfetto *p)
{
	const struct eta_defs *defs = p->e->defs;
	uint32_t *machines = calloc((size_t)defs->n_processes + 1, sizeof(*machines));
	uint32_t n = machines ? machine_order(&p->e->machines, machines) : 0;
	int rc = machines ? 0 : -ENOMEM;

	if (rc)
		eta_error("not enough memory for %u processes", defs->n_processes);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		uint32_t within = machine_within(&p->e->machines, machines[i]);
		char name[256];

		rc = put_named(p, machine_name(defs, machines[i]), machine_uuid(p, machines[i]),
			       within == ETA_NONE ? 0 : process_uuid(p, within));
		for (uint32_t q = 0; rc == 0 && q < defs->n_processes; q++) {
			if (eta_machine(defs, defs->processes[q].host) != machines[i])
				continue;
			export_process_name(p->e, q, name, sizeof(name));
			rc = put_named(p, name, process_uuid(p, q), machine_uuid(p, machines[i]));
		}
	}
	free(machines);
	return rc;
}

int perfetto_tracks(struct perfetto *p)
{
	const struct eta_defs *defs = p->e->defs;
	static char score[] = SCORE_NAME, unit[] = SCORE_UNIT;
	bool *named = calloc((size_t)defs->n_processes + 1, sizeof(*named));
	int rc = named ? 0 : -ENOMEM;

	if (rc)
		eta_error("not enough memory for %u processes", defs->n_processes);
	if (rc == 0 && p->e->machines.within)
		rc = put_tree(p);
	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		uint32_t process = defs->locations[l].process;

		if (process == ETA_NONE) {
			rc = put_device(p, l);
			continue;
		}
		if (!named[process] && !p->e->machines.within)
			rc = put_process(p, l);
		named[process] = true;
		if (rc == 0)
			rc = put_thread(p, l);
	}
	free(named);
	return rc ? rc : perfetto_counter(p, score, unit, p->score_uuid, 0);
}
