/* The user side of a spool, its definitions, and damage of every kind. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"
#include "spool-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"

static char said[4096];
static int times_said;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	snprintf(said, sizeof(said), "%s", text);
	times_said++;
}

enum { NAME_WRITE = 1, NAME_READ, NAME_OPEN, NAME_CLOSE, NAME_LSEEK, NAME_FSYNC };

static void make_process(const char *dir, uint32_t pid, uint32_t ppid, uint64_t start_ns)
{
	const struct eta_spool_header header = {
		.kind = ETA_SPOOL_PROCESS,
		.pid = pid,
		.tid = pid,
		.ppid = ppid,
		.start_ns = start_ns,
		.host = "here",
		.comm = "app",
		.exe = "/bin/app",
	};
	struct spool spool;
	char name[64];

	snprintf(name, sizeof(name), "process.%u.%llu", pid, (unsigned long long)start_ns);
	maker_file(&spool, dir, name, &header);
	maker_name(&spool, ETA_RECORD_NAME, NAME_WRITE, ETA_OP_WRITE, "write");
	maker_name(&spool, ETA_RECORD_NAME, NAME_READ, ETA_OP_READ, "read");
	maker_name(&spool, ETA_RECORD_NAME, NAME_OPEN, ETA_OP_OPEN, "open");
	maker_name(&spool, ETA_RECORD_NAME, NAME_CLOSE, ETA_OP_CLOSE, "close");
	maker_name(&spool, ETA_RECORD_NAME, NAME_LSEEK, ETA_OP_SEEK, "lseek");
	maker_name(&spool, ETA_RECORD_NAME, NAME_FSYNC, ETA_OP_SYNC, "fsync");
	maker_name(&spool, ETA_RECORD_PROPERTY, 0, 0, "argv=app -x");
	spool_close(&spool);
}

static void make_thread(struct spool *spool, const char *dir, uint32_t pid, uint32_t tid,
			uint64_t start_ns)
{
	const struct eta_spool_header header = {
		.kind = ETA_SPOOL_USER,
		.pid = pid,
		.tid = tid,
		.start_ns = start_ns,
		.host = "here",
		.comm = "worker",
		.exe = "/bin/app",
	};
	char name[64];

	snprintf(name, sizeof(name), "user.%u.%u.%llu", pid, tid, (unsigned long long)start_ns);
	maker_file(spool, dir, name, &header);
}

static struct eta_user_op call(uint32_t id, uint64_t begin_ns, uint64_t end_ns)
{
	return (struct eta_user_op){
		.head = { .time_ns = begin_ns, .end_ns = end_ns, .id = id },
		.fd = 3,
		.file = 1,
		.size = 100,
		.offset = ETA_OFFSET_UNKNOWN,
		.ret = 100,
	};
}

/* ---- calls of one thread ---- */

