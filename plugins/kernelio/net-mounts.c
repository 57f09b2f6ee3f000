/* Which network file systems are mounted: from mountinfo. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "net-mounts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * As in mountinfo, and a name for all clients of the same: one may have mounted it by another
 * version. All clients of one of these see the same inode number of a file.
 */
static const struct {
	const char *type, *name;
} types[] = {
	{ "nfs", "nfs" },	{ "nfs4", "nfs" },	 { "lustre", "lustre" },
	{ "beegfs", "beegfs" }, { "cifs", "cifs" },	 { "smb3", "cifs" },
	{ "ceph", "ceph" },	{ "fuse.ceph", "ceph" }, { "fuse.ceph-fuse", "ceph" },
	{ "gpfs", "gpfs" },	{ "pvfs2", "pvfs2" },	 { "afs", "afs" },
	{ "panfs", "panfs" },	{ "wekafs", "wekafs" },	 { "fuse.glusterfs", "glusterfs" },
};

/* NULL: no network file system. */
static const char *name_of(const char *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].name;
	return NULL;
}

/* Another machine's of this name is another one. */
static bool is_own(const char *source)
{
	static const char *const names[] = { "localhost:", "localhost.localdomain:", "127.",
					     "[::1]:",	   "//localhost/",	     "//127." };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(source, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * "36 35 98:0 /root /point options [optional...] - type source super-options"; FALSE: another kind
 * of file system, or no such line.
 */
static bool parse(char *line, char *text, size_t size)
{
	unsigned major, minor;
	char *type, *source, *rest, *dash = strstr(line, " - ");
	const char *name;

	if (!dash || sscanf(line, "%*u %*u %u:%u ", &major, &minor) != 2)
		return false;
	type = strtok_r(dash + 3, " \n", &rest);
	source = strtok_r(NULL, " \n", &rest);
	name = type ? name_of(type) : NULL;
	if (!name || !source || is_own(source))
		return false;
	return snprintf(text, size, "%" PRIu32 " %s %s", (uint32_t)major << 20 | minor, name,
			source) < (int)size;
}

int net_mounts(const char *mountinfo, int (*each)(void *arg, const char *text), void *arg)
{
	FILE *in = fopen(mountinfo, "re");
	char *line = NULL, text[4096];
	size_t room = 0;
	int rc = 0;

	while (in && !rc && getline(&line, &room, in) > 0)
		if (parse(line, text, sizeof(text)))
			rc = each(arg, text);
	free(line);
	if (in)
		fclose(in);
	return rc;
}
