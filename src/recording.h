/* One recording: its folder, both tracers, and what is made of their files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORDING_H
#define SCI_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "eta-ext/format/spool-reach.h"
#include "kernel-options.h"
#include "plugins/kernelio/kernelio.h"
#include "privileges.h"
#include "processes.h"
#include "recording-folder.h"

struct record_options {
	const char *dir; /* NULL: a new folder named after the program */
	char *const *argv;
	bool no_user, no_kernel;
	bool force, keep, quiet, verbose, strict;
	bool no_runs; /* in the archive */
	bool env, check;
	struct processes processes; /* that run already, in place of a program */
	unsigned callstack;	    /* frames, 0: none */
	bool all_fds, chars, metadata;
	const char *run_as;
	mode_t mode; /* of the files that stay */
	struct kernel_options kernel;
};

struct recording {
	const struct record_options *options;
	const char *name; /* of the program, for messages */
	struct recording_folder folder;
	bool user, kernel;    /* levels in use */
	bool no_answer;	      /* the analysis is not printed at the end */
	const char *readings; /* of its clock beside other nodes' (ARCHIVE_READINGS), NULL: none */
	const char *shown;    /* as the caller knows the folder, NULL: by its path */
	struct kernelio *kernelio;
	struct spool_server *server; /* for processes that cannot reach the user's spool */
	struct spool_budget *budget; /* of both tracers; NULL: they may take what they need */
	uint64_t kernel_refused;     /* how many records of the kernel's side it was short of */
	struct identity identity;
};

/* What a program has to know so that its library calls are recorded. */
struct user_side {
	uint64_t dev, ino; /* of the spool */
	char spool[PATH_MAX], preload[PATH_MAX];
	char reach[SPOOL_REACH_VARIABLE_BYTES]; /* "": none, see spool-reach.h */
};

/* The folder of the plugins: beside a build that is tested, else where they are installed. */
const char *recording_plugin_dir(void);

/* Makes the spool of the library calls, and its server. 0 or -errno, reported as a warning. */
int recording_user(struct recording *r, struct user_side *side);

/* The last one is NULL. */
enum { RECORDING_VARIABLES = 7 };
/*
 * The variables for a program whose library calls go to SIDE; the strings are the caller's. 0 or
 * -errno, reported.
 */
int recording_environment(const struct record_options *options, const struct user_side *side,
			  char *env[RECORDING_VARIABLES]);

/*
 * Limits the recording's size as the options say: before the program's process is made, and before
 * the kernel's side starts. 0 or -errno, reported.
 */
int recording_budget(struct recording *r);

/* What the kernel's side of R is to do. 0 or -errno, reported. */
int recording_kernel_options(const struct recording *r, struct kernelio_options *options);

/*
 * Starts the kernel's side; without it the recording goes on. In between the rights that only
 * loading takes are dropped, which must not fail: -errno.
 */
int recording_kernel(struct recording *r);

/* From now on the kernel's side traces CHILD; it is given up where it cannot. */
void recording_kernel_attach(struct recording *r, pid_t child);
void recording_kernel_give_up(struct recording *r);

/*
 * Drains and closes the kernel's spool; if that fails, what the spool holds is still good. RAN: the
 * counts are printed.
 */
void recording_kernel_stop(struct recording *r, bool ran);

/* The programs have ended: looks at what their tracer left. LOADS: into one of them, at least. */
void recording_user_stop(struct recording *r, bool loads);

/*
 * Makes the archive from the tracers' files and prints the answer. Gives STATUS, the program's exit
 * status, or that of the command where it is another.
 */
int recording_finish(struct recording *r, int status);

#endif
