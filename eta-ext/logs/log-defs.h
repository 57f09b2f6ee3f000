/* Definitions that logs make as they are read: regions, threads, files, devices. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_DEFS_H
#define ETA_LOG_DEFS_H

#include "log.h"

/* An index remembered under KIND and a key of N bytes; ETA_NONE: none. */
uint32_t log_known(struct log *log, char kind, const void *key, size_t n);
bool log_remember(struct log *log, char kind, const void *key, size_t n, uint32_t index);

uint32_t log_region(struct log *log, const char *name);
/* The same with a level that the name does not say. */
uint32_t log_region_at(struct log *log, const char *name, enum eta_level level);
/* PID 0: unknown; the location of thread TID then belongs to a process called COMM. */
uint32_t log_thread(struct log *log, uint32_t pid, uint32_t tid, const char *comm);
/* A location that has a name instead of numbers (a rank, a container). */
uint32_t log_named_thread(struct log *log, const char *process, const char *host, const char *name);
/* NAME, which log_known gives the index of (into log->names) under KIND and ALIAS. */
int log_alias(struct log *log, char kind, const char *alias, const char *name);
/* Thread LOCATION turns out to be one of process PID. */
int log_move(struct log *log, uint32_t location, uint32_t pid);
/* What thread TID is called, for logs that say it apart from its records. */
int log_name(struct log *log, uint32_t tid, const char *comm);
/* What was taken for thread FROM (and its process) has the number TO. */
int log_renumber(struct log *log, uint32_t from, uint32_t to);
/* By path, or where it is NULL by inode. */
uint32_t log_file(struct log *log, const char *path, uint64_t inode);
uint32_t log_handle(struct log *log, uint32_t file, uint32_t open_flags);
/* A block device: DEV is major << 20 | minor; 0: the log does not say, it is identified by its
 * name. */
struct log_device {
	uint32_t location, handle;
};
int log_device(struct log *log, uint32_t dev, const char *name, struct log_device *out);

void log_defs_free(struct log *log);

#endif
