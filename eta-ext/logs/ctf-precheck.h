/* A child reads a CTF trace ahead of us: babeltrace2 ends, or hangs, the program at damaged ones.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CTF_REHEARSAL_H
#define ETA_CTF_REHEARSAL_H

#include <stdbool.h>
#include <stdint.h>

struct rehearsal;

/*
 * Starts a child that runs READ with ARG; there READ calls rehearsal_step for each step that it has
 * made. NULL: there is no child (no memory, no more processes), and rehearsal_may_go_on says yes to
 * all.
 */
struct rehearsal *rehearsal_start(void (*read)(struct rehearsal *rehearsal, void *arg), void *arg);

/* In the child: another step is made. Without one for 30 s it is ended. */
void rehearsal_step(struct rehearsal *rehearsal);

/* Waits until the child has made more than DONE steps; false: it ended in the step behind those. */
bool rehearsal_may_go_on(struct rehearsal *rehearsal, uint64_t done);

/* What ended the child, as a text: a signal's name; NULL: nothing did, as far as that is known. */
const char *rehearsal_failure(const struct rehearsal *rehearsal);

/* Ends the child where it is still at work. */
void rehearsal_end(struct rehearsal *rehearsal);

#endif
