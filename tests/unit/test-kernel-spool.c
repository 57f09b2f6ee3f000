/* The kernel side of a spool: spans to nested regions, waits split by requests, tasks sorted out.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/eta.h"
#include "events.h"
#include "spool-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"

static char said[4096];
static int times_said;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	assert_int_equal(severity, ETA_WARNING);
	snprintf(said, sizeof(said), "%s", text);
	times_said++;
}

enum { SYS_WRITE = 1, SYS_READ, SYS_FSYNC };

static const uint32_t ext4_dev = 254 << 20 | 1, plain_dev = 7 << 20;

/* Places where operations sleep. */
enum { AT_JOURNAL = 1, AT_PAGE, AT_NOTHING, AT_UNKNOWN };

static void make_meta(const char *dir)
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
	maker_name(&spool, ETA_RECORD_SLEEP, AT_NOTHING, 0, "-\npipe_read");
	spool_close(&spool);
}

static void make_cpu(struct spool *spool, const char *dir, uint32_t cpu)
{
	const struct eta_spool_header header = { .kind = ETA_SPOOL_KERNEL, .cpu = cpu };
	char name[32];

	snprintf(name, sizeof(name), "cpu.%u", cpu);
	maker_file(spool, dir, name, &header);
	maker_file_record(
		spool, (struct eta_file_record){ .dev = ext4_dev, .inode = 5, .fs_magic = 0xef53 },
		"/f");
}

/* ---- one operation, 100 to 200 ---- */

struct span_row {
	uint8_t kind;
	uint64_t begin_ns, end_ns;
	uint8_t flags;
	uint32_t who;
};

struct expansion {
	const char *name;
	uint16_t syscall;
	struct span_row spans[6];
	struct {
		uint64_t queue_ns, issue_ns, end_ns;
		bool by_another; /* a kernel thread writes back what this one dirtied */
	} bios[4];
	const char *expected; /* without the system call itself, I/O events left out */
	uint64_t bad;
};

#define S(kind, ...)                                                                               \
	{                                                                                          \
		ETA_SPAN_##kind, __VA_ARGS__                                                       \
	}
