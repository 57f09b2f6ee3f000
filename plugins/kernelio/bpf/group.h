/* The control group of a task, by controller. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_GROUP_H
#define KERNELIO_GROUP_H

#include "compat.h"

enum cgroup_subsys_id___k {
	io_cgrp_id___k,
	memory_cgrp_id___k,
};

/* TASK's control group of the controller NAME; NULL: none. */
#define GROUP_IN(task, name)                                                                       \
	(bpf_core_enum_value_exists(enum cgroup_subsys_id___k, name##_cgrp_id___k)                 \
		 ? group_number(task, bpf_core_enum_value(enum cgroup_subsys_id___k,               \
							  name##_cgrp_id___k))                     \
		 : NULL)

static __always_inline struct cgroup_subsys_state *group_number(struct task_struct *task,
								uint32_t number)
{
	struct cgroup_subsys_state *group = NULL;
	struct css_set *set = BPF_CORE_READ(task, cgroups);

	bpf_probe_read_kernel(&group, sizeof(group),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      number * sizeof(group));
	return group;
}

#endif
