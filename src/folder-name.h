/* The name of the folder to record into, with what a launcher gives put in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FOLDER_NAME_H
#define SCI_FOLDER_NAME_H

#include <stdbool.h>

/*
 * NAME with %h (this host), %r (the rank) and %j (the job, with its step where it has such) put in,
 * %% for %; the caller's. -EINVAL: the launcher does not say what is asked for; reported.
 */
int folder_name_expand(const char *name, char **expanded);

/* Whether NAME, before that, has %LETTER in it. */
bool folder_name_has(const char *name, char letter);

#endif
