/* While the kernel is traced: waits for its end, and answers sci-kernel status and the like. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WATCH_H
#define SCI_WATCH_H

#include <sys/types.h>

#include "plugins/kernelio/kernelio.h"

struct watch {
	struct kernelio *kernelio;
	const char *directory; /* the spool, where the control socket is, for messages */
	int folder;	       /* a descriptor of it */
	pid_t pid;	       /* a child whose end is the end; 0: none */
	const int *pidfds;     /* of other processes: the end of the last one is the end */
	size_t n_pidfds;
	unsigned duration_ms; /* 0: no limit */
	int ended_by;	      /* a descriptor: a byte from it is the end; -1: none */
	bool signals;	      /* SIGINT, SIGTERM and SIGHUP are the end */
	int also;	      /* with SERVE: another descriptor to wait for, which SERVE looks at */
	bool (*serve)(void *arg); /* true is the end; NULL: none */
	void *serve_arg;
};

enum watch_end { WATCH_PROCESS, WATCH_DURATION, WATCH_STOPPED, WATCH_SIGNAL };

/*
 * Before the first thread is made, where `signals` will be set: they are to come to watch_run and
 * nowhere else.
 */
void watch_block_signals(void);

/* After watch_run: the signal that ended it does nothing more, later ones come again. */
void watch_unblock_signals(void);

/*
 * Opens the socket "control" in the folder and waits for the end, whatever comes first. 0 and what
 * it was in END, or -errno, which has been reported. Where the socket cannot be made (a warning),
 * the rest works.
 */
int watch_run(const struct watch *watch, enum watch_end *end);

/*
 * Sends VERB (status, stop, pause, resume) to the tracer that writes below DIRECTORY (the folder
 * given to --output, or the spool itself) and prints its answer to stdout. 0 or -errno, reported.
 */
int watch_send(const char *directory, const char *verb);

/*
 * The verb of watch_send that TEXT is, or may be meant to be: its beginning, or with one letter
 * missing, too many, wrong or changed with the next, in small or large letters. NULL: none.
 */
const char *watch_verb_like(const char *text);

/* What a kernel spool may hold, for folder_remove. */
#define KERNEL_SPOOL_FILES                                                                         \
	"cpu.*", "meta", KERNELIO_SNAPSHOT, KERNELIO_DEFINITIONS_NEW, "control", "control.new"

#define WATCH_SNAPSHOT "snapshot"
/*
 * Has the tracer of DIRECTORY, if one runs, put into its spool what a copy of that needs
 * (kernelio_snapshot). 0 or -errno, reported.
 */
int watch_snapshot(const char *directory);

#endif
