/* The kernel side of a spool: the spans of an operation become nested regions, waits split by
 * requests.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "events.h"
#include "kernel-expansions.h"
#include "kernel-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"

/* ---- one operation, 100 to 200 ---- */

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
					      .who = e->spans[n].who,
					      .count = e->spans[n].place,
					      .object = e->spans[n].object };
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	maker_kernel_op(&spool,
			(struct eta_kernel_op){ .head = { .time_ns = 100, .end_ns = 200, .id = 8 },
						.pid = 7,
						.dev = EXT4_DEV,
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
			.dev = PLAIN_DEV,
			.owner_pid = 7,
			.owner_tid = 8,
			.queue_ahead_tid = e->bios[i].queue_who,
			.issue_ahead_tid = e->bios[i].device_who,
			.queue_foreign_ns = e->bios[i].foreign_queue_ns,
			.device_foreign_ns = e->bios[i].foreign_device_ns,
			.foreign_tid = e->bios[i].foreign,
			.foreign_n = e->bios[i].foreign_n,
			.traced_n = e->bios[i].traced_n,
			.traced_tid = e->bios[i].traced,
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

/* ---- off the CPU on the way out of a call ---- */

static void add_write(struct spool *spool, uint64_t begin_ns, uint64_t end_ns)
{
	maker_kernel_op(
		spool,
		(struct eta_kernel_op){ .head = { .time_ns = begin_ns, .end_ns = end_ns, .id = 8 },
					.pid = 7,
					.dev = EXT4_DEV,
					.inode = 5,
					.syscall = SYS_WRITE },
		NULL, 0);
}

/* A wait between two operations. */
static void add_span(struct spool *spool, struct eta_span span)
{
	struct {
		struct eta_kernel_op op;
		struct eta_span span;
	} wait = { .op = { .offset = ETA_OFFSET_UNKNOWN, .pid = 7 }, .span = span };
	struct eta_record_head head = { .time_ns = span.begin_ns,
					.end_ns = span.end_ns,
					.type = ETA_RECORD_WAIT,
					.units = 3,
					.id = 8 };

	maker_record(spool, head, (const char *)&wait + sizeof(head), sizeof(wait) - sizeof(head));
}

static void add_wait(struct spool *spool, uint64_t begin_ns, uint64_t end_ns, uint8_t flags)
{
	add_span(spool, (struct eta_span){ .begin_ns = begin_ns,
					   .end_ns = end_ns,
					   .kind = ETA_SPAN_RUN_QUEUE,
					   .flags = ETA_SPAN_PREEMPTED | flags,
					   .who = 9 });
}

/* A sleep on the way out of a call, at a place that is not known. */
static void add_sleep(struct spool *spool, uint64_t begin_ns, uint64_t end_ns)
{
	add_span(spool, (struct eta_span){ .begin_ns = begin_ns,
					   .end_ns = end_ns,
					   .kind = ETA_SPAN_SLEEP,
					   .flags = ETA_SPAN_RETURNING });
}

/* A call is over when the thread is back in the program. */
static void waits_on_the_way_out(void **state)
{
	char dir[] = DIR_TEMPLATE, text[4096];
	struct eta_trace *trace;
	struct spool spool;

	(void)state;
	maker_begin(dir);
	make_meta(dir);
	make_cpu(&spool, dir, 0);
	add_write(&spool, 100, 200);
	add_wait(&spool, 203, 300, ETA_SPAN_RETURNING);
	add_wait(&spool, 310, 320, ETA_SPAN_RETURNING);
	add_write(&spool, 330, 400);
	add_wait(&spool, 401, 420, 0); /* in the program */
	add_write(&spool, 430, 500);
	add_write(&spool, 510, 600);
	add_wait(&spool, 30000000, 30000100,
		 ETA_SPAN_RETURNING); /* of a call that was not recorded */
	add_write(&spool, 31000000, 31000100);
	add_sleep(&spool, 31000200, 31000300);
	add_sleep(&spool, 70000000, 70000100);
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(events_print_regions(trace, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "+vfs:sys_pwrite64@100 +cpu:run queue@203~9 -cpu:run queue@300 "
				  "+cpu:run queue@310~9 -cpu:run queue@320 -vfs:sys_pwrite64@320 "
				  "+vfs:sys_pwrite64@330 -vfs:sys_pwrite64@400 "
				  "+cpu:run queue@401~9 -cpu:run queue@420 "
				  "+vfs:sys_pwrite64@430 -vfs:sys_pwrite64@500 "
				  "+vfs:sys_pwrite64@510 -vfs:sys_pwrite64@600 "
				  "+cpu:run queue@30000000~9 -cpu:run queue@30000100 "
				  "+vfs:sys_pwrite64@31000000 +vfs:other wait@31000200 "
				  "-vfs:other wait@31000300 -vfs:sys_pwrite64@31000300 "
				  "+vfs:other wait@70000000 -vfs:other wait@70000100");
	eta_close(trace);
	maker_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_become_regions),
		cmocka_unit_test(waits_on_the_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
