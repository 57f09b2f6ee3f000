/* libaio: each iocb given to io_submit is an operation, which an event of io_getevents ends. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_AIO_H
#define KERNELIO_AIO_H

#include "async.h"
#include "operation.h"

#define MAX_AIO_LIST 4096

/* As in linux/aio_abi.h, little endian. */
struct user_iocb {
	uint64_t data;
	uint32_t key, rw_flags;
	uint16_t opcode;
	uint16_t priority;
	uint32_t fd;
	uint64_t buffer, bytes;
	int64_t offset;
	uint64_t reserved;
	uint32_t flags, event_fd;
};

struct user_event {
	uint64_t data;
	struct user_result {
		uint64_t iocb;
		int64_t res;
	} result;
	int64_t res2;
};

/* The kernel's struct aio_ring; the number of a context is where it lies in the program's memory.
 */
struct user_ring {
	uint32_t id, events, head, tail, magic, compat, incompat, header_bytes;
};
#define USER_RING_MAGIC 0xa10a10a1

/* X(opcode of linux/aio_abi.h, operation, ETA_OP_ kind, whether its length counts iovecs) */
#define AIO_OPCODES(X)                                                                             \
	X(0, aio_read, READ, false)                                                                \
	X(1, aio_write, WRITE, false)                                                              \
	X(2, aio_fsync, SYNC, false)                                                               \
	X(3, aio_fsync, SYNC, false)                                                               \
	X(7, aio_read, READ, true)                                                                 \
	X(8, aio_write, WRITE, true)

/* Room for one iocb, too large for the stack. */
struct aio_room {
	struct async_op async;
	struct user_iocb iocb;
	struct user_ring ring;
	struct file_facts f;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct aio_room);
} aio_room SEC(".maps");

struct aio_walk {
	struct task_state *st;
	uint64_t list;
	uint32_t n;
	uint32_t submitted; /* how many the kernel accepted, at the end of io_submit */
	bool late;	    /* the events are from before the call */
	/* the list as a ring: where it begins, how many elements it has; 0: no ring */
	uint32_t first, ring;
	uint32_t done; /* elements of the ring that were read */
};

/* The ring of CONTEXT, in the room of this CPU; NULL: it cannot be read, or is none. */
static __always_inline const struct user_ring *ring_read(uint64_t context)
{
	uint32_t zero = 0;
	struct aio_room *room = bpf_map_lookup_elem(&aio_room, &zero);

	if (!room || bpf_probe_read_user(&room->ring, sizeof(room->ring), (void *)context) ||
	    room->ring.magic != USER_RING_MAGIC || room->ring.tail >= room->ring.events ||
	    room->ring.head >= room->ring.events)
		return 0;
	return &room->ring;
}

