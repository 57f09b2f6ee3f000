/* Major page faults: the end of each, from the kernel's software event that counts them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

static int event_open(unsigned cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		.sample_period = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int faults_attach(struct kernelio *k, char *why, size_t size)
{
	int rc = 0;

	k->fault_links = calloc(k->n_cpus, sizeof(*k->fault_links));
	if (!k->fault_links)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < k->n_cpus && rc == 0; cpu++) {
		int fd = event_open(cpu);

		if (fd == -ENODEV)
			continue; /* a CPU that is not there now */
		if (fd < 0) {
			rc = fd;
			break;
		}
		/* the link owns the event from here on */
		k->fault_links[cpu] =
			bpf_program__attach_perf_event(k->bpf->progs.on_major_fault, fd);
		if (!k->fault_links[cpu]) {
			rc = errno ? -errno : -EINVAL;
			close(fd);
		}
	}
	if (rc) {
		snprintf(why, size, "needs the end of major faults, refused by the kernel (%s)",
			 strerror(-rc));
		faults_detach(k);
	}
	return rc;
}

void faults_detach(struct kernelio *k)
{
	for (unsigned cpu = 0; k->fault_links && cpu < k->n_cpus; cpu++)
		bpf_link__destroy(k->fault_links[cpu]);
	free(k->fault_links);
	k->fault_links = NULL;
}
