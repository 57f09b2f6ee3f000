/* Cause: threads create, rename and remove names in one directory, which is locked for each. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <errno.h>
#include <sys/stat.h>

static void worker(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *from, *to;

	if (asprintf(&from, "%s/%d.%u", c->path, (int)getpid(), t->index) < 0 ||
	    asprintf(&to, "%s.new", from) < 0)
		err(1, "%s", c->path);
	for (unsigned i = 0; i < c->operations; i++) {
		close(cause_open(from, O_WRONLY | O_CREAT | O_TRUNC));
		if (rename(from, to) || unlink(to))
			err(1, "%s", from);
	}
	free(from);
	free(to);
}

static void make_directory(struct cause *c)
{
	if (mkdir(c->path, 0755) && errno != EEXIST)
		err(1, "%s", c->path);
}

int main(int argc, char **argv)
{
	struct cause names = {
		.name = "names",
		.what = "Each thread creates, renames and removes files in the directory PATH.",
		.threads = 4,
		.operations = 2000,
		.bytes = 1,
		.begin = make_directory,
		.thread = worker,
	};

	return cause_run(&names, argc, argv);
}
