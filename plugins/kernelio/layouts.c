/* What of the kernel's layouts the programs cannot relocate: private structures, nameless enums. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

/* Offset in bytes of MEMBER in the structure NAME; 0: BTF has none. */
static uint32_t offset_in(const struct btf *btf, const char *name, const char *member)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *members = type ? btf_members(type) : NULL;

	for (unsigned i = 0; type && i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf, members[i].name_off), member) == 0)
			return btf_member_bit_offset(type, i) / 8;
	return 0;
}

uint32_t loop_file_offset(struct btf *vmlinux)
{
	uint32_t offset = offset_in(vmlinux, "loop_device", "lo_backing_file");
	struct btf *module = offset ? NULL : btf__load_module_btf("loop", vmlinux);

	if (module)
		offset = offset_in(module, "loop_device", "lo_backing_file");
	btf__free(module);
	return offset;
}

uint32_t pinned_bios(const struct btf *vmlinux)
{
	const uint32_t n = btf__type_cnt(vmlinux);

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(vmlinux, id);
		const struct btf_enum *values = btf_enum(type);

		if (!btf_is_enum(type) || type->name_off)
			continue;
		for (unsigned i = 0; i < btf_vlen(type); i++)
			if (strcmp(btf__name_by_offset(vmlinux, values[i].name_off),
				   "BIO_PAGE_PINNED") == 0)
				return 1U << values[i].val;
	}
	return 0;
}
