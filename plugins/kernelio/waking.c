/* Which calls of others threads waited for between their own: a property of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

/* The number of a system call; not every machine has each, and 0 is one, too. */
#define NONE (-1)
#ifndef SYS_futex_wait
#define SYS_futex_wait NONE
#define SYS_futex_wake NONE
#endif
#ifndef SYS_semop
#define SYS_semop NONE
#endif
#ifndef SYS_semtimedop
#define SYS_semtimedop NONE
#endif
#ifndef SYS_poll
#define SYS_poll NONE
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait NONE
#endif

static const int32_t wait_calls[KERNELIO_THREAD_CALLS] = {
	SYS_futex, SYS_futex_wait, SYS_semop,	    SYS_semtimedop,	 SYS_poll,
	SYS_ppoll, SYS_epoll_wait, SYS_epoll_pwait, SYS_rt_sigtimedwait,
};
static const int32_t wake_calls[KERNELIO_THREAD_CALLS] = {
	SYS_futex, SYS_futex_wake, SYS_semop,		SYS_semtimedop,	       SYS_kill,
	SYS_tkill, SYS_tgkill,	   SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
};

void waking_prepare(struct kernelio_bpf *bpf)
{
	for (size_t i = 0; i < KERNELIO_THREAD_CALLS; i++) {
		bpf->rodata->wait_calls[i] = wait_calls[i];
		bpf->rodata->wake_calls[i] = wake_calls[i];
	}
}

static const char *call_name(uint32_t call)
{
	switch (call) {
#define X(name, kind, shape)                                                                       \
	case KERNELIO_SYS_##name:                                                                  \
		return #name;
		KERNELIO_SYSCALLS(X)
#undef X
#define X(id, name, kind)                                                                          \
	case KERNELIO_SYS_##id:                                                                    \
		return #name;
		KERNELIO_REVERSED_SYSCALLS(X)
#undef X
#define X(id, region, kind)                                                                        \
	case KERNELIO_SYS_##id:                                                                    \
		return region;
		KERNELIO_OPERATIONS(X)
#undef X
	default:
		return "?";
	}
}

/* "CALL|NS|N|TID; ...": N waits, together NS, the longest that of TID. */
void wakings_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text))
{
	int map = bpf_map__fd(k->bpf->maps.wakings);
	uint32_t call, before, *from = NULL;
	struct kernelio_waking sum;
	char text[3500] = "WAITED_BETWEEN=";
	size_t none = strlen(text), used = none;

	while (bpf_map_get_next_key(map, from, &call) == 0) {
		before = call;
		from = &before;
		if (bpf_map_lookup_elem(map, &call, &sum) || used + 200 > sizeof(text))
			continue;
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s|%" PRIu64 "|%" PRIu64 "|%" PRIu32,
			used > none ? "; " : "", call_name(call), sum.ns, sum.n, sum.tid);
	}
	if (used > none)
		put(k, text);
}
