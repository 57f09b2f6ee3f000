/* Inside of the source of CTF traces: what events mean, and what is open between them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CTF_H
#define ETA_CTF_H

#include <babeltrace2/babeltrace.h>

#include "log.h"

struct ctf_task;

/* A file that the process of a virtual machine moves bytes of. */
struct ctf_image {
	uint32_t pid, file;
};

struct ctf {
	struct log *log;
	struct ctf_task *tasks;
	uint32_t *running; /* per CPU the task, as the switches say; 0: unknown */
	uint32_t n_cpus;
	struct ctf_image *images; /* of virtual machines */
	size_t n_images, images_room;
	uint64_t last_ns;
	bool knows_host;	    /* it was looked for */
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
