/* How programs and shells are given the tracer's library. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"

/* ld.so(8): the list is split at these, and $ORIGIN, $LIB and $PLATFORM are replaced. */
#define NOT_IN_LIST " :$"

static int link_folder(const struct recording_folder *recording, const char *dir)
{
	char *real = realpath(dir, NULL);
	int rc = real ? 0 : -errno;

	if (rc == 0 && symlinkat(real, recording->folder.fd, TRACER_LINK) < 0)
		rc = -errno;
	/* of the recording before, which was replaced */
	if (rc == -EEXIST)
		rc = unlinkat(recording->folder.fd, TRACER_LINK, 0) < 0 ||
				     symlinkat(real, recording->folder.fd, TRACER_LINK) < 0
			     ? -errno
			     : 0;
	free(real);
	return rc;
}

int preload_path(const struct recording_folder *recording, const char *dir, const char *file,
		 char **path)
{
	int rc;

	*path = NULL;
	if (!strpbrk(dir, NOT_IN_LIST))
		return asprintf(path, "%s/%s", dir, file) < 0 ? -ENOMEM : 0;
	if (strpbrk(recording->path, NOT_IN_LIST)) {
		eta_warn("user level missing: %s/%s: LD_PRELOAD cannot hold a path with a blank, a "
			 "colon or a '$', and that of the recording has one, too (-o names another "
			 "folder for it)",
			 dir, file);
		return -EINVAL;
	}
	rc = link_folder(recording, dir);
	if (rc) {
		eta_warn("user level missing: %s/" TRACER_LINK ": cannot be made: %s",
			 recording->path, strerror(-rc));
		return rc;
	}
	return asprintf(path, "%s/" TRACER_LINK "/%s", recording->path, file) < 0 ? -ENOMEM : 0;
}

void preload_put_word(FILE *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "/._-+,:@%";

	if (*text && text[strspn(text, plain)] == '\0') {
		fputs(text, out);
		return;
	}
	/* POSIX: within apostrophes all is as it is, but an apostrophe */
	fputc('\'', out);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	fputc('\'', out);
}

int preload_print_env(const char *dir)
{
	if (strpbrk(dir, NOT_IN_LIST)) {
		eta_error("%s: EZTrace puts this folder into LD_PRELOAD, which cannot hold a "
			  "blank, a colon or a '$': make a link to it (ln -s) whose name has none, "
			  "and set SCI_PLUGIN_DIR to that",
			  dir);
		return -EINVAL;
	}
	printf("export EZTRACE_LIBRARY_PATH=");
	preload_put_word(stdout, dir);
	putchar('\n');
	if (fflush(stdout) == 0)
		return 0;
	eta_error("standard output: cannot write: %s", strerror(errno));
	return -EIO;
}
