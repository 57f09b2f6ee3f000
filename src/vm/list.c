/* sci-kernel vms: the virtual machines that run here, on standard output. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "extents-table.h"
#include "table.h"

int vms_list(const char *words, bool extents)
{
	size_t failed = 0;
	struct vms vms;

	if (vms_find(&vms))
		return -1;
	if (words && vms_select(&vms, words))
		failed = 1;
	else if (extents)
		failed = vm_extents_print(stdout, &vms);
	else
		vm_table_print(stdout, &vms);
	if (!vms.n && !words)
		eta_note("no virtual machine runs here (a process of qemu-system-*)");
	vms_free(&vms);
	if (fflush(stdout) == 0)
		return failed ? -1 : 0;
	eta_error("cannot write the virtual machines: %s", strerror(errno));
	return -1;
}
