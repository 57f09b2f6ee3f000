/* Runs the inputs of a corpus through a source, without libFuzzer: replay FORMAT FILE... */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
	int status = fuzz_inputs(argc, argv, fuzz_one);

	if (status == 0)
		printf("%s: %d inputs\n", argv[1], argc - 2);
	return status;
}
