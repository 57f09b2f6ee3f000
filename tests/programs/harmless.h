/* What the programs of the tests harmless-*.py share: parts that are called by name, results as
 * text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_HARMLESS_H
#define TESTS_HARMLESS_H

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
	const char *name;
	void (*run)(void);
};

/* Prints what a call gave, and errno where it failed. */
static inline long reported(const char *what, long ret)
{
	if (ret < 0)
		printf("%s: %ld %s\n", what, ret, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, ret);
	fflush(stdout);
	return ret;
}
#define TELL(call) reported(#call, (long)(call))

static inline void must(int ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}
#define MUST(expression) must(!!(expression), #expression)

/* The parts that are named, or all of PARTS, which ends with one without a name. */
static inline int run_parts(const struct part *parts, char *const names[])
{
	int ran = 0;

	for (const struct part *p = parts; p->name; p++) {
		int wanted = !*names;

		for (char *const *n = names; *n; n++)
			wanted |= strcmp(*n, p->name) == 0;
		if (!wanted)
			continue;
		printf("-- %s\n", p->name);
		fflush(stdout);
		p->run();
		ran++;
	}
	return ran ? 0 : 2;
}

#endif
