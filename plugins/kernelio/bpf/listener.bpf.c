/* Who answers fanotify: run when tracing has ended, if threads have waited for that. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "state.h"

/* Since 6.10 the priority is an enum. */
enum fsnotify_group_prio { FSNOTIFY_PRIO_NONE };

struct fsnotify_group___prio {
	enum fsnotify_group_prio priority;
};

/* The process, and how many there are. */
uint32_t listener_tgid;
uint32_t listeners;

#define GROUP_NAME "[fanotify]"

/* Is FILE a group whose owner the kernel asks before it goes on, and not only tells? */
static __always_inline bool is_asked(struct file *file)
{
	struct fsnotify_group *group = BPF_CORE_READ(file, private_data);
	struct fsnotify_group___prio *later = (void *)group;
	char name[sizeof(GROUP_NAME)] = "";

	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (unsigned i = 0; i < sizeof(name); i++)
		if (name[i] != GROUP_NAME[i])
			return false;
	if (bpf_core_field_exists(later->priority))
		return BPF_CORE_READ(later, priority) != 0;
	return bpf_core_field_exists(group->priority) && BPF_CORE_READ(group, priority) != 0;
}

SEC("iter/task_file")
int on_each_listener(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;

	if (!task || !file || (uint32_t)task->tgid == listener_tgid || !is_asked(file))
		return 0;
	listener_tgid = task->tgid;
	listeners++;
	return 0;
}