static const struct {
	const char *name;
	struct {
		uint32_t id;
		uint64_t begin_ns, end_ns;
		int64_t ret;
	} calls[6];
	const char *expected;
	uint64_t truncated, overlapping, bad;
} cases[] = {
	{ "each kind",
	  { { NAME_OPEN, 1, 2, 3 },
	    { NAME_WRITE, 3, 4, 5 },
	    { NAME_LSEEK, 5, 6, 0 },
	    { NAME_READ, 7, 8, -5 },
	    { NAME_FSYNC, 9, 10, 0 },
	    { NAME_CLOSE, 11, 12, 0 } },
	  "+open@1 create@2 -open@2 +write@3 begin@3 complete@4 -write@4 +lseek@5 seek@6 -lseek@6 "
	  "+read@7 begin@7 complete@8 -read@8 +fsync@9 begin@9 complete@10 -fsync@10 +close@11 "
	  "destroy@12 -close@12",
	  0,
	  0,
	  0 },
	{ "open fails", { { NAME_OPEN, 1, 2, -2 } }, "+open@1 -open@2", 0, 0, 0 },
	{ "signal handler",
	  { { NAME_READ, 1, 9, 5 }, { NAME_WRITE, 3, 4, 5 } },
	  "+read@1 begin@1 +write@3 begin@3 complete@4 -write@4 complete@9 -read@9",
	  0,
	  0,
	  0 },
	{ "killed inside",
	  { { NAME_READ, 1, 2, 5 }, { NAME_WRITE, 3, 0, 0 } },
	  "+read@1 begin@1 complete@2 -read@2 +write@3 begin@3",
	  0,
	  0,
	  0 },
	{ "killed in a handler",
	  { { NAME_READ, 1, 0, 0 }, { NAME_WRITE, 3, 0, 0 } },
	  "+read@1 begin@1 +write@3 begin@3",
	  0,
	  0,
	  0 },
	{ "jumped out",
	  { { NAME_READ, 1, 0, 0 }, { NAME_WRITE, 3, 4, 5 } },
	  "+read@1 begin@1 -read@3! +write@3 begin@3 complete@4 -write@4",
	  1,
	  0,
	  0 },
	{ "handler jumped out, outer call ended",
	  { { NAME_READ, 1, 9, 5 }, { NAME_WRITE, 3, 0, 0 } },
	  "+read@1 begin@1 +write@3 begin@3 -write@9! complete@9 -read@9",
	  1,
	  0,
	  0 },
	{ "inner ends last",
	  { { NAME_READ, 1, 5, 5 }, { NAME_WRITE, 3, 7, 5 } },
	  "+read@1 begin@1 +write@3 begin@3 complete@5 -write@5 complete@5 -read@5",
	  0,
	  1,
	  0 },
	{ "no such name",
	  { { 77, 1, 2, 5 }, { NAME_WRITE, 3, 4, 5 } },
	  "+write@3 begin@3 complete@4 -write@4",
	  0,
	  0,
	  1 },
};

static void calls_become_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = DIR_TEMPLATE, text[2048];
		struct eta_trace *trace;
		struct eta_counts counts;
		struct spool spool;

		maker_begin(dir);
		make_process(dir, 7, 1, 0);
		make_thread(&spool, dir, 7, 8, 1);
		maker_file_record(&spool, (struct eta_file_record){ .head.id = 1, .inode = 5 },
				  "/f");
		for (size_t k = 0; k < 6 && cases[i].calls[k].begin_ns; k++) {
			struct eta_user_op op =
				call(cases[i].calls[k].id, cases[i].calls[k].begin_ns,
				     cases[i].calls[k].end_ns);

			op.ret = cases[i].calls[k].ret;
			maker_user_op(&spool, op);
		}
		spool_abandon(&spool); /* as kill -9 leaves it: the reserved rest is zeros */
		assert_int_equal(eta_open(dir, NULL, &trace), 0);
		assert_int_equal(eta_trace_defs(trace)->n_locations, 1);
		assert_int_equal(events_print(trace, 0, text, sizeof(text)), 0);
		if (strcmp(text, cases[i].expected) != 0)
			fail_msg("%s: %s", cases[i].name, text);
		eta_trace_counts(trace, &counts);
		assert_int_equal(counts.truncated, cases[i].truncated);
		assert_int_equal(counts.overlapping, cases[i].overlapping);
		assert_int_equal(counts.bad, cases[i].bad);
		eta_close(trace);
		maker_end(dir);
	}
}

