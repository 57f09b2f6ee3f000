/* The filters of tasks, files, calls and requests, as the probes apply them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILTER_H
#define KERNELIO_FILTER_H

#include "known-files.h"
#include "running.h"
#include "plugins/kernelio/syscall-list.h"

#define MAX_NAME_BYTES 255
#define MAX_CGROUP_DEPTH 64
#define MAX_DIRECTORIES 128

/* The tracer itself, which is not traced. */
uint32_t tracer_tgid __weak;
/* Its pid namespace, to which the numbers given by the user belong; level 0: the initial one. */
uint64_t tracer_namespace __weak;
uint32_t tracer_level __weak;

static __always_inline void *pid_at(struct pid *pid, uint32_t level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* Notes that the current task is the tracer. */
static __always_inline void tracer_note(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *number;

	tracer_tgid = bpf_get_current_pid_tgid() >> 32;
	tracer_level = BPF_CORE_READ(pid, level);
	number = pid_at(pid, tracer_level);
	tracer_namespace = (uint64_t)BPF_CORE_READ(number, ns);
}

/*
 * The number of PID in the tracer's namespace, FIRST being that in the initial one; 0: not visible
 * there.
 */
static __always_inline uint32_t number_of(struct pid *pid, uint32_t first)
{
	struct upid *number;

	if (!tracer_level)
		return first;
	if (BPF_CORE_READ(pid, level) < tracer_level)
		return 0;
	number = pid_at(pid, tracer_level);
	if ((uint64_t)BPF_CORE_READ(number, ns) != tracer_namespace)
		return 0;
	return BPF_CORE_READ(number, nr);
}

static __always_inline uint32_t tgid_of(struct task_struct *task)
{
	return number_of(BPF_CORE_READ(task, group_leader, thread_pid), task->tgid);
}

/* The values of all filters. Size set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct kernelio_filter_key);
	__type(value, uint8_t);
} filter_values __weak SEC(".maps");

#define FILTER_SET(id) (filter.set & KERNELIO_FILTER_BIT(id))
/* Tasks have to pass filters, beyond being traced or having a traced parent. */
#define TASKS_FILTERED                                                                             \
	(filter.set & KERNELIO_FILTERS_OF_TASKS || (filter.everyone && !filter.light) ||           \
	 filter.owner_only)
#define FILES_FILTERED (filter.set & KERNELIO_FILTERS_OF_FILES)

static __always_inline bool filter_has(uint32_t id, uint32_t dev, uint64_t number, uint64_t name)
{
	struct kernelio_filter_key key = { id, dev, number, name };

	return bpf_map_lookup_elem(&filter_values, &key) != NULL;
}

/* ---- tasks ---- */

/* Is the current task in one of the control groups? */
static __always_inline bool cgroup_passes(void)
{
	for (int depth = 0; depth < MAX_CGROUP_DEPTH; depth++) {
		if (!(filter.cgroup_depths >> depth))
			break;
		if (filter.cgroup_depths >> depth & 1 &&
		    filter_has(KERNELIO_FILTER_CGROUP, 0, bpf_get_current_ancestor_cgroup_id(depth),
			       0))
			return true;
	}
	return false;
}

/* As the kernel decides about ptrace: same user, and no capabilities beyond the allowed ones. */
static __always_inline bool owner_passes(struct task_struct *task)
{
	const struct cred *cred = task->cred;
	uint64_t rights = 0;

	bpf_probe_read_kernel(&rights, sizeof(rights),
			      (void *)cred + bpf_core_field_offset(struct cred, cap_permitted));
	return !(rights & ~filter.owner_rights) && BPF_CORE_READ(cred, uid.val) == filter.owner &&
	       BPF_CORE_READ(cred, euid.val) == filter.owner &&
	       BPF_CORE_READ(cred, suid.val) == filter.owner;
}

/* Do the filters let TASK, the current one, pass? */
static __always_inline bool task_passes(struct task_struct *task)
{
	if (filter.owner_only && !owner_passes(task))
		return false;
	if (FILTER_SET(TID) &&
	    !filter_has(KERNELIO_FILTER_TID, 0,
			number_of(BPF_CORE_READ(task, thread_pid), task->pid), 0))
		return false;
	if (FILTER_SET(UID) &&
	    !filter_has(KERNELIO_FILTER_UID, 0, BPF_CORE_READ(task, cred, euid.val), 0))
		return false;
	if (FILTER_SET(COMM)) {
		uint64_t name[2] = {};

		/* bytes after the NUL are undefined */
		bpf_probe_read_kernel_str(name, sizeof(name), task->comm);
		if (!filter_has(KERNELIO_FILTER_COMM, 0, name[0], name[1]))
			return false;
	}
	return !FILTER_SET(CGROUP) || cgroup_passes();
}

/* ---- files ---- */

/* Room for a name, too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, char[MAX_NAME_BYTES + 1]);
} name_room __weak SEC(".maps");

static __always_inline uint64_t name_hash(const unsigned char *name)
{
	uint64_t hash = KERNELIO_NAME_HASH_START;
	uint32_t zero = 0;
	char *room = bpf_map_lookup_elem(&name_room, &zero);
	long bytes;

	if (!room)
		return 0;
	bytes = bpf_probe_read_kernel_str(room, MAX_NAME_BYTES + 1, name);
	for (int i = 0; i < MAX_NAME_BYTES; i++) {
		if (i + 1 >= bytes)
			break;
		hash = (hash ^ (unsigned char)room[i]) * KERNELIO_NAME_HASH_PRIME;
	}
	return hash;
}

/* Loop from a file to the root, looking for a directory. */
struct directory_walk {
	struct dentry *dentry;
	struct mount *mount;
	bool found;
};

/* Called by bpf_loop; 1 ends the loop. */
static long directory_step(uint32_t step, struct directory_walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent;
	struct mount *mount = walk->mount, *up;
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);

	if (filter_has(KERNELIO_FILTER_DIRECTORY, BPF_CORE_READ(inode, i_sb, s_dev),
		       BPF_CORE_READ(inode, i_ino), 0)) {
		walk->found = true;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		up = BPF_CORE_READ(mount, mnt_parent);
		if (up == mount)
			return 1;
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = up;
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry)
		return 1;
	walk->dentry = parent;
	return 0;
}

