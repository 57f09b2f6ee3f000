/* EZTrace's own input and output: calls made by its libraries. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <link.h>
#include <string.h>

#include "sink.h"
#include "next.h"

#define MAX_OWN 64

/* The address ranges of the tracer's own libraries. */
static struct {
	uintptr_t from, to;
} own[MAX_OWN];
static int n_own;

static int own_add(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "libeztrace-") &&
	    !strstr(info->dlpi_name, "libopen-trace-format") && !strstr(info->dlpi_name, "libotf2"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && n_own < MAX_OWN; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		own[n_own].from = info->dlpi_addr + part->p_vaddr;
		own[n_own].to = own[n_own].from + part->p_memsz;
		n_own++;
	}
	return 0;
}

void own_callers_find(void)
{
	dl_iterate_phdr(own_add, NULL);
}

bool sink_own_caller(const void *caller)
{
	const uintptr_t at = (uintptr_t)caller;

	for (int i = 0; i < n_own; i++)
		if (at >= own[i].from && at < own[i].to)
			return true;
	return false;
}

extern struct next_function __start_sci_next[] __attribute__((visibility("hidden")));
extern struct next_function __stop_sci_next[] __attribute__((visibility("hidden")));

__attribute__((constructor)) static void next_functions_find(void)
{
	/* cppcheck-suppress comparePointers ; the linker has both bound one section */
	for (struct next_function *next = __start_sci_next; next < __stop_sci_next; next++)
		if (!next->function)
			next->function = dlsym(RTLD_NEXT, next->name);
	dlerror(); /* the program must not see this call's error */
}
