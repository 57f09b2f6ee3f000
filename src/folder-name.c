/* The name of the folder to record into, with what a launcher gives put in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "folder-name.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/launcher.h"

static const char *get(const char *name)
{
	return getenv(name);
}

struct text {
	char *at, *end; /* where the next character goes, and the place of the last '\0' */
};

static void put_char(struct text *to, char c)
{
	if (to->at < to->end)
		*to->at++ = c;
}

/* A part of a path, however the job is called. */
static void put_part(struct text *to, const char *text)
{
	for (; *text; text++)
		put_char(to, *text == '/' ? '_' : *text);
}

/* What %LETTER stands for. false: nobody says. */
static bool put(struct text *to, char letter, const struct launcher *launcher)
{
	struct utsname host;

	switch (letter) {
	case '%':
		put_char(to, '%');
		return true;
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
			put_char(to, '.');
			put_part(to, launcher->step);
		}
		return launcher->job;
	}
}

bool folder_name_has(const char *name, char letter)
{
	for (; *name; name++)
		if (*name == '%' && name[1] && *++name == letter)
			return true;
	return false;
}

int folder_name_expand(const char *name, char **expanded)
{
	const struct launcher launcher = launcher_find(get);
	/* a longer one is refused as a name: it cannot be reached either */
	char room[2 * PATH_MAX];
	struct text to = { room, room + sizeof(room) - 1 };

	*expanded = NULL;
	for (const char *at = name; *at; at++) {
		if (*at != '%' || !at[1] || !strchr("hrj%", at[1])) {
			put_char(&to, *at);
			continue;
		}
		at++;
		if (put(&to, *at, &launcher))
			continue;
		eta_error("-o %s: no launcher says what %%%c is (mpirun, mpiexec and srun do)",
			  name, *at);
		return -EINVAL;
	}
	*to.at = '\0';
	if (to.at == to.end) {
		eta_error("-o %.64s...: too long", name);
		return -ENAMETOOLONG;
	}
	*expanded = strdup(room);
	if (!*expanded) {
		eta_error("not enough memory for the name of the folder");
		return -ENOMEM;
	}
	return 0;
}
