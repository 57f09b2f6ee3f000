/* Traces in the forms of other tools: one file a form, and one line in EXPORT_FORMATS. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_H
#define SCI_EXPORT_H

#include <stdio.h>

#include "eta-ext/base/eta.h"
#include "src/common/machine-tree.h"
#include "src/common/progress.h"

/* X(name): export_NAME is defined in src/export/NAME.c. */
#define EXPORT_FORMATS(X) X(chrome) X(perfetto) X(paje) X(folded) X(csv)

struct export
{
	struct eta_trace *trace; /* checked: every ENTER has its LEAVE */
	const struct eta_defs *defs;
	FILE *out;
	uint64_t start_ns;	  /* the first event of all: what times are counted from */
	struct progress progress; /* of the events read, in all passes */
	uint64_t events;
	uint32_t *by_inode; /* files, by device and inode, then as they are defined */
	struct machine_tree machines;
};

struct export_format {
	const char *name;
	const char *suffix; /* of the files: ".json" */
	const char *what;   /* for lists */
	const char *file;   /* of messages: "csv of sci-export" */
	const char *begins; /* how a file of it does; NULL: with any path of regions */
	/* Writes all of E to its `out`, whose errors the caller looks at. 0 or -errno, reported. */
	int (*run)(struct export *e);
};

#define X(name) extern const struct export_format export_##name;
EXPORT_FORMATS(X)
#undef X

/* Once `trace` and `defs` are set: 0 or -ENOMEM, reported; export_free in either case. */
int export_init(struct export *e);
void export_free(struct export *e);

/* Gets each event of a location; other than 0 ends the reading. */
typedef int (*export_event_fn)(void *arg, const struct eta_event *event);

/*
 * Reads LOCATION once. 0, what FN gave, -ECANCELED when a signal came, -EIO when `out` cannot be
 * written, -errno of the trace.
 */
int export_read(struct export *e, uint32_t location, export_event_fn fn, void *arg);

/*
 * Who a location is: "host", "comm pid N" ("NAME (QEMU pid N)" of a virtual machine), "comm tid N";
 * a device and what has no process are on their own. A form without hosts puts machine_suffix()
 * (src/common/machines.h) behind names.
 */
const char *export_host(const struct export *e, const struct eta_location *location);
void export_process_name(const struct export *e, uint32_t process, char *text, size_t room);
/* The virtual machine that a location is of, or runs in, "NAME (QEMU pid N)"; "" none. */
void export_vm_name(const struct export *e, uint32_t location, char *text, size_t room);
/* With what it is of a virtual machine: "vCPU 0 (CPU 0/KVM tid N)". */
void export_thread_name(const struct export *e, uint32_t location, char *text, size_t room);

/*
 * Per handle: the location of the block device that it is of, ETA_NONE. The caller frees it; NULL
 * without memory.
 */
uint32_t *export_devices(const struct export *e);

/* "read", "write" or "flush": what the IO_BEGIN of a block request asks for. */
const char *export_mode(const struct eta_event *event);

/* What is known of a region when it ends. */
struct export_region {
	uint32_t region;
	uint64_t begin_ns;
	struct eta_event facts; /* its ENTER, with what the I/O events in it added */
	uint32_t file;		/* ETA_NONE: unknown, or known by its path alone */
	const char *path;	/* "" unknown */
	int64_t ret;
	bool has_ret, truncated;
};

/* The open regions of a location. */
struct export_stack {
	const struct export *e;
	uint32_t location;
	struct export_region *open;
	size_t depth, room;
	struct export_region ended; /* by the LEAVE just pushed */
};

/* What is pushed now is of LOCATION; nothing is open. Zeros but for `e` before the first. */
void export_stack_begin(struct export_stack *stack, uint32_t location);

/*
 * Takes EVENT: 1 where it was an ENTER (now open[depth - 1]), 2 where it was a LEAVE (`ended` is
 * the region, depth is that around it), 0 for all others, -ENOMEM.
 */
int export_stack_push(struct export_stack *stack, const struct eta_event *event);
void export_stack_free(struct export_stack *stack);

#endif