#define IOWAIT ETA_SPAN_IOWAIT

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
	{ "written back by another, after it was held back",
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

	{ "held back before the queue",
	  SYS_READ,
	  { S(SLEEP, 120, 180, IOWAIT) },
	  { { 0 } },
	  "+block:held back@120 -block:held back@180",
	  0 },
	{ "held back, queued, at the device",
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
	{ "held back between two",
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

static void run_expansion(const struct expansion *e)
{
	static const char *const calls[] = { "", "pwrite64", "pread64", "fsync" };
	char dir[] = DIR_TEMPLATE, text[4096], expected[4096];
	struct eta_span spans[6] = { { 0 } };
	struct eta_trace *trace;
	struct eta_counts counts;
	struct spool spool;
	size_t n = 0;

	for (; n < 6 && e->spans[n].kind; n++)
		spans[n] = (struct eta_span){ .begin_ns = e->spans[n].begin_ns,
					      .end_ns = e->spans[n].end_ns,
					      .kind = e->spans[n].kind,
					      .flags = e->spans[n].flags,
					      .who = e->spans[n].who };
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_kernel_op(&spool,
			(struct eta_kernel_op){ .head = { .time_ns = 100, .end_ns = 200, .id = 8 },
						.pid = 7,
						.dev = ext4_dev,
						.inode = 5,
						.size = 64,
						.ret = 64,
						.offset = 0,
						.syscall = e->syscall },
			spans, n);
	for (size_t i = 0; i < 4 && e->bios[i].queue_ns; i++) {
		struct eta_bio_record bio = {
			.head = { .time_ns = e->bios[i].queue_ns,
				  .end_ns = e->bios[i].end_ns,
				  .id = 8 },
			.issue_ns = e->bios[i].issue_ns,
			.pid = 7,
			.bytes = 512,
			.dev = plain_dev,
			.owner_pid = 7,
			.owner_tid = 8,
		};

		if (e->bios[i].by_another)
			bio.head.id = bio.pid = 50;
		maker_bio(&spool, bio);
	}
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(events_print_regions(trace, 0, text, sizeof(text)), 0);
	snprintf(expected, sizeof(expected), "+vfs:sys_%s@100 %s%s-vfs:sys_%s@200",
		 calls[e->syscall], e->expected, *e->expected ? " " : "", calls[e->syscall]);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: %s", e->name, text);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, e->bad);
	eta_close(trace);
	maker_end(dir);
}

static void spans_become_regions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(expansions) / sizeof(*expansions); i++)
		run_expansion(&expansions[i]);
}

/* ---- tasks, devices, requests ---- */

static struct eta_kernel_op write_op(uint32_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	return (struct eta_kernel_op){
		.head = { .time_ns = begin_ns, .end_ns = end_ns, .id = tid },
		.pid = pid,
		.dev = plain_dev,
		.offset = ETA_OFFSET_UNKNOWN,
		.syscall = SYS_WRITE,
	};
}

static void expect_events(struct eta_trace *trace, uint32_t location, const char *name,
			  const char *expected)
{
	char text[4096];

	assert_true(location < eta_trace_defs(trace)->n_locations);
	assert_string_equal(eta_trace_defs(trace)->locations[location].name, name);
	assert_int_equal(events_print(trace, location, text, sizeof(text)), 0);
	assert_string_equal(text, expected);
}

static void a_task_wanders_between_cpus(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct eta_counts counts;
	struct spool cpus[2];

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		make_cpu(&cpus[cpu], dir, cpu);
	maker_task(&cpus[1], (struct eta_task_record){
				     .head = { .time_ns = 1, .id = 8 }, .pid = 7, .comm = "app" });
	/* the same tid again, later; and another one between */
	maker_task(&cpus[0], (struct eta_task_record){ .head = { .time_ns = 60, .id = 8 },
						       .pid = 7,
						       .comm = "again" });
	for (uint64_t t = 10; t < 50; t += 10)
		maker_kernel_op(&cpus[t / 10 % 2], write_op(7, 8, t, t + 5), NULL, 0);
	maker_kernel_op(&cpus[0], write_op(7, 9, 12, 13), NULL, 0);
	maker_kernel_op(&cpus[0], write_op(7, 8, 70, 75), NULL, 0);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		spool_close(&cpus[cpu]);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 3);
	assert_int_equal(eta_trace_defs(trace)->locations[0].start_ns, 1);
	assert_int_equal(eta_trace_defs(trace)->locations[1].start_ns, 60);
	assert_int_equal(eta_trace_defs(trace)->locations[2].start_ns, 12);
	expect_events(trace, 0, "app tid 8",
		      "+vfs:sys_pwrite64@10 -vfs:sys_pwrite64@15 +vfs:sys_pwrite64@20 "
		      "-vfs:sys_pwrite64@25 +vfs:sys_pwrite64@30 -vfs:sys_pwrite64@35 "
		      "+vfs:sys_pwrite64@40 -vfs:sys_pwrite64@45");
	expect_events(trace, 1, "again tid 8", "+vfs:sys_pwrite64@70 -vfs:sys_pwrite64@75");
	expect_events(trace, 2, "? tid 9", "+vfs:sys_pwrite64@12 -vfs:sys_pwrite64@13");
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.records, 17);
	assert_int_equal(counts.events, 12);
	eta_close(trace);
	maker_end(dir);
}

static void operations_nest(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool spool;
	const struct eta_span span = { .begin_ns = 20, .end_ns = 80, .kind = ETA_SPAN_FS_WRITE };

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	/* the inner one completes first, so it is stored first */
	maker_kernel_op(&spool, write_op(7, 8, 30, 40), NULL, 0);
	maker_kernel_op(&spool, write_op(7, 8, 10, 90), &span, 1);
	maker_kernel_op(&spool, write_op(7, 8, 90, 95), NULL, 0);
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	expect_events(trace, 0, "? tid 8",
		      "+vfs:sys_pwrite64@10 +fs:file_write_iter@20 +vfs:sys_pwrite64@30 "
		      "-vfs:sys_pwrite64@40 -fs:file_write_iter@80 -vfs:sys_pwrite64@90 "
		      "+vfs:sys_pwrite64@90 -vfs:sys_pwrite64@95");
	eta_close(trace);
	maker_end(dir);
}

