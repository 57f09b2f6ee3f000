/* Running processes to trace, as --pid names them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"
#include "privileges.h"

int processes_add_one(struct processes *p, pid_t pid)
{
	pid_t *pids;

	for (size_t i = 0; i < p->n; i++)
		if (p->pids[i] == pid)
			return 0;
	pids = reallocarray(p->pids, p->n + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	p->pids = pids;
	p->pids[p->n++] = pid;
	return 0;
}

void processes_add(const struct option_given *given)
{
	struct processes *p = (struct processes *)((char *)given->options + given->row->at);
	struct option_row row = *given->row;
	struct option_given one = *given;
	char *rest = given->arg;

	row.argument = "PID";
	one.row = &row;
	while ((one.arg = strsep(&rest, ","))) {
		if (processes_add_one(p, (pid_t)option_number(&one, 1, INT32_MAX)))
			argp_failure(given->state, CLI_FAILED, ENOMEM, "--%s", given->row->name);
	}
}

int processes_open(struct processes *p)
{
	p->pidfds = calloc(p->n + 1, sizeof(*p->pidfds));
	if (!p->pidfds)
		eta_error("not enough memory for %zu processes", p->n);
	for (size_t i = 0; p->pidfds && i < p->n; i++)
		p->pidfds[i] = (int)syscall(SYS_pidfd_open, p->pids[i], 0);
	return p->pidfds ? 0 : -ENOMEM;
}

/* A thread is no process, and a process must be one that the caller may look into. */
static int check_one(pid_t pid, int pidfd)
{
	char path[64], line[256];
	int tgid = 0, rc;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &tgid) != 1)
		;
	if (file)
		fclose(file);
	if (tgid && tgid != pid) {
		eta_error("%d is a thread of process %d: use --pid=%d --tid=%d", (int)pid, tgid,
			  tgid, (int)pid);
		return -ESRCH;
	}
	if (pidfd < 0) {
		eta_error("--pid=%d: no such process", (int)pid);
		return -ESRCH;
	}
	rc = authority_over(pid);
	if (rc)
		eta_error("process %d: cannot be traced (%s): it is another user's, or has rights "
			  "that you have not",
			  (int)pid, strerror(-rc));
	return rc;
}

int processes_check(const struct processes *p)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n; i++)
		rc = check_one(p->pids[i], p->pidfds[i]);
	return rc;
}

void processes_free(struct processes *p)
{
	for (size_t i = 0; p->pidfds && i < p->n; i++)
		if (p->pidfds[i] >= 0)
			close(p->pidfds[i]);
	free(p->pidfds);
	free(p->pids);
}
