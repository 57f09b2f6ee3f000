/* The calls of processes that are not in EZTrace's archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "children.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sink.h"
#include "eta-ext/base/plural.h"
#include "plugins/posixio/environment.h"

#define SPOOL_NAME "children.spool"
#define SPOOL_TRACER "libsci-posixio.so"

/*
 * EZTrace writes an archive for one image of one process. A forked child would write into its
 * parent's, and each exec'ed program would get an archive of its own, named after the program
 * alone: the second dd of a script replaces the first. Both continue with the spool tracer.
 */
static char spool[PATH_MAX];   /* "": none */
static char archive[PATH_MAX]; /* the archive's folder, "": none */
static bool given;	       /* by the environment */
static time_t loaded;

__attribute__((constructor)) static void children_load(void)
{
	loaded = time(NULL);
}

/* Calls TAKE with each file of the spool; how many are images of processes. */
static unsigned each_file(void (*take)(const char *path))
{
	DIR *dir = opendir(spool);
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		static char path[PATH_MAX + NAME_MAX + 2]; /* the stack may be small */

		if (entry->d_name[0] == '.')
			continue;
		n += strncmp(entry->d_name, "process.", 8) == 0;
		snprintf(path, sizeof(path), "%s/%s", spool, entry->d_name);
		if (take)
			take(path);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Files left by an earlier run. */
static void remove_old(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_mtime < loaded)
		unlink(path);
}

/* The path of the spool tracer, which is in the folder of this library. */
static bool find_tracer(char path[PATH_MAX])
{
	/* installed or built, linked from the folder that EZTrace looks in */
	static const char *const places[] = { "", "eztrace-sci/" };
	Dl_info own;
	const char *slash;

	if (!dladdr(&loaded, &own) || !own.dli_fname || !(slash = strrchr(own.dli_fname, '/')))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int n = snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(slash - own.dli_fname),
				 own.dli_fname, places[i], SPOOL_TRACER);

		if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
			return true;
	}
	return false;
}

/*
 * Replaces variable OLD by TEXT ("NAME=VALUE"), or appends it. Not by setenv, which may be the
 * program's own, like getenv.
 */
static void put_variable(const char *old, const char *text)
{
	const size_t n = strlen(old);
	size_t count = 0;
	char *copy = strdup(text), **table;

	for (; copy && environ && environ[count]; count++)
		if (strncmp(environ[count], old, n) == 0 && environ[count][n] == '=') {
			environ[count] = copy;
			return;
		}
	table = copy ? malloc((count + 2) * sizeof(*table)) : NULL;
	if (!table) {
		free(copy);
		return;
	}
	if (count)
		memcpy(table, environ, count * sizeof(*table));
	table[count] = copy;
	table[count + 1] = NULL;
	environ = table;
}

/* LD_PRELOAD without EZTrace's libraries, and with the spool tracer. */
static void switch_preload(const char *tracer)
{
	const char *before = environment_get("LD_PRELOAD"), *next;
	char *text, *at;

	/* EZTrace removes it while it starts, and restores it by setenv, the program's own */
	if (!before)
		before = getenv("LD_PRELOAD");
	if (!before)
		before = "";
	at = text = malloc(strlen("LD_PRELOAD=") + strlen(tracer) + strlen(before) + 2);
	if (!text)
		return;
	at += sprintf(at, "LD_PRELOAD=%s", tracer);
	for (; *before; before = next + strspn(next, ": ")) {
		const char *name = strstr(before, "/libeztrace-");

		next = before + strcspn(before, ": ");
		if (next != before && !(name && name < next))
			at += sprintf(at, ":%.*s", (int)(next - before), before);
	}
	put_variable("LD_PRELOAD", text);
	free(text);
}

/* Not before EZTrace has read its own variables: then both the folder and the module are known. */
void children_environment(void)
{
	static char tracer[PATH_MAX], variable[PATH_MAX + 32]; /* the stack may be small */

	if (!spool[0] || given || !sink_registered)
		return;
	snprintf(variable, sizeof(variable), "SCI_SPOOL_DIR=%s", spool);
	/* other modules of EZTrace also trace the programs that are exec'ed */
	if (eztrace_is_alone() && find_tracer(tracer)) {
		switch_preload(tracer);
		put_variable("EZTRACE_TRACE", variable);
		if (getenv("EZTRACE_TRACE")) /* see repeat_variables */
			unsetenv("EZTRACE_TRACE");
	} else {
		put_variable("SCI_SPOOL_DIR", variable);
	}
}

/*
 * EZTrace calls getenv. bash's own getenv no longer finds the environment after a call of setenv,
 * which EZTrace has made by now: it would not find its module. The variables that it reads later
 * are set again for it.
 */
static void repeat_variables(void)
{
	for (char **at = environ; at && *at; at++) {
		const char *value = strchr(*at, '=');
		char name[64];

		if (strncmp(*at, "EZTRACE_", 8) != 0 || !value ||
		    (size_t)(value - *at) >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(value - *at), *at);
		if (!getenv(name))
			setenv(name, value + 1, 1);
	}
}

/* Makes DIR and its missing parents: libotf2 makes them all, but later than this. */
static bool make_folders(const char *dir)
{
	char *path = archive; /* freed at once: the program's stack may be small */

	if ((size_t)snprintf(path, sizeof(archive), "%s", dir) >= sizeof(archive))
		return false;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700); /* an existing folder or a failure: the last mkdir shows it */
		*slash = '/';
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

void children_start(const char *dir)
{
	const char *before = environment_get("SCI_SPOOL_DIR");

	repeat_variables();
	if (!make_folders(dir) || !realpath(dir, archive))
		archive[0] = '\0';
	given = before && *before;
	if (given) {
		snprintf(spool, sizeof(spool), "%s", before);
	} else if (!archive[0] ||
		   snprintf(spool, sizeof(spool), "%s/" SPOOL_NAME, archive) >=
			   (int)sizeof(spool) ||
		   (mkdir(spool, 0700) != 0 && errno != EEXIST)) {
		tracer_warn("%s/" SPOOL_NAME ": %s: children are not traced", dir, strerror(errno));
		spool[0] = '\0';
		return;
	} else {
		each_file(remove_old);
	}
	children_environment();
}

bool children_traced(void)
{
	return spool[0] != '\0';
}

void children_report(void)
{
	unsigned n;

	if (!spool[0])
		return;
	n = each_file(NULL);
	if (n)
		tracer_warn("calls of %u more process image%s are in %s (sci-merge and "
			    "sci-analyze read it together with the archive)",
			    n, plural(n), spool);
	else
		rmdir(spool);
}
