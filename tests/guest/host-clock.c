/*
 * host-clock ROUNDS: asks the host for its clock through memory that both share (QEMU's
 * ivshmem-plain), and prints the guest's clock before, the host's, and the guest's behind. 77:
 * there is no such device.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* As tests/cases/kernel-vm-guest.py answers. */
struct shared {
	volatile uint64_t asked, answered, host_ns;
};

enum { BYTES = 1 << 20 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The third of the device's memories, which is ordinary memory. */
static struct shared *find(void)
{
	glob_t devices;
	char text[16], path[256];
	struct shared *shared = NULL;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		exit(77);
	for (size_t i = 0; i < devices.gl_pathc && !shared; i++) {
		FILE *file;
		int fd;

		snprintf(path, sizeof(path), "%s/device", devices.gl_pathv[i]);
		file = fopen(path, "r");
		if (!file || !fgets(text, sizeof(text), file) || strcmp(text, "0x1110\n") != 0)
			text[0] = '\0';
		if (file)
			fclose(file);
		if (!text[0])
			continue;
		snprintf(path, sizeof(path), "%s/enable", devices.gl_pathv[i]);
		file = fopen(path, "w");
		if (!file || fputs("1", file) < 0 || fclose(file))
			err(1, "%s", path);
		snprintf(path, sizeof(path), "%s/resource2", devices.gl_pathv[i]);
		fd = open(path, O_RDWR);
		if (fd < 0)
			err(1, "%s", path);
		shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (shared == MAP_FAILED)
			err(1, "%s", path);
	}
	globfree(&devices);
	return shared;
}

int main(int argc, char **argv)
{
	struct shared *shared = find();
	int rounds = argc == 2 ? atoi(argv[1]) : 0;

	if (!shared)
		return 77;
	while (rounds-- > 0) {
		uint64_t before = now(), wanted = shared->asked + 1;

		__sync_synchronize();
		shared->asked = wanted;
		while (shared->answered != wanted)
			;
		__sync_synchronize();
		printf("%llu %llu %llu\n", (unsigned long long)before,
		       (unsigned long long)shared->host_ns, (unsigned long long)now());
	}
	return 0;
}
