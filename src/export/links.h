/* What ties the threads and devices of a trace: who waited for whom, and requests in flight. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_LINKS_H
#define SCI_EXPORT_LINKS_H

#include "in-order.h"

/* A block request of LOCATION, on DEVICE, which is LOCATION where it is not known. */
struct link_request {
	uint32_t device, location;
	uint64_t begin_ns, end_ns, size_bytes;
	uint8_t mode;	/* enum eta_io_mode */
	bool truncated; /* its end was not seen: end_ns is begin_ns */
};

/* What the form makes of them, in the order of time; `wait` and `request` may be NULL. */
struct links_form {
	/* At TIME_NS LOCATION began to wait for HOLDER, which was inside of a region, if BUSY. */
	void (*wait)(void *arg, uint32_t holder, uint32_t location, uint64_t time_ns, bool busy);
	/* From TIME_NS on N requests are in flight on DEVICE. 0 or -ENOMEM, reported. */
	int (*in_flight)(void *arg, uint32_t device, uint64_t time_ns, uint32_t n);
	/* likewise */
	int (*request)(void *arg, const struct link_request *request);
};

struct links {
	struct export *e;
	const struct links_form *form;
	void *arg;
	struct in_order order;
	uint32_t *devices; /* export_devices() */
	uint32_t *threads; /* locations by machine, tid and start */
	uint32_t n_threads;
	uint32_t *machines; /* of each location */
	uint32_t *flying;   /* requests, of each location that is a device */
	bool *busy;
	bool has_waits; /* may there be any? */
	uint32_t location, depth;
	struct link_request next; /* being read */
};

/* FORM is called with ARG. 0 or -errno, reported; links_close in either case. */
int links_open(struct links *links, struct export *e, const struct links_form *form, void *arg);
void links_close(struct links *links);

/* Each location once, each of its events between the two. 0 or -errno, reported. */
void links_begin(struct links *links, uint32_t location);
int links_event(struct links *links, const struct eta_event *event);
int links_end(struct links *links);

/*
 * The location that the wait which EVENT begins is for; ETA_NONE: it begins none, or nobody else's
 * that is traced.
 */
uint32_t links_holder(const struct links *links, const struct eta_event *event);

/* Calls the form. 0 or -errno, reported but for that of `out`. */
int links_read(struct links *links);

#endif
