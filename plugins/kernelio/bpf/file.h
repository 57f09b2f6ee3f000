/* What an open file is, and leaving its record when it is met first. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILE_H
#define KERNELIO_FILE_H

#include "filter.h"

const volatile struct kernelio_open_flags open_flags __weak;

#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000
#define MODE_DIRECTORY 0040000
#define MAX_PATH_STEPS 64

/* Files directly in it are no business of the program's: the user tracer's spool. 0: none */
struct file_key skipped_directory __weak;

/* Room to build a FILE record, which is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_file);
} file_room __weak SEC(".maps");

struct file_facts {
	uint64_t file, inode, mapping;
	uint64_t holder; /* of the inode's lock: the field as it is */
	struct file_key key;
	uint32_t flags;
	uint32_t mode;
	int64_t position;
};

/* A regular file or a block device: what has data to transfer. */
static __always_inline bool has_data(const struct file_facts *f)
{
	return (f->mode & MODE_TYPE) == MODE_REGULAR || (f->mode & MODE_TYPE) == MODE_BLOCK;
}

static __always_inline bool is_directory(const struct file_facts *f)
{
	return (f->mode & MODE_TYPE) == MODE_DIRECTORY;
}

/* What an open FILE is; false: it has no data. FILE may be a number. */
static __always_inline bool facts_of(struct file *file, struct file_facts *f)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	f->file = (uint64_t)file;
	f->mode = BPF_CORE_READ(inode, i_mode);
	f->inode = (uint64_t)inode;
	f->mapping = (uint64_t)BPF_CORE_READ(file, f_mapping);
	f->flags = BPF_CORE_READ(file, f_flags);
	f->position = BPF_CORE_READ(file, f_pos);
	f->key.inode = BPF_CORE_READ(inode, i_ino);
	f->key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	f->holder = BPF_CORE_READ(inode, i_rwsem.owner.counter);
	f->key.zero = 0;
	return has_data(f);
}

/* What FD of the current task is; false: not open. */
static __always_inline bool facts_read(struct task_struct *task, uint32_t fd, struct file_facts *f)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file;
	struct inode *inode;

	if (fd >= fdt->max_fds)
		return false;
	if (!HAVE_CAST) {
		file = NULL;
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
		if (file)
			facts_of(file, f);
		return file != NULL;
	}
	/* struct kiocb begins with a struct file pointer, as an element of the array is */
	file = CAST(struct kiocb, fdt->fd + fd)->ki_filp;
	if (!file)
		return false;
	inode = file->f_inode;
	f->file = (uint64_t)file;
	f->mode = inode->i_mode;
	f->inode = (uint64_t)inode;
	f->mapping = (uint64_t)file->f_mapping;
	f->flags = file->f_flags;
	f->position = file->f_pos;
	f->key.inode = inode->i_ino;
	f->key.dev = inode->i_sb->s_dev;
	f->holder = inode->i_rwsem.owner.counter;
	f->key.zero = 0;
	return true;
}

/* The same; false: also where it has no data. */
static __always_inline bool facts_get(struct task_struct *task, uint32_t fd, struct file_facts *f)
{
	return facts_read(task, fd, f) && has_data(f);
}

/* The same of a call that SYNCS, which waits for a directory, too. */
static __always_inline bool facts_for(struct task_struct *task, uint32_t fd, bool syncs,
				      struct file_facts *f)
{
	return facts_read(task, fd, f) && (has_data(f) || (syncs && is_directory(f)));
}

/* A walk from a file up to the root, leaving names on the way. */
struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	struct kernelio_file *room;
	uint32_t names_bytes;
};

/* One step of it, for bpf_loop: 1 ends the walk. */
static long path_step(uint32_t step, struct path_walk *walk)
{
	struct dentry *dentry = walk->dentry;
	struct mount *mount = walk->mount;
	uint32_t at = walk->names_bytes;
	struct dentry *parent;
	long n;

	if (dentry == FIELD(struct mount, mount, mnt.mnt_root)) {
		struct mount *up = FIELD(struct mount, mount, mnt_parent);

		if (up == mount)
			return 1;
		walk->dentry = FIELD(struct mount, mount, mnt_mountpoint);
		walk->mount = up;
		return 0;
	}
	parent = FIELD(struct dentry, dentry, d_parent);
	if (parent == dentry || at >= KERNELIO_PATH_BYTES)
		return 1; /* the former: not below its mount's root, a name without a path */
	/* a name is at most 255 bytes long */
	n = bpf_probe_read_kernel_str(&walk->room->names[at], 256,
				      FIELD(struct dentry, dentry, d_name.name));
	if (n <= 0)
		return 1;
	walk->names_bytes = at + n;
	walk->dentry = parent;
	return 0;
}

