/* No cause at all: one thread overwrites 1 MiB that stays in the page cache. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096
#define FILE_BYTES (1 << 20)

int main(int argc, char **argv)
{
	static char block[BLOCK];
	unsigned rounds = 100;
	int fd;

	if (argc < 2 || argc > 3) {
		fprintf(stderr,
			"Usage: quiet FILE [ROUNDS]\n"
			"Overwrites the first MiB of FILE ROUNDS (100) times in 4 KiB blocks.\n");
		return 2;
	}
	if (argc == 3)
		rounds = (unsigned)strtoul(argv[2], NULL, 10);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		err(1, "%s", argv[1]);
	memset(block, 'x', sizeof(block));
	for (unsigned r = 0; r < rounds; r++)
		for (off_t at = 0; at < FILE_BYTES; at += BLOCK)
			if (pwrite(fd, block, BLOCK, at) != BLOCK)
				err(1, "%s", argv[1]);
	if (close(fd))
		err(1, "%s", argv[1]);
	return 0;
}
