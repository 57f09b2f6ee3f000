/* The kernel types that the probes read; CO-RE relocates every access. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_KERNEL_TYPES_H
#define KERNELIO_KERNEL_TYPES_H

/*
 * Written by hand, so that the tracer builds where the running kernel has no BTF. Only fields in
 * use are named; order and size do not matter. Differences between kernels are in compat.h.
 */
#include <linux/bpf.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#define UINT64_MAX (~0ULL)
#define INT64_MIN (-0x7fffffffffffffffLL - 1)
#define ETA_RECORD_NO_STDINT

typedef uint32_t dev_t;
typedef int64_t loff_t;
typedef uint64_t sector_t;
typedef uint8_t blk_status_t;
typedef unsigned long size_t;
typedef long ssize_t;
typedef _Bool bool;
#define false 0
#define true 1
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	int counter;
} atomic_t;

struct list_head {
	struct list_head *next;
};

struct rw_semaphore {
	atomic_long_t owner;
	struct list_head wait_list;
};

struct mutex {
	atomic_long_t owner;
	struct list_head wait_list;
};

struct block_device_operations {
	void *submit_bio;
};

struct backing_dev_info;

struct gendisk {
	int major;
	char disk_name[32];
	void *private_data;
	struct backing_dev_info *bdi; /* since Linux 5.16 (edb0872f44ec) */
	struct request_queue *queue;
	const struct block_device_operations *fops;
};

struct block_device {
	sector_t bd_start_sect; /* of a partition: since Linux 5.11 (29ff57c61cf0) */
	dev_t bd_dev;
	struct gendisk *bd_disk;
};

struct super_block {
	dev_t s_dev;
	unsigned char s_blocksize_bits;
	struct block_device *s_bdev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	dev_t i_rdev;
	int64_t i_size;
	unsigned int i_nlink;
	atomic_t i_count;
	uint32_t i_generation;
	struct rw_semaphore i_rwsem;
	struct file_lock_context *i_flctx;
};

struct address_space {
	struct inode *host;
	struct rw_semaphore invalidate_lock;
};

struct qstr {
	uint32_t hash;
	const unsigned char *name;
};

struct dentry {
	struct inode *d_inode;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct address_space *f_mapping;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
	struct mutex f_pos_lock;
	loff_t f_pos;
	void *private_data;
};

struct fsnotify_group {
	unsigned int priority;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
	unsigned int level;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	uint64_t id;
	const char *name;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[1];
};

/* Memory controller. */
struct page_counter {
	unsigned long high, max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
};

/* Block I/O controller: a group, and its state on one device. */
struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct blkcg {
	struct cgroup_subsys_state css;
	struct hlist_head blkg_list;
};

struct blkg_policy_data {
	struct blkcg_gq *blkg;
};

struct blkcg_gq {
	struct request_queue *q;
	struct hlist_node blkcg_node;
	struct blkcg *blkcg;
	struct blkg_policy_data *pd[1];
};

struct throtl_service_queue {
	struct throtl_service_queue *parent_sq;
};

struct throtl_data {
	struct throtl_service_queue service_queue;
	struct request_queue *queue;
};

struct throtl_grp {
	struct blkg_policy_data pd;
	struct throtl_data *td;
	struct throtl_service_queue service_queue;
	uint64_t bps[1];
	unsigned int iops[1];
};

/* quota: CPU time per period, in ns */
struct cfs_bandwidth {
	int64_t period;
	uint64_t quota;
};

struct rt_rq {
	int rt_throttled;
};

struct rq {
	uint64_t clock, clock_pelt, lost_idle_time;
	struct rt_rq rt;
};

struct sched_rt_entity {
	struct rt_rq *rt_rq; /* with CONFIG_RT_GROUP_SCHED */
};

/* times in ns */
struct sched_dl_entity {
	uint64_t dl_runtime, dl_period;
	unsigned int dl_throttled : 1;
	unsigned int dl_yielded : 1;
};

/* CPU controller: a group, and its queue on one CPU. */
struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	uint64_t throttled_clock_self, throttled_clock_self_time;
	uint64_t throttled_clock_pelt, throttled_clock_pelt_time;
	int throttle_count;
	int throttled;
};

