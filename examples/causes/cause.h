/* What the examples of causes share: their options, threads that start together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CAUSE_H
#define CAUSE_H

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* A thread of the example; made and freed by cause_run. */
struct cause_thread {
	const struct cause *cause;
	unsigned index;
	char *block; /* of cause->bytes, page aligned, filled */
};

/* An example: what it does, its defaults (options replace them), its threads' function. */
struct cause {
	const char *name, *what;
	const char *path;
	unsigned threads, operations;
	size_t bytes;
	/* bytes of each file the threads read, made by a run with -p; 0: they make their own */
	off_t prepared_bytes;
	int shares_file; /* all threads read PATH itself, not PATH.INDEX */
	/* before the threads start, after they have ended; NULL: nothing to do */
	void (*begin)(struct cause *cause);
	void (*end)(struct cause *cause);
	void (*thread)(struct cause_thread *t);
};

/*
 * Reads the options (-t THREADS, -n OPERATIONS, -s BYTES, -p, PATH), runs the threads, which leave
 * a barrier together, and waits for them. Files to be read are made by a run of its own (-p), so
 * that making them is no part of the trace; they are dropped from the page cache at each start.
 * Ends the process with a message where anything fails; the examples have nothing to save.
 * Returns the exit status.
 */
int cause_run(struct cause *cause, int argc, char **argv);

/* open with a message and an end where it fails. */
int cause_open(const char *path, int flags);

/* PATH.INDEX: the file of one thread; the caller frees it. */
char *cause_own_path(const struct cause *cause, unsigned index);

/* write and pread of exactly BYTES, else a message and the end. */
void cause_write(int fd, const char *block, size_t bytes, const char *path);
void cause_pwrite(int fd, const char *block, size_t bytes, off_t at, const char *path);
void cause_pread(int fd, char *block, size_t bytes, off_t at, const char *path);

#endif
