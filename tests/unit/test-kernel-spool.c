/* The kernel side of a spool: tasks sorted out, operations and requests in their order, losses. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "events.h"
#include "kernel-maker.h"

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

static struct eta_kernel_op write_op(uint32_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	return (struct eta_kernel_op){
		.head = { .time_ns = begin_ns, .end_ns = end_ns, .id = tid },
		.pid = pid,
		.dev = PLAIN_DEV,
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
	assert_int_equal(counts.records, 19);
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

static struct eta_span span_of(uint8_t kind, uint64_t begin_ns, uint64_t end_ns)
{
	return (struct eta_span){ .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind };
}

/* Files are of CPUs: a call ended on that of its record, and began where the one before ended. */
static void cpus_are_known(void **state)
{
	/* in the last call the thread leaves CPU 2 for one that nobody knows, and that for CPU 0 */
	const struct eta_span moves[] = { span_of(ETA_SPAN_RUN_QUEUE, 73, 75),
					  span_of(ETA_SPAN_WAKE_UP, 80, 85) };
	static const uint32_t expected[] = { 1, 1, 3, 3, 3, 3, 0, 0, 1, 1 };
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool cpus[2];
	const struct eta_event *batch;
	struct eta_cursor *cursor;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&cpus[0], dir, 0);
	make_cpu(&cpus[1], dir, 2);
	maker_kernel_op(&cpus[0], write_op(7, 8, 10, 20), NULL, 0);
	maker_kernel_op(&cpus[1], write_op(7, 8, 30, 40), NULL, 0);
	maker_kernel_op(&cpus[0], write_op(7, 8, 70, 90), moves, 2);
	spool_close(&cpus[0]);
	spool_close(&cpus[1]);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(batch[i].cpu, expected[i]);
	eta_cursor_close(cursor);
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
						   .dev = PLAIN_DEV });
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 15, .end_ns = 60, .id = 8 },
						   .issue_ns = 25,
						   .sector = 8,
						   .inode = 5,
						   .pid = 7,
						   .bytes = 4096,
						   .op_flags = ETA_BIO_WRITE | ETA_BIO_DIRECT,
						   .dev = PLAIN_DEV,
						   .file_dev = EXT4_DEV });
	maker_bio(&spool,
		  (struct eta_bio_record){ .head = { .time_ns = 70, .end_ns = 80, .id = 50 },
					   .issue_ns = 71,
					   .pid = 50,
					   .owner_tid = 8,
					   .owner_pid = 7,
					   .bytes = 4096,
					   .op_flags = ETA_BIO_DISCARD,
					   .status = -EIO,
					   .dev = PLAIN_DEV });
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
	assert_int_equal(defs->locations[2].dev, PLAIN_DEV);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 6);
	assert_int_equal(batch[1].has, ETA_EVENT_BLOCK_IO | ETA_EVENT_DIRECT | ETA_HAS_SIZE |
					       ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_HAS_END);
	assert_int_equal(batch[1].mode, ETA_IO_WRITE);
	assert_int_equal(batch[1].size, 4096);
	assert_int_equal(batch[1].offset, 4096);
	assert_int_equal(batch[1].inode, 5);
	assert_int_equal(batch[1].dev, EXT4_DEV);
	assert_int_equal(batch[1].end_ns, 60);
	assert_int_equal(defs->handles[batch[1].handle].device, PLAIN_DEV);
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
	assert_int_equal(batch[0].mode, ETA_IO_FLUSH);
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

static void operations_under_way_lie_in_tracks(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct spool spool;
	struct eta_kernel_op op;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_kernel_op(&spool, write_op(7, 8, 15, 25), NULL, 0);
	/* they overlap each other and the call; the second completes first */
	op = write_op(7, 8, 20, 40);
	op.track = 2;
	maker_async_op(&spool, op);
	/* queued by a worker, for the operation of track 1 */
	maker_bio(&spool,
		  (struct eta_bio_record){ .head = { .time_ns = 30, .end_ns = 45, .id = 50 },
					   .issue_ns = 35,
					   .pid = 50,
					   .owner_pid = 7,
					   .owner_tid = 8,
					   .track = 1,
					   .bytes = 512,
					   .op_flags = ETA_BIO_WRITE,
					   .dev = PLAIN_DEV });
	op = write_op(7, 8, 10, 50);
	op.track = 1;
	maker_async_op(&spool, op);
	op = write_op(7, 8, 60, 70);
	op.track = 1;
	maker_async_op(&spool, op);
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 4);
	expect_events(trace, 0, "? tid 8", "+vfs:sys_pwrite64@15 -vfs:sys_pwrite64@25");
	expect_events(trace, 1, "? tid 8 track 1",
		      "+vfs:sys_pwrite64@10 +block:queue@30 begin@30 issued@35 -block:queue@35 "
		      "+block:device@35 -block:device@45 -vfs:sys_pwrite64@50 "
		      "+vfs:sys_pwrite64@60 -vfs:sys_pwrite64@70");
	expect_events(trace, 2, "? tid 8 track 2", "+vfs:sys_pwrite64@20 -vfs:sys_pwrite64@40");
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
						   .dev = PLAIN_DEV });
	maker_bio(&spool, (struct eta_bio_record){ .head = { .time_ns = 30, .end_ns = 90, .id = 8 },
						   .issue_ns = 50,
						   .pid = 7,
						   .dev = PLAIN_DEV });
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
				  .dev = PLAIN_DEV });
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
	assert_non_null(strstr(said, "2 intervals inside operations were not recorded"));
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
					  .dev = PLAIN_DEV });
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

