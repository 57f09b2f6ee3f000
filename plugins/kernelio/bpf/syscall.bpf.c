/* System calls on files: the operation opens at sys_enter and leaves as one record at sys_exit. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#define KERNELIO_CAST
#include "aio.h"
#include "fault.h"
#include "file-record.h"
#include "follow.h"
#include "light.h"
#include "operation.h"
#include "owner.h"
#include "ring.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct kernelio_syscall_info syscalls[KERNELIO_MAX_SYSCALL_NR + 1];

#define AT_FILE_POSITION -1
#define ERROR_BUSY 16
#define MAX_TRANSFER_BYTES 0x7ffff000 /* the kernel's own limit */

/* The process whose open files are recorded; 0: all traced ones. */
uint32_t files_tgid;

/* Makes F the operation's file. false: it is not traced. */
static __always_inline bool file_take(struct task_state *st, struct file_facts *f, bool opened)
{
	if (!file_wanted(st, f, opened))
		return false;
	st->now.file = f->file;
	st->now.inode = f->inode;
	st->now.mapping = f->mapping;
	st->now.inode_lock = f->inode + bpf_core_field_offset(struct inode, i_rwsem);
	st->op.dev = f->key.dev;
	st->op.inode = f->key.inode;
	st->op.op_flags = operation_flags(f->flags);
	return true;
}

/* Do the filters exclude a call whose file is unknown? */
static __always_inline bool no_file_filtered(void)
{
	if (FILES_FILTERED)
		TOTAL_ADD(filtered_calls, 1);
	return FILES_FILTERED;
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
	case SHAPE_MAPPED:
		offset = f->position;
		size = SYSCALL_ARG1(regs);
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

/* Another task holds the inode's lock that the write needs, and no other lock comes before it. */
static __always_inline void inode_locked(struct task_state *st, const struct file_facts *f)
{
	struct task_struct *holder = (void *)f->holder;
	struct inode *inode = (void *)f->inode;
	struct file *file = (void *)f->file;

	if (!HAVE_LOCK_OWNER)
		return;
	if (f->holder & LOCK_OWNER_FLAGS) /* held by readers, who may have released it */
		return;
	if ((st->now.shape == SHAPE_RW || st->now.shape == SHAPE_RWV) &&
	    BPF_CORE_READ(file, f_pos_lock.owner.counter))
		return;
	/* if the holder has changed, it may have held the other lock, too */
	if ((uint64_t)BPF_CORE_READ(inode, i_rwsem.owner.counter) != f->holder)
		return;
	st->now.inode_locked_ns = st->op.head.time_ns;
	st->now.inode_holder = BPF_CORE_READ(holder, pid);
}

/*
 * A write to a shared inode: its pages are this thread's from here on. The probe of dirtied pages
 * would not do: it does not fire for pages that are already dirty, and reports a large folio as a
 * whole.
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
		st->now.pages_owned = OWNED_AT_EXIT; /* its offset is known then */
	else if (operation_own(st))
		st->now.pages_owned = OWNED;
}

/*
 * Is this command of fcntl one that takes or releases a lock, or that of ioctl one for a file
 * system (clone, deduplicate, trim, defragment; their numbers have a type)?
 */
static __always_inline bool command_is_operation(uint64_t command)
{
	switch ((uint32_t)command) {
	case 6:	 /* F_SETLK */
	case 7:	 /* F_SETLKW */
	case 37: /* F_OFD_SETLK */
	case 38: /* F_OFD_SETLKW */
		return true;
	}
	switch ((uint8_t)(command >> 8)) {
	case 0x94: /* btrfs; FICLONE and others of all */
	case 'f':  /* FS_IOC_* */
	case 'X':  /* xfs; FITRIM */
		return true;
	}
	return false;
}

/* Facts of the system call NR; its index is 0 if it is not traced. */
static __always_inline const volatile struct kernelio_syscall_info *syscall_info(uint64_t nr)
{
	return &syscalls[nr < KERNELIO_MAX_SYSCALL_NR ? nr : KERNELIO_MAX_SYSCALL_NR];
}

/* The file mapped at an address. */
struct mapped {
	uint64_t file, start, first_page;
};

