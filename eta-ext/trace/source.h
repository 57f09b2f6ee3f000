/* Inside of eta-ext: what a source is, and the trace and cursor objects all sources share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SOURCE_H
#define ETA_SOURCE_H

#include <pthread.h>

#include "eta-ext/base/eta.h"

/*
 * A source reads one kind of trace. It is one file with one of these (a log: eta-ext/logs/NAME.c),
 * and a line in ETA_SOURCES. `open` fills trace->defs through the eta_defs_* functions and may keep
 * its own state in trace->data; `cursor_open` may be called from several threads at once.
 */
struct eta_source_ops {
	const char *name;
	const char *what; /* for lists: "OTF2 archive (anchor file)" */
	/* Does PATH look like ours? HEAD: its first HEAD_BYTES bytes, 0 of them for a directory. */
	bool (*probe)(const char *path, bool directory, const unsigned char *head,
		      size_t head_bytes);
	int (*open)(struct eta_trace *trace);
	/* Also after a failed open; NULL: nothing to free but trace->defs, which is not its own. */
	void (*close)(struct eta_trace *trace);
	/*
	 * Leaves out what began at BEGIN_NS or before (see begin_ns of struct eta_trace), of a
	 * trace that no cursor has been opened for; later calls have later times. NULL: none of its
	 * traces has a begin_ns. 0 or -errno, reported.
	 */
	int (*begin)(struct eta_trace *trace, uint64_t begin_ns);
	/*
	 * `*out` embeds struct eta_cursor as its first member, zeroed; the framework fills in trace
	 * and location and counts the events that cursor_read gives.
	 */
	int (*cursor_open)(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
	/*
	 * As eta_cursor_part; what is left out is counted by it, in the cursor. NULL: none of its
	 * traces can.
	 */
	bool (*cursor_part)(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
			    struct eta_whole *whole);
	ssize_t (*cursor_read)(struct eta_cursor *cursor, const struct eta_event **batch);
	void (*cursor_close)(struct eta_cursor *cursor);
};

/* X(name): eta_source_NAME, defined in the source's file; probed in this order. */
#define ETA_SOURCES(X)                                                                             \
	X(spool)                                                                                   \
	X(otf2)                                                                                    \
	X(ctf)                                                                                     \
	X(blktrace)                                                                                \
	X(paje)                                                                                    \
	X(dxt)                                                                                     \
	X(ftrace_blk)                                                                              \
	X(blkparse)                                                                                \
	X(dio)                                                                                     \
	X(qemu)                                                                                    \
	X(strace)                                                                                  \
	X(iotracer)                                                                                \
	X(bpftrace)                                                                                \
	X(bcom)

#define X(name) extern const struct eta_source_ops eta_source_##name;
ETA_SOURCES(X)
#undef X

struct eta_string; /* an interned string */

struct eta_trace {
	const struct eta_source_ops *ops;
	char *path;
	struct eta_options options;
	struct eta_defs defs;
	pthread_mutex_t lock; /* counts, and whatever a source shares between its cursors */
	struct eta_counts counts;
	bool *counted; /* per location: in counts already */
	/*
	 * What began later is whole; of what was before, parts were written over, and it has been
	 * left out. By the clock of the system that `boot` identifies. 0: all of it is there.
	 */
	uint64_t begin_ns;
	const char *boot; /* NULL: not known */
	struct eta_string *strings;
	struct {
		uint32_t regions, locations, processes, files, handles, properties, modules, stacks;
	} room; /* allocated lengths of the arrays in defs */
	void *data;
};

/* First member of every source's cursor. */
struct eta_cursor {
	struct eta_trace *trace;
	uint32_t location;
	struct eta_counts counts; /* added to the trace's when the cursor is closed */
};

/*
 * An empty trace of OPS, for eta_open, eta_merge and tests; eta_close frees it. PATH is copied,
 * OPTIONS may be NULL. NULL: no memory, reported.
 */
struct eta_trace *eta_trace_new(const struct eta_source_ops *ops, const char *path,
				const struct eta_options *options);

/* Closes a cursor whose location will be read again: what it counted is forgotten. */
void eta_cursor_drop(struct eta_cursor *cursor);

/* A copy of TEXT (one pointer for the same text) that lives as long as TRACE; NULL: no memory. */
const char *eta_trace_string(struct eta_trace *trace, const char *text);

/* Counts N machines or ranks, as they should be in TRACE, as missing. */
void eta_trace_miss(struct eta_trace *trace, uint64_t n);

/*
 * Append one definition and give its index, or ETA_NONE without memory (already reported). Strings
 * are copied. eta_defs_region takes level and reason from the name when LEVEL is ETA_LEVEL_NONE.
 */
uint32_t eta_defs_region(struct eta_trace *trace, const char *name, enum eta_level level,
			 const char *description);
uint32_t eta_defs_location(struct eta_trace *trace, const struct eta_location *location);
uint32_t eta_defs_process(struct eta_trace *trace, const struct eta_process *process);
uint32_t eta_defs_file(struct eta_trace *trace, const struct eta_file *file);
uint32_t eta_defs_handle(struct eta_trace *trace, const struct eta_handle *handle);
/*
 * TEXT: "DEV TYPE SOURCE", which network file system is mounted as that device (major << 20 |
 * minor) on the one machine that TRACE is of; said of the files that are defined. 0 or -ENOMEM.
 */
int eta_defs_mount(struct eta_trace *trace, const char *text);
/* Of the trace as a whole; of one of its processes. */
uint32_t eta_defs_property(struct eta_trace *trace, const char *name, const char *value);
uint32_t eta_defs_process_property(struct eta_trace *trace, uint32_t process, const char *name,
				   const char *value);

/* FRAMES are copied. */
uint32_t eta_defs_module(struct eta_trace *trace, const struct eta_module *module);
uint32_t eta_defs_stack(struct eta_trace *trace, const struct eta_stack *stack);

/* Adds each count of MORE to that of SUM. */
void eta_counts_add(struct eta_counts *sum, const struct eta_counts *more);

/* A number for a device that has but a name: of a major that Linux gives to no device. */
uint32_t eta_device_number(const char *name);

/*
 * Is a region of this plain name (no level before a colon) an I/O call of a user-level tracer
 * ("write", "fread_unlocked", ...)? EZTrace, Score-P and ours give such regions no other mark.
 */
bool eta_is_io_function(const char *name);

#endif
