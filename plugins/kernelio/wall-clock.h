/* How well this machine's wall clock is known. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_WALL_CLOCK_H
#define KERNELIO_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The largest error of CLOCK_REALTIME that the kernel counts with, as who synchronises it has told
 * (NTP, PTP) and as long as that is ago. False: nobody does.
 */
bool wall_clock_error(uint64_t *error_ns);

#endif
