/* Where the calls of processes that are not in EZTrace's archive go. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_CHILDREN_H
#define POSIXIO_EZTRACE_CHILDREN_H

#include <stdbool.h>

/* The archive is opened in the folder DIR: makes the spool of children in it. */
void children_start(const char *dir);

/* Children and exec'ed programs go on there, once EZTrace and our module have started. */
void children_environment(void);

/* Is there such a spool? */
bool children_traced(void);

/* The archive is about to be closed: says where the children's calls are. */
void children_report(void);

#endif
