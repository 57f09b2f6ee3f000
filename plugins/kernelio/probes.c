/* Choosing probes: what the kernel has and takes is loaded, the rest is announced with its reason.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eta-ext/eta.h"
#include "plugins/kernelio/internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define BTF_DIRECTORY "/sys/kernel/btf"
#define DEFAULT_THREADS 4096
#ifndef SYS_open /* architectures younger than openat */
#define SYS_open KERNELIO_MAX_SYSCALL_NR
#define SYS_creat KERNELIO_MAX_SYSCALL_NR
#endif

enum need { NEED_REQUIRED, NEED_LEVEL, NEED_EXTRA };

static const struct probe {
	const char *program;
	const char *tracepoint;
	enum eta_level level;
	enum need need;
} probes[KERNELIO_N_PROBES] = {
#define X(program, tracepoint, level, need)                                                        \
	{ #program, #tracepoint, ETA_LEVEL_##level, NEED_##need },
	KERNELIO_PROBES(X)
#undef X
};

/* The last thing libbpf complained about, for our own message. */
static char libbpf_said[512];

__attribute__((format(printf, 2, 0))) static int libbpf_message(enum libbpf_print_level level,
								const char *format, va_list ap)
{
	if (getenv("SCI_LIBBPF_DEBUG"))
		return vfprintf(stderr, format, ap);
	if (level == LIBBPF_WARN)
		vsnprintf(libbpf_said, sizeof(libbpf_said), format, ap);
	return 0;
}

/* ---- what the kernel has ---- */

static void mark_present(const struct btf *btf, bool *present)
{
	char name[128];

	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		if (present[i])
			continue;
		snprintf(name, sizeof(name), "btf_trace_%s", probes[i].tracepoint);
		present[i] = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
	}
}

/* Tracepoints of the kernel and its modules, by their types. */
static int find_present(bool *present)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	struct dirent *entry;
	bool all = true;
	DIR *dir;

	if (!vmlinux)
		return errno ? -errno : -ENOENT;
	mark_present(vmlinux, present);
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
		all = all && present[i];
	dir = all ? NULL : opendir(BTF_DIRECTORY);
	while (dir && (entry = readdir(dir))) {
		struct btf *module;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		module = btf__load_module_btf(entry->d_name, vmlinux);
		if (module)
			mark_present(module, present);
		btf__free(module);
	}
	if (dir)
		closedir(dir);
	btf__free(vmlinux);
	return 0;
}

/* ---- loading ---- */

/* Levels whose probes tell what a level that is asked for needs. */
static bool level_has_use(const struct kernelio *k, enum eta_level level)
{
	static const uint32_t users[ETA_N_LEVELS] = {
		[ETA_LEVEL_VFS] = ~0U,
		[ETA_LEVEL_CPU] = ~0U, /* which thread runs, and from when to when */
		/* whose data a request carries */
		[ETA_LEVEL_PAGECACHE] = 1U << ETA_LEVEL_PAGECACHE | 1U << ETA_LEVEL_BLOCK,
		/* the write loop is the page cache's */
		[ETA_LEVEL_FS] = 1U << ETA_LEVEL_FS | 1U << ETA_LEVEL_PAGECACHE,
		[ETA_LEVEL_BLOCK] = 1U << ETA_LEVEL_BLOCK,
	};

	return k->filter.levels & users[level];
}

static void fill_constants(const struct kernelio *k, struct kernelio_bpf *bpf)
{
	static const struct {
		long number;
		struct kernelio_syscall_info info;
	} list[] = {
#define X(name, kind, shape) { SYS_##name, { KERNELIO_SYS_##name, ETA_OP_##kind, SHAPE_##shape } },
		KERNELIO_SYSCALLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].number < KERNELIO_MAX_SYSCALL_NR)
			bpf->rodata->syscalls[list[i].number] = list[i].info;
	}
	bpf->rodata->open_flags.direct = O_DIRECT;
	bpf->rodata->open_flags.sync = O_SYNC | O_DSYNC;
	bpf->rodata->open_flags.append = O_APPEND;
	bpf->rodata->filter = k->filter;
	bpf->rodata->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
}

void rings_close(struct kernelio *k)
{
	for (unsigned cpu = 0; k->ring_fds && cpu < k->n_cpus; cpu++) {
		if (k->ring_fds[cpu] >= 0)
			close(k->ring_fds[cpu]);
		k->ring_fds[cpu] = -1;
	}
}

/*
 * A ring for each CPU, in the map of rings. Their descriptors are kept for the collector: to ask
 * the map for them takes the rights of an administrator.
 */
