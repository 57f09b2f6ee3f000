/* BPF iterators: programs that the kernel runs for each task or open file, when we ask. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

/* Runs an iterator to its end. INFO may be NULL: over everything. */
static int run_iterator(const struct bpf_program *program, union bpf_iter_link_info *info)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, options);
	struct bpf_link *link;
	char ignored[64];
	ssize_t n;
	int fd, rc = 0;

	if (info) {
		options.link_info = info;
		options.link_info_len = sizeof(*info);
	}
	link = bpf_program__attach_iter(program, &options);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		rc = fd;
		goto out;
	}
	do
		n = read(fd, ignored, sizeof(ignored));
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		rc = -errno;
	close(fd);
out:
	bpf_link__destroy(link);
	return rc;
}

/* A thread that was taken in while it was on a CPU came there without a switch that was seen. */
static int doubt_running(struct kernelio *k)
{
	uint64_t *slots = malloc(k->n_cpus * sizeof(*slots)); /* each value takes 8 bytes */
	uint32_t zero = 0;
	int rc = -ENOMEM;

	if (!slots)
		return rc;
	for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
		slots[cpu] = SLOT_UNSURE;
	rc = bpf_map_update_elem(bpf_map__fd(k->bpf->maps.running), &zero, slots, BPF_ANY);
	free(slots);
	return rc;
}

int probes_each_task(struct kernelio *k, pid_t tgid, bool children)
{
	int rc;

	k->bpf->bss->attach_tgid = (uint32_t)tgid;
	k->bpf->bss->attach_children = children;
	k->bpf->bss->close_open = tgid == 0;
	rc = run_iterator(k->bpf->progs.on_each_task, NULL);
	return rc || tgid == 0 ? rc : doubt_running(k);
}

int probes_find_tracer(struct kernelio *k)
{
	k->bpf->bss->attach_tgid = k->bpf->bss->close_open = 0;
	return run_iterator(k->bpf->progs.on_each_task, NULL);
}

int probes_each_listener(struct kernelio *k)
{
	return run_iterator(k->bpf->progs.on_each_listener, NULL);
}

int probes_each_file(struct kernelio *k, pid_t tgid)
{
	union bpf_iter_link_info info = { .task.pid = (uint32_t)tgid };
	int rc;

	k->bpf->bss->files_tgid = (uint32_t)tgid;
	rc = tgid ? run_iterator(k->bpf->progs.on_each_file, &info) : -EAGAIN;
	/* before Linux 6.1, and for more processes than one, it goes over all tasks, and the
	 * program chooses */
	return rc ? run_iterator(k->bpf->progs.on_each_file, NULL) : 0;
}