/* Names from the file up to the root of its mount, over the mount point and so on: their length. */
static __always_inline uint32_t path_names(struct file *file, struct kernelio_file *room)
{
	void *mount =
		(void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct path_walk walk = { .room = room };

	/* of one kind from the first step on: the verifier walks the loop once less */
	walk.dentry = HAVE_CAST ? CAST(struct dentry, dentry) : dentry;
	walk.mount = HAVE_CAST ? CAST(struct mount, mount) : mount;
	bpf_loop(MAX_PATH_STEPS, path_step, &walk, 0);
	return walk.names_bytes;
}

static __always_inline bool is_skipped(uint64_t file)
{
	struct inode *directory;

	if (!skipped_directory.inode)
		return false;
	directory = BPF_CORE_READ((struct file *)file, f_path.dentry, d_parent, d_inode);
	return BPF_CORE_READ(directory, i_ino) == skipped_directory.inode &&
	       BPF_CORE_READ(directory, i_sb, s_dev) == skipped_directory.dev;
}

/*
 * Leaves the record of a file met first. -1: not left, to be tried again; else what it is. OPENED:
 * under this name, which the filters have to look at even if the inode is known.
 */
static __noinline int file_meet(struct file_facts *f, bool opened)
{
	uint32_t zero = 0;
	uint8_t seen = SEEN_SKIPPED, *before;
	struct kernelio_file *room;
	struct inode *inode;
	uint32_t names, dev;

	if (!f)
		return -1;
	before = bpf_map_lookup_elem(&files_seen, &f->key);
	if (before && !(FILES_FILTERED && opened))
		return *before;
	if (is_skipped(f->file)) {
		bpf_map_update_elem(&files_seen, &f->key, &seen, BPF_ANY);
		return SEEN_SKIPPED;
	}
	if (FILES_FILTERED && !file_passes((struct file *)f->file)) {
		seen = SEEN_FILTERED;
		bpf_map_update_elem(&files_seen, &f->key, &seen, BPF_ANY);
		return SEEN_FILTERED;
	}
	room = bpf_map_lookup_elem(&file_room, &zero);
	if (!room)
		return -1;
	inode = (void *)f->inode;
	room->head.time_ns = bpf_ktime_get_ns();
	room->head.end_ns = 0;
	room->head.type = ETA_RECORD_FILE;
	room->head.flags = is_directory(f)			   ? ETA_FILE_DIRECTORY
			   : (f->mode & MODE_TYPE) == MODE_REGULAR ? ETA_FILE_REGULAR
								   : ETA_FILE_BLOCK_DEVICE;
	room->head.units = 0; /* the collector's to say, once the path is one */
	room->head.id = 0;
	room->dev = f->key.dev;
	room->open_flags = f->flags;
	room->inode = f->key.inode;
	room->prev = 0;
	room->fs_magic = BPF_CORE_READ(inode, i_sb, s_magic);
	names = path_names((struct file *)f->file, room);
	if (names > KERNELIO_PATH_BYTES + 255)
		names = KERNELIO_PATH_BYTES + 255;
	room->path_bytes = names;
	if (record_leave(ETA_RECORD_FILE, room, offsetof(struct kernelio_file, names) + names))
		return -1; /* counted */
	seen = SEEN_LEFT;
	bpf_map_update_elem(&files_seen, &f->key, &seen, BPF_ANY);
	dev = BPF_CORE_READ(inode, i_sb, s_bdev, bd_dev);
	if (dev && !bpf_map_lookup_elem(&devices_seen, &dev))
		bpf_map_update_elem(&devices_seen, &dev, &seen, BPF_ANY);
	return SEEN_LEFT;
}

static __always_inline struct seen_file *seen_file(struct task_state *st, uint64_t inode)
{
	return &st->seen[inode & (SEEN_FILES - 1)];
}

/* Whether operations of ST on the file F are to be traced; its record is left then. */
static __always_inline bool file_wanted(struct task_state *st, struct file_facts *f, bool opened)
{
	struct seen_file *seen = seen_file(st, f->key.inode);
	int met;

	if (seen->key.inode == f->key.inode && seen->key.dev == f->key.dev &&
	    !(FILES_FILTERED && opened))
		return true;
	met = file_meet(f, opened);
	if (met == SEEN_FILTERED) {
		seen->key.inode = 0;
		TOTAL_ADD(filtered_calls, 1);
		return false;
	}
	if (met == SEEN_SKIPPED) {
		TOTAL_ADD(skipped_calls, 1);
		return false;
	}
	if (met == SEEN_LEFT) {
		seen->key = f->key;
		seen->checked = 0;
	}
	return true;
}

/* ETA_KOP_* of a file opened with FLAGS. */
static __always_inline uint16_t operation_flags(uint32_t flags)
{
	return (flags & open_flags.direct ? ETA_KOP_DIRECT : 0) |
	       (flags & open_flags.sync ? ETA_KOP_SYNC : 0) |
	       (flags & open_flags.append ? ETA_KOP_APPEND : 0);
}

#endif
