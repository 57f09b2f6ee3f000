/* Backends: the ways a BPF program can sit on a kernel function or tracepoint. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_BACKEND_H
#define KERNELIO_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "kernelio.h"
#include "probes.h"

struct bpf_link;
struct bpf_program;
struct btf;

struct backend {
	bool functions; /* serves functions, else tracepoints */
	/* Does this kernel take it at all? If not, false and the reason. NULL: ask each program. */
	bool (*works)(const struct btf *vmlinux, char *why, size_t size);
	/* The same of one function, by its BTF id in VMLINUX (<= 0: not known). NULL: all alike. */
	bool (*takes)(const struct btf *vmlinux, int id);
	/* Before loading: the program is written for fentry or fexit, or for tp_btf. */
	int (*prepare)(struct bpf_program *program, const struct probe *probe, bool at_return);
	/*
	 * Attaching takes the rights loading takes, so it is done with it: Debian's kernel wants
	 * CAP_SYS_ADMIN for perf events.
	 */
	bool early;
	/* NULL and errno where it cannot be. */
	struct bpf_link *(*attach)(struct bpf_program *program, const struct probe *probe,
				   bool at_return);
};

/* By enum kernelio_backend; that of KERNELIO_BACKEND_NONE is empty. */
extern const struct backend kernelio_backend_list[KERNELIO_N_BACKENDS];

/*
 * Before an object is opened: makes libbpf leave programs of our sections to the two functions
 * above. It would look for the BTF of what their section names whatever their type is by then.
 */
int backend_register(void);

/* From now on *LAST is the program whose loading began last. NULL: no longer. */
void backend_note_loading(const struct bpf_program **last);

/* Can BACKEND serve PROBE, as far as the lists say? */
bool backend_serves(unsigned backend, const struct probe *probe);

#endif
