/* Facts about an open file, and its record when it is first seen. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILE_H
#define KERNELIO_FILE_H

#include "filter.h"

const volatile struct kernelio_open_flags open_flags __weak;

#define MODE_BLOCK 0060000
#define MODE_DIRECTORY 0040000

struct file_facts {
	uint64_t file, inode, mapping;
	uint64_t holder; /* owner field of the inode's lock, with its flags */
	struct file_key key;
	uint32_t flags;
	uint32_t mode;
	int64_t position;
};

/* A regular file or block device: one with data to transfer. */
static __always_inline bool has_data(const struct file_facts *f)
{
	return is_regular(f->mode) || (f->mode & MODE_TYPE) == MODE_BLOCK;
}

static __always_inline bool is_directory(const struct file_facts *f)
{
	return (f->mode & MODE_TYPE) == MODE_DIRECTORY;
}

/* Facts of the open FILE, which may be a number; false: it has no data. */
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
	f->holder = HAVE_LOCK_OWNER ? BPF_CORE_READ(inode, i_rwsem.owner.counter) : 0;
	f->key.zero = 0;
	return has_data(f);
}

/* Facts of the current task's descriptor FD; false: it is not open. */
static __always_inline bool facts_read(struct task_struct *task, uint32_t fd, struct file_facts *f)
{
	struct task_struct *of = HAVE_CAST ? CAST(struct task_struct, task) : task;
	struct fdtable *fdt = of->files->fdt;
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
	/*
	 * an element of the array is a struct file pointer, and so is the first field of struct
	 * kiocb
	 */
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
	f->holder = HAVE_LOCK_OWNER ? inode->i_rwsem.owner.counter : 0;
	f->key.zero = 0;
	return true;
}

/* The same; also false if it has no data. */
static __always_inline bool facts_get(struct task_struct *task, uint32_t fd, struct file_facts *f)
{
	return facts_read(task, fd, f) && has_data(f);
}

/* The same; if the call SYNCS, it may also be a directory. */
static __always_inline bool facts_for(struct task_struct *task, uint32_t fd, bool syncs,
				      struct file_facts *f)
{
	return facts_read(task, fd, f) && (has_data(f) || (syncs && is_directory(f)));
}

/*
 * Writes the record of a file seen for the first time. Returns enum seen, or -1 if it could not be
 * written and is to be tried again. OPENED: by this name, which is recorded and checked by the
 * filters even if the inode is known. (file-record.h; F is not NULL)
 */
int file_see(struct file_facts *f, bool opened);

static __always_inline struct seen_file *seen_file(struct task_state *st, uint64_t inode)
{
	return &st->seen[inode & (SEEN_FILES - 1)];
}

/* Are operations of ST on the file F traced? If so, its record is written first. */
static __always_inline bool file_wanted(struct task_state *st, struct file_facts *f, bool opened)
{
	struct seen_file *seen = seen_file(st, f->key.inode);
	bool recent = seen->key.inode == f->key.inode && seen->key.dev == f->key.dev;
	int result;

	if (recent && !opened)
		return true;
	result = file_see(f, opened);
	if (result == SEEN_FILTERED) {
		seen->key.inode = 0;
		TOTAL_ADD(filtered_calls, 1);
		return false;
	}
	if (result == SEEN_SKIPPED) {
		seen->key.inode = 0;
		TOTAL_ADD(skipped_calls, 1);
		return false;
	}
	if (result == SEEN_LEFT && !recent) {
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
