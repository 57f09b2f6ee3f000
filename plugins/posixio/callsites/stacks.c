/* Call stacks: unwound rarely, each stored once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/posixio/core.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"
#include "plugins/posixio/environment.h"
#include "stacks.h"
#include "plugins/posixio/text.h"

#define UNWINDER "libsci-unwind.so"
#define OWN_FRAMES 8	     /* frames of the tracer and the unwinder, above the program's */
#define REFRESH_HITS 64	     /* the same place may be reached by another path */
#define MAX_STACKS (1 << 16) /* paths of a process */
#define BUCKETS 4096
#define PIECE_BYTES ((size_t)64 << 10)
#define MAX_PIECES 544 /* for that many stacks of the greatest depth */
#define UNWIND_STACK_BYTES (48 << 10)

/* A path known already. */
struct path {
	struct path *next; /* of its bucket */
	uint64_t hash;
	uint32_t id;
	uint32_t n;
	uintptr_t frames[];
};

/* All stacks of the process: wiped in the child of a fork, which numbers its own. */
struct paths {
	uint32_t n;
	bool full;
	uint32_t pieces;
	size_t used; /* bytes of the last piece */
	struct path *buckets[BUCKETS];
};

bool stacks_on;
static struct paths *paths;
static char *pieces[MAX_PIECES]; /* a child reuses its parent's */
static int (*unwind)(void **frames, int room);
static unsigned depth;

