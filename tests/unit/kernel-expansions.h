/* Spans and requests of an operation of the kernel, 100 to 200, and what regions they become. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNEL_EXPANSIONS_H
#define KERNEL_EXPANSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/format/record.h"
#include "kernel-maker.h"

struct span_row {
	uint8_t kind;
	uint64_t begin_ns, end_ns;
	uint8_t flags;
	uint32_t who;
	uint64_t object;
	uint16_t place; /* of a lock */
};

struct expansion {
	const char *name;
	uint16_t syscall;
	struct span_row spans[6];
	struct {
		uint64_t queue_ns, issue_ns, end_ns;
		bool by_another; /* a kernel thread writes back what this one dirtied */
		uint32_t queue_who, device_who; /* who was ahead */
		/* somebody not traced was there for so long */
		uint32_t foreign;
		uint64_t foreign_queue_ns, foreign_device_ns;
		/* and how many requests of such, and of traced others, and one of these */
		uint16_t foreign_n, traced_n;
		uint32_t traced;
	} bios[4];
	const char *expected; /* without the system call itself, I/O events left out */
	uint64_t bad;
};

#define S(kind, ...)                                                                               \
	{                                                                                          \
		ETA_SPAN_##kind, __VA_ARGS__                                                       \
	}
#define IOWAIT ETA_SPAN_IOWAIT
#define OWN_WORK ETA_SPAN_OWN_WORK
/* 1 / N of a sleep. */
#define BESIDE(tid, n) ((uint64_t)ETA_SLEEP_WHOLE / (n) << 32 | (tid))

