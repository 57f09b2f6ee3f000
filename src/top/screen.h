/* sci-top on a terminal: what is drawn, and what keys do. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_SCREEN_H
#define SCI_TOP_SCREEN_H

#include "output.h"

/* 0 or -errno, reported: it is no terminal that can be drawn on. */
int screen_begin(void);
void screen_end(void);

/* Draws the frame as it is looked at; NULL: nothing has been seen yet. */
void screen_draw(const struct frame *f, struct top_look *look);

/* Until END_NS of CLOCK_MONOTONIC: does what keys say, draws again. True: the user quits. */
bool screen_wait(const struct frame *f, struct top_look *look, uint64_t end_ns);

/* Has the user asked that what is seen stays? */
bool screen_frozen(void);

#endif
