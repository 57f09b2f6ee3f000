/* A kernel spool made by hand: its system calls, devices and places of sleep, for several tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel-maker.h"

#include <stdio.h>

void make_meta(const char *dir)
{
	const struct eta_spool_header header = { .kind = ETA_SPOOL_META, .host = "here" };
	struct spool spool;

	maker_file(&spool, dir, "meta", &header);
	maker_name(&spool, ETA_RECORD_NAME, SYS_WRITE, ETA_OP_WRITE, "pwrite64");
	maker_name(&spool, ETA_RECORD_NAME, SYS_READ, ETA_OP_READ, "pread64");
	maker_name(&spool, ETA_RECORD_NAME, SYS_FSYNC, ETA_OP_SYNC, "fsync");
	maker_name(&spool, ETA_RECORD_PROPERTY, 0, 0, "BACKENDS=vfs: raw_tp");
	maker_name(&spool, ETA_RECORD_SLEEP, AT_JOURNAL, 0,
		   "fs:journal commit\njbd2_log_wait_commit");
	maker_name(&spool, ETA_RECORD_SLEEP, AT_PAGE, 0, "pagecache:page lock\nfolio_wait_bit");
	maker_name(&spool, ETA_RECORD_SLEEP, AT_RECLAIM, 0, "pagecache:reclaim\nreclaim_throttle");
	maker_name(&spool, ETA_RECORD_SLEEP, AT_NOTHING, 0, "-\npipe_read");
	maker_name(&spool, ETA_RECORD_SLEEP, AT_WRITEBACK, 0,
		   "pagecache:page writeback wait\nwb_wait_for_completion");
	spool_close(&spool);
}

void make_cpu(struct spool *spool, const char *dir, uint32_t cpu)
{
	const struct eta_spool_header header = { .kind = ETA_SPOOL_KERNEL, .cpu = cpu };
	char name[32];

	snprintf(name, sizeof(name), "cpu.%u", cpu);
	maker_file(spool, dir, name, &header);
	maker_file_record(
		spool, (struct eta_file_record){ .dev = EXT4_DEV, .inode = 5, .fs_magic = 0xef53 },
		"/f");
}
