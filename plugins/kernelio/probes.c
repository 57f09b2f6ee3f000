/* Choosing probes: what the kernel has and takes is loaded, the rest is said with its reason. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "backend.h"
#include "internal.h"
#include "loading.h"
#include "plugins/kernelio/kernelio.skel.h"

#define DEFAULT_THREADS 4096
#define OLDEST_MAJOR 5 /* Linux */
#define OLDEST_MINOR 15
#ifndef SYS_open /* architectures younger than openat */
#define SYS_open KERNELIO_MAX_SYSCALL_NR
#define SYS_creat KERNELIO_MAX_SYSCALL_NR
#define SYS_unlink KERNELIO_MAX_SYSCALL_NR
#define SYS_rmdir KERNELIO_MAX_SYSCALL_NR
#define SYS_rename KERNELIO_MAX_SYSCALL_NR
#define SYS_mkdir KERNELIO_MAX_SYSCALL_NR
#define SYS_mknod KERNELIO_MAX_SYSCALL_NR
#define SYS_link KERNELIO_MAX_SYSCALL_NR
#define SYS_symlink KERNELIO_MAX_SYSCALL_NR
#define SYS_chmod KERNELIO_MAX_SYSCALL_NR
#define SYS_chown KERNELIO_MAX_SYSCALL_NR
#define SYS_lchown KERNELIO_MAX_SYSCALL_NR
#define SYS_stat KERNELIO_MAX_SYSCALL_NR
#define SYS_lstat KERNELIO_MAX_SYSCALL_NR
#define SYS_access KERNELIO_MAX_SYSCALL_NR
#define SYS_readlink KERNELIO_MAX_SYSCALL_NR
#define SYS_getdents KERNELIO_MAX_SYSCALL_NR
#endif

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

/* ---- loading ---- */

/* Levels whose probes report what a level that is asked for needs. */
bool probes_wants(const struct kernelio *k, enum eta_level level)
{
	static const uint32_t users[ETA_N_LEVELS] = {
		[ETA_LEVEL_VFS] = ~0U,
		[ETA_LEVEL_CPU] = ~0U, /* which thread runs, and from when to when */
		/* whose data a request carries */
		[ETA_LEVEL_PAGECACHE] =
			1U << ETA_LEVEL_PAGECACHE | 1U << ETA_LEVEL_BLOCK | 1U << ETA_LEVEL_NET,
		/* the write loop is the page cache's */
		[ETA_LEVEL_FS] = 1U << ETA_LEVEL_FS | 1U << ETA_LEVEL_PAGECACHE,
		[ETA_LEVEL_BLOCK] = 1U << ETA_LEVEL_BLOCK,
		[ETA_LEVEL_NET] = 1U << ETA_LEVEL_NET,
	};

	return k->filter.levels & users[level];
}

/* The kernel's clock tick: the coarse clocks go on with it. */
static uint64_t tick_ns(void)
{
	struct timespec tick;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) ? 0 : (uint64_t)tick.tv_nsec;
}

static unsigned n_threads(const struct kernelio *k)
{
	return k->options.threads ? k->options.threads : DEFAULT_THREADS;
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
#define X(name, shape) { SYS_##name, { KERNELIO_SYS_QUEUE, ETA_OP_OTHER, SHAPE_##shape } },
			KERNELIO_QUEUE_SYSCALLS(X)
#undef X
	};

	const char *unseen = getenv("SCI_UNSEEN_SWITCHES");

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].number < KERNELIO_MAX_SYSCALL_NR)
			bpf->rodata->syscalls[list[i].number] = list[i].info;
	}
#ifdef __x86_64__
#define X(number) bpf->rodata->syscalls[number].compat = 1;
	KERNELIO_COMPAT_SYSCALLS(X)
#undef X
#endif
	bpf->rodata->open_flags.direct = O_DIRECT;
	bpf->rodata->open_flags.sync = O_SYNC | O_DSYNC;
	bpf->rodata->open_flags.append = O_APPEND;
	bpf->rodata->filter = k->filter;
	bpf->rodata->n_slots = n_threads(k);
	bpf->rodata->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	bpf->rodata->tick_ns = tick_ns();
	bpf->rodata->loop_file_offset = k->loop_file_offset;
	waking_prepare(bpf);
	bpf->rodata->pinned_bios = k->pinned_bios;
	bpf->rodata->call_nanosleep = SYS_nanosleep;
	bpf->rodata->call_clock_nanosleep = SYS_clock_nanosleep;
	if (unseen)
		bpf->rodata->unseen_percent = (uint32_t)strtoul(unseen, NULL, 10);
}

