/* Compiled without unwind tables. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BLIND_H
#define BLIND_H

void blind(int fd, int i);

#endif
