/* Copies a file with the checked functions of glibc, for the conformance test. */
/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE
#ifdef __OPTIMIZE__ /* without it the header only warns */
#define _FORTIFY_SOURCE 2
#endif
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SIZE and FLAGS are known at run time only, so that the compiler cannot prove that all is well */
int main(int argc, char **argv)
{
	size_t size = argc > 1 ? (size_t)atoi(argv[1]) : 1000;
	int flags = argc > 2 ? atoi(argv[2]) : O_RDONLY;
	int in = open("input", flags), out = open("fortified", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char buffer[4096], line[64];
	ssize_t n;
	FILE *text;

	if (in < 0 || out < 0)
		err(1, "%s", argv[0]);
	while ((n = read(in, buffer, size)) > 0)
		if (write(out, buffer, (size_t)n) != n)
			err(1, "write");
	if (pread(in, buffer, size, 10) < 0)
		err(1, "pread");
	close(in);
	dprintf(out, "%zu\n", size);
	close(out);
	text = fopen("input", "r");
	if (!text || !fgets(line, (int)(size % sizeof(line)) + 1, text) ||
	    fread(buffer, 1, size, text) != size)
		err(1, "input");
	fclose(text);
	return 0;
}
