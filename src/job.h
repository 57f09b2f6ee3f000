/* The job of a launcher that this process is a part of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JOB_H
#define SCI_JOB_H

/*
 * NAME with %h (this host), %r (the rank) and %j (the job, with its step where it has such) put in,
 * %% for %; the caller's. -EINVAL: the launcher has not told what is asked for; reported.
 */
int job_expand(const char *name, char **expanded);

/* The rank that a launcher has told, a decimal number; NULL: there is none. */
const char *job_rank(void);

#endif
