/* Calls to file servers (sunrpc): made, sent, sent again, answered, and who was ahead of them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "dirtied-by.h"
#include "follow.h"
#include "owner.h"
#include "queue-ahead.h"

/* One under way. Its connection has a place among the disks: there is a queue before each. */
struct rpc_state {
	struct eta_rpc_record record;
	struct counted counted;
	uint32_t traced; /* its thread is */
	uint32_t waited; /* it had to, before it was sent */
};

/* By address of the task that sunrpc makes of it. Not every end is reported: the oldest go. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint64_t);
	__type(value, struct rpc_state);
} rpcs SEC(".maps");

/* The file that an untraced task is about to write: its next call is for who made that dirty. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct file_key);
} written_next SEC(".maps");

/* The owner of what the untraced TASK writes, if that is another. */
static __always_inline void rpc_for_owner(struct rpc_state *rpc, uint32_t task)
{
	struct file_key *next = bpf_map_lookup_elem(&written_next, &task), file;
	struct owner *owner;
	uint32_t *tid;

	if (!next)
		return;
	file = *next;
	bpf_map_delete_elem(&written_next, &task);
	owner = bpf_map_lookup_elem(&owners, &file);
	if (owner && request_passes(NULL, &file, file.dev, true)) {
		rpc->record.pid = owner->pid;
		rpc->record.head.id = owner->tid;
		rpc->traced = 1;
		return;
	}
	tid = bpf_map_lookup_elem(&dirtied_by, &file);
	if (tid)
		rpc->record.head.id = *tid;
}

/* It is made: notes who is ahead on the connection at XPRT. false: of no interest. */
static __always_inline bool rpc_count(struct rpc_state *rpc, uint64_t xprt)
{
	uint64_t now = rpc->record.head.time_ns;
	uint32_t place = disk_place(&xprt, rpc->traced), index = place - 1, who = 0;
	struct disk *disk = place ? bpf_map_lookup_elem(&disks, &index) : NULL;

	if (!disk)
		return rpc->traced;
	disk_queue_ahead(disk, rpc->record.head.id, now, &who);
	rpc->record.ahead_tid = who;
	rpc->counted.disk = index;
	rpc->counted.tid = rpc->record.head.id;
	rpc->counted.place = disk_count(disk, rpc->record.head.id, now);
	rpc->counted.on_disk = 1;
	return true;
}

/* Room for one, too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rpc_state);
} rpc_room SEC(".maps");

/*
 * Call KEY on the connection at XPRT. ST: the thread it is for; NULL: untraced. Not inlined, for
 * the reason given at bio_queued; so it reads nothing of sunrpc's types itself, which libbpf would
 * look for in all modules, also where none is loaded, and who is not root may not do that.
 */
static __noinline int rpc_made(uint64_t key, uint64_t xprt, struct task_state *st)
{
	static const struct rpc_state none;
	struct task_struct *current = bpf_get_current_task_btf();
	struct file_key file = {};
	uint32_t zero = 0;
	struct rpc_state *rpc = bpf_map_lookup_elem(&rpc_room, &zero);

	if (!rpc)
		return 0;
	*rpc = none;
	rpc->record.head.time_ns = bpf_ktime_get_ns();
	rpc->record.head.type = ETA_RECORD_RPC;
	rpc->record.head.units = sizeof(rpc->record) / ETA_UNIT_BYTES;
	rpc->record.head.id = current->pid;
	rpc->record.pid = current->tgid;
	barrier(); /* else clang selects between two types of pointer: rejected */
	if (st) {
		rpc->record.head.id = owner_tid(st);
		file.dev = st->op.dev;
		file.inode = st->op.inode;
		rpc->traced = request_passes(st, &file, file.dev, st->now.kind == ETA_OP_WRITE);
	} else {
		rpc_for_owner(rpc, current->pid);
	}
	if (rpc_count(rpc, xprt))
		bpf_map_update_elem(&rpcs, &key, rpc, BPF_ANY);
	return 0;
}

