/* A kernel spool made by hand: its system calls, devices and places of sleep, for several tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_KERNEL_MAKER_H
#define SCI_KERNEL_MAKER_H

#include "spool-maker.h"

/* Numbers of the system calls pwrite64, pread64, fsync. */
enum { SYS_WRITE = 1, SYS_READ, SYS_FSYNC };

/* Places where operations sleep: three that have a region, one that has none, one not known. */
enum { AT_JOURNAL = 1, AT_PAGE, AT_NOTHING, AT_UNKNOWN, AT_RECLAIM, AT_WRITEBACK };

/* The device of a file on ext4 (inode 5, "/f"), and one of no file system. */
enum { EXT4_DEV = 254 << 20 | 1, PLAIN_DEV = 7 << 20 };

/* DIR/meta. */
void make_meta(const char *dir);

/* DIR/cpu.CPU with the FILE record; the caller closes it. */
void make_cpu(struct spool *spool, const char *dir, uint32_t cpu);

#endif
