/* How programs and shells are given the tracer's library, wherever it is installed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PRELOAD_H
#define SCI_PRELOAD_H

#include <stdio.h>

#include "recording-folder.h"

/*
 * The path of FILE in DIR, the folder of the plugins, as LD_PRELOAD can hold it: that is a list, in
 * which the dynamic linker takes blanks and colons for ends of paths and '$' for names of its own,
 * and no sign changes that. Where DIR has any, the path goes through a link in the recording's
 * folder, which stays there: programs that outlive the recording load by it what they exec. -errno,
 * reported as a warning; *PATH is the caller's to free.
 */
int preload_path(const struct recording_folder *recording, const char *dir, const char *file,
		 char **path);

/* Prints for a shell what lets eztrace find the plugins in DIR. 0 or -errno, reported. */
int preload_print_env(const char *dir);

/* TEXT as a word of a shell, whatever is in it; where it needs no quotes, as it is. */
void preload_put_word(FILE *out, const char *text);

#endif
