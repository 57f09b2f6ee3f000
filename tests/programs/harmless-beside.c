/* A library that others preload beside ours, or hand to the loader as an auditor: it counts writes.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int writes;

/* as a tracer of another tool would: adds a byte to nothing, counts, goes on to the next */
ssize_t write(int fd, const void *from, size_t size)
{
	ssize_t (*next)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	writes++;
	return next(fd, from, size);
}

__attribute__((destructor)) static void end(void)
{
	char text[40];
	const char *path = getenv("HARMLESS_COUNT");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	snprintf(text, sizeof(text), "writes %d\n", writes);
	fputs(text, file);
	fclose(file);
}

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);

unsigned la_version(unsigned version)
{
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map, (void)lmid, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
