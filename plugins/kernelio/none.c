/* The kernel tracer's interface where it was left out of the build. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "eta-ext/base/eta.h"
#include "kernelio.h"

int kernelio_new(const struct kernelio_options *options, struct kernelio **out)
{
	*out = NULL;
	(options->optional ? eta_warn : eta_error)(
		"kernel levels vfs, pagecache, fs, block, cpu missing: built without the kernel "
		"tracer (install libbpf-dev clang bpftool and configure again)");
	return -ENOTSUP;
}

int kernelio_start(struct kernelio *k, int folder)
{
	(void)folder;
	(void)k;
	return -ENOTSUP;
}

int kernelio_attach(struct kernelio *k, pid_t pid, bool children)
{
	(void)k;
	(void)pid;
	(void)children;
	return -ENOTSUP;
}

void kernelio_property(struct kernelio *k, const char *text)
{
	(void)k;
	(void)text;
}

void kernelio_pause(struct kernelio *k, bool paused)
{
	(void)k;
	(void)paused;
}

int kernelio_snapshot(struct kernelio *k)
{
	(void)k;
	return -ENOTSUP;
}

int kernelio_status(struct kernelio *k, char *text, size_t size)
{
	(void)k;
	(void)text;
	(void)size;
	return -ENOTSUP;
}

int kernelio_stop(struct kernelio *k, struct kernelio_counts *counts)
{
	(void)k;
	(void)counts;
	return -ENOTSUP;
}

void kernelio_free(struct kernelio *k)
{
	(void)k;
}

const char *kernelio_missing(const struct kernelio *k)
{
	(void)k;
	return "vfs, pagecache, fs, block, cpu: built without the kernel tracer";
}

void kernelio_levels_print(const struct kernelio *k)
{
	(void)k;
}

void kernelio_probes_print(const struct kernelio *k, FILE *out)
{
	(void)k;
	(void)out;
}
