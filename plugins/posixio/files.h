/* The descriptor table: which file a descriptor stands for, and where its position is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_FILES_H
#define POSIXIO_FILES_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eta-ext/format/record.h"

#define FILES_MAX_FD (1 << 20) /* Linux' default ceiling; descriptors above are not followed */

#define POSITION_UNKNOWN (-1) /* cannot seek */

/*
 * An open descriptor. Never freed but reused, so that a thread which still holds a pointer to one
 * that another thread closes reads a wrong name at worst, never bad memory.
 */
struct file {
	struct file *owner; /* whose position counts: itself, or the file it was dup'ed from */
	_Atomic int64_t position;    /* bytes, or POSITION_UNKNOWN */
	_Atomic uint32_t epoch;	     /* files_epoch when position was last read from the kernel */
	_Atomic uint32_t references; /* the descriptor, and every dup that shares the position */
	uint32_t id;		     /* FILE id, unique in the process */
	uint32_t dev;		     /* major << 20 | minor */
	uint64_t inode;
	uint32_t open_flags;	 /* as the trace has them */
	_Atomic uint32_t status; /* O_* of an owner: those of all that share its position, too */
	uint32_t sink_handle;	 /* for the sink's use */
	uint32_t sink_parent;	 /* sink_handle of what it was dup'ed from, UINT32_MAX: none */
	bool inherited;		 /* was open before it was met */
	bool lasting;	    /* calls will name it that have neither its path nor a descriptor */
	uint8_t kind;	    /* enum eta_file_kind */
	uint32_t index;	    /* in the pool; */
	uint32_t next_free; /* index + 1 of the next free one */
	int64_t stream_at;  /* of the stream on it, when its buffer was as follows (stream.h) */
	const void *stream_read, *stream_write;
	_Atomic uint32_t stream_holder; /* tid of whose call has locked that stream, 0: none */
} __attribute__((aligned(64)));

#define FILE_LEFT_OUT ((struct file *)1)

/* Most programs have no higher descriptors; the table goes on in files.c. */
#define FILES_FIRST 1024
extern _Atomic(struct file *) files_first[FILES_FIRST];
extern _Atomic uint32_t files_epoch;

/*
 * A number for each time that a directory was opened, by its descriptor; 0: it is none, or was
 * opened behind our back. Two equal ones mean the same directory.
 */
extern _Atomic uint32_t files_folders[FILES_FIRST];

static inline uint32_t files_folder(int fd)
{
	return (unsigned)fd < FILES_FIRST
		       ? atomic_load_explicit(&files_folders[fd], memory_order_relaxed)
		       : 0;
}

/* Record pipes, sockets, terminals and so on too. Set before the first call is traced. */
extern bool files_all;

/* Calls on names and directories are asked for. */
extern bool files_metadata;

/* files_slot of a descriptor that is negative, or high. */
struct file *files_slot_beyond(int fd);

/* NULL: not met yet; FILE_LEFT_OUT: not to be recorded. */
static inline struct file *files_slot(int fd)
{
	if (__builtin_expect((unsigned)fd >= FILES_FIRST, 0))
		return files_slot_beyond(fd);
	return atomic_load_explicit(&files_first[fd], memory_order_acquire);
}

/*
 * FD is left out, and is to be synchronised: a directory, which takes waiting as a file does, is
 * none any more.
 */
void files_add_folder(int fd);
/* Looks FD up, once: the inherited, the passed, those opened behind our back. NULL: left out. */
struct file *files_look_up(int fd);

/*
 * Enters a descriptor just opened as PATH, relative to DIR (PATH NULL: unknown). NULL: left out.
 * FLAGS -1: ask the descriptor.
 */
struct file *files_open(int fd, int dir, const char *path, int flags);

/* Reports to the sink a path that could not be opened; its FILE id, 0 where it was not kept. */
uint32_t files_failed(const char *path, int flags);

/* FILE id of a path that a call names, 0 where it cannot be kept. */
uint32_t files_named(const char *path);

/* A number for the file at PATH, which need not be open; 0: none is there. */
uint32_t files_at(const char *path);

/*
 * The status flags of FD are now FLAGS (fcntl), also for all that share them: the trace gets
 * the others when they are next used.
 */
void files_set_flags(int fd, int flags);
void files_record_flags(struct file *file, int fd);

/* Has the trace still to be given other flags of FILE? */
static inline bool files_flags_changed(const struct file *file)
{
	return file->open_flags != atomic_load_explicit(&file->owner->status, memory_order_relaxed);
}

static inline bool files_appends(const struct file *file)
{
	return atomic_load_explicit(&file->owner->status, memory_order_relaxed) & O_APPEND;
}

/* Enters NEW_FD as sharing the position of OLD_FD. NULL: left out. */
struct file *files_dup(int old_fd, int new_fd);

/* Enters FD as not to be recorded. */
void files_leave_out(int fd);

/* Takes FD out of the table, before it is closed: afterwards the number may be another thread's. */
struct file *files_detach(int fd);

/* Lets go of what files_detach gave. */
void files_put(struct file *file);

/* Forgets everything (child of a fork), and makes every position be read again (its parent). */
void files_forget(void);
void files_reread_positions(void);

/* Reports FILE to the sink once more. FD: it is open there; -1: its path is not known. */
void files_record_again(const struct file *file, int fd);

int64_t files_position_slow(struct file *owner, int fd);

/* Where BYTES just appended through FD were put; the position is behind them. */
int64_t files_appended(struct file *file, int fd, int64_t bytes);

/* Highest descriptor ever entered. */
int files_highest(void);

/* Where the next transfer starts; ETA_OFFSET_UNKNOWN. */
static inline int64_t files_position(struct file *file, int fd)
{
	struct file *owner = file->owner;
	int64_t position = atomic_load_explicit(&owner->position, memory_order_relaxed);

	if (__builtin_expect(atomic_load_explicit(&owner->epoch, memory_order_relaxed) !=
				     atomic_load_explicit(&files_epoch, memory_order_relaxed),
			     0))
		position = files_position_slow(owner, fd);
	return position < 0 ? ETA_OFFSET_UNKNOWN : position;
}

/* Moves the position by a finished transfer; gives where that transfer started. */
static inline int64_t files_advance(struct file *file, int64_t bytes)
{
	return atomic_fetch_add_explicit(&file->owner->position, bytes, memory_order_relaxed);
}

/* The position is now AT, as the kernel reported. */
static inline void files_moved(struct file *file, int64_t at)
{
	struct file *owner = file->owner;

	if (atomic_load_explicit(&owner->position, memory_order_relaxed) == POSITION_UNKNOWN)
		return;
	atomic_store_explicit(&owner->position, at, memory_order_relaxed);
	atomic_store_explicit(&owner->epoch,
			      atomic_load_explicit(&files_epoch, memory_order_relaxed),
			      memory_order_relaxed);
}

/* The position moved in a way that is not followed (a stream's buffer): read it when needed. */
static inline void files_reread_position(struct file *file)
{
	struct file *owner = file->owner;
	uint32_t epoch = atomic_load_explicit(&files_epoch, memory_order_relaxed);

	if (atomic_load_explicit(&owner->epoch, memory_order_relaxed) == epoch)
		atomic_store_explicit(&owner->epoch, epoch - 1, memory_order_relaxed);
}

#endif