/* Who was in the way is known by name, once, and does nothing; a kworker that is traced is itself.
 */
static void those_in_the_way_have_names(void **state)
{
	static const struct {
		const char *name;
		uint32_t tid;
		enum eta_location_kind kind;
		uint64_t events;
	} expected[] = {
		{ "? tid 8", 8, ETA_LOCATION_THREAD, 2 },
		{ "kworker tid 50", 50, ETA_LOCATION_KERNEL_THREAD, 2 },
		{ "", 0, ETA_LOCATION_DEVICE, 1 },
		{ "cc1 tid 61", 61, ETA_LOCATION_UNTRACED, 0 },
		{ "kswapd0 tid 40", 40, ETA_LOCATION_KERNEL_THREAD, 0 },
	};
	static const struct {
		uint32_t pid, tid;
		const char *comm;
		uint8_t flags;
	} tasks[] = {
		{ 50, 50, "kworker", ETA_TASK_KERNEL_THREAD },
		{ 50, 50, "kworker", ETA_TASK_KERNEL_THREAD | ETA_TASK_UNTRACED },
		{ 60, 61, "cc1", ETA_TASK_UNTRACED },
		{ 40, 40, "kswapd0", ETA_TASK_KERNEL_THREAD | ETA_TASK_UNTRACED },
	};
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	const struct eta_defs *defs;
	struct spool spool;
	uint32_t found = 0;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_kernel_op(&spool, write_op(7, 8, 10, 30), NULL, 0);
	for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++) {
		struct eta_task_record task = {
			.head = { .time_ns = 1, .id = tasks[i].tid, .flags = tasks[i].flags },
			.pid = tasks[i].pid,
			.noted_ns = i,
			.waited_ns = 500,
		};

		snprintf(task.comm, sizeof(task.comm), "%s", tasks[i].comm);
		maker_task(&spool, task);
	}
	/* of many the longest, however short they lived */
	for (uint32_t i = 0; i < 1000; i++)
		maker_task(&spool, (struct eta_task_record){
					   .head = { .id = 1000 + i, .flags = ETA_TASK_UNTRACED },
					   .pid = 1000 + i,
					   .waited_ns = i < 254 ? 1000 + i : 1 });
	maker_bio(&spool,
		  (struct eta_bio_record){ .head = { .time_ns = 70, .end_ns = 80, .id = 50 },
					   .issue_ns = 71,
					   .pid = 50,
					   .bytes = 4096,
					   .dev = PLAIN_DEV });
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	defs = eta_trace_defs(trace);
	assert_int_equal(defs->n_locations, sizeof(expected) / sizeof(*expected) + 254);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		for (uint32_t l = 0; l < defs->n_locations; l++) {
			const struct eta_location *location = &defs->locations[l];
			const struct eta_event *batch;
			struct eta_cursor *cursor;

			if (location->tid != expected[i].tid) {
				assert_true(location->tid < 1000 + 254);
				continue;
			}
			found++;
			if (*expected[i].name)
				assert_string_equal(location->name, expected[i].name);
			assert_int_equal(location->kind, expected[i].kind);
			assert_int_equal(eta_cursor_open(trace, l, &cursor), 0);
			assert_int_equal(eta_cursor_read(cursor, &batch), expected[i].events);
			eta_cursor_close(cursor);
		}
	assert_int_equal(found, sizeof(expected) / sizeof(*expected));
	eta_close(trace);
	maker_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_wanders_between_cpus),
		cmocka_unit_test(operations_nest),
		cmocka_unit_test(cpus_are_known),
		cmocka_unit_test(requests_lie_in_their_time),
		cmocka_unit_test(operations_under_way_lie_in_tracks),
		cmocka_unit_test(requests_at_the_edges_lie_inside),
		cmocka_unit_test(requests_completed_backwards_are_sorted),
		cmocka_unit_test(who_and_losses_are_kept),
		cmocka_unit_test(those_in_the_way_have_names),
		cmocka_unit_test(random_tasks_come_out_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
