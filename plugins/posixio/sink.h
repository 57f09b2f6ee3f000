/* The sink, which takes the records: what the core and the descriptor table ask of it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_H
#define POSIXIO_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file;
struct thread;
struct sink_thread; /* what the sink keeps of a thread, behind struct thread */

/* What a call itself needs is not here, but inlined into its wrapper (wrap/op.h). */
struct sink {
	/* 0, or -errno: then nothing is traced. */
	int (*process_start)(void);
	void (*process_end)(void);

	/*
	 * What the sink has of T is zeros, or what another thread left. 0, or -errno: the calls of
	 * T are lost.
	 */
	int (*thread_start)(struct thread *t);
	void (*thread_end)(struct thread *t);
	/* T ended; false: what the sink has of it is not fit for another. */
	bool (*thread_rest)(struct thread *t);
	/* The process is about to end, and T with it: lets go of what is reserved. */
	void (*thread_trim)(struct thread *t);
	/* T is about to lose the system calls DENIED (own-call.h): uses them early. */
	void (*confine)(struct thread *t, uint64_t denied);

	/* Is this the return address of a call made by the tracer's own libraries? */
	bool (*own_caller)(const void *caller);

	/* A call could not be recorded: its thread has no state; T was in the tracer; ... */
	void (*thread_lost)(void);
	void (*call_missed)(struct thread *t);
	/* ... the process is not traced, as was reported at its start, or is its parent's fork. */
	void (*off_call)(void);

	/*
	 * The calling thread met FILE: its definition, before the first call on it. FS_MAGIC: type
	 * of its file system, 0: unknown.
	 */
	void (*file)(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic);
	/*
	 * Is the definition of file ID still there, for a call that comes next? Else it is given
	 * again. NULL: always.
	 */
	bool (*has_name)(uint32_t id);
	/* FILE has other flags; as NEW_ID, where a definition cannot change. */
	void (*file_flags)(struct file *file, uint32_t new_id, const char *path, size_t path_bytes,
			   uint32_t fs_magic);

	/* Stores a message for the user; false: there is nowhere to put it. */
	bool (*report)(const char *text);
	/* Notes "PREFIX NAME" = VALUE about the process, once. */
	void (*property)(const char *prefix, const char *name, const char *value);

	/* Stores the path of a call, as ID; false: there was no room. With the lock. */
	bool (*stack)(uint32_t id, const uintptr_t *frames, unsigned n);
	/* Stores the modules that are new, so that they stand before the paths through them. */
	void (*modules_update)(void);
	/* Around what several threads write for the process. */
	void (*lock)(void);
	void (*unlock)(void);
};

/* Of the library; the name and the size are defined beside it. */
extern const struct sink *core_sink;
extern const char tracer_name[];       /* in messages */
extern const size_t sink_thread_bytes; /* of what the sinks of the library keep of a thread */

#endif
