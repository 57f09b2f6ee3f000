/* The header of a qcow2 image, as QEMU's docs/interop/qcow2.txt has it: big endian. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qcow2.h"

#include <string.h>

enum {
	AT_VERSION = 4,
	AT_BACKING = 8,
	AT_CLUSTER_BITS = 20,
	AT_BYTES = 24,
	AT_ENCRYPTION = 32,
	AT_SNAPSHOTS = 60,
	VERSION_2_BYTES = 72,
	CLUSTER_BITS_MIN = 9,
	CLUSTER_BITS_MAX = 21,
};

static uint32_t u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint64_t u64(const unsigned char *at)
{
	return (uint64_t)u32(at) << 32 | u32(at + 4);
}

bool qcow2_header_read(const unsigned char *data, size_t bytes, struct qcow2_header *header)
{
	static const unsigned char magic[] = { 'Q', 'F', 'I', 0xfb };
	uint32_t bits;

	if (bytes < VERSION_2_BYTES || memcmp(data, magic, sizeof(magic)) != 0)
		return false;
	bits = u32(data + AT_CLUSTER_BITS);
	*header = (struct qcow2_header){
		.version = u32(data + AT_VERSION),
		.bytes = u64(data + AT_BYTES),
		.snapshots = u32(data + AT_SNAPSHOTS),
		.backing = u64(data + AT_BACKING) != 0,
		.encrypted = u32(data + AT_ENCRYPTION) != 0,
	};
	if ((header->version != 2 && header->version != 3) || bits < CLUSTER_BITS_MIN ||
	    bits > CLUSTER_BITS_MAX)
		return false;
	header->cluster_bytes = 1U << bits;
	return true;
}
