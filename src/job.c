/* What launchers of parallel programs say of a rank, in its environment. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "job.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"

/*
 * X(launcher, rank, size, local size, job, step): variables, NULL: it has none. The first whose
 * rank is set counts: a launcher that another one starts inherits the other's variables. SLURM sets
 * those of a task in a batch script, too, but the step's only in what srun starts.
 */
#define LAUNCHERS(X)                                                                               \
	X("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",                              \
	  "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", NULL)                                    \
	X("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", NULL, NULL)                          \
	X("SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, "SLURM_JOB_ID", "SLURM_STEP_ID")

static const struct launcher {
	const char *name, *rank, *size, *local_size, *job, *step;
} launchers[] = {
#define X(name, rank, size, local, job, step) { name, rank, size, local, job, step },
	LAUNCHERS(X)
#undef X
};
#define N_LAUNCHERS (sizeof(launchers) / sizeof(*launchers))

/* A number in the environment; false: there is none. */
static bool get_number(const char *name, unsigned *number)
{
	const char *text = name ? getenv(name) : NULL;
	unsigned long value;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > INT_MAX)
		return false;
	*number = (unsigned)value;
	return true;
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
	const char *id = launcher->job ? getenv(launcher->job) : NULL;
	const char *step = launcher->step ? getenv(launcher->step) : NULL;
	char text[JOB_NAME_BYTES];

	if (!id || !*id) {
		name_by_process(job->id, launcher->rank);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", id, step ? "." : "", step ? step : "");
	put_name(job->id, text);
}

bool job_find(struct job *job)
{
	const struct launcher *launcher = NULL;
	struct utsname host;

	*job = (struct job){ 0 };
	for (size_t i = 0; !launcher && i < N_LAUNCHERS; i++)
		if (get_number(launchers[i].rank, &job->rank) &&
		    (!launchers[i].step || getenv(launchers[i].step)))
			launcher = &launchers[i];
	if (!launcher)
		return false;
	if (!get_number(launcher->size, &job->size) || job->rank >= job->size) {
		eta_warn("%s=%u, but %s=%s: not taken for a rank of a job, and recorded alone",
			 launcher->rank, job->rank, launcher->size,
			 getenv(launcher->size) ? getenv(launcher->size) : "");
		return false;
	}
	if (!get_number(launcher->local_size, &job->local_size))
		job->local_size = 0;
	job->launcher = launcher->name;
	put_name(job->node, uname(&host) == 0 ? host.nodename : "");
	name_job(job, launcher);
	return true;
}

char *job_folder(const struct job *job, const char *text, const char *program)
{
	const char *slash = strrchr(program, '/');
	char *folder = NULL;
	size_t size;
	FILE *out = open_memstream(&folder, &size);

	if (!out)
		return NULL;
	if (!text)
		fprintf(out, "%.150s_sci_%s", slash ? slash + 1 : program, job->id);
	for (; text && *text; text++) {
		if (*text != '%') {
			fputc(*text, out);
			continue;
		}
		switch (*++text) {
		case 'h':
			fputs(job->node, out);
			break;
		case 'r':
			fprintf(out, "%u", job->rank);
			break;
		case 'j':
			fputs(job->id, out);
			break;
		case '%':
			fputc('%', out);
			break;
		default: /* no sign of ours: as it is */
			fputc('%', out);
			text--;
		}
	}
	if (fclose(out) == EOF) {
		free(folder);
		return NULL;
	}
	return folder;
}
