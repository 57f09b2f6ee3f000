/* System calls on files: the operation opens at sys_enter and leaves as one record at sys_exit. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "follow.h"
#include "owner.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct kernelio_syscall_info syscalls[KERNELIO_MAX_SYSCALL_NR];
const volatile struct kernelio_open_flags open_flags;

#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000
#define AT_FILE_POSITION -1
#define MAX_IOVECS 16
#define MAX_TRANSFER_BYTES 0x7ffff000 /* the kernel's own limit */
#define MAX_PATH_STEPS 64

/* Files directly in it are no business of the program's: the user tracer's spool. 0: none */
struct file_key skipped_directory;

/* The process whose open files are told. */
uint32_t files_tgid;

/* Room to build a FILE record, which is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_file);
} file_room SEC(".maps");

struct file_facts {
	uint64_t file, inode, mapping;
	uint64_t holder; /* of the inode's lock: the field as it is */
	struct file_key key;
	uint32_t flags;
	uint32_t mode;
	int64_t position;
};

struct user_iovec {
	uint64_t base, bytes;
};

/* What an open FILE is; false: neither a regular file nor a block device. FILE may be a number. */
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
	return (f->mode & MODE_TYPE) == MODE_REGULAR || (f->mode & MODE_TYPE) == MODE_BLOCK;
}

/* What FD of the current task is; false: not a regular file or block device. */
static __always_inline bool facts_get(struct task_struct *task, uint32_t fd, struct file_facts *f)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file;
	struct inode *inode;

	if (fd >= fdt->max_fds)
		return false;
	if (!HAVE_CAST) {
		file = NULL;
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
		return file && facts_of(file, f);
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
	return (f->mode & MODE_TYPE) == MODE_REGULAR || (f->mode & MODE_TYPE) == MODE_BLOCK;
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

	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		struct mount *up = BPF_CORE_READ(mount, mnt_parent);

		if (up == mount)
			return 1;
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = up;
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry || at >= KERNELIO_PATH_BYTES)
		return 1; /* the former: not below its mount's root, a name without a path */
	/* a name is at most 255 bytes long */
	n = bpf_probe_read_kernel_str(&walk->room->names[at], 256,
				      BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0)
		return 1;
	walk->names_bytes = at + n;
	walk->dentry = parent;
	return 0;
}

/* Names from the file up to the root of its mount, over the mount point and so on: their length. */
static __always_inline uint32_t path_names(struct file *file, struct kernelio_file *room)
{
	void *vfsmount = BPF_CORE_READ(file, f_path.mnt);
	struct path_walk walk = {
		.dentry = BPF_CORE_READ(file, f_path.dentry),
		.mount = vfsmount - bpf_core_field_offset(struct mount, mnt),
		.room = room,
	};

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
	room->head.flags =
		(f->mode & MODE_TYPE) == MODE_REGULAR ? ETA_FILE_REGULAR : ETA_FILE_BLOCK_DEVICE;
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
	if (dev)
		bpf_map_update_elem(&devices_seen, &dev, &seen, BPF_ANY);
	return SEEN_LEFT;
}

static __always_inline struct seen_file *seen_file(struct task_state *st, uint64_t inode)
{
	return &st->seen[inode & (SEEN_FILES - 1)];
}

/* Makes F the operation's file. false: the operation is not to be traced. */
static __always_inline bool file_take(struct task_state *st, struct file_facts *f, bool opened)
{
	struct seen_file *seen = seen_file(st, f->key.inode);

	if (seen->key.inode != f->key.inode || seen->key.dev != f->key.dev ||
	    (FILES_FILTERED && opened)) {
		int met = file_meet(f, opened);

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
	}
	st->now.file = f->file;
	st->now.inode = f->inode;
	st->now.mapping = f->mapping;
	st->now.inode_lock = f->inode + bpf_core_field_offset(struct inode, i_rwsem);
	st->op.dev = f->key.dev;
	st->op.inode = f->key.inode;
	st->op.op_flags = (f->flags & open_flags.direct ? ETA_KOP_DIRECT : 0) |
			  (f->flags & open_flags.sync ? ETA_KOP_SYNC : 0) |
			  (f->flags & open_flags.append ? ETA_KOP_APPEND : 0);
	return true;
}

static __always_inline uint64_t iovec_bytes(uint64_t user, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < MAX_IOVECS && i < n; i++) {
		struct user_iovec iovec;

		if (bpf_probe_read_user(&iovec, sizeof(iovec), (void *)(user + i * sizeof(iovec))))
			break;
		sum += iovec.bytes;
	}
	return sum;
}

