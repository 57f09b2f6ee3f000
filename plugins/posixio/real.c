/* Lookup of the real functions. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/*
 * dlsym takes the dynamic linker's lock, which a thread that opens a library holds while the
 * library's constructors run. A constructor that waits for another thread would wait for ever if
 * that thread's call used dlsym. So all functions are looked up before the program runs. Functions
 * of a library that is opened later (libaio, liburing) are looked up in the libraries themselves;
 * that takes another lock, which is held only briefly. It also finds libraries that were opened for
 * their opener alone (RTLD_LOCAL), which dlsym cannot see from here.
 */
void *real_functions[N_FUNCTIONS];
static bool all_asked;

struct wanted {
	const char *name;
	void *function;
};

/* The sections of a library that a lookup by name needs. */
struct library {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH */
	const ElfW(Half) * versions;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool library_read(const struct dl_phdr_info *info, struct library *library)
{
	const ElfW(Dyn) *entry = NULL;

	memset(library, 0, sizeof(*library));
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		/* the dynamic linker has relocated these addresses, unless they are read-only */
		const ElfW(Addr) at = entry->d_un.d_ptr < info->dlpi_addr
					      ? entry->d_un.d_ptr + info->dlpi_addr
					      : entry->d_un.d_ptr;

		if (entry->d_tag == DT_SYMTAB)
			library->symbols = (const void *)at;
		else if (entry->d_tag == DT_STRTAB)
			library->names = (const void *)at;
		else if (entry->d_tag == DT_GNU_HASH)
			library->hash = (const void *)at;
		else if (entry->d_tag == DT_VERSYM)
			library->versions = (const void *)at;
	}
	return library->symbols && library->names && library->hash;
}

static bool is_wanted(const struct library *library, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &library->symbols[index];

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       !(library->versions && (library->versions[index] & 0x8000)) && /* of old programs */
	       strcmp(library->names + symbol->st_name, name) == 0;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *wanted = arg;
	const uint32_t hash = gnu_hash(wanted->name);
	struct library library;
	const uint32_t *buckets, *chain;
	uint32_t n_buckets, first;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD &&
		    (uintptr_t)look_into - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
			return 0; /* this library */
	}
	if (!library_read(info, &library))
		return 0;
	n_buckets = library.hash[0];
	first = library.hash[1];
	buckets = library.hash + 4 + library.hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = buckets + n_buckets;
	if (!n_buckets || buckets[hash % n_buckets] < first)
		return 0;
	for (uint32_t i = buckets[hash % n_buckets];; i++) {
		const uint32_t other = chain[i - first];

		if ((other | 1) == (hash | 1) && is_wanted(&library, i, wanted->name)) {
			wanted->function = (void *)(info->dlpi_addr + library.symbols[i].st_value);
			return 1;
		}
		if (other & 1)
			return 0;
	}
}

static void *look_up(enum function fn)
{
	struct wanted wanted = { .name = function_names[fn] };
	/* dlsym may allocate, and the program's malloc may read a file */
	static __thread bool asking;
	void *function;

	if (all_asked) {
		dl_iterate_phdr(look_into, &wanted);
		return wanted.function;
	}
	if (asking && (function = raw_function(fn)))
		return function;
	asking = true;
	function = dlsym(RTLD_NEXT, function_names[fn]);
	asking = false;
	return function;
}

void *real_resolve(enum function fn)
{
	int saved = errno;
	void *function = look_up(fn);

	if (!function)
		function = raw_function(fn);
	if (!function) {
		tracer_warn("%s: the real function was not found, the program cannot continue (run "
			    "it without the tracer)",
			    function_names[fn]);
		abort();
	}
	real_functions[fn] = function;
	errno = saved;
	return function;
}

void real_resolve_all(void)
{
	/* functions that this C library does not have stay NULL */
	for (int fn = 0; fn < N_FUNCTIONS; fn++)
		if (!real_functions[fn])
			real_functions[fn] = dlsym(RTLD_NEXT, function_names[fn]);
	dlerror(); /* the program must not see this lookup's error */
	all_asked = true;
}

void real_forget_late(void)
{
	for (int fn = FN_FIRST_QUEUE; fn < N_FUNCTIONS; fn++)
		__atomic_store_n(&real_functions[fn], NULL, __ATOMIC_RELAXED);
}
