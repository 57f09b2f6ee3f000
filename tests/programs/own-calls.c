/* Makes calls at which the tracer has to ask the kernel where the file stands: own-calls FILE. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APPENDS = 100, CHILDREN = 5 };

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644) : -1;
	FILE *shared, *other = fdopen(open("/dev/null", O_WRONLY), "w"),
		      *stream = argc > 1 ? fopen(argv[1], "r+") : NULL;

	char text[16];

	if (fd < 0 || !stream || !other)
		return 1;
	for (int i = 0; i < APPENDS; i++)
		if (write(fd, "line\n", 5) != 5)
			return 2;
	/* what a child may have moved is asked for again */
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0)
			_exit(write(fd, "line\n", 5) != 5);
		wait(NULL);
		if (write(fd, "line\n", 5) != 5 || getc(stream) == EOF ||
		    ungetc('x', stream) == EOF)
			return 3;
	}
	/* a stream on a descriptor of which the C library does not know where it stands */
	lseek(fd, 7, SEEK_SET);
	shared = fdopen(fd, "r+");
	for (int i = 0; i < 3; i++)
		if (!shared || !fgets(text, sizeof(text), shared) || fputs(text, other) < 0)
			return 4;
	/* the program's own: one more */
	return lseek(fd, 0, SEEK_END) != 5 * (APPENDS + 2 * CHILDREN);
}
