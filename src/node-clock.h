/* How far the clocks of the nodes of a job are apart, measured by messages between them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_NODE_CLOCK_H
#define SCI_NODE_CLOCK_H

struct node_clock;

/*
 * Begins to measure, in a thread of its own: the node of JOB that comes first to FOLDER, which all
 * share, answers the others. No node waits for another one: where none answers nothing is known.
 * NULL: it cannot be measured, which is no failure.
 */
struct node_clock *node_clock_start(const char *folder, const char *job);

/*
 * Measures once more, and ends. What is known of the clock, as ARCHIVE_READINGS has it; the caller
 * frees it. NULL: nothing.
 */
char *node_clock_end(struct node_clock *clock);

#endif