/* Size and offset of the transfer, as the arguments give them. */
static __always_inline void transfer_get(struct pt_regs *regs, uint8_t shape,
					 const struct file_facts *f, struct eta_kernel_op *op)
{
	uint64_t size = 0;
	int64_t offset = ETA_OFFSET_UNKNOWN;

	switch (shape) {
	case SHAPE_RW:
		size = SYSCALL_ARG2(regs);
		offset = f->position;
		break;
	case SHAPE_PRW:
		size = SYSCALL_ARG2(regs);
		offset = SYSCALL_ARG3(regs);
		break;
	case SHAPE_RWV:
		size = iovec_bytes(SYSCALL_ARG1(regs), SYSCALL_ARG2(regs));
		offset = f->position;
		break;
	case SHAPE_PRWV:
		size = iovec_bytes(SYSCALL_ARG1(regs), SYSCALL_ARG2(regs));
		offset = SYSCALL_ARG3(regs);
		if (offset == AT_FILE_POSITION)
			offset = f->position;
		break;
	case SHAPE_RANGE:
		offset = SYSCALL_ARG1(regs);
		size = SYSCALL_ARG2(regs);
		break;
	case SHAPE_TRUNCATE:
		offset = SYSCALL_ARG1(regs);
		break;
	case SHAPE_ALLOCATE:
		offset = SYSCALL_ARG2(regs);
		size = SYSCALL_ARG3(regs);
		break;
	case SHAPE_SENDFILE:
		size = SYSCALL_ARG3(regs);
		break;
	case SHAPE_COPY:
	case SHAPE_SPLICE:
		size = SYSCALL_ARG4(regs);
		break;
	}
	op->size = size < MAX_TRANSFER_BYTES ? size : MAX_TRANSFER_BYTES;
	op->offset = offset;
}

/* Someone has the inode's lock that the write is going to need, unless another lock is before it.
 */
static __always_inline void inode_locked(struct task_state *st, const struct file_facts *f)
{
	struct task_struct *holder = (void *)f->holder;
	struct file *file = (void *)f->file;

	if (f->holder & LOCK_OWNER_FLAGS) /* readers, perhaps gone */
		return;
	if ((st->now.shape == SHAPE_RW || st->now.shape == SHAPE_RWV) &&
	    BPF_CORE_READ(file, f_pos_lock.owner.counter))
		return;
	st->now.inode_locked_ns = st->op.head.time_ns;
	st->now.inode_holder = BPF_CORE_READ(holder, pid);
}

/*
 * A write to an inode that several threads dirty: its pages are this thread's from here on. Not
 * left to the probe of dirtied pages, which tells nothing of those that are dirty already, and of a
 * large folio as a whole.
 */
static __always_inline void write_owns(struct task_state *st)
{
	struct seen_file *seen = seen_file(st, st->op.inode);
	uint32_t now = sharings;
	struct owner *owner;

	if (!now || seen->key.inode != st->op.inode || seen->key.dev != st->op.dev)
		return;
	if (seen->checked != now + 1) {
		owner = bpf_map_lookup_elem(&owners, &seen->key);
		seen->shared = owner && owner->shared;
		seen->checked = now + 1;
	}
	if (!seen->shared)
		return;
	if (st->op.op_flags & ETA_KOP_APPEND)
		st->now.pages_owned = OWNED_AT_EXIT; /* where it goes is known then */
	else if (operation_own(st))
		st->now.pages_owned = OWNED;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct kernelio_syscall_info *info;
	struct task_state *st;
	struct file_facts f;
	uint16_t index;
	uint32_t fd;

	if ((uint64_t)nr >= KERNELIO_MAX_SYSCALL_NR)
		return 0;
	info = &syscalls[nr & (KERNELIO_MAX_SYSCALL_NR - 1)];
	index = info->index;
	if (!index)
		return 0;
	st = TASKS_FILTERED ? chosen_state(task) : sure_state(task);
	if (!st || paused)
		return 0;
	if (task_is_compat(task)) {
		TOTAL_ADD(compat_calls, 1);
		return 0;
	}
	if (info->shape != SHAPE_RETURNS) {
		fd = SYSCALL_ARG0(regs);
		if (info->shape == SHAPE_COPY)
			fd = SYSCALL_ARG2(regs);
		else if (info->shape == SHAPE_SENDFILE)
			fd = SYSCALL_ARG1(regs);
		if (!facts_get(task, fd, &f)) {
			/* a pipe or socket; the file may be on the other side */
			if (info->shape == SHAPE_SPLICE) {
				fd = SYSCALL_ARG2(regs);
				index = KERNELIO_SYS_splice_to;
			} else if (info->shape == SHAPE_SENDFILE) {
				fd = SYSCALL_ARG0(regs);
				index = KERNELIO_SYS_sendfile_to;
			} else {
				return 0;
			}
			if (!facts_get(task, fd, &f))
				return 0;
		}
	}
	if (!kind_passes(index >= KERNELIO_SYS_TURNED ? ETA_OP_WRITE : info->kind)) {
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}

	__builtin_memset(&st->now, 0, sizeof(st->now));
	st->now.shape = info->shape;
	st->now.kind = info->kind;
	st->op.head.end_ns = 0;
	st->op.head.type = ETA_RECORD_KERNEL_OP;
	st->op.head.id = st->tid;
	st->op.pid = st->pid;
	st->op.syscall = index;
	st->op.spans_lost = 0;
	if (info->shape != SHAPE_RETURNS) {
		if (!file_take(st, &f, false))
			return 0;
		transfer_get(regs, info->shape, &f, &st->op);
	} else {
		st->op.dev = 0;
		st->op.inode = 0;
		st->op.op_flags = 0;
		st->op.size = 0;
		st->op.offset = ETA_OFFSET_UNKNOWN;
	}
	st->op.head.time_ns = bpf_ktime_get_ns();
	if (info->kind == ETA_OP_WRITE && info->shape != SHAPE_RETURNS) {
		if (f.holder)
			inode_locked(st, &f);
		write_owns(st);
	}
	st->active = 1;
	return 0;
}