static __always_inline bool directory_passes(struct file *file)
{
	void *vfsmount = BPF_CORE_READ(file, f_path.mnt);
	struct directory_walk walk = {
		.dentry = BPF_CORE_READ(file, f_path.dentry),
		.mount = vfsmount - bpf_core_field_offset(struct mount, mnt),
	};

	bpf_loop(MAX_DIRECTORIES, directory_step, &walk, 0);
	return walk.found;
}

static __always_inline bool name_passes(struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct inode *directory = BPF_CORE_READ(dentry, d_parent, d_inode);

	return filter_has(KERNELIO_FILTER_FILE, BPF_CORE_READ(directory, i_sb, s_dev),
			  BPF_CORE_READ(directory, i_ino),
			  name_hash(BPF_CORE_READ(dentry, d_name.name)));
}

/* The device that holds a file's data: itself if it is one, else its file system's. */
static __always_inline uint32_t data_device(struct inode *inode)
{
	uint32_t own = BPF_CORE_READ(inode, i_rdev);

	return own ?: BPF_CORE_READ(inode, i_sb, s_dev);
}

/* Do the filters let an open regular file or block device pass? */
static __always_inline bool file_passes(struct file *file)
{
	if (FILTER_SET(DEVICE) &&
	    !filter_has(KERNELIO_FILTER_DEVICE, data_device(BPF_CORE_READ(file, f_inode)), 0, 0))
		return false;
	if (FILTER_SET(DIRECTORY) && !directory_passes(file))
		return false;
	return !FILTER_SET(FILE) || name_passes(file);
}

/* ---- calls and requests ---- */

static __always_inline bool kind_passes(uint32_t kind)
{
	return !FILTER_SET(OPERATION) || filter.operations & 1U << (kind & 31);
}

/* Is the file of a call known when it begins? */
static __always_inline bool has_descriptor(uint8_t shape)
{
	return shape != SHAPE_RETURNS && shape != SHAPE_NAME && shape != SHAPE_FILE_MAP &&
	       shape != SHAPE_NO_FILE;
}

/*
 * A request of a recorded operation passes. Others, by writeback or readahead, pass if their
 * direction and their file (FILE: 0 if unknown) do.
 */
static __always_inline bool request_passes(const struct task_state *st, const struct file_key *file,
					   uint32_t dev, bool write)
{
	if (paused)
		return false;
	/*
	 * The file of an open is known at its end, that of other calls on names never, and that of
	 * a fault that begins with a wait not yet.
	 */
	if (st && st->active && !(FILES_FILTERED && !has_descriptor(st->now.shape)) &&
	    !(st->fault.endless && !kind_passes(st->now.kind)))
		return true;
	if (FILTER_SET(OPERATION) &&
	    !(filter.operations &
	      (write ? 1U << ETA_OP_WRITE | 1U << ETA_OP_SYNC : 1U << ETA_OP_READ)))
		return false;
	if (filter.set & (KERNELIO_FILTER_BIT(FILE) | KERNELIO_FILTER_BIT(DIRECTORY)) &&
	    file_seen(file) != SEEN_LEFT)
		return false;
	return !FILTER_SET(DEVICE) || filter_has(KERNELIO_FILTER_DEVICE, dev, 0, 0);
}

#endif
