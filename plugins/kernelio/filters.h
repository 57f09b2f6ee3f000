/* The filters: one list, and what of it the probes see. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILTERS_H
#define KERNELIO_FILTERS_H

/*
 * X(ID, option, ARGUMENT, help): each is an option of the commands and a row of their man pages.
 * An option may be given more than once: one of its values has to match, and each of the options.
 * How a value is read: filters.c, filter_set_ID. How it is applied: bpf/filter.h.
 */
#define KERNELIO_FILTERS(X)                                                                        \
	X(TID, "tid", "TID", "record only the threads TID")                                        \
	X(COMM, "comm", "NAME", "record only threads with this name")                              \
	X(UID, "uid", "USER", "record only threads that run as USER")                              \
	X(CGROUP, "cgroup", "PATH", "record only threads in the cgroup PATH and below")            \
	X(FILE, "file", "PATH", "record only the file PATH, which need not exist yet")             \
	X(DIRECTORY, "directory", "PATH", "record only files below PATH")                          \
	X(DEVICE, "device", "DEVICE", "record only files and requests on a block device")          \
	X(OPERATION, "operation", "KIND",                                                          \
	  "record only calls of this kind: read, write, sync, ...")                                \
	X(MIN_DURATION, "min-duration", "TIME",                                                    \
	  "record only calls that take TIME (as 100us) or longer")                                 \
	X(LEVEL, "level", "LEVEL",                                                                 \
	  "record only vfs and these levels: pagecache, fs, block, net, cpu")

enum kernelio_filter_id {
#define X(id, option, argument, help) KERNELIO_FILTER_##id,
	KERNELIO_FILTERS(X)
#undef X
		KERNELIO_N_FILTERS,
};

/* A value that one of the filters takes; unused fields are 0. */
struct kernelio_filter_key {
	uint32_t filter; /* enum kernelio_filter_id */
	uint32_t dev;	 /* FILE, DIRECTORY: of the directory's file system; DEVICE */
	uint64_t number; /* TID, UID, CGROUP: its id; FILE, DIRECTORY: inode of the directory */
	uint64_t name;	 /* FILE: kernelio_name_hash; COMM: bytes 8 to 15, and the others before */
};

/*
 * Constant once the probes are loaded: what is not asked for is not even in the code that the
 * kernel runs.
 */
struct kernelio_filter {
	uint64_t min_ns;
	uint64_t cgroup_depths; /* bit N: there is a CGROUP value N levels below the root */
	uint64_t spans;		/* bit enum eta_span_kind: of the levels wanted */
	uint32_t set;		/* bit ID: the filter is in use */
	uint32_t operations;	/* bit enum eta_op_kind */
	uint32_t levels;	/* bit enum eta_level */
	uint32_t everyone;	/* every task, not those taken in and their descendants alone */
	uint32_t owner_only;	/* tasks of another user, or with rights, are not OWNER's to see */
	uint32_t owner;
	uint32_t light;	       /* waits and their causes only: no probe on system calls */
	uint64_t owner_rights; /* bit CAP_*: OWNER's own */
};

#define KERNELIO_FILTER_BIT(id) (1U << KERNELIO_FILTER_##id)
#define KERNELIO_FILTERS_OF_TASKS                                                                  \
	(KERNELIO_FILTER_BIT(TID) | KERNELIO_FILTER_BIT(COMM) | KERNELIO_FILTER_BIT(UID) |         \
	 KERNELIO_FILTER_BIT(CGROUP))
#define KERNELIO_FILTERS_OF_FILES                                                                  \
	(KERNELIO_FILTER_BIT(FILE) | KERNELIO_FILTER_BIT(DIRECTORY) | KERNELIO_FILTER_BIT(DEVICE))

#define KERNELIO_NAME_HASH_START 0xcbf29ce484222325ULL
#define KERNELIO_NAME_HASH_PRIME 0x100000001b3ULL /* FNV-1a */

#endif
