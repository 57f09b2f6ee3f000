/* What QEMU's monitor answers, and what is kept of it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "eta-ext/format/samples.h"
#include "src/vm/qmp.h"

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n"
#define EVENT "{\"timestamp\": {\"seconds\": 1}, \"event\": \"RESUME\"}\r\n"
static struct qemu_command command;

static int set_up(void **state)
{
	static const char line[] = "qemu-system-x86_64\0-drive\0file=a,if=none,id=d0\0-device\0"
				   "virtio-blk,drive=d0\0-blockdev\0driver=file,node-name=n1,"
				   "filename=b\0-device\0virtio-blk,drive=n1\0-qmp\0"
				   "unix:/run/a.sock,server,nowait\0-chardev\0socket,id=c,"
				   "path=b.sock,server=on\0-mon\0chardev=c,mode=control\0-mon\0"
				   "chardev=c,mode=readline\0-qmp\0tcp:localhost:4444,server=on\0"
				   "-qmp\0unix:/run/other.sock";

	(void)state;
	return qemu_command_read(line, sizeof(line), &command);
}

static int tear_down(void **state)
{
	(void)state;
	qemu_command_free(&command);
	return 0;
}

/* Those that QEMU itself listens at, and speaks QMP. */
static void test_monitors(void **state)
{
	(void)state;
	assert_int_equal(command.n_disks, 2);
	assert_int_equal(command.n_monitors, 2);
	assert_string_equal(command.monitors[0], "/run/a.sock");
	assert_string_equal(command.monitors[1], "b.sock");
}

static int ask(const char *text, struct counts disks[2])
{
	return qmp_read_answer(text, strlen(text), &command, disks);
}

static void test_answers(void **state)
{
	static const char answer[] =
		GREETING "{\"return\": {}}\r\n" EVENT "{\"id\": \"sci\", \"return\": ["
			 "{\"device\": \"\", \"node-name\": \"n1\", \"stats\": "
			 "{\"rd_bytes\": 4096, \"wr_total_time_ns\": 7, \"idle_time_ns\": 5}}, "
			 "{\"device\": \"d0\", \"stats\": "
			 "{\"rd_operations\": 5, \"rd_bytes\": -1}}, {\"device\": \"cd\"}]}";
	struct counts disks[2];

	(void)state;
	assert_int_equal(ask(answer, disks), 0);
	assert_true(disks[0].known && disks[1].known);
	assert_int_equal(disks[0].n[DISK_COUNT_READS], 5);
	assert_int_equal(disks[0].n[DISK_COUNT_READ_BYTES], 0);
	assert_int_equal(disks[1].n[DISK_COUNT_READ_BYTES], 4096);
	assert_int_equal(disks[1].n[DISK_COUNT_WRITE_NS], 7);
	assert_int_equal(disks[1].n[DISK_COUNT_FLUSHES], 0);
	/* disks that were taken away */
	assert_int_equal(ask("{\"id\": \"sci\", \"return\": []}", disks), 0);
	assert_false(disks[0].known || disks[1].known);
}

static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"",
		"SSH-2.0-OpenSSH\r\n",
		GREETING,
		GREETING "{\"return\": {",
		GREETING "{\"error\": {\"class\": \"CommandNotFound\"}}",
		"{\"id\": \"sci\", \"return\": {}}",
		"{\"id\": \"sci\"}",
		"[]\r\n",
		/* a number that is none of C's */
		"{\"id\": \"sci\", \"return\": [{\"stats\": {\"rd_bytes\": "
		"18446744073709551616}}]}",
	};
	struct counts disks[2];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(ask(texts[i], disks), -EBADMSG);
}

/* As a property of the trace. */
static void test_samples(void **state)
{
	static const char *const damaged[] = { "",
					       "5",
					       "5 of h",
					       "5 7 of h",
					       "x 7 0 1:1,2,3,4,5,6,7,8 of h",
					       "5 7 0 1:1,2,3,4,5,6,7 of h",
					       "5 7 0 1:1,2,3,4,5,6,7,8,9 of h",
					       "5 4294967296 0 1:1,2,3,4,5,6,7,8 of h",
					       "5 7 0 18446744073709551615:1,2,3,4,5,6,7,8 of h" };
	struct disk_count_sample s;
	struct samples samples;
	uint32_t pid, disk;

	(void)state;
	assert_true(samples_parse(
		"5 7 1 2:1,2,3,4,5,6,7,8 4:0,0,0,0,0,0,0,9 3:1,1,1,1,1,1,1,1 of a h", &samples));
	assert_string_equal(samples.host, "a h");
	assert_true(samples_disk(&samples, &pid, &disk));
	assert_int_equal(pid, 7);
	assert_int_equal(disk, 1);
	assert_true(samples_disk_counts(&samples, &s));
	assert_int_equal(s.from_ns, 5);
	assert_int_equal(s.to_ns, 2000005);
	assert_int_equal(s.n[DISK_COUNT_READS], 1);
	assert_int_equal(s.n[DISK_COUNT_FLUSH_NS], 8);
	assert_true(samples_disk_counts(&samples, &s));
	assert_int_equal(s.from_ns, 2000005);
	assert_int_equal(s.n[DISK_COUNT_FLUSH_NS], 9);
	/* back in time */
	assert_false(samples_disk_counts(&samples, &s));
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		assert_false(samples_parse(damaged[i], &samples) &&
			     samples_disk(&samples, &pid, &disk) &&
			     samples_disk_counts(&samples, &s));
}

/* What the client of a network file system counted, as a property of the trace. */
static void test_net_samples(void **state)
{
	static const char *const damaged[] = {
		"5 lustre of h",
		"5 lustre a-OST0000 of h",
		"5 lustre a-OST0000 1:1,2,3,4,5,6,7 of h",
		"5 lustre a-OST0000 1:1,2,3,4,5,6,7,x of h",
		"5 lustre a-OST0000 1:1,2,3,4,5,6,7,-1 of h",
		"5 lustre a-long-name-of-this-server 1:1,2,3,4,5,6,7,8"
		" of h"
	};
	struct disk_count_sample s;
	struct samples samples;
	char name[24];

	(void)state;
	assert_true(samples_parse("5 beegfs 1F-A 2:1,-,3,-,-,-,-,- of h", &samples));
	assert_true(samples_net(&samples, name, sizeof(name)));
	assert_string_equal(name, "beegfs 1F-A");
	assert_true(samples_disk_counts(&samples, &s));
	assert_int_equal(s.n[DISK_COUNT_WRITES], 3);
	assert_true(s.n[DISK_COUNT_READ_BYTES] == DISK_COUNT_UNKNOWN);
	assert_true(s.n[DISK_COUNT_FLUSH_NS] == DISK_COUNT_UNKNOWN);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		assert_false(samples_parse(damaged[i], &samples) &&
			     samples_net(&samples, name, sizeof(name)) &&
			     samples_disk_counts(&samples, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_monitors),    cmocka_unit_test(test_answers),
		cmocka_unit_test(test_nonsense),    cmocka_unit_test(test_samples),
		cmocka_unit_test(test_net_samples),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