static __noinline int aio_submit(struct task_state *st, uint64_t address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct async_key key = { .id = address };
	uint32_t kind, zero = 0;
	struct aio_room *room = bpf_map_lookup_elem(&aio_room, &zero);
	bool vector;

	if (!st || !room || bpf_probe_read_user(&room->iocb, sizeof(room->iocb), (void *)address))
		return 0;
	switch (room->iocb.opcode) {
#define X(number, name, of_kind, of_vector)                                                        \
	case number:                                                                               \
		room->async.op.syscall = KERNELIO_SYS_##name;                                      \
		kind = ETA_OP_##of_kind;                                                           \
		vector = of_vector;                                                                \
		break;
		AIO_OPCODES(X)
#undef X
	default:
		return 0;
	}
	if (!facts_get(task, room->iocb.fd, &room->f))
		return 0;
	if (!kind_passes(kind)) {
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	if (!file_wanted(st, &room->f, false))
		return 0;
	room->async.op.dev = room->f.key.dev;
	room->async.op.inode = room->f.key.inode;
	room->async.op.op_flags = operation_flags(room->f.flags);
	room->async.op.offset = kind == ETA_OP_SYNC ? ETA_OFFSET_UNKNOWN : room->iocb.offset;
	room->async.op.size = 0;
	room->async.unknown = 0;
	if (kind != ETA_OP_SYNC)
		room->async.op.size = vector ? iovec_bytes(room->iocb.buffer, room->iocb.bytes)
					     : room->iocb.bytes;
	key.tgid = st->pid;
	return async_begin(st, &key, &room->async);
}

/* Called by bpf_loop for each iocb when io_submit begins; 1 ends the loop. */
static long aio_submit_step(uint32_t i, struct aio_walk *walk)
{
	uint64_t address;

	if (i >= walk->n ||
	    bpf_probe_read_user(&address, sizeof(address), (void *)(walk->list + 8 * (uint64_t)i)))
		return 1;
	aio_submit(walk->st, address);
	return 0;
}

/*
 * The same when it ends. Requests that were not accepted are dropped. Buffered ones are done, with
 * a result that io_getevents will return; direct ones and syncs end when the kernel reports it.
 */
static long aio_submitted_step(uint32_t i, struct aio_walk *walk)
{
	struct async_key key = {};
	struct async_op *async;

	if (i >= walk->n ||
	    bpf_probe_read_user(&key.id, sizeof(key.id), (void *)(walk->list + 8 * (uint64_t)i)))
		return 1;
	key.tgid = walk->st->pid;
	async = bpf_map_lookup_elem(&asyncs, &key);
	if (!async)
		return 0;
	if (i >= walk->submitted) {
		struct async_op left = *async;

		if (bpf_map_delete_elem(&asyncs, &key) == 0)
			track_free(&left);
	} else if (!(async->op.op_flags & ETA_KOP_DIRECT) &&
		   async->op.syscall != KERNELIO_SYS_aio_fsync) {
		async->op.head.end_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* The same for each event when io_getevents ends, and when io_submit begins or ends. */
static long aio_reaped_step(uint32_t i, struct aio_walk *walk)
{
	struct async_key key = {};
	struct user_result result;
	uint64_t at = walk->ring ? (walk->first + i) % walk->ring : i;

	at = walk->list + sizeof(struct user_event) * at;
	if (i >= walk->n || bpf_probe_read_user(&result, sizeof(result),
						(void *)(at + offsetof(struct user_event, result))))
		return 1;
	walk->done++;
	key.id = result.iocb;
	key.tgid = walk->st->pid;
	if (walk->ring) {
		/* another thread may have used its request again since the event was written */
		struct async_op *async = bpf_map_lookup_elem(&asyncs, &key);

		if (!async || async->tid != walk->st->tid)
			return 0;
		/* direct I/O ends before its event is there, if that is reported */
		if (walk->late && !async->op.head.end_ns &&
		    async->op.syscall != KERNELIO_SYS_aio_fsync)
			TOTAL_ADD(ends_late, 1);
	}
	async_end(&key, result.res);
	return 0;
}

/* How many elements lie from FIRST to LAST. */
static __always_inline uint32_t ring_distance(const struct user_ring *ring, uint32_t first,
					      uint32_t last)
{
	return last + (last < first ? ring->events : 0) - first;
}

/*
 * Ends what the events of RING, the context's, say is over since it was seen last. WALK: room for
 * the loop, the caller's, for the stack has none for a second one. A ring has several pages: an
 * event in one that the program has not touched yet can be read once it has taken that event.
 */
static __always_inline void ring_reap(struct task_state *st, const struct user_ring *ring,
				      struct aio_walk *walk)
{
	walk->first = st->async.seen;
	if (walk->first >= ring->events)
		return;
	walk->list = st->async.ring + sizeof(*ring);
	walk->ring = ring->events;
	walk->done = 0;
	walk->n = ring_distance(ring, walk->first, ring->tail);
	if (walk->n)
		bpf_loop(MAX_AIO_LIST, aio_reaped_step, walk, 0);
	st->async.seen = (walk->first + walk->done) % walk->ring;
	/* io_getevents takes events without the program touching them */
	if (ring_distance(ring, st->async.seen, ring->tail) >
	    ring_distance(ring, ring->head, ring->tail))
		st->async.seen = ring->head;
}

/*
 * io_submit begins. Memory that the program has not read yet cannot be read here either: the ring
 * is a new one then, and is looked at when the next call ends. What is in it must end now: the call
 * may use the same requests again.
 */
static __always_inline void ring_enter(struct task_state *st, uint64_t context,
				       struct aio_walk *walk)
{
	const struct user_ring *ring = ring_read(context);
	bool known = st->async.ring == context;

	if (!known)
		st->async.seen = 0;
	st->async.ring = context;
	if (!ring)
		return;
	if (known)
		ring_reap(st, ring, walk);
	else
		st->async.seen = ring->tail;
}

/*
 * io_submit ends. What was over then is in the context's ring: a program that reads that itself may
 * never call io_getevents.
 */
static __always_inline void ring_exit(struct task_state *st, struct aio_walk *walk)
{
	const struct user_ring *ring = ring_read(st->async.ring);

	if (ring)
		ring_reap(st, ring, walk);
}

SEPARATE int aio_enter(struct task_state *st, uint32_t shape, uint64_t n, uint64_t list,
		       uint64_t context)
{
	struct aio_walk walk = { .st = st, .late = true };

	if (!st)
		return 0;
	st->async.call = shape;
	st->async.list = list;
	st->async.n = n < MAX_AIO_LIST ? n : MAX_AIO_LIST;
	st->async.last.id = 0;
	if (shape != SHAPE_AIO_SUBMIT)
		return 0;
	ring_enter(st, context, &walk);
	aio_used = 1;
	if (n > MAX_AIO_LIST)
		TOTAL_ADD(asyncs_missed, n - MAX_AIO_LIST);
	walk.list = list;
	walk.n = st->async.n;
	bpf_loop(MAX_AIO_LIST, aio_submit_step, &walk, 0);
	st->async.last.id = 0; /* the kernel does not report which one it works on */
	return 0;
}

SEPARATE int aio_exit(struct task_state *st, long ret)
{
	struct aio_walk walk = { .st = st };

	if (!st)
		return 0;
	walk.list = st->async.list;
	walk.submitted = ret > 0 ? ret : 0;
	if (st->async.call == SHAPE_AIO_SUBMIT) {
		walk.n = st->async.n;
		bpf_loop(MAX_AIO_LIST, aio_submitted_step, &walk, 0);
		ring_exit(st, &walk);
	} else {
		walk.n = walk.submitted;
		bpf_loop(MAX_AIO_LIST, aio_reaped_step, &walk, 0);
	}
	st->async.call = 0;
	return 0;
}

#endif
