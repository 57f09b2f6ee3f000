/* The job of a launcher that this process is a part of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/launcher.h"

static const char *get(const char *name)
{
	return getenv(name);
}

/* TEXT as a name in a folder. */
static void put_name(char name[JOB_NAME_BYTES], const char *text)
{
	snprintf(name, JOB_NAME_BYTES, "%s", *text ? text : "node");
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	if (*name == '.')
		*name = '_';
}

/* Whether the environment of process PID has VARIABLE; false, too, where it cannot be read. */
static bool has_variable(pid_t pid, const char *variable)
{
	char path[64], *line = NULL;
	size_t size = 0, n = strlen(variable);
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getdelim(&line, &size, '\0', file) > 0)
		found = strncmp(line, variable, n) == 0 && line[n] == '=';
	free(line);
	fclose(file);
	return found;
}

/* The parent of PID and when PID has started, in ticks; false: it is gone. */
static bool get_parent(pid_t pid, pid_t *parent, unsigned long long *started)
{
	char path[64], line[1024], *behind;
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* PID (COMM) STATE PPID ... the 22nd is the start; a name may hold brackets itself */
	found = fgets(line, sizeof(line), file) && (behind = strrchr(line, ')')) &&
		sscanf(behind + 1,
		       " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
		       " %llu",
		       parent, started) == 2;
	fclose(file);
	return found;
}

/* The launcher's own process on this node: the nearest one above that is no rank. */
static void name_by_process(char id[JOB_NAME_BYTES], const char *variable)
{
	unsigned long long started = 0, ignored;
	pid_t pid = getpid(), parent;

	do {
		if (!get_parent(pid, &parent, &ignored))
			break;
		pid = parent;
	} while (pid > 1 && has_variable(pid, variable));
	get_parent(pid, &parent, &started);
	snprintf(id, JOB_NAME_BYTES, "%d-%llu", (int)pid, started);
}

static void name_job(struct job *job, const struct launcher *launcher)
{
	char text[JOB_NAME_BYTES];

	if (!launcher->job || !*launcher->job) {
		name_by_process(job->id, launcher->rank_variable);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", launcher->job, launcher->step ? "." : "",
		 launcher->step ? launcher->step : "");
	put_name(job->id, text);
}

bool job_find(struct job *job)
{
	const struct launcher launcher = launcher_find(get);
	struct utsname host;

	*job = (struct job){ 0 };
	if (!launcher.rank && launcher.odd)
		eta_warn("%s=%s is no number: not taken for a rank of a job, and recorded alone",
			 launcher.odd_variable, launcher.odd);
	/* of SLURM's only what srun starts has the number of tasks */
	if (!launcher.rank || !launcher.ranks)
		return false;
	job->rank = (unsigned)strtoul(launcher.rank, NULL, 10);
	job->size = (unsigned)strtoul(launcher.ranks, NULL, 10);
	if (job->rank >= job->size) {
		eta_warn("%s=%s of %s ranks: not taken for a rank of a job, and recorded alone",
			 launcher.rank_variable, launcher.rank, launcher.ranks);
		return false;
	}
	if (launcher_is_number(launcher.local))
		job->local_size = (unsigned)strtoul(launcher.local, NULL, 10);
	put_name(job->node, uname(&host) == 0 ? host.nodename : "");
	name_job(job, &launcher);
	return true;
}

char *job_folder(const struct job *job, const char *program)
{
	const char *slash = strrchr(program, '/');
	char *folder;

	return asprintf(&folder, "%.150s_sci_%s", slash ? slash + 1 : program, job->id) < 0
		       ? NULL
		       : folder;
}
