/* QEMU's command lines: the machine's name and its disks; the header of a qcow2 image. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/vm/qcow2.h"
#include "src/vm/qemu-command.h"

#define LIBVIRT_STORAGE                                                                            \
	"{\"driver\":\"file\",\"filename\":\"/srv/demo/disk_lv.img\",\"aio\":\"threads\","         \
	"\"node-name\":\"libvirt-1-storage\",\"cache\":{\"direct\":true,\"no-flush\":false},"      \
	"\"auto-read-only\":true,\"discard\":\"unmap\"}"
#define LIBVIRT_FORMAT                                                                             \
	"{\"node-name\":\"libvirt-1-format\",\"read-only\":false,\"cache\":{\"direct\":true,"      \
	"\"no-flush\":false},\"driver\":\"raw\",\"file\":\"libvirt-1-storage\"}"
#define LIBVIRT_DEVICE                                                                             \
	"{\"driver\":\"virtio-blk-pci\",\"iothread\":\"iothread1\",\"bus\":\"pci.0\","             \
	"\"drive\":\"libvirt-1-format\",\"id\":\"virtio-disk0\",\"write-cache\":\"on\","           \
	"\"serial\":\"etadisk\"}"

/*
 * Arguments, each ended by |; then the machine, and a line per disk: id, device, serial, iothread,
 * image, format, cache, aio.
 */
static const struct {
	const char *line, *machine, *disks;
} lines[] = {
	{ "qemu-system-x86_64|-accel|tcg|-nographic|-name|guest=eta-threads,debug-threads=on|"
	  "-object|iothread,id=io0|-drive|if=none,id=d0,file=disk.img,format=raw,cache=none,"
	  "aio=threads|-device|virtio-blk-pci,drive=d0,iothread=io0,serial=etadisk|-S|",
	  "eta-threads named", "d0 virtio-blk-pci etadisk io0 disk.img raw none threads\n" },
	{ "/usr/bin/qemu-system-x86_64|-name|guest=etavm,debug-threads=on|-S|-object|"
	  "{\"qom-type\":\"iothread\",\"id\":\"iothread1\"}|-kernel|/boot/vmlinuz|-append|"
	  "console=ttyS0 quiet rdinit=/init|-blockdev|" LIBVIRT_STORAGE "|-blockdev|" LIBVIRT_FORMAT
	  "|-device|" LIBVIRT_DEVICE
	  "|-add-fd|set=0,fd=32,opaque=serial0-source|-msg|timestamp=on|",
	  "etavm named",
	  "libvirt-1-format virtio-blk-pci etadisk iothread1 /srv/demo/disk_lv.img raw none "
	  "threads\n" },
	/* two disks, the short forms, the modes of caches */
	{ "qemu-kvm|-name|two|-drive|file=a.qcow2,if=virtio|-drive|"
	  "file=b.img,if=virtio,format=raw,cache=directsync,aio=native|-hdc|c,d=.img|-drive|"
	  "file=u,if=ide,cache=unsafe|-drive|file=w,cache=writethrough,aio=io_uring|",
	  "two",
	  "- virtio - - a.qcow2 - writeback threads\n"
	  "- virtio - - b.img raw directsync native\n"
	  "- ide - - c,d=.img - writeback threads\n"
	  "- ide - - u - unsafe threads\n"
	  "- ide - - w - writethrough io_uring\n" },
	/* no name; commas doubled; firmware and an empty CD drive are no disks */
	{ "qemu-system-x86_64|-drive|file=a,,b,,,,c.img,if=none,id=x|-drive|"
	  "if=pflash,file=code.fd,format=raw|-drive|if=ide,media=cdrom|",
	  "", "x - - - a,b,,c.img - writeback threads\n" },
	{ "qemu-system-x86_64|-name|a,,b,debug-threads=off|", "a,b", "" },
	/* keys with dots, two dashes, options without the caches of their nodes */
	{ "qemu-system-x86_64|--drive|driver=qcow2,file.driver=file,file.filename=/x,"
	  "file.aio=native,cache.direct=on,id=y,if=none|-blockdev|driver=file,filename=/z,"
	  "node-name=z0,cache.direct=on|-blockdev|"
	  "driver=throttle,node-name=z1,file=z0,throttle-group=g|-device|"
	  "scsi-hd,drive=z1,write-cache=off|",
	  "",
	  "y - - - /x qcow2 none native\n"
	  "z1 scsi-hd - - /z raw directsync threads\n" },
	{ "qemu-system-x86_64|-drive|file=json:{\"driver\":\"qcow2\",,\"file\":{\"driver\":"
	  "\"file\",,\"filename\":\"/j\",,\"aio\":\"native\"}},if=virtio|",
	  "", "- virtio - - /j qcow2 writeback native\n" },
	/* images without an option; not what follows one */
	{ "qemu-system-x86_64|-m|256|-nographic|disk.img|", "",
	  "- ide - - disk.img - writeback threads\n" },
	{ "qemu-system-x86_64|first.img|-smp|2|", "", "- ide - - first.img - writeback threads\n" },
	/* over the network; a node that no device shows; nodes that name each other */
	{ "qemu-system-x86_64|-drive|file=nbd://host/x,if=virtio,format=raw|-blockdev|"
	  "driver=file,filename=/unused,node-name=n|-blockdev|"
	  "driver=qcow2,node-name=a,file=b|-blockdev|driver=raw,node-name=b,file=a|-device|"
	  "virtio-blk-pci,drive=a|",
	  "",
	  "- virtio - - nbd://host/x raw writeback threads\n"
	  "a virtio-blk-pci - - - qcow2 writeback threads\n" },
	/* nothing that can be understood, and the clock */
	{ "qemu-system-x86_64|-drive|=|-blockdev|{|-blockdev|[]|-device|,,=,|-icount|shift=7|", "",
	  "" },
	{ "qemu-system-x86_64|-drive|", "", "" },
	{ "", "", "" },
};