static void fields_of_a_call(void **state)
{
	char dir[] = DIR_TEMPLATE;
	const struct eta_event *batch;
	const struct eta_defs *defs;
	struct eta_cursor *cursor;
	struct eta_trace *trace;
	struct spool spool;
	struct eta_user_op op = call(NAME_WRITE, 10, 20);

	(void)state;
	maker_begin(dir);
	make_process(dir, 7, 1, 0);
	make_thread(&spool, dir, 7, 8, 5);
	maker_file_record(&spool,
			  (struct eta_file_record){ .head.id = 1,
						    .inode = 5,
						    .dev = 8 << 20 | 1,
						    .open_flags = O_DIRECT | O_RDWR,
						    .fs_magic = 0xef53 },
			  "/data/file");
	op.offset = 4096;
	op.caller = 0x1234;
	op.ret = 60;
	maker_user_op(&spool, op);
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	defs = eta_trace_defs(trace);
	assert_string_equal(defs->locations[0].name, "worker tid 8");
	assert_int_equal(defs->locations[0].tid, 8);
	assert_int_equal(defs->locations[0].start_ns, 5);
	assert_string_equal(defs->processes[0].name, "app");
	assert_string_equal(defs->processes[0].host, "here");
	assert_int_equal(defs->processes[0].pid, 7);
	assert_string_equal(defs->files[0].path, "/data/file");
	assert_string_equal(defs->files[0].fs, "ext4");
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 4);
	assert_int_equal(defs->regions[batch[0].region].level, ETA_LEVEL_USER);
	assert_int_equal(batch[0].has, ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE |
					       ETA_HAS_CALLER | ETA_EVENT_DIRECT);
	assert_int_equal(batch[0].size, 100);
	assert_int_equal(batch[0].offset, 4096);
	assert_int_equal(batch[0].inode, 5);
	assert_int_equal(batch[0].dev, 8 << 20 | 1);
	assert_int_equal(batch[0].caller, 0x1234);
	assert_int_equal(batch[1].mode, ETA_IO_WRITE);
	assert_int_equal(batch[1].size, 100);
	assert_int_equal(batch[2].size, 60);
	assert_int_equal(batch[2].match, batch[1].match);
	assert_int_equal(batch[3].ret, 60);
	assert_int_equal(eta_cursor_read(cursor, &batch), 0);
	eta_cursor_close(cursor);
	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (strstr(defs->properties[i].name, "argv"))
			assert_string_equal(defs->properties[i].value, "app -x");
	eta_close(trace);
	maker_end(dir);
}

/* The path of the file of each thread's one call; NULL: it has none. */
static void expect_path(struct eta_trace *trace, uint32_t location, const char *path)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	const struct eta_event *batch;
	struct eta_cursor *cursor;

	assert_int_equal(eta_cursor_open(trace, location, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), path ? 4 : 2);
	if (path)
		assert_string_equal(defs->handles[batch[1].handle].name, path);
	eta_cursor_close(cursor);
}

static void file_ids_belong_to_an_image(void **state)
{
	char dir[] = DIR_TEMPLATE;
	const struct {
		uint32_t pid;
		uint64_t start_ns;
		const char *own_file; /* FILE id 1 */
	} threads[] = { { 7, 1, "/first" }, { 7, 50, "/after exec" }, { 9, 20, NULL } };
	struct eta_trace *trace;
	struct spool spool;

	(void)state;
	maker_begin(dir);
	make_process(dir, 7, 1, 1);
	make_process(dir, 7, 1, 50);
	make_process(dir, 9, 7, 20); /* forked from the first image: numbers its files itself */
	for (size_t i = 0; i < 3; i++) {
		make_thread(&spool, dir, threads[i].pid, threads[i].pid, threads[i].start_ns);
		if (threads[i].own_file)
			maker_file_record(&spool,
					  (struct eta_file_record){ .head.id = 1, .inode = i + 1 },
					  threads[i].own_file);
		maker_user_op(&spool,
			      call(NAME_WRITE, threads[i].start_ns + 1, threads[i].start_ns + 2));
		spool_close(&spool);
	}
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 3);
	assert_int_equal(eta_trace_defs(trace)->n_processes, 2);
	expect_path(trace, 0, "/first");
	expect_path(trace, 1, "/after exec");
	expect_path(trace, 2, NULL);
	eta_close(trace);
	maker_end(dir);
}

/* ---- damage ---- */

enum damage {
	CUT_RECORD,
	CUT_HEADER,
	BAD_MAGIC,
	BAD_VERSION,
	NO_HEADER,
	EMPTY,
	LOST_HEADER,
	OTHER_KIND,
	FOLDER,
	NO_UNITS,
	SHORT_RECORD,
	UNKNOWN_TYPE,
	BROKEN_CHAIN,
	LOOPED_CHAIN,
	N_DAMAGES,
};

