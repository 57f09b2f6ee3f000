/* The least a tracer in a mapped file can cost: two reads of the TSC and one 64-byte record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
#define TICKS() __builtin_ia32_rdtsc()
#else
#define TICKS() 0
#endif

/*
 * No descriptor table, no end of the file (the same part is written again and again), nothing kept
 * from signal handlers, forks or kills: what a complete tracer adds to this is its own doing.
 */
#define WINDOW_BYTES ((size_t)64 << 10)

struct record {
	uint64_t begin, end, fd, size, offset, caller, ret, type;
};

static ssize_t (*real)(int fd, const void *buffer, size_t size, off_t offset);
static __thread __attribute__((tls_model("initial-exec"))) struct record *next, *end;

static void window_map(void)
{
	const char *dir = getenv("SCI_SPOOL_DIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/floor.XXXXXX", dir ? dir : ".");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, WINDOW_BYTES) != 0)
		abort();
	next = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (next == MAP_FAILED)
		abort();
	close(fd);
	end = next + WINDOW_BYTES / sizeof(*next);
}

__attribute__((constructor)) static void find_real(void)
{
	*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	struct record *record;
	ssize_t ret;

	if (__builtin_expect(next == end, 0)) {
		if (end)
			next -= WINDOW_BYTES / sizeof(*next);
		else
			window_map();
	}
	record = next++;
	record->fd = (uint64_t)fd;
	record->size = size;
	record->offset = (uint64_t)offset;
	record->caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	record->begin = TICKS();
	ret = real(fd, buffer, size, offset);
	record->ret = (uint64_t)ret;
	record->type = 1;
	record->end = TICKS();
	return ret;
}
