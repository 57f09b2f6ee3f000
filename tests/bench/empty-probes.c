/* Runs a command beside programs that do nothing, on tracepoints: the least that probes there can
 * cost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <err.h>
#include <string.h>
#include <unistd.h>

/* A program that does nothing on the raw tracepoint NAME, until the command has ended. */
static void attach_empty(const char *name)
{
	/* r0 = 0; exit */
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "Dual BSD/GPL", nothing, 2,
			       NULL);
	int link = fd < 0 ? fd : bpf_raw_tracepoint_open(name, fd);

	/* the descriptor is what keeps it attached, and the command inherits it */
	if (link < 0 || (link = dup(link)) < 0)
		err(1, "%s", name);
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		attach_empty(argv[i]);
	if (i + 1 >= argc)
		errx(2, "usage: empty-probes TRACEPOINT... -- COMMAND");
	execvp(argv[i + 1], argv + i + 1);
	err(1, "%s", argv[i + 1]);
}