static long mapped_note(struct task_struct *task, struct vm_area_struct *area,
			struct mapped *mapped)
{
	mapped->file = (uint64_t)area->vm_file;
	mapped->start = area->vm_start;
	mapped->first_page = area->vm_pgoff;
	return 0;
}

/*
 * Finds the file mapped at ADDRESS, and as its position the offset there. If another thread is
 * changing the mappings, the file stays unknown, without an inode. false: no file is mapped there.
 */
static __always_inline bool mapped_find(struct task_struct *task, uint64_t address,
					struct file_facts *f)
{
	struct mapped mapped = {};
	long rc = bpf_find_vma(task, address, mapped_note, &mapped, 0);

	if (rc == -ERROR_BUSY) {
		__builtin_memset(f, 0, sizeof(*f));
		f->position = ETA_OFFSET_UNKNOWN;
		return true;
	}
	if (rc || !mapped.file || !facts_of((void *)mapped.file, f))
		return false;
	f->position = address - mapped.start + mapped.first_page * page_bytes;
	return true;
}

/*
 * Finds the file of the call in REGS; false: not a traced one. For splice and sendfile it may be on
 * the other side: INDEX becomes that call's.
 */
static __always_inline bool file_find(struct task_struct *task, struct pt_regs *regs, uint8_t shape,
				      uint16_t *index, struct file_facts *f)
{
	uint32_t fd = SYSCALL_ARG0(regs);

	if (shape == SHAPE_COPY)
		fd = SYSCALL_ARG2(regs);
	else if (shape == SHAPE_SENDFILE)
		fd = SYSCALL_ARG1(regs);
	else if (shape == SHAPE_MAPPED)
		return mapped_find(task, SYSCALL_ARG0(regs), f);
	if (facts_for(task, fd, shape == SHAPE_SYNC, f))
		return true;
	if (shape == SHAPE_SPLICE) {
		fd = SYSCALL_ARG2(regs);
		*index = KERNELIO_SYS_splice_to;
	} else if (shape == SHAPE_SENDFILE) {
		fd = SYSCALL_ARG0(regs);
		*index = KERNELIO_SYS_sendfile_to;
	} else {
		return false; /* a pipe or socket */
	}
	return facts_get(task, fd, f);
}

/* The operation is on no file, or on one that is not known. */
static __always_inline void no_file_take(struct task_state *st)
{
	st->op.dev = 0;
	st->op.inode = 0;
	st->op.op_flags = 0;
	st->op.size = 0;
	st->op.offset = ETA_OFFSET_UNKNOWN;
}

/* Begins the operation of ST with what the call's table says. */
static __always_inline void operation_begin(struct task_state *st, uint16_t index,
					    const volatile struct kernelio_syscall_info *info)
{
	__builtin_memset(&st->now, 0, sizeof(st->now));
	st->now.shape = info->shape;
	st->now.kind = info->kind;
	st->op.head.end_ns = 0;
	st->op.head.type = ETA_RECORD_KERNEL_OP;
	st->op.head.id = st->tid;
	st->op.pid = st->pid;
	st->op.syscall = index;
	st->op.spans_lost = 0;
	if (!has_descriptor(info->shape) || info->shape == SHAPE_MAPPED)
		no_file_take(st);
}

/*
 * Makes the system call INFO, which TASK of state ST is in, the operation; false: it is not traced.
 * F: its file, where it has a descriptor.
 */
static __always_inline bool call_take(struct task_state *st, struct task_struct *task,
				      struct pt_regs *regs,
				      const volatile struct kernelio_syscall_info *info,
				      struct file_facts *f)
{
	uint16_t index = info->index;

	/* anonymous memory */
	if (info->shape == SHAPE_FILE_MAP && (int32_t)SYSCALL_ARG4(regs) < 0)
		return false;
	if (has_descriptor(info->shape) && !file_find(task, regs, info->shape, &index, f))
		return false;
	if (!kind_passes(index >= KERNELIO_SYS_REVERSED ? ETA_OP_WRITE : info->kind)) {
		TOTAL_ADD(filtered_calls, 1);
		return false;
	}
	operation_begin(st, index, info);
	if (has_descriptor(info->shape)) {
		if (f->inode ? !file_take(st, f, false) : no_file_filtered())
			return false;
		transfer_get(regs, info->shape, f, &st->op);
		if (st->refused.inode)
			lock_tried(st, index == KERNELIO_SYS_flock || index == KERNELIO_SYS_fcntl);
	} else if (info->shape == SHAPE_NO_FILE && no_file_filtered()) {
		return false;
	}
	return true;
}

