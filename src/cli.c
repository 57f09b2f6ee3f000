/* What every command does alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

bool cli_is_complete(const struct eta_counts *counts)
{
	return !(counts->bad || counts->lost || counts->orphan || counts->truncated ||
		 counts->overlapping || counts->out_of_order || counts->missing);
}

void cli_allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct input_file {
	dev_t dev;
	ino_t ino;
	const char *path;
};

static int by_file(const void *a, const void *b)
{
	const struct input_file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

int cli_check_inputs(char *const *inputs, size_t n)
{
	struct input_file *files = calloc(n + 1, sizeof(*files));
	size_t there = 0;
	struct stat st;
	int rc = 0;

	if (!files) {
		eta_error("not enough memory for %zu inputs", n);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (stat(inputs[i], &st) == 0) /* else eta_open says it */
			files[there++] = (struct input_file){ st.st_dev, st.st_ino, inputs[i] };
	qsort(files, there, sizeof(*files), by_file);
	for (size_t i = 1; i < there && rc == 0; i++)
		if (by_file(&files[i - 1], &files[i]) == 0) {
			eta_error("%s: is given twice", files[i].path);
			rc = -EINVAL;
		}
	free(files);
	return rc;
}
