/* Which network file systems are mounted. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_NET_MOUNTS_H
#define KERNELIO_NET_MOUNTS_H

/*
 * Calls EACH with "DEV TYPE SOURCE" for each network file system of MOUNTINFO
 * (/proc/PID/mountinfo): its device (major << 20 | minor), its kind, and what is mounted, which has
 * \040 for a blank. Those are left out whose server is this machine by a name that each machine has
 * for itself, and those that give files numbers of their own on each client. A file that cannot be
 * read has none. Stops where EACH gives something else than 0, and returns that.
 */
int net_mounts(const char *mountinfo, int (*each)(void *arg, const char *text), void *arg);

#endif