/* Calls that submit asynchronous operations or wait for them are not operations. */
static __always_inline bool call_is_operation(struct pt_regs *regs,
					      const volatile struct kernelio_syscall_info *info)
{
	return info->index && info->shape < SHAPE_AIO &&
	       !(info->shape == SHAPE_CONTROL && !command_is_operation(SYSCALL_ARG1(regs))) &&
	       SYSCALL_ARG5(regs) != ETA_OWN_CALL_MARK;
}

/* The call of TASK, with REGS, is the operation of ST from NOW on, until nothing is seen of it. */
static __always_inline void call_open(struct task_state *st, struct task_struct *task,
				      struct pt_regs *regs, uint64_t now)
{
	now = begins_ns(st, now);
	st->op.head.time_ns = st->fault.last_ns = now;
	call_note(st, task, regs, now);
	st->fault.endless = 1;
	st->active = 1;
}

int call_see(struct task_state *st, uint64_t now)
{
	const volatile struct kernelio_syscall_info *info;
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct file_facts f;

	if (!filter.light || !st || st->for_tid)
		return 0;
	if (off_state(st)) /* a missed switch: left to a probe that ends waits */
		return call_goes_on(st, task, regs, now);
	now = now ?: bpf_ktime_get_ns();
	if (call_goes_on(st, task, regs, now))
		return 1;
	if (st->active && !is_fault(st))
		call_close(st);
	info = syscall_info((int32_t)SYSCALL_NR(regs));
	if (paused || exception_at(task) || CALL_RETURNED(regs) || task_is_compat(task) ||
	    !call_is_operation(regs, info))
		return 0;
	fault_close(st);
	if (!call_take(st, task, regs, info, &f))
		return 0; /* a fault may have been reported in it, as of who writes to a pipe */
	st->fault.mapping = 0; /* the fault that was reported is over */
	call_open(st, task, regs, now);
	return 1;
}

int call_leaves(struct task_state *st, uint64_t now)
{
	const volatile struct kernelio_syscall_info *info;
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (!filter.light || !st || st->for_tid || st->active || paused || FILES_FILTERED)
		return 0;
	info = syscall_info((int32_t)SYSCALL_NR(regs));
	if (exception_at(task) || !CALL_RETURNED(regs) || task_is_compat(task) ||
	    !call_is_operation(regs, info) || !kind_passes(info->kind))
		return 0;
	operation_begin(st, info->index, info);
	no_file_take(st);
	call_open(st, task, regs, now);
	st->now.pending = st->idle.pending;
	st->idle.pending = ETA_SPAN_NONE;
	return 1;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	const volatile struct kernelio_syscall_info *info;
	struct task_struct *task;
	struct task_state *st;
	struct file_facts f;
	uint16_t index;

	info = syscall_info(nr);
	index = info->index;
	if (!index && !info->compat)
		return 0;
	if (!TASKS_FILTERED && !someone_runs())
		return 0;
	task = bpf_get_current_task_btf();
	if (!index && !task_is_compat(task))
		return 0;
	st = TASKS_FILTERED ? chosen_state(task) : sure_state(task);
	if (!st)
		return 0;
	if (st->active)
		fault_close(st);
	st->regs = (uint64_t)regs;
	st->idle.left_nr = -1;
	st->idle.pending = ETA_SPAN_NONE;
	st->fault.mapping = 0; /* the fault that was reported is over */
	st->active = 0;	       /* may not be traced */
	if (paused || SYSCALL_ARG5(regs) == ETA_OWN_CALL_MARK)
		return 0;
	if (info->shape == SHAPE_CONTROL && !command_is_operation(SYSCALL_ARG1(regs)))
		return 0;
	if (task_is_compat(task)) {
		if (info->compat)
			TOTAL_ADD(compat_calls, 1);
		return 0;
	}
	if (info->shape >= SHAPE_AIO)
		return aio_enter(st, info->shape, SYSCALL_ARG1(regs),
				 info->shape == SHAPE_AIO_SUBMIT ? SYSCALL_ARG2(regs)
								 : SYSCALL_ARG3(regs),
				 SYSCALL_ARG0(regs));
	if (!call_take(st, task, regs, info, &f))
		return 0;
	st->op.head.time_ns = bpf_ktime_get_ns();
	if (info->kind == ETA_OP_WRITE && info->shape != SHAPE_RETURNS) {
		if (f.holder)
			inode_locked(st, &f);
		write_owns(st);
	}
	st->active = 1;
	return 0;
}