static int fill_filter_values(struct kernelio *k)
{
	int fd = bpf_map__fd(k->bpf->maps.filter_values), rc = 0;
	uint8_t yes = 1;

	for (size_t i = 0; i < k->n_filter_keys && rc == 0; i++)
		rc = bpf_map_update_elem(fd, &k->filter_keys[i], &yes, BPF_ANY);
	return rc;
}

static struct bpf_program *program_of(struct bpf_object *object, size_t i, bool at_return)
{
	const char *name = probes_row(i)->programs[at_return];

	return name ? bpf_object__find_program_by_name(object, name) : NULL;
}

/* Makes the programs of row I what BACKEND needs; none: leaves them out. */
static int prepare(struct bpf_object *object, size_t i, unsigned backend)
{
	const struct backend *how = &kernelio_backend_list[backend];
	int rc = 0;

	for (int at_return = 0; rc == 0 && at_return < 2; at_return++) {
		struct bpf_program *program = program_of(object, i, at_return);

		if (!program)
			continue;
		if (backend == KERNELIO_BACKEND_NONE)
			rc = bpf_program__set_autoload(program, false);
		else
			rc = how->prepare(program, probes_row(i), at_return);
	}
	return rc;
}

/* Leaves out the programs that are loaded before those of row I, all of them having passed. */
static int skip_passed(struct bpf_object *object, size_t i)
{
	const char *const *names = probes_row(i)->programs;
	struct bpf_program *program;
	int rc = 0;

	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);

		if (rc || strcmp(name, names[0]) == 0 || (names[1] && strcmp(name, names[1]) == 0))
			break;
		rc = bpf_program__set_autoload(program, false);
	}
	return rc;
}

/*
 * Opens the object and loads each row's programs for its backend in CHOICE. FROM: only those of
 * that row and those behind; KERNELIO_N_PROBES: all. In REFUSED the program that was, or the one
 * that was loaded when it failed.
 */
static int try_load(struct kernelio *k, const uint8_t *choice, size_t from,
		    const struct bpf_program **refused)
{
	struct kernelio_bpf *bpf;
	int rc;

	rings_close(k);
	kernelio_bpf__destroy(k->bpf);
	k->bpf = NULL;
	rc = backend_register();
	if (rc)
		return rc;
	bpf = kernelio_bpf__open();
	if (!bpf)
		return errno ? -errno : -EINVAL;
	for (size_t i = 0; rc == 0 && i < KERNELIO_N_PROBES; i++)
		rc = prepare(bpf->obj, i, choice[i]);
	if (rc == 0 && from < KERNELIO_N_PROBES)
		rc = skip_passed(bpf->obj, from);
	if (rc == 0)
		rc = rings_prepare(k, bpf);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.filter_values,
					      (uint32_t)k->n_filter_keys + 1);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.slots, n_threads(k) + 1);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.free_slots, n_threads(k));
	if (rc == 0) {
		fill_constants(k, bpf);
		backend_note_loading(refused);
		loading_begin();
		rc = loading_end(kernelio_bpf__load(bpf), refused);
		backend_note_loading(NULL);
	}
	k->bpf = bpf;
	return rc;
}

static bool is_in_order(const struct kernelio *k, unsigned backend)
{
	return !k->options.order.n ||
	       memchr(k->options.order.backends, (int)backend, k->options.order.n);
}

/* The backend for row I that comes after BEFORE (none: the first), none where there is no other. */
static uint8_t backend_after(const struct kernelio *k, size_t i, uint8_t before)
{
	const struct kernelio_order *order = &k->options.order;
	unsigned n = order->n ? order->n : KERNELIO_N_BACKENDS - 1;
	bool passed = before == KERNELIO_BACKEND_NONE;

	for (unsigned at = 0; at < n; at++) {
		uint8_t backend = order->n ? order->backends[at] : (uint8_t)(at + 1);

		if (!passed)
			passed = backend == before;
		else if (k->takes[i][backend])
			return backend;
	}
	/* there is no trace without it, whatever was asked for */
	if (probes_row(i)->need == NEED_REQUIRED && !is_in_order(k, KERNELIO_BACKEND_TP_BTF) &&
	    before != KERNELIO_BACKEND_TP_BTF)
		return KERNELIO_BACKEND_TP_BTF;
	return KERNELIO_BACKEND_NONE;
}