/* Where the function itself was seen, its bounds are those of the stamps. */
static __always_inline uint8_t stamp_flags(const struct task_state *st, uint8_t kind)
{
	return st->now.exact & 1U << kind ? 0 : ETA_SPAN_SYNTHETIC;
}

/* The stamps taken on the way become spans. */
static __always_inline void stamps_to_spans(struct task_state *st, uint64_t now)
{
	uint64_t bytes = st->op.ret > 0 ? st->op.ret : 0;

	if (st->now.sync_ns) /* no probe told its end */
		span_add(st, ETA_SPAN_FS_SYNC, st->now.sync_ns, now);
	if (st->now.readahead_ns && !(st->now.exact & 1U << ETA_SPAN_READAHEAD))
		span_add_full(st, ETA_SPAN_READAHEAD, st->now.readahead_ns,
			      st->now.readahead_end_ns, ETA_SPAN_SYNTHETIC, 0, 0,
			      st->now.pages_added);
	if (st->now.cache_read_ns)
		span_add_full(st, ETA_SPAN_PAGECACHE_READ, st->now.cache_read_ns,
			      st->now.cache_read_end_ns ?: now,
			      stamp_flags(st, ETA_SPAN_PAGECACHE_READ), 0, bytes,
			      st->now.cache_reads);
	if (st->now.cache_write_ns)
		span_add_full(st, ETA_SPAN_PAGECACHE_WRITE, st->now.cache_write_ns,
			      st->now.cache_write_end_ns ?: now,
			      stamp_flags(st, ETA_SPAN_PAGECACHE_WRITE), 0, bytes,
			      st->now.cache_writes);
	if (st->now.inside)
		TOTAL_ADD(returns_missed, __builtin_popcount(st->now.inside));
}

static __always_inline void operation_finish(struct task_state *st, uint64_t now)
{
	uint32_t n;

	if (FILTER_SET(MIN_DURATION) && now - st->op.head.time_ns < filter.min_ns) {
		TOTAL_ADD(filtered_calls, 1);
		return;
	}
	st->op.head.end_ns = now;
	if (st->now.pages_added)
		st->op.op_flags |= ETA_KOP_MISS;
	stamps_to_spans(st, now);
	n = st->now.n_spans;
	if (n > MAX_SPANS)
		n = MAX_SPANS;
	st->op.head.units = 2 + n;
	if (st->op.spans_lost)
		TOTAL_ADD(spans_lost, st->op.spans_lost);
	record_leave(ETA_RECORD_KERNEL_OP, &st->op, sizeof(st->op) + n * sizeof(struct eta_span));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = sure_state(task);
	struct file_facts f;
	uint64_t now;

	if (!st || !st->active)
		return 0;
	st->active = 0; /* first: what an interrupt meets from here on is not in the operation */
	barrier();
	now = bpf_ktime_get_ns();
	if (st->now.shape == SHAPE_RETURNS) {
		if (ret >= 0) {
			if (!facts_get(task, ret, &f))
				return 0; /* a directory, a terminal, ...: no file of ours */
			if (!file_take(st, &f, true))
				return 0;
		} else if (FILES_FILTERED) {
			TOTAL_ADD(filtered_calls, 1);
			return 0; /* which file is not known */
		}
	} else if (st->now.shape == SHAPE_SEEK) {
		/* the new position may not fit `ret` */
		if (ret >= 0) {
			st->op.offset = ret;
			ret = 0;
		}
	} else if (ret > 0 && (st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_WRITE)) {
		struct kernelio_cpu *cpu = this_cpu();

		if (cpu && st->now.kind == ETA_OP_READ)
			cpu->totals.read_bytes += ret;
		else if (cpu)
			cpu->totals.written_bytes += ret;
		if (!st->op.size)
			st->op.size = ret;
		/* where an append went is known afterwards only */
		if (st->op.op_flags & ETA_KOP_APPEND &&
		    (st->now.shape == SHAPE_RW || st->now.shape == SHAPE_RWV)) {
			struct file *file = (void *)st->now.file;

			st->op.offset = BPF_CORE_READ(file, f_pos) - ret;
			if (st->now.pages_owned == OWNED_AT_EXIT)
				operation_own(st);
		}
	}
	st->op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
	operation_finish(st, now);
	return 0;
}

/* Run when a process is taken in: tells of the files it has open already. */
SEC("iter/task_file")
int on_each_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct file_facts f;

	if (task && file && task->tgid == (int)files_tgid && facts_of(file, &f))
		file_meet(&f, true);
	return 0;
}
