/* Makes the guest's stacked devices of two disks: dm-0 striped over both; md0, a mirror, and md1,
 * striped, of linear parts of them. Usage: stack DISK DISK PART-BYTES CHUNK-BYTES */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/major.h>
#include <linux/raid/md_u.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SECTOR_BYTES 512
#define CLEAN 1 /* the superblock's state: no resync */
#define ACTIVE_AND_IN_SYNC 6

static unsigned long argument(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || !n)
		errx(2, "%s: not a size", text);
	return n;
}

static void dm_command(unsigned long command, struct dm_ioctl *io, const char *name)
{
	static int control = -1;

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR);
	if (control < 0)
		err(1, "/dev/mapper/control");
	io->version[0] = DM_VERSION_MAJOR;
	io->data_start = sizeof(*io);
	snprintf(io->name, sizeof(io->name), "%s", name);
	if (ioctl(control, command, io))
		err(1, "%s: device mapper's command %#lx", name, command);
}

/* A mapped device of SECTORS sectors; its number. */
static dev_t mapped_make(const char *name, const char *target, const char *parameters,
			 uint64_t sectors)
{
	struct {
		struct dm_ioctl io;
		struct dm_target_spec spec;
		char parameters[256];
	} make = { .io.data_size = sizeof(struct dm_ioctl) }, load = {}, resume = make;

	dm_command(DM_DEV_CREATE, &make.io, name);
	load.io.data_size = sizeof(load);
	load.io.target_count = 1;
	load.spec.length = sectors;
	snprintf(load.spec.target_type, sizeof(load.spec.target_type), "%s", target);
	snprintf(load.parameters, sizeof(load.parameters), "%s", parameters);
	dm_command(DM_TABLE_LOAD, &load.io, name);
	dm_command(DM_DEV_SUSPEND, &resume.io, name);
	return resume.io.dev;
}

static void array_make(int number, int level, const dev_t parts[2], uint64_t part_bytes,
		       int chunk_bytes)
{
	mdu_array_info_t array = { .minor_version = 90,
				   .level = level,
				   .size = part_bytes / 1024,
				   .nr_disks = 2,
				   .raid_disks = 2,
				   .md_minor = number,
				   .not_persistent = 1,
				   .state = CLEAN,
				   .active_disks = 2,
				   .working_disks = 2,
				   .chunk_size = level ? 0 : chunk_bytes };
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/md%d", number);
	mknod(path, S_IFBLK | 0600, makedev(MD_MAJOR, number));
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(1, "%s", path);
	if (ioctl(fd, SET_ARRAY_INFO, &array))
		err(1, "%s: SET_ARRAY_INFO", path);
	for (int i = 0; i < 2; i++) {
		mdu_disk_info_t disk = { .number = i,
					 .major = (int)major(parts[i]),
					 .minor = (int)minor(parts[i]),
					 .raid_disk = i,
					 .state = ACTIVE_AND_IN_SYNC };

		if (ioctl(fd, ADD_NEW_DISK, &disk))
			err(1, "%s: ADD_NEW_DISK", path);
	}
	if (ioctl(fd, RUN_ARRAY, NULL))
		err(1, "%s: RUN_ARRAY", path);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t part_bytes, sectors;
	int chunk_bytes;
	char text[256];

	if (argc != 5)
		errx(2, "usage: stack DISK DISK PART-BYTES CHUNK-BYTES");
	part_bytes = argument(argv[3]);
	chunk_bytes = (int)argument(argv[4]);
	sectors = part_bytes / SECTOR_BYTES;
	snprintf(text, sizeof(text), "2 %d %s 0 %s 0", chunk_bytes / SECTOR_BYTES, argv[1],
		 argv[2]);
	mapped_make("striped", "striped", text, 2 * sectors);
	for (int number = 0; number < 2; number++) {
		dev_t parts[2];

		for (int i = 0; i < 2; i++) {
			char name[16];

			snprintf(name, sizeof(name), "part%d-%d", number, i);
			snprintf(text, sizeof(text), "%s %llu", argv[1 + i],
				 (unsigned long long)((1 + number) * sectors));
			parts[i] = mapped_make(name, "linear", text, sectors);
		}
		array_make(number, number ? 0 : 1, parts, part_bytes, chunk_bytes);
	}
	return 0;
}
