/* The first screen of the analysis of what sci-record has just merged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORD_ANSWER_H
#define SCI_RECORD_ANSWER_H

/*
 * Prints the answer of sci-analyze for ARCHIVE to stderr, from a process of its own: whatever
 * becomes of it, the recording is there, and so is its caller. A failure is reported.
 */
void record_answer(const char *archive);

#endif
