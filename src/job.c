/* The job of a launcher that this process is a part of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/launcher.h"

static const char *get(const char *name)
{
	return getenv(name);
}

const char *job_rank(void)
{
	return launcher_find(get).rank;
}

/* A part of a path, however the job is called. */
static void put_part(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == '/' ? '_' : *text, to);
}

/* What %LETTER stands for. false: nobody has told. */
static bool put(FILE *to, char letter, const struct launcher *launcher)
{
	struct utsname host;

	switch (letter) {
	case 'h':
		if (uname(&host) != 0 || !*host.nodename)
			return false;
		put_part(to, host.nodename);
		return true;
	case 'r':
		if (launcher->rank)
			put_part(to, launcher->rank);
		return launcher->rank;
	default:
		if (launcher->job)
			put_part(to, launcher->job);
		if (launcher->job && launcher->step) {
			fputc('.', to);
			put_part(to, launcher->step);
		}
		return launcher->job;
	}
}

int job_expand(const char *name, char **expanded)
{
	const struct launcher launcher = launcher_find(get);
	size_t bytes;
	FILE *to;
	int rc = 0;

	*expanded = NULL;
	to = open_memstream(expanded, &bytes);
	for (const char *at = name; to && rc == 0 && *at; at++) {
		if (*at != '%' || !at[1] || !strchr("hrj%", at[1])) {
			fputc(*at, to);
			continue;
		}
		at++;
		if (*at == '%') {
			fputc('%', to);
		} else if (!put(to, *at, &launcher)) {
			eta_error("-o %s: no launcher has told what %%%c is (mpirun, mpiexec and "
				  "srun do)",
				  name, *at);
			rc = -EINVAL;
		}
	}
	if (!to || fclose(to) != 0) {
		eta_error("not enough memory for the name of the folder");
		rc = -ENOMEM;
	}
	if (rc) {
		free(*expanded);
		*expanded = NULL;
	}
	return rc;
}
