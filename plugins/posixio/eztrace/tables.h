/* Inside of the kept definitions: the tables, for those who fill and for those who write them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_TABLES_H
#define POSIXIO_EZTRACE_TABLES_H

#include <stdatomic.h>

#include "defs.h"
#include "plugins/posixio/callsites/modules.h"

#define NO_STRING UINT32_MAX
/* Strings of ours, until they get the ids behind the last of EZTrace's, which go on coming. */
#define OWN_STRING 0x80000000u
#define FILE_BUCKETS 4096

/* A growing array of one kind of definition, indexed by id; `set` marks those defined. */
#define TABLE(type)                                                                                \
	struct {                                                                                   \
		type *at;                                                                          \
		bool *set;                                                                         \
		uint32_t n, room;                                                                  \
	}

struct thread_info {
	uint32_t tid;
	uint64_t start_ns;
	uint64_t events;
	OTF2_EvtWriter *writer; /* NULL: closed, events is final */
	/* of our own thread (enum thread_state), while it lives; NULL: none, or not any more */
	const _Atomic unsigned char *state;
	char comm[16];
};

struct io_file {
	OTF2_StringRef path;
	uint32_t dev;
	uint64_t inode;
	uint32_t free_handle; /* index + 1 of a handle given back, 0: none */
	uint32_t next;	      /* index + 1 in the same bucket */
};

struct io_handle {
	uint32_t file;
	uint32_t next_free;
	uint32_t open_flags;
	bool pre_created;
};

struct def_property {
	OTF2_StringRef name, value;
};

struct archive_property {
	char *name;
	const char *value; /* a constant */
};

/* As modules_update gives it, but its own. */
struct def_module {
	struct module_found found;
	unsigned char build_id[MODULES_MAX_BUILD_ID];
};

struct defs {
	atomic_flag lock;
	TABLE(char *) strings;
	TABLE(char *) own_strings;
#define X(kind, what, ref, WHAT) TABLE(struct def_##what) what##s;
	DEFINITIONS(X)
#undef X
	TABLE(uint32_t) group_ids; /* of the last group that EZTrace wrote under an id */
	TABLE(struct thread_info) threads;
	TABLE(uint64_t) calls; /* regions of ours, a list */
	TABLE(struct def_module) modules;
	TABLE(struct def_property) group_properties; /* of the process: MODULE::N, STACK::N */
	TABLE(struct archive_property) archive_properties;
	TABLE(struct io_file) files;
	TABLE(struct io_handle) handles;
	uint32_t buckets[FILE_BUCKETS];
	bool out_of_memory;
	bool closing; /* no more threads are let in, those that begin are waited for */
	bool closed;  /* the tables are being written: it is too late for new threads */
};

extern struct defs defs;

/* Makes room for index ID of the table that the pointers describe; false: no memory, noted. */
bool defs_reach(void **at, bool **set, uint32_t *n, uint32_t *room, size_t bytes, uint32_t id);

#define REACH(table, id)                                                                           \
	defs_reach((void **)&(table).at, &(table).set, &(table).n, &(table).room,                  \
		   sizeof(*(table).at), id)

#define PUT(table, id, value)                                                                      \
	do {                                                                                       \
		const uint32_t id_ = id; /* often the table's own length */                        \
                                                                                                   \
		if (REACH(table, id_)) {                                                           \
			(table).at[id_] = value;                                                   \
			(table).set[id_] = true;                                                   \
		}                                                                                  \
	} while (0)

/* As defs_lock, without waiting, as a signal handler must: the lock may be this thread's own. */
bool defs_try_lock(void);

/* Everything below and all tables want the lock. */

/* A new string of ours. */
OTF2_StringRef defs_string_add(const char *text, size_t bytes);

/* The modules become properties. (addresses.c) */
void defs_name_modules(void);

/* How many events the thread has written. (threads.c) */
void defs_thread_count(struct thread_info *info);

#endif
