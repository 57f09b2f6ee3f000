/* The header of a qcow2 image, as QEMU's docs/interop/qcow2.txt has it: big endian. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qcow2.h"

#include <string.h>

#include "qcow2-bytes.h"

enum {
	AT_VERSION = 4,
	AT_BACKING = 8,
	AT_CLUSTER_BITS = 20,
	AT_BYTES = 24,
	AT_ENCRYPTION = 32,
	AT_L1_ENTRIES = 36,
	AT_L1 = 40,
	AT_SNAPSHOTS = 60,
	AT_INCOMPATIBLE = 72,
	VERSION_2_BYTES = 72,
	CLUSTER_BITS_MIN = 9,
	CLUSTER_BITS_MAX = 21,
};

/* Incompatible features, of version 3. */
#define FEATURES_HARMLESS (1ULL | 2ULL | 8ULL) /* dirty, corrupt, the kind of compression */
#define FEATURE_EXTENDED 16ULL		       /* entries of the second level are twice as long */

bool qcow2_header_read(const unsigned char *data, size_t bytes, struct qcow2_header *header)
{
	static const unsigned char magic[] = { 'Q', 'F', 'I', 0xfb };
	uint64_t features;
	uint32_t bits;

	if (bytes < VERSION_2_BYTES || memcmp(data, magic, sizeof(magic)) != 0)
		return false;
	bits = qcow2_u32(data + AT_CLUSTER_BITS);
	*header = (struct qcow2_header){
		.version = qcow2_u32(data + AT_VERSION),
		.bytes = qcow2_u64(data + AT_BYTES),
		.snapshots = qcow2_u32(data + AT_SNAPSHOTS),
		.backing = qcow2_u64(data + AT_BACKING) != 0,
		.encrypted = qcow2_u32(data + AT_ENCRYPTION) != 0,
	};
	if ((header->version != 2 && header->version != 3) || bits < CLUSTER_BITS_MIN ||
	    bits > CLUSTER_BITS_MAX)
		return false;
	header->cluster_bytes = 1U << bits;
	header->l1_entries = qcow2_u32(data + AT_L1_ENTRIES);
	header->l1_at = qcow2_u64(data + AT_L1);
	features = header->version == 3 && bytes >= AT_INCOMPATIBLE + 8
			   ? qcow2_u64(data + AT_INCOMPATIBLE)
			   : 0;
	header->extended = features & FEATURE_EXTENDED;
	header->unknown = features & ~(FEATURES_HARMLESS | FEATURE_EXTENDED);
	return true;
}
