/* What a trace has of the requests to a disk, in order: a guest's to its device, a host's to the
 * image. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_REQUEST_STREAMS_H
#define ETA_REQUEST_STREAMS_H

#include "eta-ext/trace/source.h"
#include "eta-ext/format/disk-map.h"
#include "match-requests.h"
#include "request-store.h"

struct request_stream;

/*
 * The block requests of TRACE to DEV (major << 20 | minor) in order of begin; FOR_CLOCK: also the
 * reads that its tracer made to compare clocks. STORE outlives the stream: what was read once is
 * there. 0 or -errno.
 */
int request_stream_device(struct request_store *store, struct eta_trace *trace, uint32_t dev,
			  bool for_clock, struct request_stream **out);

/* The file that an image of a disk is, and which process is its QEMU. */
struct request_image {
	uint32_t pid, dev;
	uint64_t inode;
	/* known by its name alone, as in logs; INODE is then a number for it, of no file. NULL: by
	 * those */
	const char *path;
	/* by places in the image: its offsets become the guest's. NULL: they are the guest's */
	const struct disk_map *map;
};

/* Of TRACE the reads and writes on IMAGE, which stays until the end, in order of end. */
int request_stream_file(struct request_store *store, struct eta_trace *trace,
			const struct request_image *image, struct request_stream **out);

/* What else is read on the way: the next N EVENTS of a LOCATION of TRACE. 0 or -errno. */
typedef int (*request_watch_fn)(void *arg, struct eta_trace *trace, uint32_t location,
				const struct eta_event *events, size_t n);
/*
 * Reads the requests of one process on all IMAGES of it at once, so that the streams of each come
 * from STORE: a trace is long, and has few of them. 0 or -errno.
 */
int request_streams_keep_files(struct request_store *store, struct eta_trace *trace,
			       const struct request_image *images, size_t n, request_watch_fn watch,
			       void *arg);
/* The same of those to all DEVS; fewer than two are left to the stream. */
int request_streams_keep_devices(struct request_store *store, struct eta_trace *trace,
				 const uint32_t *devs, size_t n);

/* For the functions of match-requests.h. */
int request_stream_next(void *stream, struct request *request);
/* Where the time of REQUEST, one of a file's STREAM, went: request->n_pieces, until another opens
 * it. */
const struct service_piece *request_stream_pieces(const struct request_stream *stream,
						  const struct request *request);

/* NULL is safe. Nothing is counted. */
void request_stream_free(struct request_stream *stream);

#endif
