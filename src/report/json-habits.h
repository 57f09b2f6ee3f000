/* Where the time of a trace went, and how it does its I/O, as json. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JSON_HABITS_H
#define SCI_JSON_HABITS_H

#include "json-set.h"

/*
 * "time" of ROOT: where the lifetime of the threads went that did the I/O. "premises": what was
 * seen of how they do it.
 */
void json_put_habits(struct json_object root, const struct analysis *a);

#endif
