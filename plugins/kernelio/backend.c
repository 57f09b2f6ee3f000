/* Backends: fentry, kprobe, tp_btf, raw_tp, tracepoint: does the kernel take them? */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loading.h"

/* A function every kernel has and nobody calls often, to try a backend on. */
#define TRIAL_FUNCTION "vfs_fsync_range"
#define FENTRY_ARGUMENTS 6
#define KPROBE_UNIT "/sys/bus/event_source/devices/kprobe"
#define KPROBE_EVENTS "/sys/kernel/tracing/kprobe_events"
#define KPROBE_EVENTS_DEBUGFS "/sys/kernel/debug/tracing/kprobe_events"
#define TRACEPOINT_EVENTS "/sys/kernel/tracing/events"
#define TRACEPOINT_EVENTS_DEBUGFS "/sys/kernel/debug/tracing/events"

static const struct bpf_insn empty_program[] = { EMPTY_PROGRAM };
#define N_EMPTY (sizeof(empty_program) / sizeof(empty_program[0]))

static bool refused(int error, char *why, size_t size)
{
	snprintf(why, size, "refused by the kernel (%s)", strerror(error));
	return false;
}

/* ---- fentry, fexit ---- */

/* Attached, too: some architectures load such programs and have no trampolines to attach them. */
static int fentry_try(int function)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (uint32_t)function);
	int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "sci_trial", "GPL", empty_program,
				    N_EMPTY, &options);
	int link;

	if (program < 0)
		return program;
	link = bpf_raw_tracepoint_open(NULL, program);
	close(program);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

static bool fentry_works(const struct btf *vmlinux, char *why, size_t size)
{
	int id = btf__find_by_name_kind(vmlinux, TRIAL_FUNCTION, BTF_KIND_FUNC);
	int rc = id < 0 ? id : fentry_try(id);

	return rc ? refused(-rc, why, size) : true;
}

/* Trampolines of older kernels hand on no more than what is in registers. */
static bool fentry_takes(const struct btf *vmlinux, int id)
{
	const struct btf_type *function = id > 0 ? btf__type_by_id(vmlinux, (uint32_t)id) : NULL;
	const struct btf_type *proto = function ? btf__type_by_id(vmlinux, function->type) : NULL;

	return !proto || btf_vlen(proto) <= FENTRY_ARGUMENTS || fentry_try(id) == 0;
}

/* This and the next are fentry's, fexit's and tp_btf's. */
static int btf_prepare(struct bpf_program *program, const struct probe *probe, bool at_return)
{
	(void)at_return;
	return bpf_program__set_attach_target(program, 0, probe->target);
}

static struct bpf_link *trace_attach(struct bpf_program *program, const struct probe *probe,
				     bool at_return)
{
	(void)probe;
	(void)at_return;
	return bpf_program__attach_trace(program);
}

/* ---- kprobe, kretprobe ---- */

static int retype(struct bpf_program *program, enum bpf_prog_type type)
{
	int rc = bpf_program__set_type(program, type);

	return rc ? rc : bpf_program__set_expected_attach_type(program, 0);
}

static bool kprobe_works(const struct btf *vmlinux, char *why, size_t size)
{
	int program;

	(void)vmlinux;
	if (access(KPROBE_UNIT, F_OK) && access(KPROBE_EVENTS, F_OK) &&
	    access(KPROBE_EVENTS_DEBUGFS, F_OK)) {
		snprintf(why, size, "this kernel has none");
		return false;
	}
	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sci_trial", "GPL", empty_program, N_EMPTY,
				NULL);
	if (program < 0)
		return refused(-program, why, size);
	close(program);
	return true;
}

static int kprobe_prepare(struct bpf_program *program, const struct probe *probe, bool at_return)
{
	(void)probe;
	(void)at_return;
	return retype(program, BPF_PROG_TYPE_KPROBE);
}

static struct bpf_link *kprobe_attach(struct bpf_program *program, const struct probe *probe,
				      bool at_return)
{
	return bpf_program__attach_kprobe(program, at_return, probe->target);
}

/* ---- raw and classic tracepoints ---- */

static int raw_tp_prepare(struct bpf_program *program, const struct probe *probe, bool at_return)
{
	(void)probe;
	(void)at_return;
	return retype(program, BPF_PROG_TYPE_RAW_TRACEPOINT);
}

static struct bpf_link *raw_tp_attach(struct bpf_program *program, const struct probe *probe,
				      bool at_return)
{
	(void)at_return;
	return bpf_program__attach_raw_tracepoint(program, probe->target);
}

static bool tracepoint_works(const struct btf *vmlinux, char *why, size_t size)
{
	(void)vmlinux;
	if (access(TRACEPOINT_EVENTS, F_OK) == 0 || access(TRACEPOINT_EVENTS_DEBUGFS, F_OK) == 0)
		return true;
	snprintf(why, size, "tracefs is not mounted on /sys/kernel/tracing");
	return false;
}

static int tracepoint_prepare(struct bpf_program *program, const struct probe *probe,
			      bool at_return)
{
	(void)probe;
	(void)at_return;
	return retype(program, BPF_PROG_TYPE_TRACEPOINT);
}

static struct bpf_link *tracepoint_attach(struct bpf_program *program, const struct probe *probe,
					  bool at_return)
{
	(void)at_return;
	return bpf_program__attach_tracepoint(program, probe->category, probe->target);
}

/* ---- the list ---- */

const struct backend kernelio_backend_list[KERNELIO_N_BACKENDS] = {
	[KERNELIO_BACKEND_FENTRY] = { true, fentry_works, fentry_takes, btf_prepare, false,
				      trace_attach },
	[KERNELIO_BACKEND_KPROBE] = { true, kprobe_works, NULL, kprobe_prepare, true,
				      kprobe_attach },
	[KERNELIO_BACKEND_TP_BTF] = { false, NULL, NULL, btf_prepare, false, trace_attach },
	[KERNELIO_BACKEND_RAW_TP] = { false, NULL, NULL, raw_tp_prepare, false, raw_tp_attach },
	[KERNELIO_BACKEND_TRACEPOINT] = { false, tracepoint_works, NULL, tracepoint_prepare, true,
					  tracepoint_attach },
};

bool backend_serves(unsigned backend, const struct probe *probe)
{
	bool is_function = probe->programs[1] != NULL;

	if (backend == KERNELIO_BACKEND_TRACEPOINT && !probe->category)
		return false;
	return kernelio_backend_list[backend].functions == is_function;
}

/* ---- libbpf ---- */

static const struct bpf_program **loading;

static int note_loading(struct bpf_program *program, struct bpf_prog_load_opts *options,
			long cookie)
{
	(void)cookie;
	if (loading)
		*loading = program;
	return loading_take(program, options);
}

void backend_note_loading(const struct bpf_program **last)
{
	loading = last;
}

int backend_register(void)
{
	static const struct {
		const char *section;
		enum bpf_attach_type type;
	} list[] = {
		{ "fentry+", BPF_TRACE_FENTRY },
		{ "fexit+", BPF_TRACE_FEXIT },
		{ "tp_btf+", BPF_TRACE_RAW_TP },
	};
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = note_loading);
	static bool done;

	for (size_t i = 0; !done && i < sizeof(list) / sizeof(list[0]); i++) {
		int id = libbpf_register_prog_handler(list[i].section, BPF_PROG_TYPE_TRACING,
						      list[i].type, &options);

		if (id < 0)
			return id;
	}
	done = true;
	return 0;
}
