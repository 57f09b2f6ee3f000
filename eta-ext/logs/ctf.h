/* Inside of the source of CTF traces: what events mean, and what is open between them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CTF_H
#define ETA_CTF_H

#include <babeltrace2/babeltrace.h>

#include "log.h"

struct ctf_task;

struct ctf {
	struct log *log;
	struct ctf_task *tasks;
	uint32_t *running; /* per CPU the task, as the switches say; 0: unknown */
	uint32_t n_cpus;
	uint64_t last_ns;
	int64_t realtime_offset_ns; /* to CLOCK_REALTIME */
	bool queued;		    /* requests are reported when they are queued, as bios */
	enum { CTF_CLOCK_UNKNOWN, CTF_CLOCK_MONOTONIC, CTF_CLOCK_RELATIVE } clock;
};

/* An event of the trace, in the order of time: 0 or -errno, reported. */
int ctf_event(struct ctf *ctf, const bt_message *message);

/* Behind the last event: calls that did not end. */
int ctf_end(struct ctf *ctf);

/* A value of SCI::CLOCK. */
const char *ctf_clock(const struct ctf *ctf);

void ctf_free(struct ctf *ctf);

#endif
