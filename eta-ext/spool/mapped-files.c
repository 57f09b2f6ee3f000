/*
 * The files that programs and libraries are: the kernel's side reports faults on their pages by
 * inode alone, the user's side has their paths alone.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "eta-ext/base/known.h"
#include "spool.h"

/* Is it of this machine, since it was started? Then its files are those that are there. */
static bool is_here(const struct spool *spool)
{
	char boot[sizeof(spool->boot)] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f && !fgets(boot, sizeof(boot), f))
		boot[0] = '\0';
	if (f)
		fclose(f);
	boot[strcspn(boot, "\n")] = '\0';
	return *boot && strcmp(boot, spool->boot) == 0;
}

static int define(struct eta_trace *trace, const char *path)
{
	char real[PATH_MAX];
	struct stat status;

	/* libraries are loaded by their links */
	if (path[0] != '/' || !realpath(path, real) || stat(real, &status) < 0 ||
	    !S_ISREG(status.st_mode))
		return 0;
	return spool_named_file(trace, real, major(status.st_dev) << 20 | minor(status.st_dev),
				status.st_ino);
}

int spool_mapped_files(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	struct known *done = NULL;
	int rc = 0;

	if (!is_here(spool))
		return 0;
	for (uint32_t i = 0; i < trace->defs.n_modules && !rc; i++) {
		const char *path = trace->defs.modules[i].path;

		/* equal texts are one: each process has the same libraries */
		if (known_find(done, &path, sizeof(path)) != ETA_NONE)
			continue;
		rc = known_add(&done, &path, sizeof(path), i);
		if (!rc)
			rc = define(trace, path);
	}
	known_free(&done);
	return rc;
}
