/* The counters that QEMU keeps of its virtual disks, asked for at its monitor. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_QMP_H
#define SCI_VM_QMP_H

#include <sys/types.h>

#include "qemu-command.h"
#include "src/common/looks.h"

/* A descriptor of the socket PATH of process PID's command line, for qmp_ask; -errno. */
int qmp_open(pid_t pid, const char *path);

/*
 * Asks QEMU, process PID, at MONITOR, which it listens at, for the disks of COMMAND in their
 * order: DISKS. A connection for one question: others may use the monitor, too, and while
 * they do there is no answer. 0, -ETIMEDOUT: none within TIMEOUT_MS; -EPERM: another process
 * listens there, which was sent nothing; -EBADMSG: what came is no answer; -errno of the socket.
 */
int qmp_ask(pid_t pid, int monitor, const struct qemu_command *command, int timeout_ms,
	    struct counts *disks);

/* What of TEXT, BYTES long, is an answer to query-blockstats. -EBADMSG: it is none. */
int qmp_read_answer(const char *text, size_t bytes, const struct qemu_command *command,
		    struct counts *disks);

#endif
