/* The inputs of a command line, one after the other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 20 };

int fuzz_inputs(int argc, char **argv, void (*one)(const uint8_t *data, size_t bytes))
{
	uint8_t *data = malloc(INPUT_MAX);

	if (argc < 3 || !data) {
		fprintf(stderr, "usage: %s FORMAT FILE...\n", argv[0]);
		free(data);
		return 2;
	}
	fuzz_start(argv[1]);
	for (int i = 2; i < argc; i++) {
		FILE *file = fopen(argv[i], "re");
		size_t bytes;

		if (!file) {
			perror(argv[i]);
			free(data);
			return 1;
		}
		bytes = fread(data, 1, INPUT_MAX, file);
		fclose(file);
		one(data, bytes);
	}
	free(data);
	return 0;
}