/* What a tracepoint reports less exactly than the function whose bounds are in use is left out. */
static void leave_replaced(struct kernelio *k, uint8_t *choice)
{
	static const struct {
		enum kernelio_probe tracepoint, function;
	} list[] = {
#define X(program, function) { KERNELIO_PROBE_##program, KERNELIO_PROBE_enter_##function },
		KERNELIO_REPLACED(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (!choice[list[i].function])
			continue;
		choice[list[i].tracepoint] = KERNELIO_BACKEND_NONE;
		snprintf(k->why[list[i].tracepoint], sizeof(k->why[0]), PROBES_REPLACED "%s",
			 probes_row(list[i].function)->target);
	}
}

static size_t row_of(const struct bpf_program *program)
{
	const char *name = program ? bpf_program__name(program) : "";

	for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
		for (int at_return = 0; at_return < 2; at_return++)
			if (probes_row(i)->programs[at_return] &&
			    strcmp(probes_row(i)->programs[at_return], name) == 0)
				return i;
	return KERNELIO_N_PROBES;
}

/*
 * One program that the kernel refuses fails the whole object: it goes on to its next backend, or
 * stays out, until the rest loads. Those before it have passed, and to check them takes a second:
 * until no other is refused, only the rest is tried.
 */
static int load_what_loads(struct kernelio *k, uint8_t *choice)
{
	size_t from = KERNELIO_N_PROBES;

	for (;;) {
		const struct bpf_program *last = NULL;
		int rc;
		size_t i;

		rc = try_load(k, choice, from, &last);
		if (rc == 0 && from < KERNELIO_N_PROBES) {
			from = KERNELIO_N_PROBES;
			continue;
		}
		/* EPERM is about our rights and would be the same for all */
		if (rc == 0 || rc == -EPERM)
			return rc;
		i = row_of(last);
		if (i == KERNELIO_N_PROBES)
			return rc;
		snprintf(k->why[i], sizeof(k->why[i]), "%s refused by the kernel (%s)",
			 kernelio_backend_name(choice[i]), strerror(-rc));
		choice[i] = backend_after(k, i, choice[i]);
		if (probes_row(i)->need == NEED_REQUIRED && choice[i] == KERNELIO_BACKEND_NONE)
			return rc;
		from = i;
	}
}

/* ---- saying so ---- */

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

/* Confidentiality forbids what the probes do; integrity does not. */
static bool lockdown(void)
{
	char text[128] = "";
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strstr(text, "[confidentiality]");
}

/* Older than what has all that the probes call; distributions may have brought that to theirs. */
static bool is_old(struct utsname *system)
{
	unsigned major, minor;

	return uname(system) == 0 && sscanf(system->release, "%u.%u", &major, &minor) == 2 &&
	       (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR));
}

static void report_load_failure(const struct kernelio *k, int rc)
{
	size_t length = strcspn(libbpf_said, "\n");
	struct utsname system;

	libbpf_said[length] = '\0';
	if (rc == -EPERM)
		report(k,
		       "the kernel refuses BPF programs (%s): run as root or with CAP_BPF and "
		       "CAP_PERFMON",
		       strerror(-rc));
	else if (is_old(&system))
		report(k, "Linux %s does not have what the probes call (%s): take 5.15 or later",
		       system.release, strerror(-rc));
	else
		report(k, "loading BPF programs failed (%s): %s; SCI_LIBBPF_DEBUG=1 shows all",
		       strerror(-rc), libbpf_said);
}

/* ---- attaching ---- */

static int attach_row(struct kernelio *k, size_t i)
{
	const struct backend *backend = &kernelio_backend_list[k->backend[i]];

	/* the return first: an entry whose return is not reported is a span that is missing */
	for (int at_return = 1; at_return >= 0; at_return--) {
		struct bpf_program *program = program_of(k->bpf->obj, i, at_return);

		if (!program)
			continue;
		k->links[i][at_return] = backend->attach(program, probes_row(i), at_return);
		if (!k->links[i][at_return])
			return errno ? -errno : -EINVAL;
	}
	return 0;
}

static void detach_row(struct kernelio *k, size_t i)
{
	for (int at_return = 0; at_return < 2; at_return++) {
		bpf_link__destroy(k->links[i][at_return]);
		k->links[i][at_return] = NULL;
	}
}

/* The rows whose backend attaches EARLY, or the others. */
static int attach_rows(struct kernelio *k, bool early)
{
	bool changed = false;

	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		int rc = 0;

		if (k->backend[i] && kernelio_backend_list[k->backend[i]].early == early)
			rc = attach_row(k, i);
		if (rc == 0)
			continue;
		detach_row(k, i);
		snprintf(k->why[i], sizeof(k->why[i]), "cannot be attached with %s (%s)",
			 kernelio_backend_name(k->backend[i]), strerror(-rc));
		k->backend[i] = KERNELIO_BACKEND_NONE;
		changed = true;
		if (probes_row(i)->need == NEED_REQUIRED) {
			report(k, "tracepoint %s %s", probes_row(i)->target, k->why[i]);
			probes_detach(k);
			return -ENOTSUP;
		}
	}
	if (changed)
		probes_describe(k);
	return 0;
}