static int make_rings(struct kernelio *k, size_t ring_bytes)
{
	for (uint32_t cpu = 0; cpu < k->n_cpus; cpu++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, (uint32_t)ring_bytes,
					NULL);
		int rc = fd;

		k->ring_fds[cpu] = fd;
		if (fd >= 0)
			rc = bpf_map_update_elem(bpf_map__fd(k->bpf->maps.rings), &cpu, &fd,
						 BPF_ANY);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static unsigned n_threads(const struct kernelio *k)
{
	return k->options.threads ? k->options.threads : DEFAULT_THREADS;
}

/* Slot 0 means "not traced". Pushed last to first, so that low ones are taken first. */
static int fill_slots(struct kernelio *k)
{
	int fd = bpf_map__fd(k->bpf->maps.free_slots), rc = 0;

	for (uint32_t slot = n_threads(k); slot > 0 && rc == 0; slot--)
		rc = bpf_map_update_elem(fd, NULL, &slot, BPF_ANY);
	return rc;
}

static int fill_filter_values(struct kernelio *k)
{
	int fd = bpf_map__fd(k->bpf->maps.filter_values), rc = 0;
	uint8_t yes = 1;

	for (size_t i = 0; i < k->n_filter_keys && rc == 0; i++)
		rc = bpf_map_update_elem(fd, &k->filter_keys[i], &yes, BPF_ANY);
	return rc;
}

/* Opens the object and loads the programs that WANTED names. */
static int try_load(struct kernelio *k, const bool *wanted)
{
	size_t ring_bytes = k->options.ring_bytes ? k->options.ring_bytes : DEFAULT_RING_BYTES;
	struct kernelio_bpf *bpf;
	int rc;

	rings_close(k);
	kernelio_bpf__destroy(k->bpf);
	k->bpf = NULL;
	bpf = kernelio_bpf__open();
	if (!bpf)
		return errno ? -errno : -EINVAL;
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(bpf->obj, probes[i].program);

		if (!wanted[i])
			bpf_program__set_autoload(program, false);
	}
	rc = bpf_map__set_max_entries(bpf->maps.rings, k->n_cpus);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.filter_values,
					      (uint32_t)k->n_filter_keys + 1);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.slots, n_threads(k) + 1);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.free_slots, n_threads(k));
	if (rc == 0) {
		fill_constants(k, bpf);
		rc = kernelio_bpf__load(bpf);
	}
	k->bpf = bpf;
	if (rc == 0)
		rc = make_rings(k, ring_bytes);
	if (rc == 0)
		rc = fill_slots(k);
	if (rc == 0)
		rc = fill_filter_values(k);
	return rc;
}

/*
 * One program that the kernel refuses fails the whole object: then each optional one is tried
 * beside the required ones, and those refused stay out.
 */
static int load_what_loads(struct kernelio *k, bool *wanted)
{
	bool trial[KERNELIO_N_PROBES];
	int rc = try_load(k, wanted);

	if (rc == 0)
		return 0;
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
		trial[i] = wanted[i] && probes[i].need == NEED_REQUIRED;
	rc = try_load(k, trial);
	if (rc)
		return rc;
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		if (!wanted[i] || probes[i].need == NEED_REQUIRED)
			continue;
		trial[i] = true;
		rc = try_load(k, trial);
		trial[i] = false;
		if (rc) {
			wanted[i] = false;
			snprintf(k->why[i], sizeof(k->why[i]), "refused by the kernel (%s)",
				 strerror(-rc));
		}
	}
	return try_load(k, wanted);
}

static struct bpf_program *program_of(const struct kernelio *k, size_t i)
{
	return bpf_object__find_program_by_name(k->bpf->obj, probes[i].program);
}

/* ---- saying so ---- */

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
							 const char *format, ...)
{
	size_t length = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + length, size - length, format, ap);
	va_end(ap);
}

static void describe(struct kernelio *k)
{
	k->backends[0] = k->missing[0] = '\0';
	for (int level = 0; level < ETA_N_LEVELS; level++) {
		const char *before = ": tp_btf ";

		for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
			if ((int)probes[i].level != level)
				continue;
			if (k->in_use[i]) {
				if (before[0] == ':')
					append(k->backends, sizeof(k->backends), "%s%s",
					       k->backends[0] ? "; " : "",
					       eta_level_name((enum eta_level)level));
				append(k->backends, sizeof(k->backends), "%s%s", before,
				       probes[i].tracepoint);
				before = " ";
			} else if (probes[i].need != NEED_EXTRA &&
				   level_has_use(k, probes[i].level)) {
				append(k->missing, sizeof(k->missing), "%s%s: %s %s",
				       k->missing[0] ? "; " : "",
				       eta_level_name((enum eta_level)level), probes[i].tracepoint,
				       k->why[i]);
			}
		}
	}
}

