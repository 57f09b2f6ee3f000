/* Loading the programs of an object side by side. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_LOADING_H
#define KERNELIO_LOADING_H

struct bpf_program;
struct bpf_prog_load_opts;

/* r0 = 0; exit */
#define EMPTY_PROGRAM { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT },

/* Starts the threads: before an object is loaded. */
void loading_begin(void);

/* libbpf is about to load PROGRAM with OPTIONS: a thread does. */
int loading_take(struct bpf_program *program, struct bpf_prog_load_opts *options);

/*
 * The object is loaded, with RC: waits for the threads. Returns RC, or the error of the first
 * program refused, and in REFUSED which.
 */
int loading_end(int rc, const struct bpf_program **refused);

#endif
