/* Who answers when the kernel asks whether a file may be opened or read: fanotify's listener. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <stdint.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

/* A name that is kept beside those of the tasks that were waited for longest. */
#define WAITED_FOR_LONG_NS (UINT64_C(1) << 60)

uint32_t listener_find(struct kernelio *k)
{
	int map = bpf_map__fd(k->bpf->maps.waited_for);
	uint64_t ns = WAITED_FOR_LONG_NS;
	uint32_t tid;

	k->bpf->bss->listener_tgid = k->bpf->bss->listeners = 0;
	if (probes_each_listener(k) || k->bpf->bss->listeners != 1)
		return 0; /* which of several it was is not known */
	tid = k->bpf->bss->listener_tgid;
	bpf_map_update_elem(map, &tid, &ns, BPF_ANY); /* its name is read with those of others */
	return tid;
}
