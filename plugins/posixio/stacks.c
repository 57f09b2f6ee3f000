/* Call stacks: unwinding seldom, storing each path once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stacks.h"

#define UNWINDER "libsci-unwind.so"
#define OWN_FRAMES 6	     /* of the tracer and the unwinder, above the program's */
#define REFRESH_HITS 64	     /* the same place may be reached by another path */
#define MAX_STACKS (1 << 16) /* paths of a process */
#define SLOTS (2 * MAX_STACKS)
#define FRAMES_BYTES ((size_t)32 << 20) /* of address space; touched as they come */

/* A path known already: its id is its place in the list plus one. */
struct path {
	uint32_t first, n; /* into frames */
	uint64_t hash;
};

/* All paths of the process: wiped in the child of a fork, which numbers its own. */
struct paths {
	uint32_t n, n_frames;
	bool full;
	uint32_t slots[SLOTS]; /* id, 0: free */
	struct path list[MAX_STACKS];
	uintptr_t frames[FRAMES_BYTES / sizeof(uintptr_t)];
};

bool stacks_on;
static struct paths *paths;
static int (*unwind)(void **frames, int room);
static unsigned depth;

/* The unwinder lies beside this library. */
static void *load_unwinder(void)
{
	static const char *const places[] = { "", ".libs/" }; /* installed, built */
	const char *slash;
	Dl_info info;

	if (!dladdr(&stacks_on, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char path[PATH_MAX];
		void *library;

		if ((size_t)snprintf(path, sizeof(path), "%.*s%s" UNWINDER,
				     slash ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname,
				     places[i]) >= sizeof(path))
			return NULL;
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
		if (library)
			return library;
	}
	return NULL;
}

void stacks_start(void)
{
	const char *text = getenv("SCI_CALLSTACK");
	unsigned long wanted;
	void *library, *frames[OWN_FRAMES];
	char *end;

	if (!text || !*text)
		return;
	wanted = strtoul(text, &end, 10);
	if (*end || wanted == 0 || wanted > STACKS_MAX_DEPTH) {
		tracer_warn("SCI_CALLSTACK=%s: must be a number of frames, 1 to %d: no call stacks",
			    text, STACKS_MAX_DEPTH);
		return;
	}
	/* it stops a program that loads a library this way */
	if (dlsym(RTLD_DEFAULT, "__asan_init")) {
		tracer_warn("the program is built with AddressSanitizer: no call stacks, return "
			    "addresses only");
		return;
	}
	library = load_unwinder();
	unwind = library ? (__typeof__(unwind))dlsym(library, "sci_unwind") : NULL;
	if (!unwind) {
		tracer_warn("no call stacks: %s (install libunwind, or build with libunwind-dev)",
			    dlerror());
		return;
	}
	paths = mmap(NULL, sizeof(*paths), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (paths == MAP_FAILED || madvise(paths, sizeof(*paths), MADV_WIPEONFORK) != 0) {
		tracer_warn("no call stacks: no memory for them");
		return;
	}
	depth = (unsigned)wanted;
	/* what it sets up at the first time is better done here than in a signal handler */
	unwind(frames, OWN_FRAMES);
	stacks_on = true;
}

static uint64_t hash_frames(const uintptr_t *frames, unsigned n)
{
	uint64_t hash = n;

	for (unsigned i = 0; i < n; i++) {
		hash = (hash ^ frames[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

static bool is_path(const struct path *path, uint64_t hash, const uintptr_t *frames, unsigned n)
{
	return path->hash == hash && path->n == n &&
	       memcmp(&paths->frames[path->first], frames, n * sizeof(*frames)) == 0;
}

/* With the process's lock: the id of the path, given out and stored when it is new. */
static uint32_t path_id(const uintptr_t *frames, unsigned n)
{
	uint64_t hash = hash_frames(frames, n);
	uint32_t slot = (uint32_t)hash & (SLOTS - 1), id;

	for (; (id = paths->slots[slot]); slot = (slot + 1) & (SLOTS - 1))
		if (is_path(&paths->list[id - 1], hash, frames, n))
			return id;
	if (paths->n == MAX_STACKS ||
	    (paths->n_frames + n) * sizeof(*frames) > sizeof(paths->frames)) {
		if (!paths->full)
			tracer_warn("more than %u different call stacks: return addresses only for "
				    "the others (a lower --callstack=DEPTH makes them fewer)",
				    paths->n);
		paths->full = true;
		return 0;
	}
	id = paths->n + 1;
	if (!sink_stack(id, frames, n))
		return 0;
	paths->list[paths->n++] = (struct path){ paths->n_frames, n, hash };
	memcpy(&paths->frames[paths->n_frames], frames, n * sizeof(*frames));
	paths->n_frames += n;
	paths->slots[slot] = id;
	return id;
}

static uint32_t unwind_path(const void *caller)
{
	void *found[STACKS_MAX_DEPTH + OWN_FRAMES];
	uintptr_t frames[STACKS_MAX_DEPTH];
	int n = unwind(found, (int)depth + OWN_FRAMES), first = 0;
	unsigned kept = 0;
	uint32_t id;

	while (first < n && found[first] != caller)
		first++;
	/* the unwinder lost its way inside of the tracer: the return address is sure */
	if (first == n) {
		found[0] = (void *)(uintptr_t)caller;
		first = 0;
		n = 1;
	}
	for (; first < n && kept < depth; first++)
		frames[kept++] = (uintptr_t)found[first];
	/* the path may come from what dlopen has just added */
	sink_modules_update();
	sink_process_lock();
	id = path_id(frames, kept);
	sink_process_unlock();
	return id;
}

__attribute__((noinline)) uint32_t stacks_find(struct stack_cache *cache, const void *caller)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0), key = (uintptr_t)caller;
	unsigned i = (unsigned)((key ^ key >> 7 ^ sp >> 4) & (STACK_CACHE - 1));
	int saved;

	if (likely(cache->entries[i].caller == key && cache->entries[i].sp == sp &&
		   ++cache->entries[i].hits % REFRESH_HITS != 0))
		return cache->entries[i].id;
	saved = errno;
	cache->entries[i].id = unwind_path(caller);
	cache->entries[i].caller = key;
	cache->entries[i].sp = sp;
	cache->entries[i].hits = 0;
	errno = saved;
	return cache->entries[i].id;
}
