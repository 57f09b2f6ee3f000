/* The name of the folder to record into, with what a launcher tells put in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FOLDER_NAME_H
#define SCI_FOLDER_NAME_H

/*
 * NAME with %h (this host), %r (the rank) and %j (the job, with its step where it has such) put in,
 * %% for %; the caller's. -EINVAL: the launcher has not told what is asked for; reported.
 */
int folder_name_expand(const char *name, char **expanded);

/* The rank that a launcher has told, a decimal number; NULL: there is none. */
const char *folder_name_rank(void);

#endif