/* RET bytes were read or written: counts them; an append's offset is known only now. */
static __always_inline void transfer_ends(struct task_state *st, long ret)
{
	struct kernelio_cpu *cpu = this_cpu();

	if (cpu && st->now.kind == ETA_OP_READ)
		cpu->totals.read_bytes += ret;
	else if (cpu)
		cpu->totals.written_bytes += ret;
	if (!st->op.size)
		st->op.size = ret;
	if (st->op.op_flags & ETA_KOP_APPEND &&
	    (st->now.shape == SHAPE_RW || st->now.shape == SHAPE_RWV)) {
		struct file *file = (void *)st->now.file;

		st->op.offset = BPF_CORE_READ(file, f_pos) - ret;
		if (st->now.pages_owned == OWNED_AT_EXIT)
			operation_own(st);
	}
}

/*
 * The state of the thread whose call with REGS ends. REGS are on its kernel stack, so a state that
 * began an operation with them is this thread's, and no look into task storage is needed.
 */
static __always_inline struct task_state *ending_state(struct pt_regs *regs)
{
	struct task_state *st = awake_state();

	/* not for calls such as exec, which may change the thread's tid */
	if (st && st->active && st->regs == (uint64_t)regs && has_descriptor(st->now.shape))
		return st;
	return sure_state(bpf_get_current_task_btf());
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_state *st;
	struct file_facts f;
	uint64_t now;
	int n;

	if (!syscall_info(SYSCALL_NR(regs))->index)
		return 0;
	/*
	 * with filters of tasks the thread may be in a call that began before switches were
	 * reported
	 */
	if (!TASKS_FILTERED && !someone_runs())
		return 0;
	st = ending_state(regs);
	if (!st)
		return 0;
	/* a fault without a reported end has no shape, and does not end here */
	if (!st->active || st->now.shape == SHAPE_NONE)
		return st->async.call ? aio_exit(st, ret) : 0;
	st->active = 0; /* first: an interrupt from here on is not part of the operation */
	barrier();
	now = bpf_ktime_get_ns();
	if (name_ends(st)) {
		/* what it waits for on its way out would make it an operation */
		if (!st->now.n_spans && !FILES_FILTERED && !FILTER_SET(MIN_DURATION)) {
			st->op.head.end_ns = now;
			st->op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
			st->idle.left_nr = SYSCALL_NR(regs);
			st->idle.unwritten = 1;
		}
		return 0;
	}
	if (st->now.shape == SHAPE_RETURNS) {
		if (ret >= 0) {
			if (!facts_get(bpf_get_current_task_btf(), ret, &f))
				return 0; /* a directory, a terminal, ...: not traced */
			if (!file_take(st, &f, true))
				return 0;
		} else if (no_file_filtered()) {
			return 0;
		}
	} else if (st->now.shape == SHAPE_SEEK) {
		/* the new position may not fit `ret` */
		if (ret >= 0) {
			st->op.offset = ret;
			ret = 0;
		}
	} else if (ret > 0 && (st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_WRITE)) {
		transfer_ends(st, ret);
	}
	st->op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
	n = operation_finish(st, now);
	if (n < 0)
		return 0;
	st->idle.left_nr = SYSCALL_NR(regs);
	st->idle.unwritten = 0;
	if (n <= KERNELIO_RING_SPANS)
		ring_leave(st, n);
	else
		operation_leave(st, n);
	return 0;
}

static __always_inline bool files_asked(struct task_struct *task)
{
	struct task_slot *own;

	if (files_tgid)
		return tgid_of(task) == files_tgid;
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	return own && own->member;
}

/* Run when tracing of a process begins: records the files it has open. */
SEC("iter/task_file")
int on_each_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct file_facts f;

	if (task && file && files_asked(task) && facts_of(file, &f))
		file_see(&f, true);
	return 0;
}
