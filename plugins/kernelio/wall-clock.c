/* How well this machine's wall clock is known. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wall-clock.h"

#include <sys/timex.h>

bool wall_clock_error(uint64_t *error_ns)
{
	struct timex timex = { .modes = 0 };

	/* maxerror grows by 500 us a second between updates: a limit, where esterror is a guess */
	if (adjtimex(&timex) == TIME_ERROR || timex.status & STA_UNSYNC || timex.maxerror < 0)
		return false;
	*error_ns = (uint64_t)timex.maxerror * 1000;
	return true;
}
