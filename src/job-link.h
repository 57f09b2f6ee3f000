/* The archives of the nodes of a job made one, by the node that is ready last. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JOB_LINK_H
#define SCI_JOB_LINK_H

#include "job.h"

/*
 * Links the archives of all nodes as FOLDER/unified.otf2, if all ranks are in them: who comes
 * before the last node does nothing. Nothing either where another job has left its recordings, too,
 * or where nodes are parts of one machine, whose threads and disks both have. Where no other node
 * is there, the one with rank 0 says how to bring them together.
 */
void job_link(const struct job *job, const struct record_options *options, const char *folder);

/* Removes what that made of an earlier job, whose recordings are going to be replaced. */
void job_unlink(const char *folder);

#endif
