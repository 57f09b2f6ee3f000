/* A program that a launcher (mpirun, srun, mpiexec) starts many times: its ranks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JOB_H
#define SCI_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "recording.h"

enum { JOB_NAME_BYTES = 65 };

/* What the launcher says of this process. */
struct job {
	unsigned rank, size;
	unsigned local_size;	   /* ranks on this node, 0: not known */
	char id[JOB_NAME_BYTES];   /* of the job, the same for all ranks on a node */
	char node[JOB_NAME_BYTES]; /* the host's name, as that of a folder */
	bool is_node;		   /* the folder given is that of this node alone */
};

/*
 * Whether a launcher has started this process, as a rank of a job. What a batch system alone says
 * of its script is none.
 */
bool job_find(struct job *job);

/* The folder of a job that was given none: PROGRAM_sci_JOB, the caller's. NULL: no memory. */
char *job_folder(const struct job *job, const char *program);

/*
 * Records the program of this rank into FOLDER/NODE, together with the other ranks on this node:
 * they share one kernel tracer and one archive, both made by a process of their own, which the
 * first of them starts. Gives the exit status of the command.
 */
int job_record(const struct job *job, const struct record_options *options, const char *folder);

#endif
