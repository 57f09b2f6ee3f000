/* The modules of the process: the program, its libraries, what dlopen added. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/posixio/core.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"
#include "modules.h"
#include "plugins/posixio/text.h"

#define SPARE_MODULES 16 /* for modules that are added while they are counted */

struct module {
	uint64_t start, name;
};

static struct {
	struct module *known; /* mapped */
	unsigned n_known;
	size_t bytes;		 /* of the mapping */
	unsigned long long adds; /* the dynamic linker's counters at the last look */
	_Atomic bool looking;
	bool off;
} modules;

/* One look at all modules. */
struct look {
	modules_take *take;
	struct module *now;
	unsigned n, room;
	bool first; /* the program comes first */
	char *path; /* of PATH_MAX bytes */
};

void modules_start(bool forked)
{
	modules.looking = false; /* the lock may be held by another thread of the parent */
	/*
	 * The dynamic linker's lock may have been held by another thread at the fork, and nothing
	 * would ever release it here.
	 */
	modules.off = forked && !__libc_single_threaded;
}

static uint64_t hash_name(const char *name)
{
	uint64_t hash = 1469598103934665603u;

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 1099511628211u;
	return hash;
}

static bool is_known(const struct module *module)
{
	for (unsigned i = 0; i < modules.n_known; i++)
		if (modules.known[i].start == module->start &&
		    modules.known[i].name == module->name)
			return true;
	return false;
}

/* The build id in the notes of INFO; its length, 0: none. */
static size_t find_build_id(const struct dl_phdr_info *info, const unsigned char **id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const unsigned char *at = (const void *)(info->dlpi_addr + ph->p_vaddr);
		size_t left = ph->p_memsz, align = ph->p_align == 8 ? 8 : 4;

		if (ph->p_type != PT_NOTE)
			continue;
		while (left >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			size_t name = (note->n_namesz + align - 1) / align * align;
			size_t desc = (note->n_descsz + align - 1) / align * align;

			if (name > left || desc > left || sizeof(*note) + name + desc > left)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(note + 1, "GNU", 4) == 0 &&
			    note->n_descsz <= MODULES_MAX_BUILD_ID) {
				*id = (const unsigned char *)(note + 1) + name;
				return note->n_descsz;
			}
			at += sizeof(*note) + name + desc;
			left -= sizeof(*note) + name + desc;
		}
	}
	return 0;
}

/* The absolute path of a module, in LOOK's buffer: the program may change its folder later. */
static const char *absolute_path(struct look *look, const char *name)
{
	long n;

	if (look->first || !*name) {
		n = own_call(READLINK, AT_FDCWD, "/proc/self/exe", look->path, PATH_MAX - 1);
		look->path[n < 0 ? 0 : n] = '\0';
		return look->path;
	}
	if (name[0] == '/' || !strchr(name, '/'))
		return name;
	n = own_call(GETCWD, look->path, PATH_MAX); /* with the NUL */
	if (n <= 1 || look->path[0] != '/')
		return name;
	n--;
	text_format(look->path + n, (size_t)(PATH_MAX - n), "/%s", name);
	return look->path;
}

static void give_module(struct look *look, const struct dl_phdr_info *info, uint64_t start,
			uint64_t end)
{
	struct module_found found = {
		.program = look->first,
		.time_ns = clock_real(),
		.start = start,
		.end = end,
		.bias = info->dlpi_addr,
	};

	found.build_id_bytes = find_build_id(info, &found.build_id);
	found.path = absolute_path(look, info->dlpi_name);
	look->take(&found);
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *look = arg;
	uint64_t start = UINT64_MAX, end = 0;
	struct module *module;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + ph->p_memsz > end ? at + ph->p_memsz : end;
	}
	if (look->n ==
	    look->room) /* more modules came since they were counted: another look will find them */
		return 1;
	if (start < end) {
		module = &look->now[look->n];
		*module = (struct module){ start, hash_name(info->dlpi_name) };
		if (!is_known(module))
			give_module(look, info, start, end);
		look->n++;
	}
	look->first = false;
	return 0;
}

/* How many modules the dynamic linker has added so far, and has now. */
struct census {
	unsigned long long adds;
	unsigned modules;
};

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct census *census = arg;

	(void)size;
	census->adds = info->dlpi_adds;
	census->modules++;
	return 0;
}

static int read_adds(struct dl_phdr_info *info, size_t size, void *arg)
{
	count(info, size, arg);
	return 1;
}

/* Looks at all modules, of which there are about N. */
static void look_at_all(modules_take *take, unsigned n)
{
	const unsigned room = n + SPARE_MODULES;
	const size_t bytes = (room * sizeof(struct module) + PATH_MAX - 1) / PATH_MAX * PATH_MAX;
	struct look look = { .take = take, .room = room, .first = true };

	/* the stack may be small */
	look.now = own_memory(bytes);
	look.path = own_memory(PATH_MAX);
	if (look.now && look.path) {
		dl_iterate_phdr(look_at_module, &look);
		own_unmap(modules.known, modules.bytes);
		modules.known = look.now;
		modules.n_known = look.n;
		modules.bytes = bytes;
	} else {
		own_unmap(look.now, bytes);
	}
	own_unmap(look.path, PATH_MAX);
}

void modules_update(modules_take *take)
{
	struct census census = { .adds = 0 };
	bool idle = false;

	/*
	 * another thread that looks now sees the same; waiting would also wait for the dynamic
	 * linker's lock
	 */
	if (modules.off || !atomic_compare_exchange_strong(&modules.looking, &idle, true))
		return;
	dl_iterate_phdr(read_adds, &census);
	if (census.adds != modules.adds) {
		census.modules = 0;
		dl_iterate_phdr(count, &census);
		modules.adds = census.adds;
		look_at_all(take, census.modules);
	}
	modules.looking = false;
}