static const struct expansion expansions[] = {
	{ "nothing known", SYS_WRITE, { { 0 } }, { { 0 } }, "", 0 },
	{ "buffered write: the file system's function is made around what it did",
	  SYS_WRITE,
	  { S(INODE_LOCK, 110, 120), S(PAGECACHE_WRITE, 125, 180) },
	  { { 0 } },
	  "+fs:ext4_file_write_iter@110 +fs:inode lock@110 -fs:inode lock@120 "
	  "+pagecache:generic_perform_write@125 -pagecache:generic_perform_write@180 "
	  "-fs:ext4_file_write_iter@180",
	  0 },
	{ "asleep where the journal is waited for, in a write",
	  SYS_WRITE,
	  { S(SLEEP, 120, 180, 0, AT_JOURNAL) },
	  { { 0 } },
	  "+fs:journal commit@120 -fs:journal commit@180",
	  0 },
	{ "asleep where the journal is waited for, beside another's sync",
	  SYS_WRITE,
	  { S(SLEEP, 120, 180, 0, AT_JOURNAL, BESIDE(60, 1)) },
	  { { 0 } },
	  "+fs:journal commit@120~60 -fs:journal commit@180",
	  0 },
	{ "room is made in the journal, by requests of the thread",
	  SYS_WRITE,
	  { S(SLEEP, 120, 180, IOWAIT, AT_JOURNAL, BESIDE(60, 1)) },
	  { { 125, 126, 130 } },
	  "+fs:journal commit@120~60 -fs:journal commit@180",
	  0 },
	{ "a sleep beside another's requests for a half of it, and for nearly nothing",
	  SYS_FSYNC,
	  { S(FS_SYNC, 102, 198), S(SLEEP, 120, 130, 0, AT_JOURNAL, BESIDE(60, 2)),
	    S(SLEEP, 140, 150, 0, AT_NOTHING, BESIDE(60, 100)) },
	  { { 0 } },
	  "+fs:ext4_sync_file@102 +fs:journal commit@120~60 -fs:journal commit@125 "
	  "+fs:journal commit@125 -fs:journal commit@130 +fs:journal commit@140 "
	  "-fs:journal commit@150 -fs:ext4_sync_file@198",
	  0 },
	{ "writeback is waited for, its own request is over, another syncs meanwhile",
	  SYS_FSYNC,
	  { S(FS_SYNC, 102, 198), S(PAGE_WRITEBACK_WAIT, 110, 190, IOWAIT, 0, BESIDE(60, 1)) },
	  { { 105, 106, 120 } },
	  "+fs:ext4_sync_file@102 +pagecache:page writeback wait@110~60 +block:device@110 "
	  "-block:device@120 -pagecache:page writeback wait@190 -fs:ext4_sync_file@198",
	  0 },
	{ "who writes back is waited for, half of that is for another's pages",
	  SYS_WRITE,
	  { S(SLEEP, 120, 180, 0, AT_WRITEBACK, BESIDE(60, 2)) },
	  { { 0 } },
	  "+pagecache:page writeback wait@120~60 -pagecache:page writeback wait@150 "
	  "+pagecache:page writeback wait@150 -pagecache:page writeback wait@180",
	  0 },
	{ "a page that another reads is nobody's who uses the disk",
	  SYS_READ,
	  { S(SLEEP, 120, 180, IOWAIT, AT_PAGE, BESIDE(60, 1)) },
	  { { 0 } },
	  "+pagecache:page lock@120 -pagecache:page lock@180",
	  0 },
	{ "asleep for a page that another reads",
	  SYS_READ,
	  { S(SLEEP, 120, 180, IOWAIT, AT_PAGE) },
	  { { 0 } },
	  "+pagecache:page lock@120 -pagecache:page lock@180",
	  0 },
	{ "asleep for a page, while its own request is in flight",
	  SYS_READ,
	  { S(SLEEP, 120, 180, IOWAIT, AT_PAGE) },
	  { { 110, 115, 180 } },
	  "+block:device@120 -block:device@180",
	  0 },
	{ "asleep in places that do not tell",
	  SYS_FSYNC,
	  { S(FS_SYNC, 102, 198), S(SLEEP, 120, 130, 0, AT_NOTHING),
	    S(SLEEP, 140, 150, 0, AT_UNKNOWN) },
	  { { 0 } },
	  "+fs:ext4_sync_file@102 +fs:journal commit@120 -fs:journal commit@130 "
	  "+fs:journal commit@140 -fs:journal commit@150 -fs:ext4_sync_file@198",
	  0 },
	{ "a span says where it was",
	  SYS_WRITE,
	  { S(FS_WRITE, 105, 190), S(INODE_LOCK, 110, 120) },
	  { { 0 } },
	  "+fs:ext4_file_write_iter@105 +fs:inode lock@110 -fs:inode lock@120 "
	  "-fs:ext4_file_write_iter@190",
	  0 },
	{ "in any order of storing, clipped to the operation",
	  SYS_READ,
	  { S(READAHEAD, 120, 130), S(PAGECACHE_READ, 90, 250) },
	  { { 0 } },
	  "+pagecache:filemap_read@100 +pagecache:page_cache_ra@120 -pagecache:page_cache_ra@130 "
	  "-pagecache:filemap_read@200",
	  0 },
	{ "clipped to the parent",
	  SYS_READ,
	  { S(PAGECACHE_READ, 110, 150), S(READAHEAD, 140, 170) },
	  { { 0 } },
	  "+pagecache:filemap_read@110 +pagecache:page_cache_ra@140 -pagecache:page_cache_ra@150 "
	  "-pagecache:filemap_read@150",
	  0 },
	{ "still open at the end: until the operation's",
	  SYS_READ,
	  { S(PAGECACHE_READ, 110, 0) },
	  { { 0 } },
	  "+pagecache:filemap_read@110 -pagecache:filemap_read@200",
	  0 },
	{ "outside of the operation", SYS_READ, { S(READAHEAD, 20, 30) }, { { 0 } }, "", 0 },
	{ "of no known kind", SYS_READ, { { 200, 110, 120 } }, { { 0 } }, "", 1 },
	{ "equal bounds: the run queue is innermost",
	  SYS_READ,
	  { S(RUN_QUEUE, 110, 120), S(OTHER_LOCK, 110, 120) },
	  { { 0 } },
	  "+vfs:other lock@110 +cpu:run queue@110 -cpu:run queue@120 -vfs:other lock@120",
	  0 },

	{ "a lock is named by where it is taken, or by its address alone",
	  SYS_READ,
	  { S(OTHER_LOCK, 110, 120, 0, 7, .place = AT_JOURNAL),
	    S(OTHER_LOCK, 130, 140, 0, 8, .place = AT_NOTHING),
	    S(ADDRESS_SPACE_LOCK, 150, 160, 0, 9), S(FILE_LOCK, 170, 180, 0, 10) },
	  { { 0 } },
	  "+fs:journal commit@110~7 -fs:journal commit@120 +vfs:other lock@130~8 -vfs:other "
	  "lock@140 "
	  "+vfs:address space lock@150~9 -vfs:address space lock@160 "
	  "+vfs:file lock@170~10 -vfs:file lock@180",
	  0 },
	{ "wake-up of an idle CPU, and then another came first",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 130, IOWAIT), S(WAKE_UP, 130, 140),
	    S(RUN_QUEUE, 140, 145, 0, 9) },
	  { { 115, 116, 130 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:device@120 -block:device@130 "
	  "+cpu:wake-up@130 -cpu:wake-up@140 +cpu:run queue@140~9 -cpu:run queue@145 "
	  "-fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "a kernel thread that works for it has the CPU",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 130, IOWAIT), S(RUN_QUEUE, 130, 145, OWN_WORK, 9),
	    S(RUN_QUEUE, 150, 160, 0, 9) },
	  { { 115, 116, 130 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:device@120 -block:device@130 "
	  "+cpu:own work@130~9 -cpu:own work@145 +cpu:run queue@150~9 "
	  "-cpu:run queue@160 -fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "waking up from the wait for a lock is part of that",
	  SYS_WRITE,
	  { S(FILE_POSITION_LOCK, 110, 150), S(SLEEP, 112, 140), S(WAKE_UP, 140, 150) },
	  { { 0 } },
	  "+vfs:file position lock@110 -vfs:file position lock@150",
	  0 },
	{ "who was ahead, in the queue and at the device",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 180, IOWAIT) },
	  { { 115, 150, 180, .queue_who = 50, .device_who = 51 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:queue@120~50 -block:queue@150 "
	  "+block:device@150~51 -block:device@180 -fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "others came while it was in the queue, and were at the device for a third of its time",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 180, IOWAIT) },
	  { { 115, 150, 180, .foreign = 60, .foreign_queue_ns = 35, .foreign_device_ns = 10 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:queue@120~60 -block:queue@150 "
	  "+block:device@150~60 -block:device@159 +block:device@159 -block:device@180 "
	  "-fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "one request of four was theirs while they were there, for two thirds of the time",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 180, IOWAIT) },
	  { { 115, 115, 175, .foreign = 60, .foreign_device_ns = 40, .foreign_n = 2, .traced_n = 6,
	      .traced = 51 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:device@120~60 -block:device@130 "
	  "+block:device@130~51 -block:device@159 +block:device@159 -block:device@180 "
	  "-fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "others were there all along, in the queue of a driver that issues nothing",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 180, IOWAIT) },
	  { { 115, 0, 180, .queue_who = 50, .foreign = 60, .foreign_queue_ns = 65 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:device@120~60 "
	  "-block:device@180 -fs:iomap_dio_rw@190 -fs:ext4_file_read_iter@190",
	  0 },
	{ "ahead of one request, not of the other; one whose issue was not seen",
	  SYS_READ,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 120, 150, IOWAIT), S(SLEEP, 160, 180, IOWAIT) },
	  { { 115, 116, 150 },
	    { 117, 118, 150, .queue_who = 50, .device_who = 51 },
	    { 155, 0, 180, .queue_who = 52 } },
	  "+fs:ext4_file_read_iter@110 +fs:iomap_dio_rw@110 +block:device@120~51 "
	  "-block:device@150 +block:device@160~52 -block:device@180 -fs:iomap_dio_rw@190 "
	  "-fs:ext4_file_read_iter@190",
	  0 },
	{ "sleep takes the level around it",
	  SYS_READ,
	  { S(SLEEP, 105, 108), S(PAGECACHE_READ, 110, 190), S(SLEEP, 120, 130),
	    S(RUN_QUEUE, 130, 140) },
	  { { 0 } },
	  "+vfs:other wait@105 -vfs:other wait@108 +pagecache:filemap_read@110 "
	  "+pagecache:other wait@120 -pagecache:other wait@130 +cpu:run queue@130 "
	  "-cpu:run queue@140 -pagecache:filemap_read@190",
	  0 },
	{ "sleep inside a lock adds nothing, waiting for a CPU does",
	  SYS_WRITE,
	  { S(FILE_POSITION_LOCK, 110, 150), S(SLEEP, 112, 140, IOWAIT), S(RUN_QUEUE, 140, 150) },
	  { { 100, 101, 150 } },
	  "+vfs:file position lock@110 +cpu:run queue@140 -cpu:run queue@150 "
	  "-vfs:file position lock@150",
	  0 },
	{ "memory is short: what is waited for to get some is the same reason, a CPU is not",
	  SYS_WRITE,
	  { S(RECLAIM, 110, 180), S(SLEEP, 112, 120), S(SLEEP, 120, 130, IOWAIT),
	    S(PAGE_WRITEBACK_WAIT, 140, 150, IOWAIT), S(RUN_QUEUE, 150, 155) },
	  { { 115, 118, 130 } },
	  "+pagecache:reclaim@110 +cpu:run queue@150 -cpu:run queue@155 -pagecache:reclaim@180",
	  0 },
	{ "allocation: its locks and sleeps are the reason, a wait for the device is one of its "
	  "own",
	  SYS_WRITE,
	  { S(ALLOCATION, 110, 190), S(OTHER_LOCK, 112, 120), S(SLEEP, 130, 140),
	    S(SLEEP, 150, 160, IOWAIT) },
	  { { 145, 146, 160 } },
	  "+fs:allocation@110 +block:device@150 -block:device@160 -fs:allocation@190",
	  0 },
	{ "throttling is never the device",
	  SYS_WRITE,
	  { S(DIRTY_THROTTLING, 110, 150), S(SLEEP, 112, 140, IOWAIT) },
	  { { 100, 101, 150 } },
	  "+pagecache:dirty throttling@110 -pagecache:dirty throttling@150",
	  0 },
	{ "journal commit",
	  SYS_FSYNC,
	  { S(FS_SYNC, 102, 198), S(SLEEP, 120, 180) },
	  { { 0 } },
	  "+fs:ext4_sync_file@102 +fs:journal commit@120 -fs:journal commit@180 "
	  "-fs:ext4_sync_file@198",
	  0 },
	{ "writeback of others",
	  SYS_WRITE,
	  { S(PAGE_WRITEBACK_WAIT, 110, 150), S(SLEEP, 112, 148, IOWAIT) },
	  { { 0 } },
	  "+pagecache:page writeback wait@110 -pagecache:page writeback wait@150",
	  0 },
	{ "writeback of its own",
	  SYS_WRITE,
	  { S(PAGE_WRITEBACK_WAIT, 110, 150), S(SLEEP, 112, 148, IOWAIT) },
	  { { 111, 112, 140 } },
	  "+pagecache:page writeback wait@110 +block:device@112 -block:device@148 "
	  "-pagecache:page writeback wait@150",
	  0 },

	{ "a wait that is its own sleep",
	  SYS_WRITE,
	  { S(PAGE_WRITEBACK_WAIT, 110, 150, IOWAIT), S(RUN_QUEUE, 150, 160) },
	  { { 105, 120, 140 } },
	  "+pagecache:page writeback wait@110 +block:queue@110 -block:queue@120 +block:device@120 "
	  "-block:device@150 -pagecache:page writeback wait@150 +cpu:run queue@150 "
	  "-cpu:run queue@160",
	  0 },
	{ "long after the request the page is still on its way",
	  SYS_WRITE,
	  { S(PAGE_WRITEBACK_WAIT, 110, 190, IOWAIT) },
	  { { 105, 106, 120 } },
	  "+pagecache:page writeback wait@110 +block:device@110 -block:device@120 "
	  "-pagecache:page writeback wait@190",
	  0 },
	{ "written back by another, after it was throttled",
	  SYS_FSYNC,
	  { S(FS_SYNC, 102, 198), S(PAGE_WRITEBACK_WAIT, 110, 190, IOWAIT) },
	  { { 140, 145, 189, true } },
	  "+fs:ext4_sync_file@102 +pagecache:page writeback wait@110 +block:held back@110 "
	  "-block:held back@140 +block:queue@140 -block:queue@145 +block:device@145 "
	  "-block:device@190 -pagecache:page writeback wait@190 -fs:ext4_sync_file@198",
	  0 },
	{ "the same without a request of its own",
	  SYS_WRITE,
	  { S(PAGE_WRITEBACK_WAIT, 110, 150, IOWAIT) },
	  { { 0 } },
	  "+pagecache:page writeback wait@110 -pagecache:page writeback wait@150",
	  0 },

	{ "throttled before the queue",
	  SYS_READ,
	  { S(SLEEP, 120, 180, IOWAIT) },
	  { { 0 } },
	  "+block:held back@120 -block:held back@180",
	  0 },
	{ "throttled by a limit, queued, at the device",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT | ETA_SPAN_OWN_LIMIT) },
	  { { 130, 140, 180 } },
	  "+block:held back by own limit@110 -block:held back by own limit@130 "
	  "+block:queue@130 -block:queue@140 +block:device@140 -block:device@190",
	  0 },
	{ "without CPU time, then in the run queue, in a lock, too",
	  SYS_WRITE,
	  { S(QUOTA, 110, 120), S(RUN_QUEUE, 120, 125, 0, 9), S(OTHER_LOCK, 130, 170),
	    S(QUOTA, 140, 150) },
	  { { 0 } },
	  "+cpu:quota@110 -cpu:quota@120 +cpu:run queue@120~9 -cpu:run queue@125 "
	  "+vfs:other lock@130 +cpu:quota@140 -cpu:quota@150 -vfs:other lock@170",
	  0 },
	{ "stopped",
	  SYS_WRITE,
	  { S(STOPPED, 110, 190), S(WAKE_UP, 190, 195) },
	  { { 0 } },
	  "+cpu:stopped@110 -cpu:stopped@190 +cpu:wake-up@190 -cpu:wake-up@195",
	  0 },
	{ "asleep in reclaim: whose memory is short, the region around it says",
	  SYS_WRITE,
	  { S(RECLAIM_AT_OWN_LIMIT, 110, 190), S(SLEEP, 120, 180, 0, AT_RECLAIM) },
	  { { 0 } },
	  "+pagecache:reclaim at own limit@110 -pagecache:reclaim at own limit@190",
	  0 },
	{ "throttled, queued, at the device",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 130, 140, 180 } },
	  "+block:held back@110 -block:held back@130 +block:queue@130 -block:queue@140 "
	  "+block:device@140 -block:device@190",
	  0 },
	{ "a long time after its last request it waits for another",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 106, 120 } },
	  "+block:device@110 -block:device@120 +block:held back@120 -block:held back@190",
	  0 },
	{ "throttled between two",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 106, 120 }, { 125, 126, 189 } },
	  "+block:device@110 -block:device@120 +block:held back@120 -block:held back@125 "
	  "+block:queue@125 -block:queue@126 +block:device@126 -block:device@190",
	  0 },
	{ "over before it slept",
	  SYS_READ,
	  { S(SLEEP, 132, 140, IOWAIT) },
	  { { 105, 106, 130 } },
	  "+block:device@132 -block:device@140",
	  0 },
	{ "one at the device outweighs one in the queue",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 106, 150 }, { 107, 140, 190 } },
	  "+block:device@110 -block:device@190",
	  0 },
	{ "a gap between two",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 106, 120 }, { 107, 140, 190 } },
	  "+block:device@110 -block:device@120 +block:queue@120 -block:queue@140 "
	  "+block:device@140 -block:device@190",
	  0 },
	{ "issue not seen",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 0, 190 } },
	  "+block:device@110 -block:device@190",
	  0 },
	{ "completion not seen",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 105, 106, 0 } },
	  "+block:device@110 -block:device@190",
	  0 },
	{ "a completion not seen in an earlier call does not count",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 50, 60, 0 } },
	  "+block:held back@110 -block:held back@190",
	  0 },
	{ "queued before the call, over within",
	  SYS_READ,
	  { S(SLEEP, 110, 190, IOWAIT) },
	  { { 50, 60, 150 } },
	  "+block:device@110 -block:device@190",
	  0 },
	{ "O_DIRECT",
	  SYS_WRITE,
	  { S(FS_DIRECT, 110, 190), S(SLEEP, 130, 180, IOWAIT), S(RUN_QUEUE, 180, 185) },
	  { { 120, 125, 179 } },
	  "+fs:ext4_file_write_iter@110 +fs:iomap_dio_rw@110 +block:device@130 -block:device@180 "
	  "+cpu:run queue@180 -cpu:run queue@185 "
	  "-fs:iomap_dio_rw@190 -fs:ext4_file_write_iter@190",
	  0 },
};

#endif
