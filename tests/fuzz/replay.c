/* Runs the inputs of a corpus through a source, without libFuzzer: replay FORMAT FILE... */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 20 };

int main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_MAX);

	if (argc < 3 || !data) {
		fputs("usage: replay FORMAT FILE...\n", stderr);
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
		fuzz_one(data, bytes);
	}
	printf("%s: %d inputs\n", argv[1], argc - 2);
	free(data);
	return 0;
}