static void put(char *to, size_t room, const char *text, char end)
{
	size_t n = strlen(to);

	snprintf(to + n, room - n, "%s%c", *text ? text : "-", end);
}

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct qemu_command command;
		char text[2048], machine[64], disks[1024] = "";
		size_t bytes = strlen(lines[i].line);

		assert_true(bytes <= sizeof(text));
		for (size_t c = 0; c < bytes; c++)
			text[c] = lines[i].line[c] == '|' ? '\0' : lines[i].line[c];
		assert_int_equal(qemu_command_read(text, bytes, &command), 0);
		snprintf(machine, sizeof(machine), "%s%s", command.name,
			 command.named_threads ? " named" : "");
		assert_string_equal(machine, lines[i].machine);
		assert_int_equal(command.icount, strstr(lines[i].line, "-icount") != NULL);
		for (size_t d = 0; d < command.n_disks; d++) {
			const struct qemu_disk *disk = &command.disks[d];

			put(disks, sizeof(disks), disk->id, ' ');
			put(disks, sizeof(disks), disk->device, ' ');
			put(disks, sizeof(disks), disk->serial, ' ');
			put(disks, sizeof(disks), disk->iothread, ' ');
			put(disks, sizeof(disks), disk->image, ' ');
			put(disks, sizeof(disks), disk->format, ' ');
			put(disks, sizeof(disks), disk->cache, ' ');
			put(disks, sizeof(disks), disk->aio, '\n');
		}
		assert_string_equal(disks, lines[i].disks);
		qemu_command_free(&command);
	}
}

static void test_descriptors(void **state)
{
	static const char line[] =
		"qemu-system-x86_64\0-add-fd\0set=2,fd=17,opaque=rw:/x\0-add-fd\0fd=9,set=3";
	struct qemu_command command;

	(void)state;
	assert_int_equal(qemu_command_read(line, sizeof(line), &command), 0);
	assert_int_equal(qemu_command_descriptor(&command, "/dev/fdset/2"), 17);
	assert_int_equal(qemu_command_descriptor(&command, "/dev/fdset/3"), 9);
	assert_int_equal(qemu_command_descriptor(&command, "/dev/fdset/4"), -1);
	assert_int_equal(qemu_command_descriptor(&command, "/dev/vda"), -1);
	qemu_command_free(&command);
}

/* A backing image in a key of -drive and in a node; none where it is taken away. */
static void test_backing(void **state)
{
	static const struct {
		const char *node;
		bool backing;
	} nodes[] = {
		{ "{\"driver\":\"qcow2\",\"node-name\":\"n\",\"file\":\"f\",\"backing\":\"b\"}",
		  true },
		{ "{\"driver\":\"qcow2\",\"node-name\":\"n\",\"file\":\"f\",\"backing\":null}",
		  false },
		{ "driver=qcow2,node-name=n,file=f,backing.driver=raw", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		struct qemu_command command;
		char line[512];
		int n = snprintf(line, sizeof(line), "q%c-blockdev%c%s%c-device%cx,drive=n", 0, 0,
				 nodes[i].node, 0, 0);

		assert_int_equal(qemu_command_read(line, (size_t)n + 1, &command), 0);
		assert_int_equal(command.n_disks, 1);
		assert_int_equal(command.disks[0].backing, nodes[i].backing);
		qemu_command_free(&command);
	}
}

static void test_header(void **state)
{
	unsigned char data[QCOW2_HEADER_BYTES] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };
	struct qcow2_header header;

	(void)state;
	data[23] = 16; /* clusters of 64 KiB */
	data[27] = 1;  /* 2^32 bytes */
	data[63] = 2;
	assert_true(qcow2_header_read(data, sizeof(data), &header));
	assert_int_equal(header.version, 3);
	assert_int_equal(header.bytes, 1ULL << 32);
	assert_int_equal(header.cluster_bytes, 65536);
	assert_int_equal(header.snapshots, 2);
	assert_false(header.backing || header.encrypted);
	data[15] = 104;
	data[35] = 2;
	assert_true(qcow2_header_read(data, 72, &header));
	assert_true(header.backing && header.encrypted);
	assert_false(qcow2_header_read(data, 71, &header));
	data[23] = 22;
	assert_false(qcow2_header_read(data, sizeof(data), &header));
	data[23] = 8;
	assert_false(qcow2_header_read(data, sizeof(data), &header));
	data[23] = 16;
	data[7] = 4;
	assert_false(qcow2_header_read(data, sizeof(data), &header));
	data[7] = 2;
	data[3] = 0;
	assert_false(qcow2_header_read(data, sizeof(data), &header));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_backing),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
