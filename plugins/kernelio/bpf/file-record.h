/* Writes the record of a file, with its path. Included by one object, called from all. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILE_RECORD_H
#define KERNELIO_FILE_RECORD_H

#include "file.h"

#define MAX_PATH_STEPS 64

/* Files directly in it are not traced: the user tracer's spool. 0: none */
struct file_key skipped_directory __weak;

/* Room to build a FILE record, too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_file);
} file_room __weak SEC(".maps");

/* Loop from a file up to the root, collecting names. */
struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	struct kernelio_file *room; /* path_bytes: the length so far, which the verifier, as it is
				       memory, need not follow step by step */
};

/* One step of it, for bpf_loop: 1 ends the walk. */
static long path_step(uint32_t step, struct path_walk *walk)
{
	struct dentry *dentry = walk->dentry;
	struct mount *mount = walk->mount;
	struct dentry *parent;
	const void *name;
	uint32_t at;
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
	if (parent == dentry)
		return 1; /* not below the root of its mount, so a name without a path */
	name = FIELD(struct dentry, dentry, d_name.name);
	at = walk->room->path_bytes; /* last, where the verifier of 6.1 needs its bounds */
	if (at >= KERNELIO_PATH_BYTES)
		return 1;
	/* a name is at most 255 bytes long */
	n = bpf_probe_read_kernel_str(&walk->room->names[at], 256, name);
	if (n <= 0)
		return 1;
	walk->room->path_bytes = at + n;
	walk->dentry = parent;
	return 0;
}

/*
 * Collects the names from FILE up to the root of its mount, then from the mount point up, and so
 * on; returns their length.
 */
static __always_inline uint32_t path_names(struct file *file, struct kernelio_file *room)
{
	void *mount =
		(void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct path_walk walk = { .room = room };

	/* the same pointer type from the first step on: one pass less for the verifier */
	walk.dentry = HAVE_CAST ? CAST(struct dentry, dentry) : dentry;
	walk.mount = HAVE_CAST ? CAST(struct mount, mount) : mount;
	room->path_bytes = 0;
	bpf_loop(MAX_PATH_STEPS, path_step, &walk, 0);
	return room->path_bytes;
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

int file_see(struct file_facts *f, bool opened)
{
	uint32_t zero = 0;
	struct known_file known = { .seen = SEEN_SKIPPED }, *before;
	struct kernelio_file *room;
	struct file *file;
	struct inode *inode;
	struct block_device *block;
	uint32_t names;
	struct file_key key;
	bool same;

	if (!f)
		return -1;
	key = f->key;
	before = bpf_map_lookup_elem(&files_seen, &key);
	if (before && !opened)
		return before->seen;
	/* it may have been renamed, or be a later file with the inode of one that was removed */
	file = (struct file *)f->file;
	known.name = BPF_CORE_READ(file, f_path.dentry, d_name.hash);
	same = before && before->name == known.name;
	if (same && !FILES_FILTERED)
		return before->seen;
	same = same && before->seen == SEEN_LEFT;
	if (is_skipped(f->file)) {
		bpf_map_update_elem(&files_seen, &key, &known, BPF_ANY);
		return SEEN_SKIPPED;
	}
	if (FILES_FILTERED && !file_passes(file)) {
		known.seen = SEEN_FILTERED;
		bpf_map_update_elem(&files_seen, &key, &known, BPF_ANY);
		return SEEN_FILTERED;
	}
	if (same)
		return SEEN_LEFT;
	room = bpf_map_lookup_elem(&file_room, &zero);
	if (!room)
		return -1;
	inode = (void *)f->inode;
	room->head.time_ns = bpf_ktime_get_ns();
	room->head.end_ns = 0;
	room->head.type = ETA_RECORD_FILE;
	room->head.flags = is_directory(f)	 ? ETA_FILE_DIRECTORY
			   : is_regular(f->mode) ? ETA_FILE_REGULAR
						 : ETA_FILE_BLOCK_DEVICE;
	room->head.units = 0; /* set by the collector once it has assembled the path */
	room->head.id = 0;
	room->dev = f->key.dev;
	room->open_flags = f->flags;
	room->inode = f->key.inode;
	room->prev = 0;
	room->fs_magic = BPF_CORE_READ(inode, i_sb, s_magic);
	names = path_names(file, room);
	if (names > KERNELIO_PATH_BYTES + 255)
		names = KERNELIO_PATH_BYTES + 255;
	room->path_bytes = names;
	if (record_leave(ETA_RECORD_FILE, room, offsetof(struct kernelio_file, names) + names))
		return -1; /* counted */
	known.seen = SEEN_LEFT;
	bpf_map_update_elem(&files_seen, &key, &known, BPF_ANY);
	block = BPF_CORE_READ(inode, i_sb, s_bdev);
	device_note(f->key.dev, block);
	if (block) /* btrfs has a number of its own */
		device_note(BPF_CORE_READ(block, bd_dev), block);
	return SEEN_LEFT;
}

#endif