static void requests_lie_in_their_time(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool spool;
	const struct eta_defs *defs;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	uint64_t match[2];

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_task(&spool,
		   (struct eta_task_record){
			   .head = { .time_ns = 1, .id = 50, .flags = ETA_TASK_KERNEL_THREAD },
			   .pid = 50,
			   .comm = "kworker" });
	maker_kernel_op(&spool, write_op(7, 8, 10, 30), NULL, 0);
	/* completed in another order than queued, the second issued after the operation's end */
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 20, .end_ns = 50, .id = 8 },
						   .issue_ns = 40,
						   .pid = 7,
						   .bytes = 512,
						   .op_flags = ETA_BIO_WRITE,
						   .dev = plain_dev });
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 15, .end_ns = 60, .id = 8 },
						   .issue_ns = 25,
						   .sector = 8,
						   .inode = 5,
						   .pid = 7,
						   .bytes = 4096,
						   .op_flags = ETA_BIO_WRITE | ETA_BIO_DIRECT,
						   .dev = plain_dev,
						   .file_dev = ext4_dev });
	maker_bio(&spool,
		  (struct eta_bio_record){ .head = { .time_ns = 70, .end_ns = 80, .id = 50 },
					   .issue_ns = 71,
					   .pid = 50,
					   .owner_tid = 8,
					   .owner_pid = 7,
					   .bytes = 4096,
					   .status = -EIO,
					   .dev = plain_dev });
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	defs = eta_trace_defs(trace);
	assert_int_equal(defs->n_locations, 3);
	expect_events(trace, 0, "? tid 8",
		      "+vfs:sys_pwrite64@10 begin@15 begin@20 issued@25 -vfs:sys_pwrite64@30 "
		      "issued@40");
	assert_int_equal(defs->locations[1].kind, ETA_LOCATION_KERNEL_THREAD);
	expect_events(trace, 1, "kworker tid 50", "begin@70 issued@71");
	assert_int_equal(defs->locations[2].kind, ETA_LOCATION_DEVICE);
	assert_int_equal(defs->locations[2].dev, plain_dev);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 6);
	assert_int_equal(batch[1].has, ETA_EVENT_BLOCK_IO | ETA_EVENT_DIRECT | ETA_HAS_SIZE |
					       ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_HAS_END);
	assert_int_equal(batch[1].mode, ETA_IO_WRITE);
	assert_int_equal(batch[1].size, 4096);
	assert_int_equal(batch[1].offset, 4096);
	assert_int_equal(batch[1].inode, 5);
	assert_int_equal(batch[1].dev, ext4_dev);
	assert_int_equal(batch[1].end_ns, 60);
	assert_int_equal(defs->handles[batch[1].handle].device, plain_dev);
	match[0] = batch[1].match;
	match[1] = batch[2].match;
	assert_int_not_equal(match[0], match[1]);
	assert_int_equal(batch[3].match, match[0]);
	assert_int_equal(batch[5].match, match[1]);
	eta_cursor_close(cursor);
	assert_int_equal(eta_cursor_open(trace, 1, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 2);
	assert_true(batch[0].has & ETA_HAS_WHO);
	assert_int_equal(batch[0].owner, 8);
	eta_cursor_close(cursor);
	assert_int_equal(eta_cursor_open(trace, 2, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 3);
	assert_int_equal(batch[0].time_ns, 50);
	assert_int_equal(batch[0].match, match[1]);
	assert_int_equal(batch[1].time_ns, 60);
	assert_int_equal(batch[1].match, match[0]);
	assert_int_equal(batch[1].size, 4096);
	assert_int_equal(batch[2].size, 0); /* it failed */
	eta_cursor_close(cursor);
	eta_close(trace);
	maker_end(dir);
}

static void requests_at_the_edges_lie_inside(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool spool;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_kernel_op(&spool, write_op(7, 8, 10, 30), NULL, 0);
	maker_kernel_op(&spool, write_op(7, 8, 40, 50), NULL, 0);
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 10, .end_ns = 90, .id = 8 },
						   .issue_ns = 40,
						   .pid = 7,
						   .dev = plain_dev });
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 30, .end_ns = 90, .id = 8 },
						   .issue_ns = 50,
						   .pid = 7,
						   .dev = plain_dev });
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	expect_events(trace, 0, "? tid 8",
		      "+vfs:sys_pwrite64@10 begin@10 begin@30 -vfs:sys_pwrite64@30 "
		      "+vfs:sys_pwrite64@40 issued@40 issued@50 -vfs:sys_pwrite64@50");
	eta_close(trace);
	maker_end(dir);
}

/* The worst order there is. */
static void requests_completed_backwards_are_sorted(void **state)
{
	enum { REQUESTS = 5000 };
	char dir[] = DIR_TEMPLATE;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct eta_trace *trace;
	struct spool spool;
	uint64_t expected_ns = 1;
	ssize_t n;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	for (uint64_t i = REQUESTS; i > 0; i--)
		maker_bio(&spool,
			  (struct eta_bio_record){
				  .head = { .time_ns = i, .end_ns = 3 * REQUESTS - i, .id = 8 },
				  .pid = 7,
				  .dev = plain_dev });
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(batch[i].time_ns, expected_ns++);
	assert_int_equal(n, 0);
	assert_int_equal(expected_ns, REQUESTS + 1);
	eta_cursor_close(cursor);
	eta_close(trace);
	maker_end(dir);
}

