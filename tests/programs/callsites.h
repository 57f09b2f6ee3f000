/* The library of callsites.c. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALLSITES_H
#define CALLSITES_H

void read_in_library(int fd);

#endif
