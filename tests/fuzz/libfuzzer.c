/* libFuzzer's entry: SCI_FUZZ_FORMAT names the source. tests/fuzz/run.sh builds and runs it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *format = getenv("SCI_FUZZ_FORMAT");

	(void)argc;
	(void)argv;
	if (!format) {
		fputs("SCI_FUZZ_FORMAT names no source (tests/fuzz/run.sh FORMAT)\n", stderr);
		exit(2);
	}
	fuzz_start(format);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	fuzz_one(data, bytes);
	return 0;
}
