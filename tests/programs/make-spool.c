/* make-spool DIR THREADS OPERATIONS [last]: a user and a kernel spool of a run that never was. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "eta-ext/format/spool-budget.h"
#include "tests/unit/spool-maker.h"

/*
 * Each thread writes 4 KiB OPERATIONS times: a user call around a system call with three spans,
 * every tenth with a request that the thread waits for. Per operation 4 user events and 8 of the
 * kernel, 4 more (and one on the device) with a request.
 */
enum { PID = 1000, CPUS = 4, WRITE = 1, WINDOW_BYTES = 16 << 10 };

static const uint32_t dev = 254 << 20 | 1;

static void open_file(struct spool *spool, const char *path, struct eta_spool_header header)
{
	snprintf(header.host, sizeof(header.host), "here");
	snprintf(header.comm, sizeof(header.comm), "app");
	snprintf(header.exe, sizeof(header.exe), "/bin/app");
	if (spool_create(spool, path, &header, WINDOW_BYTES, WINDOW_BYTES) != 0) {
		fprintf(stderr, "make-spool: cannot write %s\n", path);
		exit(1);
	}
}

static void kernel_operation(struct spool *spool, uint32_t tid, uint64_t at_ns, bool request)
{
	const struct eta_span spans[] = {
		{ .begin_ns = at_ns + 100,
		  .end_ns = at_ns + 120,
		  .kind = ETA_SPAN_INODE_LOCK,
		  .who = PID },
		{ .begin_ns = at_ns + 130,
		  .end_ns = at_ns + 800,
		  .kind = ETA_SPAN_PAGECACHE_WRITE },
		{ .begin_ns = at_ns + 300,
		  .end_ns = at_ns + 700,
		  .kind = ETA_SPAN_SLEEP,
		  .flags = ETA_SPAN_IOWAIT },
	};

	maker_kernel_op(spool,
			(struct eta_kernel_op){
				.head = { .time_ns = at_ns + 50, .end_ns = at_ns + 900, .id = tid },
				.pid = PID,
				.dev = dev,
				.inode = 5,
				.size = 4096,
				.ret = 4096,
				.offset = 0,
				.syscall = WRITE },
			spans, request ? 3 : 2);
	if (request)
		maker_bio(spool, (struct eta_bio_record){ .head = { .time_ns = at_ns + 250,
								    .end_ns = at_ns + 690,
								    .id = tid },
							  .issue_ns = at_ns + 350,
							  .pid = PID,
							  .dev = dev,
							  .bytes = 4096,
							  .op_flags = ETA_BIO_WRITE });
}

static void user_thread(const char *dir, uint32_t tid, unsigned operations)
{
	struct spool spool;
	char path[512];

	snprintf(path, sizeof(path), "%s/user.spool/user.%d.%u.%u", dir, PID, tid, 10);
	open_file(&spool, path,
		  (struct eta_spool_header){
			  .kind = ETA_SPOOL_USER, .pid = PID, .tid = tid, .start_ns = 10 });
	maker_file_record(&spool,
			  (struct eta_file_record){
				  .head.id = 1, .dev = dev, .inode = 5, .fs_magic = 0xef53 },
			  "/data/file");
	for (unsigned i = 0; i < operations; i++) {
		uint64_t at_ns = 1000 + (uint64_t)i * 1000;

		maker_user_op(&spool, (struct eta_user_op){ .head = { .time_ns = at_ns,
								      .end_ns = at_ns + 950,
								      .id = WRITE },
							    .fd = 3,
							    .file = 1,
							    .size = 4096,
							    .offset = 0,
							    .ret = 4096 });
	}
	spool_close(&spool);
}

int main(int argc, char **argv)
{
	unsigned threads = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;
	unsigned operations = argc >= 4 ? (unsigned)atoi(argv[3]) : 0;
	struct spool cpus[CPUS], spool;
	struct spool_budget budget;
	char path[512];

	if (threads == 0 || operations == 0) {
		fprintf(stderr, "usage: make-spool DIR THREADS OPERATIONS [last]\n");
		return 2;
	}
	if (argc > 4) {
		/* each file keeps its two last windows */
		spool_budget_begin(&budget, 0, true);
		spool_budget = &budget;
	}
	snprintf(path, sizeof(path), "%s/user.spool", argv[1]);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/kernel.spool", argv[1]);
	mkdir(path, 0755);

	snprintf(path, sizeof(path), "%s/user.spool/process.%d.1", argv[1], PID);
	open_file(&spool, path, (struct eta_spool_header){ .kind = ETA_SPOOL_PROCESS, .pid = PID });
	maker_name(&spool, ETA_RECORD_NAME, WRITE, ETA_OP_WRITE, "pwrite");
	spool_close(&spool);
	for (uint32_t t = 0; t < threads; t++)
		user_thread(argv[1], PID + t, operations);

	snprintf(path, sizeof(path), "%s/kernel.spool/meta", argv[1]);
	open_file(&spool, path, (struct eta_spool_header){ .kind = ETA_SPOOL_META });
	maker_name(&spool, ETA_RECORD_NAME, WRITE, ETA_OP_WRITE, "pwrite64");
	spool_close(&spool);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s/kernel.spool/cpu.%u", argv[1], cpu);
		open_file(&cpus[cpu], path,
			  (struct eta_spool_header){ .kind = ETA_SPOOL_KERNEL, .cpu = cpu });
		maker_file_record(
			&cpus[cpu],
			(struct eta_file_record){ .dev = dev, .inode = 5, .fs_magic = 0xef53 },
			"/data/file");
	}
	for (uint32_t t = 0; t < threads; t++)
		maker_task(&cpus[0],
			   (struct eta_task_record){ .head = { .time_ns = 5 + t, .id = PID + t },
						     .pid = PID,
						     .comm = "app" });
	for (unsigned i = 0; i < operations; i++)
		for (uint32_t t = 0; t < threads; t++)
			kernel_operation(&cpus[(i / 7 + t) % CPUS], PID + t,
					 1000 + (uint64_t)i * 1000, i % 10 == 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		spool_close(&cpus[cpu]);
	return 0;
}