struct sched_entity {
	uint64_t exec_start, sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct thread_info {
	unsigned long flags;
	uint32_t status;
	uint32_t cpu;
};

typedef struct {
	unsigned int val;
} kuid_t;

typedef struct {
	uint64_t val;
} kernel_cap_t;

struct cred {
	kuid_t uid, suid, euid;
	kernel_cap_t cap_permitted;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
};

struct sched_info {
	uint64_t run_delay, last_arrival, last_queued;
};

struct task_io_accounting {
	uint64_t syscr, syscw;
};

#define TASK_UNINTERRUPTIBLE 2 /* of the state */

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* since 5.14 */
	void *journal_info;
	void *stack;
	unsigned int flags;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
	unsigned long jobctl;
	struct task_io_accounting ioac;
	int prio;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
	int pid;
	int tgid;
	struct task_struct *real_parent, *parent; /* a tracer is the latter */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	uint64_t start_time;
	char comm[16];
	const struct cred *cred;
	struct files_struct *files;
	struct mm_struct *mm;
	struct css_set *cgroups;
	void *worker_private; /* struct kthread; of io_uring's workers: struct io_worker */
};

struct kthread {
	void *data; /* of a work queue's worker: struct worker */
};

struct worker {
	char desc[24]; /* the name of the work queue that it works for, or worked for last */
};

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long memcg_data;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	struct bvec_iter bi_iter;
	void *bi_private;
	blk_status_t bi_status;
	unsigned short bi_vcnt;
	struct bio_vec *bi_io_vec;
};

/* direct I/O on a block device: its first bio is in it */
struct blkdev_dio {
	struct kiocb *iocb;
	struct bio bio;
};

struct request_queue {
	struct gendisk *disk;
	struct elevator_queue *elevator; /* NULL: no I/O scheduler */
};

struct request {
	struct request_queue *q;
	struct bio *bio;
	uint32_t rq_flags;
};

/* of ext4's and ocfs2's journal */
struct journal_s {
	struct block_device *j_fs_dev;
};

struct transaction_s {
	struct journal_s *t_journal;
} __attribute__((preserve_access_index));

struct jbd2_journal_handle {
	struct transaction_s *h_transaction;
} __attribute__((preserve_access_index));

/* NFS: a call, and its request on the connection */
struct rpc_task {
	struct rpc_xprt *tk_xprt;
	struct rpc_rqst *tk_rqstp;
};

struct rpc_rqst {
	struct rpc_task *rq_task;
	int64_t rq_xtime; /* sent last */
	int64_t rq_rtt;
};

struct nfs_pgio_header {
	struct inode *inode;
};

struct xfs_inode {
	struct inode i_vnode;
};

struct xfs_mount {
	struct super_block *m_super;
};

struct xlog {
	struct xfs_mount *l_mp;
};

struct xlog_ticket {
	int t_curr_res;
	int t_unit_res;
};

struct kiocb {
	struct file *ki_filp;
	loff_t ki_pos;
	void (*ki_complete)(struct kiocb *iocb, long ret); /* NULL: whoever began it waits */
};

struct io_event {
	uint64_t data, obj;
};

/* its first field is a struct kiocb */
struct aio_kiocb {
	struct io_event ki_res;
};

struct io_cqe {
	int32_t res;
	int fd;
};

struct io_wq_work {
	unsigned int cancel_seq;
};

struct io_kiocb {
	struct file *file;
	uint8_t opcode;
	unsigned int flags;
	struct io_cqe cqe;
	struct io_wq_work work;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

/* at the begin of a struct io_kiocb */
struct io_rw {
	struct kiocb kiocb;
	uint64_t addr;
	uint32_t len;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
};

struct file_lock_core {
	void *flc_blocker;
	struct list_head flc_list;
	void *flc_owner;
	unsigned char flc_type;
	int flc_pid;
};

struct file_lock {
	struct file_lock_core c;
	loff_t fl_start;
	loff_t fl_end;
};

struct bdi_writeback {
	struct backing_dev_info *bdi;
};

struct fuse_conn {
	struct pid_namespace *pid_ns;
};

struct fuse_mount {
	struct fuse_conn *fc;
};

#define FUSE_RELEASE 18
#define FUSE_RELEASEDIR 29
struct fuse_in_header {
	uint32_t opcode;
	uint32_t pid;
};

struct fuse_req {
	struct {
		struct fuse_in_header h;
	} in;
	struct fuse_mount *fm;
};

/* only passed through */
struct iov_iter;
struct kernel_siginfo;
struct file_ra_state;
struct dirty_throttle_control;
struct linux_binprm;
struct writeback_control;
struct bpf_iter_meta;
struct bpf_map;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	uint32_t fd;
	struct file *file;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, ax, cx, r11, orig_ax, ip, sp;
	unsigned long bx, bp, r12, r13, r14, r15;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	uint64_t regs[31];
	uint64_t sp;
	uint64_t pc;
	int32_t syscallno;
};
#else
#error "plugins/kernelio/bpf/kernel_types.h: name this architecture's pt_regs here and in compat.h"
#endif

#pragma clang attribute pop

#endif
