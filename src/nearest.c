/* What a misspelt word may have been meant to be. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nearest.h"

#include <limits.h>
#include <string.h>

enum { LONGEST = 63 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned both = a < b ? a : b;

	return both < c ? both : c;
}

unsigned nearest_distance(const char *a, const char *b)
{
	/* [i][j]: from the first i letters of A to the first j of B */
	unsigned from[LONGEST + 1][LONGEST + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > LONGEST || m > LONGEST)
		return UINT_MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				from[i][j] = (unsigned)(i + j);
				continue;
			}
			from[i][j] = least(from[i - 1][j] + 1, from[i][j - 1] + 1,
					   from[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    from[i - 2][j - 2] + 1 < from[i][j])
				from[i][j] = from[i - 2][j - 2] + 1;
		}
	}
	return from[n][m];
}