__attribute__((format(printf, 2, 3))) static void report(const struct kernelio *k,
							 const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	(k->options.optional ? eta_warn : eta_error)(
		"kernel levels vfs, pagecache, fs, block, cpu missing: %s", text);
}

static void report_load_failure(const struct kernelio *k, int rc)
{
	size_t length = strcspn(libbpf_said, "\n");

	libbpf_said[length] = '\0';
	if (rc == -EPERM || rc == -EACCES)
		report(k,
		       "the kernel refuses BPF programs (%s): run as root or with CAP_BPF and "
		       "CAP_PERFMON",
		       strerror(-rc));
	else
		report(k, "loading BPF programs failed (%s): %s; SCI_LIBBPF_DEBUG=1 shows all",
		       strerror(-rc), libbpf_said);
}

int probes_load(struct kernelio *k)
{
	bool wanted[KERNELIO_N_PROBES] = { 0 };
	int rc;

	libbpf_set_print(libbpf_message);
	rc = find_present(wanted);
	if (rc) {
		report(k,
		       "no kernel type information in " BTF_DIRECTORY "/vmlinux (%s): use a "
		       "kernel built with CONFIG_DEBUG_INFO_BTF",
		       strerror(-rc));
		return rc;
	}
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		if (!level_has_use(k, probes[i].level))
			wanted[i] = false;
		if (wanted[i])
			continue;
		snprintf(k->why[i], sizeof(k->why[i]), "is not in this kernel");
		if (probes[i].need == NEED_REQUIRED) {
			report(k, "tracepoint %s is not in this kernel", probes[i].tracepoint);
			return -ENOTSUP;
		}
	}
	rc = load_what_loads(k, wanted);
	if (rc) {
		report_load_failure(k, rc);
		return rc;
	}
	memcpy(k->in_use, wanted, sizeof(wanted));
	describe(k);
	return 0;
}

/* ---- attaching ---- */

int probes_attach(struct kernelio *k)
{
	bool changed = false;

	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		if (!k->in_use[i])
			continue;
		k->links[i] = bpf_program__attach(program_of(k, i));
		if (k->links[i])
			continue;
		snprintf(k->why[i], sizeof(k->why[i]), "cannot be attached (%s)", strerror(errno));
		k->in_use[i] = false;
		changed = true;
		if (probes[i].need == NEED_REQUIRED) {
			report(k, "tracepoint %s %s", probes[i].tracepoint, k->why[i]);
			probes_detach(k);
			return -ENOTSUP;
		}
	}
	if (changed)
		describe(k);
	return 0;
}

void probes_detach(struct kernelio *k)
{
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		bpf_link__destroy(k->links[i]);
		k->links[i] = NULL;
	}
}

uint64_t probes_missed(const struct kernelio *k)
{
	char text[1024] = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (!k->in_use[i])
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(program_of(k, i)), &info, &size) ||
		    !info.recursion_misses)
			continue;
		sum += info.recursion_misses;
		append(text, sizeof(text), " %s %llu", probes[i].program,
		       (unsigned long long)info.recursion_misses);
	}
	if (sum && getenv("SCI_LIBBPF_DEBUG"))
		eta_note("kernel: probes not entered in the middle of themselves:%s", text);
	return sum;
}

/* Runs an iterator to its end. INFO may be NULL: over everything. */
static int run_iterator(const struct bpf_program *program, union bpf_iter_link_info *info)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, options);
	struct bpf_link *link;
	char ignored[64];
	ssize_t n;
	int fd, rc = 0;

	if (info) {
		options.link_info = info;
		options.link_info_len = sizeof(*info);
	}
	link = bpf_program__attach_iter(program, &options);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		rc = fd;
		goto out;
	}
	do
		n = read(fd, ignored, sizeof(ignored));
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		rc = -errno;
	close(fd);
out:
	bpf_link__destroy(link);
	return rc;
}

int probes_each_task(struct kernelio *k, pid_t tgid)
{
	k->bpf->bss->attach_tgid = (uint32_t)tgid;
	k->bpf->bss->close_open = tgid == 0;
	return run_iterator(k->bpf->progs.on_each_task, NULL);
}

int probes_find_tracer(struct kernelio *k)
{
	k->bpf->bss->attach_tgid = k->bpf->bss->close_open = 0;
	return run_iterator(k->bpf->progs.on_each_task, NULL);
}

int probes_each_file(struct kernelio *k, pid_t tgid)
{
	union bpf_iter_link_info info = { .task.pid = (uint32_t)tgid };
	int rc;

	k->bpf->bss->files_tgid = (uint32_t)tgid;
	rc = run_iterator(k->bpf->progs.on_each_file, &info);
	/* before Linux 6.1 it goes over all tasks, and the program chooses */
	return rc ? run_iterator(k->bpf->progs.on_each_file, NULL) : 0;
}