int probes_attach(struct kernelio *k)
{
	return attach_rows(k, false);
}

void probes_detach_but_exits(struct kernelio *k)
{
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
		if (strcmp(probes_row(i)->target, "sched_process_exit") != 0)
			detach_row(k, i);
	faults_detach(k);
}

void probes_detach(struct kernelio *k)
{
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++)
		detach_row(k, i);
	faults_detach(k);
}

/* ---- all of it ---- */

/* Which backends this kernel takes at all, and which were not asked for. */
static void try_backends(struct kernelio *k, const struct btf *vmlinux, const int *present)
{
	for (unsigned i = 1; i < KERNELIO_N_BACKENDS; i++) {
		const struct backend *backend = &kernelio_backend_list[i];

		if (!is_in_order(k, i))
			snprintf(k->why_not[i], sizeof(k->why_not[i]), "not asked for");
		else if (!backend->works ||
			 backend->works(vmlinux, k->why_not[i], sizeof(k->why_not[i])))
			k->why_not[i][0] = '\0';
		for (size_t row = 0; !k->why_not[i][0] && row < KERNELIO_N_PROBES; row++)
			k->takes[row][i] =
				present[row] && backend_serves(i, probes_row(row)) &&
				(!backend->takes || backend->takes(vmlinux, present[row]));
	}
}

int probes_load(struct kernelio *k)
{
	int present[KERNELIO_N_PROBES] = { 0 };
	uint8_t choice[KERNELIO_N_PROBES] = { 0 };
	struct btf *vmlinux;
	int rc;

	libbpf_set_print(libbpf_message);
	if (lockdown()) {
		report(k, "the kernel is locked down (confidentiality), so that no probe may read "
			  "its memory: boot with lockdown=integrity or none");
		return -EPERM;
	}
	vmlinux = btf__load_vmlinux_btf();
	if (!vmlinux) {
		rc = errno ? -errno : -ENOENT;
		report(k,
		       "no kernel type information in " KERNEL_BTF_DIRECTORY "/vmlinux (%s): use a "
		       "kernel built with CONFIG_DEBUG_INFO_BTF",
		       strerror(-rc));
		return rc;
	}
	probes_find_present(vmlinux, present);
	modules_note(k, present);
	k->loop_file_offset = loop_file_offset(vmlinux);
	k->pinned_bios = pinned_bios(vmlinux);
	try_backends(k, vmlinux, present);
	btf__free(vmlinux);
	for (size_t i = 0; i < KERNELIO_N_PROBES; i++) {
		if (present[i] && !probes_wants(k, probes_row(i)->level))
			present[i] = 0;
		if (k->filter.light && !light_has(i)) {
			snprintf(k->why[i], sizeof(k->why[i]), PROBES_LIGHT);
			continue;
		}
		if (present[i]) {
			choice[i] = backend_after(k, i, KERNELIO_BACKEND_NONE);
			snprintf(k->why[i], sizeof(k->why[i]),
				 "can be served by none of the backends asked for");
			continue;
		}
		snprintf(k->why[i], sizeof(k->why[i]), PROBES_ABSENT);
		if (probes_row(i)->need == NEED_REQUIRED) {
			report(k, "tracepoint %s is not in this kernel", probes_row(i)->target);
			return -ENOTSUP;
		}
	}
	leave_replaced(k, choice);
	rc = load_what_loads(k, choice);
	if (rc == 0)
		rc = rings_make(k);
	if (rc == 0)
		rc = fill_filter_values(k);
	if (rc) {
		report_load_failure(k, rc);
		return rc;
	}
	/* faults are recorded by a pair of probes, one of which is no tracepoint */
	if (choice[KERNELIO_PROBE_on_fault] &&
	    faults_attach(k, k->why[KERNELIO_PROBE_on_fault], sizeof(k->why[0])))
		choice[KERNELIO_PROBE_on_fault] = KERNELIO_BACKEND_NONE;
	memcpy(k->backend, choice, sizeof(choice));
	probes_describe(k);
	return attach_rows(k, true);
}

uint64_t probes_missed(const struct kernelio *k)
{
	bool debug = getenv("SCI_LIBBPF_DEBUG");
	uint64_t sum = 0;

	for (size_t i = 0; i < 2 * KERNELIO_N_PROBES; i++) {
		struct bpf_program *program = program_of(k->bpf->obj, i / 2, i % 2);
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (!k->backend[i / 2] || !program ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ||
		    !info.recursion_misses)
			continue;
		sum += info.recursion_misses;
		if (debug)
			eta_note("kernel: %s not entered in the middle of itself %llu times",
				 bpf_program__name(program),
				 (unsigned long long)info.recursion_misses);
	}
	return sum;
}