/* The unwinder is in the folder of this library. */
static void *load_unwinder(char path[PATH_MAX])
{
	/* installed or built, linked from the folder that EZTrace looks in */
	static const char *const places[] = { "", "eztrace-sci/" };
	const char *slash;
	Dl_info info;

	if (!dladdr(&stacks_on, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		void *library;

		if (text_format(path, PATH_MAX, "%.*s%s" UNWINDER,
				slash ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname,
				places[i]) == PATH_MAX - 1)
			return NULL;
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
		if (library)
			return library;
	}
	return NULL;
}

void stacks_start(void)
{
	const char *text = environment_get("SCI_CALLSTACK");
	unsigned long wanted;
	void *library, *frames[OWN_FRAMES];
	char *end, *path;

	if (!text || !*text)
		return;
	wanted = strtoul(text, &end, 10);
	if (*end || wanted == 0 || wanted > STACKS_MAX_DEPTH) {
		tracer_warn("SCI_CALLSTACK=%s: must be a number of frames, 1 to %d: no call stacks",
			    text, STACKS_MAX_DEPTH);
		return;
	}
	/* it ends a program that loads a library this way */
	if (dlsym(RTLD_DEFAULT, "__asan_init")) {
		tracer_warn("the program is built with AddressSanitizer: no call stacks, return "
			    "addresses only");
		return;
	}
	path = own_memory(PATH_MAX);
	library = path ? load_unwinder(path) : NULL;
	own_unmap(path, PATH_MAX);
	unwind = library ? (__typeof__(unwind))dlsym(library, "sci_unwind") : NULL;
	if (!unwind) {
		tracer_warn("no call stacks: %s (install libunwind, or build with libunwind-dev)",
			    path ? dlerror() : "no memory");
		return;
	}
	paths = own_memory(sizeof(*paths));
	if (!paths || own_call(WIPE_ON_FORK, paths, sizeof(*paths), MADV_WIPEONFORK) != 0) {
		tracer_warn("no call stacks: no memory for them");
		return;
	}
	depth = (unsigned)wanted;
	/* set up here what it would otherwise set up in a signal handler */
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

/* Memory for a stack of N frames; NULL: there is none. */
static struct path *path_new(unsigned n)
{
	const size_t bytes = sizeof(struct path) + n * sizeof(uintptr_t);
	struct path *path;

	if (!paths->pieces || paths->used + bytes > PIECE_BYTES) {
		if (paths->pieces == MAX_PIECES)
			return NULL;
		if (!pieces[paths->pieces])
			pieces[paths->pieces] = own_memory(PIECE_BYTES);
		if (!pieces[paths->pieces])
			return NULL;
		paths->pieces++;
		paths->used = 0;
	}
	path = (void *)(pieces[paths->pieces - 1] + paths->used);
	paths->used += bytes;
	return path;
}

/* With the process's lock: the id of the stack, assigned and stored if it is new. */
static uint32_t path_id(const uintptr_t *frames, unsigned n)
{
	const uint64_t hash = hash_frames(frames, n);
	struct path **bucket = &paths->buckets[hash % BUCKETS], *path;

	for (path = *bucket; path; path = path->next)
		if (path->hash == hash && path->n == n &&
		    memcmp(path->frames, frames, n * sizeof(*frames)) == 0)
			return path->id;
	path = paths->n < MAX_STACKS ? path_new(n) : NULL;
	if (!path) {
		paths->full = true;
		return 0;
	}
	if (!core_sink->stack(paths->n + 1, frames, n))
		return 0;
	path->next = *bucket;
	path->hash = hash;
	path->id = ++paths->n;
	path->n = n;
	memcpy(path->frames, frames, n * sizeof(*frames));
	*bucket = path;
	return path->id;
}

static void warn_full(void)
{
	static _Atomic bool warned;

	if (atomic_load(&warned) || atomic_exchange(&warned, true))
		return;
	tracer_warn("more than %u different call stacks: return addresses only for the others (a "
		    "lower --callstack=DEPTH makes them fewer)",
		    paths->n);
}

/* Data that is too large for the program's stack. */
struct unwinding {
	void *found[STACKS_MAX_DEPTH + OWN_FRAMES];
	uintptr_t frames[STACKS_MAX_DEPTH];
	int n;
	char stack[UNWIND_STACK_BYTES] __attribute__((aligned(16)));
};

static void unwind_here(void *arg)
{
	struct unwinding *u = arg;

	u->n = unwind(u->found, (int)depth + OWN_FRAMES);
}

#ifdef __x86_64__
/*
 * Runs DO(ARG) on the stack that ends at TOP. The frame pointer stays on the program's stack, so
 * that an unwinder finds the way back.
 */
void run_on_stack(void (*run)(void *), void *arg, void *top);

__asm__(".pushsection .text\n"
	".type run_on_stack, @function\n"
	".hidden run_on_stack\n"
	"run_on_stack:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsp\n"
	"	call *%rax\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size run_on_stack, . - run_on_stack\n"
	".popsection\n");
#else
static void run_on_stack(void (*run)(void *), void *arg, void *top)
{
	(void)top;
	run(arg);
}
#endif

/*
 * The unwinder needs kilobytes: more than the stack of a coroutine or of a signal may have left.
 * Signals are blocked meanwhile, since a handler would run on the small stack.
 */
static bool unwind_apart(struct unwinding *u)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before;

	/* if the program has confined itself, calls of the unwinder may be forbidden */
	if (!own_call_may_all() || own_call(SIGNALS, SIG_SETMASK, &all, &before, sizeof(all)) != 0)
		return false;
	run_on_stack(unwind_here, u, u->stack + sizeof(u->stack));
	own_call(SIGNALS, SIG_SETMASK, &before, NULL, sizeof(all));
	return true;
}

static uint32_t unwind_path(struct stack_cache *cache, const void *caller)
{
	struct unwinding *u = cache->unwinding;
	unsigned kept = 0;
	int first = 0;
	uint32_t id;

	if (!u)
		u = cache->unwinding = own_memory(sizeof(*u));
	if (!u || !unwind_apart(u))
		return 0;
	while (first < u->n && u->found[first] != caller)
		first++;
	/* the unwinder lost its way inside the tracer: only the return address is certain */
	if (first == u->n) {
		u->found[0] = (void *)(uintptr_t)caller;
		first = 0;
		u->n = 1;
	}
	for (; first < u->n && kept < depth; first++)
		u->frames[kept++] = (uintptr_t)u->found[first];
	/* the stack may lead through a library that dlopen has just added */
	core_sink->modules_update();
	core_sink->lock();
	id = path_id(u->frames, kept);
	core_sink->unlock();
	if (!id && paths->full)
		warn_full();
	return id;
}

void stacks_forget(struct stack_cache *cache)
{
	memset(cache->entries, 0, sizeof(cache->entries));
}

void stacks_free(struct stack_cache *cache)
{
	own_unmap(cache->unwinding, sizeof(struct unwinding));
	cache->unwinding = NULL;
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
	cache->entries[i].id = unwind_path(cache, caller);
	cache->entries[i].caller = key;
	cache->entries[i].sp = sp;
	cache->entries[i].hits = 0;
	errno = saved;
	return cache->entries[i].id;
}
