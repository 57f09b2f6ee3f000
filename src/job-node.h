/* The process that records for all ranks of a job on one node, and what they say to each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JOB_NODE_H
#define SCI_JOB_NODE_H

#include <stdint.h>
#include <sys/types.h>

#include "job.h"

/*
 * A rank connects (a packet is a message): hello; the node answers; the rank, whose program is
 * stopped before its first instruction: started; the node, which traces it now: answers again; the
 * rank, once the program has ended: ended. When all ranks have come and gone the node merges, sends
 * the rank with the smallest number what is to be printed, and to all: over. Whoever closes the
 * connection without a word has been killed.
 */
enum job_word { JOB_HELLO = 1, JOB_STARTED, JOB_ENDED, JOB_ANSWER, JOB_TEXT, JOB_OVER };

/* Of a rank. */
struct job_message {
	uint32_t word;
	uint32_t rank;
	int32_t pid;	/* of the program: JOB_STARTED */
	uint32_t loads; /* the tracer is loaded into the program: JOB_ENDED */
};

enum { JOB_TEXT_BYTES = 4096 };

/* Of the node. */
struct job_answer {
	uint32_t word;
	int32_t rc; /* JOB_ANSWER: -errno, nothing can be recorded; JOB_OVER: the exit status */
	uint32_t user, kernel; /* levels in use */
	union {
		struct user_side side;
		char text[JOB_TEXT_BYTES]; /* JOB_TEXT: what is to be printed, with a zero */
	};
};

/*
 * Becomes the node's process, in a session of its own: accepts ranks at LISTENER until the last has
 * gone. What it prints is kept for a rank. Does not return.
 */
void job_node_run(const struct job *job, const struct record_options *options, const char *folder,
		  int listener) __attribute__((noreturn));

#endif
