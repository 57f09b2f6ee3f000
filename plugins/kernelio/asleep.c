/* In which system calls threads slept outside of their operations: properties of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define PROPERTY_BYTES 3500
#define ENTRY_BYTES 120
#define MOST_ENTRIES 1000 /* the largest */

/*
 * X(name, of what): system calls in which threads sleep. Files are operations, so what is left to
 * these calls is something else.
 */
#define CALLS(X)                                                                                   \
	X(read, MESSAGES)                                                                          \
	X(write, MESSAGES)                                                                         \
	X(readv, MESSAGES)                                                                         \
	X(writev, MESSAGES)                                                                        \
	X(splice, MESSAGES)                                                                        \
	X(sendfile, MESSAGES)                                                                      \
	X(pwrite64, RECORDS)                                                                       \
	X(pwritev, RECORDS)                                                                        \
	X(open, "")                                                                                \
	X(openat, "")                                                                              \
	X(accept, "")                                                                              \
	X(accept4, "")                                                                             \
	X(clock_nanosleep, "")                                                                     \
	X(connect, "")                                                                             \
	X(epoll_pwait, "")                                                                         \
	X(epoll_wait, "")                                                                          \
	X(execve, "")                                                                              \
	X(exit, "")                                                                                \
	X(exit_group, "")                                                                          \
	X(futex, "")                                                                               \
	X(io_getevents, "")                                                                        \
	X(io_uring_enter, "")                                                                      \
	X(ioctl, "")                                                                               \
	X(mq_timedreceive, "")                                                                     \
	X(mq_timedsend, "")                                                                        \
	X(msgrcv, "")                                                                              \
	X(msgsnd, "")                                                                              \
	X(nanosleep, "")                                                                           \
	X(pause, "")                                                                               \
	X(poll, "")                                                                                \
	X(ppoll, "")                                                                               \
	X(pselect6, "")                                                                            \
	X(recvfrom, "")                                                                            \
	X(recvmmsg, "")                                                                            \
	X(recvmsg, "")                                                                             \
	X(rt_sigsuspend, "")                                                                       \
	X(rt_sigtimedwait, "")                                                                     \
	X(select, "")                                                                              \
	X(semop, "")                                                                               \
	X(semtimedop, "")                                                                          \
	X(sendmmsg, "")                                                                            \
	X(sendmsg, "")                                                                             \
	X(sendto, "")                                                                              \
	X(vfork, "")                                                                               \
	X(wait4, "")                                                                               \
	X(waitid, "")

#define MESSAGES " of a pipe, socket or the like"
#define RECORDS " by the tracer"

/* Not every machine has each. */
#define NOT_HERE INT32_MIN
#ifndef SYS_open
#define SYS_open NOT_HERE
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait NOT_HERE
#endif
#ifndef SYS_pause
#define SYS_pause NOT_HERE
#endif
#ifndef SYS_poll
#define SYS_poll NOT_HERE
#endif
#ifndef SYS_select
#define SYS_select NOT_HERE
#endif
#ifndef SYS_vfork
#define SYS_vfork NOT_HERE
#endif

static const struct {
	int32_t number;
	const char *name, *what;
} calls[] = {
#define X(name, what) { SYS_##name, #name, what },
	CALLS(X)
#undef X
};

/* as in the map: see map_entries */
struct entry {
	struct kernelio_asleep_key key;
	struct kernelio_asleep sum;
};

static int by_time(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns > b->sum.ns ? -1 : 1;
	if (a->key.tid != b->key.tid)
		return a->key.tid < b->key.tid ? -1 : 1;
	return (a->key.call > b->key.call) - (a->key.call < b->key.call);
}

/* ALL_FILES: each call on a file is an operation. */
static void name_call(int32_t number, bool all_files, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number) {
			snprintf(text, size, "%s%s", calls[i].name, all_files ? calls[i].what : "");
			return;
		}
	if (number == KERNELIO_COMPAT_CALL)
		snprintf(text, size, "a 32-bit system call");
	else if (number < 0)
		snprintf(text, size, "no system call");
	else
		snprintf(text, size, "system call %" PRId32, number);
}

/* The N ENTRIES as "CALL|NS|N|TID; ...", in as many properties as they take. */
static void put_entries(struct kernelio *k, const struct entry *entries, size_t n,
			void (*put)(struct kernelio *k, const char *text))
{
	const bool all_files = !(k->filter.set & ~KERNELIO_FILTERS_OF_TASKS);
	char text[PROPERTY_BYTES], name[64];
	unsigned number = 0;
	size_t used = 0, none = 0;

	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];

		if (!used) {
			number++;
			used = none = (size_t)snprintf(text, sizeof(text), "ASLEEP_%u=", number);
		}
		name_call(e->key.call, all_files, name, sizeof(name));
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s|%" PRIu64 "|%" PRIu64 "|%" PRIu32,
			used > none ? "; " : "", name, e->sum.ns, e->sum.n, e->key.tid);
		if (used + ENTRY_BYTES > sizeof(text) || i + 1 == n) {
			put(k, text);
			used = 0;
		}
	}
}

void asleep_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text))
{
	void *entries;
	size_t n = map_entries(k->bpf->maps.asleep, &entries);

	if (n) {
		qsort(entries, n, sizeof(struct entry), by_time);
		put_entries(k, entries, n < MOST_ENTRIES ? n : MOST_ENTRIES, put);
	}
	free(entries);
}