SEC("tp_btf/rpc_task_begin")
int BPF_PROG(on_rpc_begin, struct rpc_task *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_state *st = sure_state(current) ?: worker_state(current);

	if (filter.light && st)
		call_see(st, 0);
	return rpc_made((uint64_t)task, (uint64_t)BPF_CORE_READ(task, tk_xprt), st);
}

/* Waiting for its turn: a slot of the connection or the session, or the right to send. */
SEC("tp_btf/rpc_task_sleep")
int BPF_PROG(on_rpc_sleep, struct rpc_task *task)
{
	uint64_t key = (uint64_t)task;
	struct rpc_state *rpc = bpf_map_lookup_elem(&rpcs, &key);

	if (rpc && !rpc->record.sent_ns)
		rpc->waited = 1;
	return 0;
}

SEC("tp_btf/xprt_transmit")
int BPF_PROG(on_rpc_sent, struct rpc_rqst *request, int status)
{
	uint64_t key = (uint64_t)BPF_CORE_READ(request, rq_task);
	struct rpc_state *rpc = status ? NULL : bpf_map_lookup_elem(&rpcs, &key);

	if (rpc && !rpc->record.sent_ns)
		rpc->record.sent_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/xprt_retransmit")
int BPF_PROG(on_rpc_resent, struct rpc_rqst *request)
{
	uint64_t key = (uint64_t)BPF_CORE_READ(request, rq_task);
	struct rpc_state *rpc = bpf_map_lookup_elem(&rpcs, &key);

	if (rpc && rpc->record.sent_ns)
		rpc->record.resent_ns = bpf_ktime_get_ns();
	return 0;
}

/* When TASK was answered; now, if it was not. */
static __always_inline uint64_t rpc_answered_ns(struct rpc_task *task, uint64_t sent_ns)
{
	struct rpc_rqst *request = BPF_CORE_READ(task, tk_rqstp);
	int64_t answer_ns = BPF_CORE_READ(request, rq_xtime) + BPF_CORE_READ(request, rq_rtt);
	uint64_t now = bpf_ktime_get_ns();

	if (!request || !sent_ns || BPF_CORE_READ(request, rq_rtt) <= 0)
		return now;
	return answer_ns > (int64_t)sent_ns && answer_ns < (int64_t)now ? answer_ns : now;
}

/*
 * It has its answer. The server may have told it to try again (a grace period, a delay): what then
 * comes is the server's, too.
 */
SEC("tp_btf/rpc_task_end")
int BPF_PROG(on_rpc_end, struct rpc_task *task)
{
	uint64_t key = (uint64_t)task, sent_ns;
	struct rpc_state *rpc = bpf_map_lookup_elem(&rpcs, &key);

	if (!rpc)
		return 0;
	disk_uncount(&rpc->counted);
	rpc->counted.on_disk = 0;
	sent_ns = rpc->record.sent_ns;
	rpc->record.head.end_ns = rpc_answered_ns(task, sent_ns);
	if (!rpc->waited)
		rpc->record.ahead_tid = 0;
	note_waited_for(rpc->record.ahead_tid,
			(sent_ns ?: rpc->record.head.end_ns) - rpc->record.head.time_ns);
	if (rpc->traced)
		record_leave(ETA_RECORD_RPC, &rpc->record, sizeof(rpc->record));
	rpc->record.head.time_ns = rpc->record.sent_ns = rpc->record.head.end_ns;
	rpc->record.resent_ns = 0;
	rpc->record.ahead_tid = 0;
	rpc->waited = 0;
	return 0;
}

/* The task that writes a file back makes a call for it next. */
SEC("tp_btf/nfs_initiate_write")
int BPF_PROG(on_nfs_write, struct nfs_pgio_header *header)
{
	struct task_struct *current = bpf_get_current_task_btf();
	uint32_t tid = current->pid;
	struct file_key file = {};

	if (sure_state(current))
		return 0;
	file.inode = BPF_CORE_READ(header, inode, i_ino);
	file.dev = BPF_CORE_READ(header, inode, i_sb, s_dev);
	bpf_map_update_elem(&written_next, &tid, &file, BPF_ANY);
	return 0;
}
