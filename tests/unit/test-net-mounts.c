/* Network file systems in mountinfo, and which devices of which machines are one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory-trace.h"
#include "plugins/kernelio/net-mounts.h"
#include "src/common/machines.h"
#include "src/common/shares.h"

static const struct {
	const char *line, *text;
} lines[] = {
	{ "25 30 0:45 / /mnt rw,relatime shared:5 - nfs4 server:/export rw,vers=4.2,addr=10.0.0.1",
	  "45 nfs server:/export" },
	{ "25 30 0:46 /sub /mnt/a\\040b rw - nfs server:/a\\040b rw", "46 nfs server:/a\\040b" },
	{ "25 30 1:47 / /l rw shared:1 master:2 - lustre 10.0.0.1@tcp:/fs rw",
	  "1048623 lustre 10.0.0.1@tcp:/fs" },
	{ "25 30 0:48 / /c rw - smb3 //server/share rw", "48 cifs //server/share" },
	{ "25 30 0:49 / /b rw - beegfs beegfs_nodev rw", "49 beegfs beegfs_nodev" },
	/* a server that each machine calls its own, other kinds, and what is no such line */
	{ "25 30 0:50 / /mnt rw - nfs4 localhost:/export rw", NULL },
	{ "25 30 0:51 / /mnt rw - nfs4 127.0.0.1:/export rw", NULL },
	{ "25 30 8:1 / / rw - ext4 /dev/sda1 rw", NULL },
	{ "25 30 0:52 / /s rw - fuse.sshfs server:/ rw", NULL },
	{ "25 30 0:53 / /mnt rw - nfs4", NULL },
	{ "25 30 / /mnt rw - nfs4 server:/export rw", NULL },
	{ " - ", NULL },
	{ "", NULL },
};

static int take(void *arg, const char *text)
{
	snprintf(arg, 256, "%s", text);
	return 7;
}

static void test_lines(void **state)
{
	char name[] = "/tmp/mounts.XXXXXX", got[256];
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		FILE *out = fopen(name, "w");

		fprintf(out, "24 30 0:5 / /dev rw - devtmpfs udev rw\n%s\n", lines[i].line);
		fclose(out);
		*got = '\0';
		assert_int_equal(net_mounts(name, take, got), lines[i].text ? 7 : 0);
		assert_string_equal(got, lines[i].text ? lines[i].text : "");
	}
	close(fd);
	unlink(name);
	assert_int_equal(net_mounts(name, take, got), 0);
}

/* What a recording says of a device goes to the files there; what is no such text is bad. */
static void test_files(void **state)
{
	struct eta_trace *t = memory_trace_new("mounts");
	struct eta_counts counts;

	(void)state;
	eta_defs_file(
		t, &(struct eta_file){ .path = "/a", .dev = 45, .inode = 1, .fs = "", .host = "" });
	eta_defs_file(
		t, &(struct eta_file){ .path = "/b", .dev = 46, .inode = 1, .fs = "", .host = "" });
	assert_int_equal(eta_defs_mount(t, "45 nfs server:/export"), 0);
	assert_int_equal(eta_defs_mount(t, "nfs server:/export"), 0);
	assert_int_equal(eta_defs_mount(t, "46 "), 0);
	assert_string_equal(eta_trace_defs(t)->files[0].mount, "nfs server:/export");
	assert_string_equal(eta_trace_defs(t)->files[1].mount, "");
	eta_trace_counts(t, &counts);
	assert_int_equal(counts.bad, 2);
	eta_close(t);
}

static const struct share *share_at(const struct eta_trace *t, const struct shares *shares,
				    const char *host, uint32_t dev)
{
	return share_of(shares, machine_dev(eta_machine(eta_trace_defs(t), host), dev));
}

static void test_shares(void **state)
{
	static const struct {
		const char *host;
		uint32_t dev;
		const char *mount;
	} files[] = {
		{ "a", 45, "nfs server:/x" },
		{ "b", 50, "nfs server:/x" },
		{ "a", 46, "nfs server:/y" },
		{ "b", 51, "nfs server2:/x" },
		{ "b", 52, "lustre 1@tcp:/x" },
		{ "a", 47, "lustre 1@tcp:/y" },
		{ "a", 48, "cifs //server/one" },
		{ "b", 53, "cifs //server/two" },
		{ "a", 49, "" },
	};
	struct eta_trace *t = memory_trace_new("shares");
	struct shares shares;

	(void)state;
	for (const char *host = "a"; host; host = *host == 'a' ? "b" : NULL)
		eta_defs_process(t, &(struct eta_process){
					    .name = "app", .host = host, .boot = host, .pid = 1 });
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		eta_defs_file(t, &(struct eta_file){ .path = "",
						     .dev = files[i].dev,
						     .inode = i + 1,
						     .fs = "",
						     .host = files[i].host,
						     .mount = files[i].mount });
	assert_int_equal(shares_new(eta_trace_defs(t), &shares), 0);
	assert_true(shares.several);
	assert_null(share_at(t, &shares, "a", 49));
	assert_null(share_at(t, &shares, "b", 45));
	assert_int_equal(share_at(t, &shares, "a", 45)->number,
			 share_at(t, &shares, "b", 50)->number);
	/* of one server, but another file system; of another server, whose name begins alike */
	assert_int_not_equal(share_at(t, &shares, "a", 45)->number,
			     share_at(t, &shares, "a", 46)->number);
	assert_int_equal(share_at(t, &shares, "a", 46)->server,
			 share_at(t, &shares, "b", 50)->server);
	assert_int_not_equal(share_at(t, &shares, "b", 51)->server,
			     share_at(t, &shares, "b", 50)->server);
	assert_int_not_equal(share_at(t, &shares, "b", 52)->server,
			     share_at(t, &shares, "a", 47)->server);
	assert_int_equal(share_at(t, &shares, "a", 48)->server,
			 share_at(t, &shares, "b", 53)->server);
	shares_free(&shares);
	eta_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
