/* The spool's meta file: names of system calls, probes in use, totals of the run. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "internal.h"
#include "net-mounts.h"
#include "wall-clock.h"

void text_append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + length, size - length, format, ap);
	va_end(ap);
}

void meta_header(struct eta_spool_header *header, enum eta_spool_kind kind)
{
	struct utsname names;

	memset(header, 0, sizeof(*header));
	header->kind = kind;
	header->start_ns = header->clock_mono_ns = clock_ns(CLOCK_MONOTONIC);
	header->clock_real_ns = clock_ns(CLOCK_REALTIME);
	spool_header_origin(header);
	header->pid_ns = header->parent_ns = 0; /* its numbers are those of the first one */
	if (uname(&names) == 0)
		snprintf(header->host, sizeof(header->host), "%.63s", names.nodename);
	snprintf(header->comm, sizeof(header->comm), "%s", program_invocation_short_name);
}

static void put_text(struct kernelio *k, enum eta_record_type type, uint32_t id, uint8_t flags,
		     const char *text)
{
	spool_put_text(&k->meta, type, id, flags, clock_ns(CLOCK_MONOTONIC), text, strlen(text));
}

void meta_property(struct kernelio *k, const char *format, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	put_text(k, ETA_RECORD_PROPERTY, 0, 0, text);
}

void kernelio_property(struct kernelio *k, const char *text)
{
	put_text(k, ETA_RECORD_PROPERTY, 0, 0, text);
}

static int put_mount(void *arg, const char *text)
{
	meta_property(arg, "MOUNT=%s", text);
	return 0;
}

/* What is known from the begin on, into a new file NAME. 0 or -errno. */
static int create(struct kernelio *k, const char *name)
{
	struct eta_spool_header header;
	char path[PATH_MAX + 32];
	uint64_t error_ns;
	int rc;

	meta_header(&header, ETA_SPOOL_META);
	snprintf(path, sizeof(path), "%s/%s", k->directory, name);
	rc = spool_create(&k->meta, path, &header, 65536, 65536);
	if (rc)
		return rc;
#define X(name, kind, shape)                                                                       \
	put_text(k, ETA_RECORD_NAME, KERNELIO_SYS_##name, ETA_OP_##kind, #name);
	KERNELIO_SYSCALLS(X)
#undef X
#define X(id, name, kind) put_text(k, ETA_RECORD_NAME, KERNELIO_SYS_##id, ETA_OP_##kind, #name);
	KERNELIO_REVERSED_SYSCALLS(X)
#undef X
#define X(id, region, kind) put_text(k, ETA_RECORD_NAME, KERNELIO_SYS_##id, ETA_OP_##kind, region);
	KERNELIO_OPERATIONS(X)
#undef X
	meta_property(k, "BACKENDS=%s", k->backends);
	if (wall_clock_error(&error_ns))
		meta_property(k, "REALTIME_ERROR=%" PRIu64, error_ns);
	net_mounts("/proc/self/mountinfo", put_mount, k);
	meta_property(k, "MISSING=%s", k->missing[0] ? k->missing : "none");
	if (k->filter.light)
		meta_property(k, "KERNEL_MODE=light");
	if (k->command[0])
		meta_property(k, "COMMAND=%s", k->command);
	return 0;
}

int meta_create(struct kernelio *k)
{
	int rc = create(k, "meta");

	k->suspended_ns = suspended_ns();
	if (rc == -EEXIST)
		eta_error("%s: there is a trace already: choose another directory",
			  k->options.name);
	else if (rc)
		eta_error("%s/meta: cannot create (%s)", k->options.name, strerror(-rc));
	return rc;
}

static void put_sleep(struct kernelio *k, uint32_t id, const char *text)
{
	static const char asked[] = "vfs:fanotify listener\n";

	k->asked_listener |= strncmp(text, asked, sizeof(asked) - 1) == 0;
	put_text(k, ETA_RECORD_SLEEP, id, 0, text);
}

void meta_places(struct kernelio *k)
{
	int rc = sleeps_list(k, put_sleep);
	uint32_t listener;

	if (rc)
		eta_warn("/proc/kallsyms: the kernel's symbols cannot be read (%s): page locks and "
			 "journal commits are recognised by less (run as root)",
			 strerror(-rc));
	listener = k->asked_listener ? listener_find(k) : 0;
	if (listener)
		meta_property(k, "FANOTIFY_LISTENER=%u", listener);
}

int meta_snapshot(struct kernelio *k)
{
	const struct spool own = k->meta;
	char path[PATH_MAX + 32];
	int rc;

	snprintf(path, sizeof(path), "%s/" KERNELIO_SNAPSHOT, k->directory);
	unlink(path); /* of one that nobody has fetched */
	rc = create(k, KERNELIO_SNAPSHOT);
	if (rc == 0) {
		meta_places(k);
		limits_put(k);
		wakings_put(k, kernelio_property);
		asleep_put(k, kernelio_property);
		worked_put(k, kernelio_property);
		dirty_put(k, kernelio_property);
		suspension_tell(k);
		/* there is nothing behind it, as with one that has stopped */
		meta_property(k, "SNAPSHOT=yes");
		spool_close(&k->meta);
	}
	k->meta = own;
	return rc;
}

void meta_close(struct kernelio *k, const struct kernelio_counts *counts)
{
	if (!k->meta.header)
		return;
#define X(name, what, said, end)                                                                   \
	meta_property(k, "TOTAL.%s=%llu", #name, (unsigned long long)counts->totals.name);
	KERNELIO_TOTALS(X)
#undef X
	meta_property(k, "TOTAL.operations=%llu",
		      (unsigned long long)counts->recorded[ETA_RECORD_KERNEL_OP]);
	meta_property(k, "TOTAL.async_operations=%llu",
		      (unsigned long long)counts->recorded[ETA_RECORD_ASYNC_OP]);
	meta_property(k, "TOTAL.open_operations=%llu", (unsigned long long)counts->open_ops);
	meta_property(k, "TOTAL.open_bios=%llu", (unsigned long long)counts->open_bios);
	meta_property(k, "TOTAL.dirty_bytes=%llu", (unsigned long long)counts->dirty_bytes);
	meta_property(k, "TOTAL.probes_missed=%llu", (unsigned long long)counts->probes_missed);
	meta_property(k, "LOST=%llu", (unsigned long long)counts->lost_all);
	loss_properties(k);
	limits_put(k);
	wakings_put(k, kernelio_property);
	asleep_put(k, kernelio_property);
	worked_put(k, kernelio_property);
	dirty_put(k, kernelio_property);
	clock_reads_put(k, kernelio_property);
	suspension_tell(k);
	/* again: some may have come since the begin */
	net_mounts("/proc/self/mountinfo", put_mount, k);
	spool_close(&k->meta);
}
