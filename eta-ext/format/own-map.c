/* Memory of the tracer's own inside traced programs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "own-map.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "own-call.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static int map_at(uintptr_t wish, void **at, size_t bytes, int flags, int fd, uint64_t offset)
{
	long got = own_call_make(OWN_MMAP, (long)wish, (long)bytes, PROT_READ | PROT_WRITE, flags,
				 fd, (long)offset);

	if (got < 0 && got > -4096)
		return (int)got;
	*at = (void *)got;
	return 0;
}

#ifdef __LP64__
/*
 * The kernel places mappings downwards from the stack: libraries first, then what the program maps,
 * which takes long to come this far below. Addresses are given out once, upwards.
 */
#define ARENA_BELOW ((uintptr_t)256 << 30)
#define ARENA_BYTES (ARENA_BELOW / 2)
#define ARENA_TRIES 16 /* something of the program's is there */
#define ARENA_SKIP ((uintptr_t)1 << 30)
#define PAGE ((uintptr_t)4096)

static _Atomic uintptr_t given; /* of the arena's bytes */

static int map_apart(void **at, size_t bytes, int flags, int fd, uint64_t offset)
{
	const uintptr_t start = ((uintptr_t)&given - ARENA_BELOW) & ~(ARENA_SKIP - 1);
	const size_t room = (bytes + PAGE - 1) & ~(PAGE - 1);

	for (int i = 0; i < ARENA_TRIES; i++) {
		uintptr_t next = atomic_fetch_add(&given, room) % ARENA_BYTES;
		int rc = map_at(start + next, at, bytes, flags | MAP_FIXED_NOREPLACE, fd, offset);

		if (rc != -EEXIST)
			return rc;
		atomic_fetch_add(&given, ARENA_SKIP);
	}
	return -EEXIST;
}
#else
static int map_apart(void **at, size_t bytes, int flags, int fd, uint64_t offset)
{
	(void)at, (void)bytes, (void)flags, (void)fd, (void)offset;
	return -EEXIST;
}
#endif

int own_map(void **at, size_t bytes, int flags, int fd, uint64_t offset)
{
	int rc = map_apart(at, bytes, flags, fd, offset);

	/* an emulator or another layout may have nothing there */
	return rc == -EEXIST ? map_at(0, at, bytes, flags, fd, offset) : rc;
}

void *own_memory(size_t bytes)
{
	void *at;

	return own_map(&at, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == 0 ? at : NULL;
}

void own_unmap(void *at, size_t bytes)
{
	if (at)
		own_call(MUNMAP, at, bytes);
}
