/* Who the program runs as, which rights the tracer keeps, and whom it may trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PRIVILEGES_H
#define SCI_PRIVILEGES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The user that the program and the files of the trace belong to: with `changes` unset whoever runs
 * us, else who called sudo, or who was named.
 */
struct identity {
	bool changes;
	uid_t uid;
	gid_t gid;
	char name[256];
	char home[PATH_MAX];
};

/*
 * RUN_AS: a user's name or number, NULL: who called sudo, if anybody did. 0 or -errno, reported.
 */
int identity_choose(struct identity *identity, const char *run_as);

/* From here on this process makes and opens files as that user. 0 or -errno, reported. */
int identity_files(const struct identity *identity);

/*
 * This process becomes that user for good, HOME, USER and LOGNAME included: for the program, before
 * it is executed. 0 or -errno, not reported.
 */
int identity_take(const struct identity *identity);

/*
 * For the tracer, once the probes are loaded and the program was forked: becomes that user, keeps
 * the rights to use the probes (and, as root, to write files), and can get no others. Before it has
 * threads. 0 or -errno, reported.
 */
int privileges_drop(const struct identity *identity);

/* What the caller of this program may see, without the rights of its file. */
struct authority {
	bool everyone;	  /* every task of the machine */
	bool any_process; /* of any user */
	uint64_t rights;  /* bit CAP_*: a process that has others as well is out of reach */
};
int authority_get(struct authority *authority);

/* Whether the caller may look into process PID, as the kernel judges (ptrace(2)). 0 or -errno. */
int authority_over(pid_t pid);

#endif
