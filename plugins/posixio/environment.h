/* Reading the environment. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_ENVIRONMENT_H
#define POSIXIO_ENVIRONMENT_H

#include <string.h>
#include <unistd.h>

/*
 * Like getenv, but does not call it: a program may have its own (bash), which looks into its own
 * tables, or is not ready yet.
 */
static inline const char *environment_get(const char *name)
{
	const size_t n = strlen(name);

	for (char **at = environ; at && *at; at++)
		if (strncmp(*at, name, n) == 0 && (*at)[n] == '=')
			return *at + n + 1;
	return NULL;
}

#endif
