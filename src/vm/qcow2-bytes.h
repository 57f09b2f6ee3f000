/* Numbers of a qcow2 image: big endian. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_QCOW2_BYTES_H
#define SCI_QCOW2_BYTES_H

#include <stdint.h>

static inline uint32_t qcow2_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t qcow2_u64(const unsigned char *at)
{
	return (uint64_t)qcow2_u32(at) << 32 | qcow2_u32(at + 4);
}

#endif