static const struct {
	uint64_t bad;
	size_t writes;	  /* of the three calls */
	const char *said; /* about the file */
} damages[N_DAMAGES] = {
	[CUT_RECORD] = { 1, 2, "truncated record at byte 4288" },
	[CUT_HEADER] = { 1, 0, "truncated header at byte 1000" },
	[BAD_MAGIC] = { 1, 0, "no header of a spool file at byte 0" },
	[BAD_VERSION] = { 1, 0, "spool version 99, this program reads" },
	[NO_HEADER] = { 0, 0, "1 file without a header (user.7.8.1): " },
	[EMPTY] = { 0, 0, "1 file without a header (user.7.8.1): " },
	[LOST_HEADER] = { 1, 0, "no header of a spool file at byte 0" },
	[OTHER_KIND] = { 1, 0, "header of another kind than the name at byte 12" },
	[FOLDER] = { 1, 0, "user.7.8.1: is no regular file: left out" },
	[NO_UNITS] = { 1, 1, "record without a length at byte 4224" },
	[SHORT_RECORD] = { 1, 1, "record shorter than its type at byte 4224" },
	[UNKNOWN_TYPE] = { 1, 2, NULL },
	[LOOPED_CHAIN] = { 1, 3, "the list of files is broken at byte 4096" },
	[BROKEN_CHAIN] = { 1, 3, "the list of files is broken at byte 4160" },
};

/* The file has one FILE record of two units at 4096, and three calls at 4160, 4224 and 4288. */
static void do_damage(const char *path, enum damage damage)
{
	struct eta_record_head head = { 0 };
	const char zeros[ETA_SPOOL_HEADER_BYTES] = "";
	uint32_t version = 99, kind = ETA_SPOOL_PROCESS;
	uint64_t offset = 4160;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &head, sizeof(head), 4224), sizeof(head));
	switch (damage) {
	case CUT_RECORD:
		assert_int_equal(ftruncate(fd, 4288 + 40), 0);
		break;
	case CUT_HEADER:
		assert_int_equal(ftruncate(fd, 1000), 0);
		break;
	case BAD_MAGIC:
		assert_int_equal(pwrite(fd, "garbage!", 8, 0), 8);
		break;
	case BAD_VERSION:
		assert_int_equal(pwrite(fd, &version, 4, 8), 4);
		break;
	case NO_HEADER: /* killed between reserving the file and writing its header */
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(ftruncate(fd, 8192), 0);
		break;
	case EMPTY: /* killed before that */
		assert_int_equal(ftruncate(fd, 0), 0);
		break;
	case LOST_HEADER:
		assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
		break;
	case OTHER_KIND:
		assert_int_equal(pwrite(fd, &kind, 4, offsetof(struct eta_spool_header, kind)), 4);
		break;
	case FOLDER:
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkdir(path, 0777), 0);
		break;
	case NO_UNITS:
		head.units = 0;
		break;
	case SHORT_RECORD:
		head.units = 1;
		break;
	case UNKNOWN_TYPE:
		head.type = 200;
		break;
	case BROKEN_CHAIN:
		assert_int_equal(
			pwrite(fd, &offset, 8, offsetof(struct eta_spool_header, last_file)), 8);
		break;
	case LOOPED_CHAIN:
		offset = 4096;
		assert_int_equal(
			pwrite(fd, &offset, 8, 4096 + offsetof(struct eta_file_record, prev)), 8);
		break;
	case N_DAMAGES:
		break;
	}
	if (damage == NO_UNITS || damage == SHORT_RECORD || damage == UNKNOWN_TYPE)
		assert_int_equal(pwrite(fd, &head, sizeof(head), 4224), sizeof(head));
	close(fd);
}

/* How often "+write" stands in TEXT. */
static size_t count_writes(const char *text)
{
	size_t n = 0;

	while ((text = strstr(text, "+write"))) {
		text++;
		n++;
	}
	return n;
}

/* A damaged file costs what was in it, and nothing else. */
static void damage_is_said_and_kept_from_the_rest(void **state)
{
	(void)state;
	eta_set_message_fn(listen, NULL);
	for (enum damage damage = CUT_RECORD; damage < N_DAMAGES; damage++) {
		char dir[] = DIR_TEMPLATE, path[512], text[2048] = "";
		struct eta_trace *trace;
		struct eta_counts counts;
		struct spool spool;

		maker_begin(dir);
		make_process(dir, 7, 1, 0);
		make_thread(&spool, dir, 7, 8, 1);
		maker_file_record(&spool, (struct eta_file_record){ .head.id = 1, .inode = 5 },
				  "/f");
		for (uint64_t t = 10; t < 40; t += 10)
			maker_user_op(&spool, call(NAME_WRITE, t, t + 5));
		spool_close(&spool);
		snprintf(path, sizeof(path), "%s/user.7.8.1", dir);
		do_damage(path, damage);

		times_said = 0;
		assert_int_equal(eta_open(dir, NULL, &trace), 0);
		if (eta_trace_defs(trace)->n_locations)
			assert_int_equal(events_print(trace, 0, text, sizeof(text)), 0);
		eta_trace_counts(trace, &counts);
		assert_int_equal(count_writes(text), damages[damage].writes);
		assert_int_equal(counts.bad, damages[damage].bad);
		eta_close(trace);
		assert_int_equal(times_said, damages[damage].said != NULL);
		if (damages[damage].said) {
			assert_non_null(strstr(said, damages[damage].said));
			assert_ptr_equal(strstr(said, dir), said);
		}
		rmdir(path); /* that of FOLDER */
		maker_end(dir);
	}
	eta_set_message_fn(NULL, NULL);
}

