/* Writes from a function without unwind tables, to files that have the numbers of closed ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blind.h"

#define FILES 20

int main(int argc, char **argv)
{
	char name[64];

	if (argc < 2 || chdir(argv[1]) != 0)
		return 1;
	/* whatever a library of the tracer's had open is gone, and its number is a file's */
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		if (open(name, O_CREAT | O_RDWR | O_TRUNC, 0600) != 3 + i)
			return 2;
	}
	for (int i = 0; i < 10 * FILES; i++)
		blind(3 + i % FILES, i);
	return 0;
}
