/* A child reads a CTF trace before we do: babeltrace2 aborts or hangs at damaged ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CTF_PRECHECK_H
#define ETA_CTF_PRECHECK_H

#include <stdbool.h>
#include <stdint.h>

struct precheck;

/*
 * Starts a child that runs READ with ARG; there READ calls precheck_step for each step that it has
 * made. NULL: there is no child (no memory, no more processes; errno says).
 */
struct precheck *precheck_start(void (*read)(struct precheck *precheck, void *arg), void *arg);

/* In the child: another step is made. Without one for 30 s it is ended. */
void precheck_step(struct precheck *precheck);

/* Waits until the child has made more than DONE steps; false: it ended in the step behind those. */
bool precheck_may_go_on(struct precheck *precheck, uint64_t done);

/* What ended the child, as a text: a signal's name; NULL: nothing did, as far as that is known. */
const char *precheck_failure(const struct precheck *precheck);

/* Ends the child where it is still at work. */
void precheck_end(struct precheck *precheck);

#endif
