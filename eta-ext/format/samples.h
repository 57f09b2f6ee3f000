/* Inside of eta-ext: what a machine was looked at for from time to time, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SAMPLES_H
#define ETA_SAMPLES_H

#include "eta-ext/base/eta.h"

/*
 * Trace properties, a number behind each name: "NS SAMPLES of HOST", in the order of time, NS by
 * the trace's clock. A later number goes on where the one before it ends.
 *
 * DIRTY, samples "MS:KIB": MS ms after NS, KIB of HOST's page cache were dirty or being written
 * out, whoever wrote them.
 *
 * DISK_COUNTS, "PID DISK" and samples "MS:N,N,...": what QEMU itself counted for disk DISK of the
 * virtual machine PID from the sample before (the first: from NS) to MS ms after NS; the numbers
 * are those of enum disk_count.
 *
 * NET_COUNTS, "TYPE NAME" and samples as of DISK_COUNTS: what the client of a network file system
 * of TYPE counted on HOST for NAME, all its processes together. "-" in place of a number: it does
 * not count that.
 */
/* X(ID, begin of the name, behind SCI::) */
#define SAMPLES_KINDS(X)                                                                           \
	X(DIRTY, "DIRTY_")                                                                         \
	X(DISK_COUNTS, "DISKCOUNTS_")                                                              \
	X(NET_COUNTS, "NETCOUNTS_")

enum samples_kind {
#define X(id, name) SAMPLES_##id,
	SAMPLES_KINDS(X)
#undef X
		N_SAMPLES
};

#define SAMPLES_HOST " of "

/* X(ID, key of QMP's query-blockstats) */
#define DISK_COUNTS(X)                                                                             \
	X(READS, "rd_operations")                                                                  \
	X(READ_BYTES, "rd_bytes")                                                                  \
	X(WRITES, "wr_operations")                                                                 \
	X(WRITTEN_BYTES, "wr_bytes")                                                               \
	X(FLUSHES, "flush_operations")                                                             \
	X(READ_NS, "rd_total_time_ns")                                                             \
	X(WRITE_NS, "wr_total_time_ns")                                                            \
	X(FLUSH_NS, "flush_total_time_ns")

enum disk_count {
#define X(id, key) DISK_COUNT_##id,
	DISK_COUNTS(X)
#undef X
		N_DISK_COUNTS
};

#define DISK_COUNT_UNKNOWN UINT64_MAX

struct disk_count_sample {
	uint64_t from_ns, to_ns;
	uint64_t n[N_DISK_COUNTS]; /* meanwhile */
};

struct samples {
	uint64_t since_ns;
	uint64_t last_ns; /* of the sample before */
	const char *next; /* of TEXT: the next sample */
	const char *host;
};

/* What PROPERTY has samples of; N_SAMPLES: it has none. */
enum samples_kind samples_kind(const struct eta_property *property);
/* The begin of the names of properties that have them. */
const char *samples_name(enum samples_kind kind);
/* What TEXT holds, which it points into. False: it is none. */
bool samples_parse(const char *text, struct samples *samples);
/* The next one; false behind the last one. */
bool samples_dirty(struct samples *samples, uint64_t *time_ns, uint64_t *bytes);
/* Behind samples_parse; false: there are none. Then the next one; false behind the last one. */
bool samples_disk(struct samples *samples, uint32_t *pid, uint32_t *disk);
/* The same for NET_COUNTS: NAME, SIZE bytes, gets "TYPE NAME". */
bool samples_net(struct samples *samples, char *name, size_t size);
bool samples_disk_counts(struct samples *samples, struct disk_count_sample *sample);

#endif