static void who_and_losses_are_kept(void **state)
{
	char dir[] = DIR_TEMPLATE;
	const struct eta_span spans[] = {
		{ .begin_ns = 11, .end_ns = 20, .kind = ETA_SPAN_INODE_LOCK, .who = 99 },
	};
	const uint64_t lost[5] = { 12, 100 };
	struct eta_kernel_op op = write_op(7, 8, 10, 30);
	struct eta_trace *trace;
	struct eta_counts counts;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct spool spool;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	op.head.flags = 0;
	op.ret = -EIO;
	op.spans_lost = 2;
	op.op_flags = ETA_KOP_DIRECT;
	maker_kernel_op(&spool, op, spans, 1);
	maker_record(&spool, (struct eta_record_head){ .type = ETA_RECORD_LOSS }, lost,
		     sizeof(lost));
	spool_close(&spool);
	eta_set_message_fn(listen, NULL);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	eta_set_message_fn(NULL, NULL);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.lost, 12); /* a span that did not fit is said, but is no event */
	assert_int_equal(times_said, 1);
	assert_non_null(strstr(said, "2 intervals inside of operations were not kept"));
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 6);
	assert_int_equal(batch[0].has, ETA_HAS_SIZE | ETA_EVENT_DIRECT);
	assert_int_equal(batch[2].has, ETA_HAS_WHO);
	assert_int_equal(batch[2].who, 99);
	assert_int_equal(batch[5].has, ETA_HAS_RET);
	assert_int_equal(batch[5].ret, -EIO);
	eta_cursor_close(cursor);
	eta_close(trace);
	maker_end(dir);
}

/* Many tasks on many CPUs, stored by completion: each comes out whole, in its order. */
static void random_tasks_come_out_sorted(void **state)
{
	enum { CPUS = 5, TASKS = 7, OPERATIONS = 3000 };
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool cpus[CPUS];
	uint64_t now[TASKS], n_ops[TASKS] = { 0 }, n_bios[TASKS] = { 0 };

	(void)state;
	srand(1);
	maker_begin(dir);
	make_meta(dir);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		make_cpu(&cpus[cpu], dir, cpu);
	for (int i = 0; i < TASKS; i++)
		now[i] = 1;
	for (int i = 0; i < OPERATIONS; i++) {
		int task = rand() % TASKS, cpu = rand() % CPUS;
		uint64_t begin = now[task] + (uint64_t)rand() % 100,
			 end = begin + (uint64_t)rand() % 100;

		if (rand() % 2) {
			maker_kernel_op(&cpus[cpu], write_op(7, 100 + (uint32_t)task, begin, end),
					NULL, 0);
			n_ops[task]++;
			now[task] = end + 1;
		} else { /* completions far out of order */
			maker_bio(&cpus[cpu],
				  (struct eta_bio_record){
					  .head = { .time_ns = begin + (uint64_t)rand() % 5000,
						    .end_ns = begin + 6000,
						    .id = 100 + (uint32_t)task },
					  .issue_ns = begin + 5500,
					  .pid = 7,
					  .dev = plain_dev });
			n_bios[task]++;
		}
	}
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		spool_close(&cpus[cpu]);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, TASKS + 1);
	for (uint32_t l = 0; l < TASKS; l++) {
		uint64_t found[ETA_MARK + 1] = { 0 }, last_ns = 0;
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		ssize_t n;

		assert_int_equal(eta_trace_defs(trace)->locations[l].tid, 100 + l);
		assert_int_equal(eta_cursor_open(trace, l, &cursor), 0);
		while ((n = eta_cursor_read(cursor, &batch)) > 0)
			for (const struct eta_event *e = batch; e < batch + n; e++) {
				assert_true(e->time_ns >= last_ns);
				last_ns = e->time_ns;
				found[e->kind]++;
			}
		assert_int_equal(n, 0);
		assert_int_equal(found[ETA_ENTER], n_ops[l]);
		assert_int_equal(found[ETA_LEAVE], n_ops[l]);
		assert_int_equal(found[ETA_IO_BEGIN], n_bios[l]);
		assert_int_equal(found[ETA_IO_ISSUED], n_bios[l]);
		eta_cursor_close(cursor);
	}
	eta_close(trace);
	maker_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_become_regions),
		cmocka_unit_test(a_task_wanders_between_cpus),
		cmocka_unit_test(operations_nest),
		cmocka_unit_test(requests_lie_in_their_time),
		cmocka_unit_test(requests_at_the_edges_lie_inside),
		cmocka_unit_test(requests_completed_backwards_are_sorted),
		cmocka_unit_test(who_and_losses_are_kept),
		cmocka_unit_test(random_tasks_come_out_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
