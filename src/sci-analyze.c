/* sci-analyze: how much each thread was slowed by interference, where, why, and what helps. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze.h"

#include <stddef.h>

int main(int argc, char **argv)
{
	return analyze(argc, argv, NULL);
}