/* The functions of a process whose own file is lost are named as those of others are. */
static void a_lost_process_file_costs_nothing(void **state)
{
	char dir[] = DIR_TEMPLATE, path[512], text[2048] = "";
	struct eta_trace *trace;
	struct eta_counts counts;
	struct spool spool;

	(void)state;
	maker_begin(dir);
	make_process(dir, 7, 1, 0);
	make_thread(&spool, dir, 9, 9, 1);
	maker_user_op(&spool, call(NAME_WRITE, 10, 15));
	spool_close(&spool);
	for (int alone = 0; alone < 2; alone++) {
		assert_int_equal(eta_open(dir, NULL, &trace), 0);
		assert_int_equal(events_print(trace, 0, text, sizeof(text)), 0);
		assert_non_null(strstr(text, alone ? "+?" : "+write"));
		eta_trace_counts(trace, &counts);
		assert_int_equal(counts.bad, 0);
		eta_close(trace);
		snprintf(path, sizeof(path), "%s/process.7.0", dir);
		unlink(path);
		text[0] = '\0';
	}
	maker_end(dir);
}

/* Where all are damaged there is no trace. */
static void without_a_good_file_it_is_no_trace(void **state)
{
	char dir[] = DIR_TEMPLATE, path[512];
	struct eta_trace *trace;

	(void)state;
	eta_set_message_fn(listen, NULL);
	maker_begin(dir);
	make_process(dir, 7, 1, 0);
	snprintf(path, sizeof(path), "%s/process.7.0", dir);
	do_damage(path, BAD_MAGIC);
	assert_int_equal(eta_open(dir, NULL, &trace), -EBADMSG);
	assert_non_null(strstr(said, "none of its files can be read"));
	maker_end(dir);
	eta_set_message_fn(NULL, NULL);
}

static void an_empty_spool_is_one(void **state)
{
	char dir[] = "/tmp/sci-test.XXXXXX", spool[64];
	struct eta_trace *trace;

	(void)state;
	maker_begin(dir);
	snprintf(spool, sizeof(spool), "%s.spool", dir);
	assert_int_equal(rename(dir, spool), 0);
	assert_int_equal(eta_open(spool, NULL, &trace), 0);
	assert_string_equal(eta_trace_source(trace), "spool");
	assert_int_equal(eta_trace_defs(trace)->n_locations, 0);
	eta_close(trace);
	maker_end(spool);
}

static void losses_are_counted(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct eta_trace *trace;
	struct eta_counts counts;
	const struct eta_defs *defs;
	struct spool spool;
	bool found = false;

	(void)state;
	maker_begin(dir);
	make_process(dir, 7, 1, 0);
	make_thread(&spool, dir, 7, 8, 1);
	spool.header->lost = 3;
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.lost, 3);
	defs = eta_trace_defs(trace);
	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (strcmp(defs->properties[i].name, "SCI::LOST_EVENTS") == 0)
			found = strcmp(defs->properties[i].value, "3") == 0;
	assert_true(found);
	eta_close(trace);
	maker_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_become_events),
		cmocka_unit_test(fields_of_a_call),
		cmocka_unit_test(file_ids_belong_to_an_image),
		cmocka_unit_test(damage_is_said_and_kept_from_the_rest),
		cmocka_unit_test(a_lost_process_file_costs_nothing),
		cmocka_unit_test(without_a_good_file_it_is_no_trace),
		cmocka_unit_test(an_empty_spool_is_one),
		cmocka_unit_test(losses_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
