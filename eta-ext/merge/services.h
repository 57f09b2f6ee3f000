/* What hosts did for the requests of their guests, and where a merge puts it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SERVICES_H
#define ETA_SERVICES_H

#include "merge.h"
#include "request-streams.h"

/* Beside how well the clock is known. */
#define SERVICE_SLACK_NS 10000

/* A guest among the inputs, and one of its disks. */
struct service_pair {
	uint32_t guest, host; /* inputs */
	const char *name;     /* of the virtual machine */
	uint32_t device;      /* in the guest */
	uint32_t disk;	      /* number of it in the properties of the virtual machine */
	struct request_image image;
};

/* A call of a host that moved bytes of a guest's requests. Times of all are the result's. */
struct service_call {
	uint64_t begin_ns, end_ns;
	uint64_t inode; /* of the image */
	uint32_t dev;
	uint32_t input, location;
	uint32_t request; /* the first one that it was for */
	uint32_t first_piece, n_pieces;
	bool write;
	bool sync; /* of the image, which moves no bytes of its own */
};

/* A request of a guest, and the calls for it. */
struct service_request {
	uint64_t begin_ns, end_ns;
	uint32_t input, location;
	uint32_t device; /* of the guest */
	uint32_t owner;	 /* tid of the thread whose pages it writes, 0: its own */
	uint32_t first_link, n_links;
	bool journal; /* one that a commit waits for */
	bool implied; /* a flush that is no request in the trace: LOCATION has written before */
};

struct service_guest {
	uint32_t guest, host, pid;
	char name[64];
	struct service_disk {
		uint32_t device, disk; /* as in service_pair */
	} * disks;
	size_t n_disks, disks_room;
	/* of the result: who had its host's CPUs and has no location of its own; ETA_NONE: nobody
	 */
	uint32_t nameless;
};

/* One thread of QEMU, and which of the guest's CPUs it is. */
struct service_vcpu {
	uint32_t guest;	 /* number of it */
	uint32_t number; /* SERVICE_ALL_VCPUS: QEMU has one thread for all of them */
	uint32_t tid;
	size_t first, n; /* of the steals */
};
#define SERVICE_ALL_VCPUS UINT32_MAX

struct services {
	struct service_guest *guests;
	struct service_call *calls;
	struct service_request *requests;
	struct service_piece *pieces;
	uint32_t *links; /* calls of the requests */
	struct service_vcpu *vcpus;
	struct service_steal *steals;
	size_t n_guests, n_calls, n_requests, n_pieces, n_links, n_vcpus, n_steals;
	size_t guests_room, calls_room, requests_room, pieces_room, links_room, vcpus_room,
		steals_room;
	/* from here on once they are settled */
	const struct eta_trace *trace; /* the result */
	uint32_t *calls_by_thread;     /* by input, location, begin */
	uint32_t *calls_by_image;      /* by input, dev, inode, begin */
	struct service_list {
		uint32_t *at;
		size_t n;
	} by_thread,	   /* requests by input, location, begin; without those implied */
		by_owner,  /* those that have one, by input, owner, begin */
		journals;  /* by input, begin */
	uint32_t *threads; /* locations of the result by machine, tid, start */
	size_t n_threads;
	uint32_t *machines; /* of the locations that the result has without its nameless ones */
	uint32_t **located; /* per input and location: that of the result */
	uint32_t virtio;    /* regions of the result */
	uint32_t steal;
};

/* PAIR's guest is one. Then for each of its disks: its requests and what was done for them. */
int services_begin(struct merge *merge, const struct service_pair *pair);
int services_match(struct merge *merge, const struct service_pair *pair);

/* The requests of a guest to one of its disks, by its host's clock. */
struct service_requests {
	struct request_stream *stream; /* the caller frees it */
	const struct eta_clock_map *clock;
};
/* 0 or -errno. */
int services_open(struct merge *merge, const struct service_pair *pair,
		  struct service_requests *requests);
/* For the functions of match-requests.h. */
int services_next(void *requests, struct request *request);

/*
 * Add a request of PAIR's guest; a call of its host for the last of them, which has a number from
 * then on; that CALL was for it. 0 or -ENOMEM.
 */
int services_add_request(struct merge *merge, const struct service_pair *pair,
			 const struct request *guest);
int services_add_call(struct merge *merge, const struct service_pair *pair,
		      const struct request_stream *stream, struct request *host);
int services_add_link(struct merge *merge, uint32_t call);
/* The flushes of PAIR's disk, once its transfers are matched (flushes.c). 0 or -errno. */
int services_flushes(struct merge *merge, const struct service_pair *pair);
/* Once TRACE has all definitions, and the inputs their clocks: times, orders, names of guests. */
int services_settle(struct eta_trace *trace, struct merge *merge);
void services_free(struct services *services);

/* When the CPUs of guest number GUEST had none of the host's (steals.c). 0 or -errno. */
int services_steals(struct merge *merge, size_t guest);
/*
 * Once the threads of TRACE are known: a location for the tasks of each host that its guests waited
 * for and that have none, since they were too many. 0 or -ENOMEM.
 */
int services_nameless(struct eta_trace *trace, struct merge *merge);
/* The clocks of the inputs are known. */
void services_convert_steals(const struct merge *merge);
/* The guest that INPUT is of; NULL: none. */
const struct service_guest *services_guest(const struct merge *merge, uint32_t input);
/* Those of CPU (1 + its number, 0: not known) of GUEST that end after TIME_NS, in order: *N. */
const struct service_steal *services_steals_of(const struct services *s,
					       const struct service_guest *guest, uint32_t cpu,
					       uint64_t time_ns, size_t *n);

/* Where in calls_by_thread (CALLS) or by_thread those of PART, or of what is behind it, begin. */
size_t services_first_of(const struct services *s, bool calls, const struct merge_part *part);
/*
 * The location of the result of the thread that CALL was for. Where that is one of QEMU, since its
 * guest is a host itself, the thread of the guest's guest, and so on.
 */
uint32_t services_served(const struct merge *merge, const struct service_call *call);
/* The call that LOCATION of the result, a thread of INPUT's, makes at TIME_NS; NULL: none. */
const struct service_call *services_call_at(const struct merge *merge, uint32_t input,
					    uint32_t location, uint64_t time_ns);

/* Location of the result of thread TID on MACHINE at TIME_NS; ETA_NONE: not in it. */
uint32_t services_thread(const struct services *s, uint32_t machine, uint32_t tid,
			 uint64_t time_ns);

/* The events of one location of an input, with what its host did, or marked as done for a guest. */
struct service_stream;

/* *OUT is NULL where PART has nothing to do with guests. 0 or -ENOMEM. */
int service_stream_new(const struct merge *merge, const struct merge_part *part,
		       struct service_stream **out);
/* EVENTS by the result's clock become OUT, good until the next call: how many, -ENOMEM. */
ssize_t service_stream_take(struct service_stream *s, const struct eta_event *events, size_t n,
			    const struct eta_event **out);
void service_stream_free(struct service_stream *s);

#endif
