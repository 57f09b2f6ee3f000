/* What a call costs a process that nobody traces: alone, beside empty probes, beside a tracer. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 40
#define CALLS 5000 /* in a block: it mostly goes by without an interrupt */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A program that does nothing on the raw tracepoint NAME, for as long as this process lives. */
static void attach_empty(const char *name)
{
	/* r0 = 0; exit */
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "Dual BSD/GPL", nothing, 2,
			       NULL);

	if (fd < 0 || bpf_raw_tracepoint_open(name, fd) < 0)
		err(1, "%s", name);
}

/* ns of a call, the lower quartile of the blocks. Of a kind that is an OPERATION, or of another. */
static double call_ns(bool operation, int fd)
{
	uint64_t ns[BLOCKS];
	char byte;

	for (int block = 0; block < BLOCKS; block++) {
		uint64_t begin = cpu_ns();

		for (int i = 0; i < CALLS; i++) {
			if (!operation)
				syscall(SYS_getppid);
			else if (syscall(SYS_pread64, fd, &byte, 1, 0) != 1)
				err(1, "pread");
		}
		ns[block] = cpu_ns() - begin;
	}
	qsort(ns, BLOCKS, sizeof(*ns), compare);
	return (double)ns[BLOCKS / 4] / CALLS;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2 || argc > 3)
		errx(2, "usage: kernel-idle FILE [empty]");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (argc == 3) {
		attach_empty("sys_enter");
		attach_empty("sys_exit");
	}
	printf("%.1f %.1f\n", call_ns(false, fd), call_ns(true, fd));
	return 0;
}
