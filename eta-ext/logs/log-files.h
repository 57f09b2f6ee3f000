/* Files that are open while a log is read: descriptors, positions, sizes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_FILES_H
#define ETA_LOG_FILES_H

#include "log.h"

/* One opening of a file, which several descriptors share. */
struct log_open_file {
	uint32_t users;
	uint32_t handle, file;
	uint32_t flags;
	int64_t at; /* file position, ETA_OFFSET_NONE: unknown */
};

/*
 * Descriptor tables belong to tasks. log_fd_set makes FD of TASK a new opening of PATH and gives
 * it; log_fd_get gives NULL where FD is not known.
 */
struct log_open_file *log_fd_set(struct log *log, uint32_t task, int fd, const char *path,
				 uint32_t flags, int64_t at);
/* The same for a file that is defined. */
struct log_open_file *log_fd_set_file(struct log *log, uint32_t task, int fd, uint32_t file,
				      uint32_t flags, int64_t at);
/* The same for an open with FLAGS, which may leave the file empty. */
struct log_open_file *log_fd_open(struct log *log, uint32_t task, int fd, const char *path,
				  uint32_t flags);
struct log_open_file *log_fd_get(struct log *log, uint32_t task, int fd);
void log_fd_close(struct log *log, uint32_t task, int fd);
int log_fd_dup(struct log *log, uint32_t task, int from, int to);
/* CHILD begins with PARENT's descriptors: the same table, or a copy. */
int log_fd_fork(struct log *log, uint32_t parent, uint32_t child, bool shared);
void log_fd_exit(struct log *log, uint32_t task);
/* A file's size, as far as the log has it. */
int log_file_set_size(struct log *log, uint32_t file, int64_t bytes);
/*
 * Where a transfer through OPEN began, ETA_OFFSET_NONE where it is not known; the position moves by
 * what was TRANSFERRED, not below 0. WANTED: an offset given in the call itself, ETA_OFFSET_NONE.
 */
int64_t log_file_transfer(struct log *log, struct log_open_file *open, bool write, int64_t wanted,
			  int64_t transferred);
void log_files_free(struct log *log);

#endif
