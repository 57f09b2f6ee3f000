/*
 * make-vms DIR SEED [REQUESTS]: kernel spools of a host, host.spool, of its two guests, a.spool and
 * b.spool, and of a guest of a, nested.spool, in a run by chance that never was: reads and writes
 * of O_DIRECT, split and merged on their way down to the host's disk; fsyncs, which wait for a
 * commit of the journal and for the sync of the image that it needs. b has two disks, each with a
 * file system.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/spool-maker.h"

/* Numbers that no device of the system has on which this runs, or its name would stand for them. */
enum { VIRTUAL_DISK = 4000 << 20, DISK = 4001 << 20, DISKS = 2 };
enum { FILE_INODE = 5, BLOCK = 4096, CPUS = 2, WORKERS = 2 };
enum { SYS_READ = 1, SYS_WRITE, SYS_SYNC };
/* The thread of a machine's journal, + 1: of that of its second disk, and their place of sleep. */
enum { JOURNAL = 4, AT_JOURNAL = 1 };
#define JOURNAL_PLACE (3u << 30)

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* A record that will be written once all are there: a spool has them in order of end. */
struct record {
	uint64_t end_ns;
	size_t number; /* those of one time stay in order */
	uint32_t cpu;
	struct eta_kernel_op op; /* type 0: none */
	struct eta_span spans[4];
	size_t n_spans;
	struct eta_bio_record bio;
};

/* QEMU's process PID: its threads are PID + 1 and PID + 2, its CPU is PID + 5. */
struct vm {
	uint32_t pid;
	uint64_t inode; /* of its image */
	const char *name;
	uint64_t free_ns[WORKERS]; /* since then they do nothing */
};

struct machine {
	const char *name;
	struct machine *host; /* NULL: it is no guest */
	struct vm *vm;	      /* of that host */
	uint32_t dev;	      /* of its disk */
	uint64_t behind_ns;   /* its clock, behind the first host's */
	uint32_t first_tid, n_threads;
	uint32_t apart; /* this thread works on its second disk; 0: it has one disk */
	struct record *v;
	size_t n, room;
};

static struct vm vm_a = { 50, 70, "vm-a", { 0 } }, vm_b = { 60, 71, "vm-b", { 0 } },
		 vm_nested = { 90, 80, "vm-nested", { 0 } };
static struct machine host = { .name = "host", .dev = DISK },
		      a = { "a", &host, &vm_a, VIRTUAL_DISK, 700000000, 8, 2, 0, NULL, 0, 0 },
		      b = { "b", &host, &vm_b, VIRTUAL_DISK, 400000000, 8, 3, 10, NULL, 0, 0 },
		      nested = { "nested", &a, &vm_nested, VIRTUAL_DISK, 900000000, 8, 1, 0,
				 NULL,	   0,  0 };
static struct machine *const machines[] = { &host, &a, &b, &nested };
enum { MACHINES = sizeof(machines) / sizeof(*machines) };

static uint64_t disk_free_ns;

static struct record *add(struct machine *m, uint32_t cpu)
{
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 1024;
		m->v = realloc(m->v, m->room * sizeof(*m->v));
		if (!m->v)
			abort();
	}
	m->v[m->n] = (struct record){ .number = m->n, .cpu = cpu };
	return &m->v[m->n++];
}

struct transfer {
	uint32_t pid, tid;
	uint64_t inode;
	int64_t offset;
	uint32_t bytes;
	bool write;
	uint32_t disk;	/* number of it */
	uint64_t place; /* there, in bytes */
};

/* A journal does one thing at a time. */
static uint64_t journal_free_ns[MACHINES][DISKS];

static uint32_t dev_of(const struct machine *m, const struct transfer *t)
{
	return m->dev + 16 * t->disk;
}

static uint64_t image_of(const struct vm *vm, uint32_t disk)
{
	return vm->inode + 100 * disk;
}

static uint64_t call(struct machine *m, const struct transfer *t, uint64_t begin_ns);

/* QEMU of M does [AT, AT + BYTES) of the image of T's disk from FROM_NS on: when it is over. All by
 * the first host's clock. */
static uint64_t serve(struct machine *m, const struct transfer *of, uint64_t at, uint32_t bytes,
		      uint64_t from_ns)
{
	uint32_t worker = m->vm->free_ns[0] <= m->vm->free_ns[1] ? 0 : 1;
	const struct transfer t = { .pid = m->vm->pid,
				    .tid = m->vm->pid + 1 + worker,
				    .inode = image_of(m->vm, of->disk),
				    .offset = (int64_t)at,
				    .bytes = bytes,
				    .write = of->write,
				    .place = (image_of(m->vm, of->disk) << 24) + at };
	uint64_t begin_ns = from_ns > m->vm->free_ns[worker] ? from_ns : m->vm->free_ns[worker];

	m->vm->free_ns[worker] = call(m->host, &t, begin_ns + 20000 + pick(30000)) + 1000;
	return m->vm->free_ns[worker];
}

/* What M's disk does with the request T from QUEUED_NS on: when it is over. */
static uint64_t below(struct machine *m, const struct transfer *t, uint64_t queued_ns,
		      uint64_t *issued_ns)
{
	uint64_t place = t->place;
	uint32_t bytes = t->bytes;

	uint64_t first_ns, second_ns;

	*issued_ns = queued_ns + 1000;
	if (!m->host) {
		*issued_ns = disk_free_ns > *issued_ns ? disk_free_ns : *issued_ns;
		return disk_free_ns = *issued_ns + 100000 + pick(500000);
	}
	if (bytes == BLOCK || pick(3))
		return serve(m, t, place, bytes, queued_ns) + 20000 + pick(30000);
	/* QEMU splits it */
	first_ns = serve(m, t, place, bytes / 2, queued_ns);
	second_ns = serve(m, t, place + bytes / 2, bytes - bytes / 2, queued_ns);
	return (first_ns > second_ns ? first_ns : second_ns) + 20000 + pick(30000);
}

static void put_bio(struct machine *m, uint32_t cpu, const struct transfer *t, uint64_t place,
		    uint32_t bytes, uint64_t begin_ns, uint64_t issued_ns, uint64_t end_ns)
{
	struct record *r = add(m, cpu);

	r->end_ns = end_ns - m->behind_ns;
	r->bio = (struct eta_bio_record){
		.head = { .time_ns = begin_ns - m->behind_ns,
			  .end_ns = end_ns - m->behind_ns,
			  .id = t->tid },
		.issue_ns = issued_ns - m->behind_ns,
		.sector = place / 512,
		.inode = t->inode,
		.pid = t->pid,
		.dev = dev_of(m, t),
		.bytes = bytes,
		.op_flags = ETA_BIO_DIRECT | (t->write ? ETA_BIO_WRITE : 0),
		.owner_pid = t->pid,
		.owner_tid = t->tid,
		.file_dev = dev_of(m, t),
	};
}

static uint64_t sync_file(struct machine *m, const struct transfer *t, uint64_t begin_ns);

/* QEMU of M syncs the image of its disk number DISK from FROM_NS on: when it is over. */
static uint64_t flush(struct machine *m, uint32_t disk, uint64_t from_ns)
{
	uint32_t worker = m->vm->free_ns[0] <= m->vm->free_ns[1] ? 0 : 1;
	const struct transfer t = { .pid = m->vm->pid,
				    .tid = m->vm->pid + 1 + worker,
				    .inode = image_of(m->vm, disk) };
	uint64_t begin_ns = from_ns > m->vm->free_ns[worker] ? from_ns : m->vm->free_ns[worker];

	m->vm->free_ns[worker] = sync_file(m->host, &t, begin_ns + 20000 + pick(30000)) + 1000;
	return m->vm->free_ns[worker] + 20000 + pick(30000);
}

/*
 * The journal on the disk commits for the thread of T: a block of its own, and what has been
 * written is flushed: when it is over.
 */
static uint64_t commit(struct machine *m, const struct transfer *t, uint64_t begin_ns)
{
	struct transfer block = { .pid = t->pid,
				  .tid = JOURNAL + t->disk,
				  .disk = t->disk,
				  .bytes = BLOCK,
				  .write = true };
	uint64_t *free_ns = NULL, issued_ns, end_ns;

	for (size_t i = 0; i < MACHINES; i++)
		if (machines[i] == m)
			free_ns = &journal_free_ns[i][t->disk];
	if (*free_ns > begin_ns)
		begin_ns = *free_ns;
	block.place = JOURNAL_PLACE + pick(4096) * BLOCK;
	end_ns = below(m, &block, begin_ns + 3000, &issued_ns);
	put_bio(m, block.tid % CPUS, &block, block.place, BLOCK, begin_ns + 3000, issued_ns,
		end_ns);
	m->v[m->n - 1].bio.op_flags = ETA_BIO_WRITE | ETA_BIO_SYNC | ETA_BIO_META;
	m->v[m->n - 1].bio.owner_tid = t->tid;
	m->v[m->n - 1].bio.pid = block.tid;
	return *free_ns = m->host ? flush(m, t->disk, end_ns) : end_ns;
}

static uint64_t put_call(struct machine *m, const struct transfer *t, uint16_t syscall,
			 uint64_t begin_ns, uint64_t end_ns, struct eta_span *spans, size_t n)
{
	struct record *r = add(m, t->tid % CPUS);

	for (size_t i = 0; i < n; i++) {
		spans[i].begin_ns -= m->behind_ns;
		spans[i].end_ns -= m->behind_ns;
	}
	r->end_ns = end_ns - m->behind_ns;
	memcpy(r->spans, spans, n * sizeof(*spans));
	r->n_spans = n;
	r->op = (struct eta_kernel_op){ .head = { .time_ns = begin_ns - m->behind_ns,
						  .end_ns = end_ns - m->behind_ns,
						  .type = ETA_RECORD_KERNEL_OP,
						  .id = t->tid },
					.pid = t->pid,
					.dev = dev_of(m, t),
					.inode = t->inode,
					.offset = syscall == SYS_SYNC ? ETA_OFFSET_UNKNOWN
								      : t->offset,
					.size = t->bytes,
					.ret = syscall == SYS_SYNC ? 0 : (int32_t)t->bytes,
					.syscall = syscall,
					.op_flags = syscall == SYS_SYNC ? 0 : ETA_KOP_DIRECT };
	return end_ns;
}

/* A thread of M syncs a file, and waits for the journal: when it is over. */
static uint64_t sync_file(struct machine *m, const struct transfer *t, uint64_t begin_ns)
{
	uint64_t wait_ns = begin_ns + 2000 + pick(5000), ready_ns = commit(m, t, wait_ns) + 500;
	struct eta_span span = {
		.begin_ns = wait_ns, .end_ns = ready_ns, .kind = ETA_SPAN_SLEEP, .who = AT_JOURNAL
	};

	return put_call(m, t, SYS_SYNC, begin_ns, ready_ns + 2000 + pick(4000), &span, 1);
}

/* A system call of M's thread that waits for its disk: when it is over. */
static uint64_t call(struct machine *m, const struct transfer *t, uint64_t begin_ns)
{
	uint32_t cpu = t->tid % CPUS;
	uint64_t at_ns = begin_ns + 2000 + pick(5000), wait_ns, end_ns, issued_ns, ready_ns;
	struct eta_span spans[4];
	size_t n = 0;

	if (pick(4) == 0) {
		/* another thread has the file's lock */
		spans[n++] = (struct eta_span){ .begin_ns = at_ns,
						.end_ns = at_ns + 1000 + pick(30000),
						.kind = ETA_SPAN_INODE_LOCK,
						.who = t->tid ^ 1 };
		at_ns = spans[n - 1].end_ns + 500;
	}
	if (t->bytes > BLOCK && pick(2)) {
		/* the machine's block layer splits it; what is below may merge it again */
		uint64_t second_ns = at_ns + 1500;

		wait_ns = second_ns + 2500;
		end_ns = below(m, t, second_ns, &issued_ns);
		put_bio(m, cpu, t, t->place, t->bytes / 2, at_ns, issued_ns, end_ns);
		put_bio(m, cpu, t, t->place + t->bytes / 2, t->bytes - t->bytes / 2, second_ns,
			issued_ns, end_ns + 300);
		end_ns += 300;
	} else {
		wait_ns = at_ns + 1500;
		end_ns = below(m, t, at_ns, &issued_ns);
		put_bio(m, cpu, t, t->place, t->bytes, at_ns, issued_ns, end_ns);
	}
	ready_ns = end_ns + 500;
	spans[n++] = (struct eta_span){ .begin_ns = wait_ns,
					.end_ns = ready_ns,
					.kind = ETA_SPAN_SLEEP,
					.flags = ETA_SPAN_IOWAIT };
	if (pick(3) == 0) {
		spans[n++] = (struct eta_span){ .begin_ns = ready_ns,
						.end_ns = ready_ns + 1000 + pick(40000),
						.kind = ETA_SPAN_RUN_QUEUE,
						.who = t->tid ^ 1 };
		ready_ns = spans[n - 1].end_ns;
	}
	end_ns = ready_ns + 2000 + pick(4000);
	return put_call(m, t, t->write ? SYS_WRITE : SYS_READ, begin_ns, end_ns, spans, n);
}

/* The CPU of M has none of its host's now and then: others' threads have it. */
static void take_cpu(struct machine *m, uint64_t until_ns)
{
	uint32_t tid = m->vm->pid + 5;

	for (uint64_t at_ns = 2000000000; at_ns < until_ns; at_ns += 100000 + pick(3000000)) {
		struct record *r = add(m->host, tid % CPUS);
		uint64_t begin_ns = at_ns - m->host->behind_ns;

		at_ns += 20000 + pick(400000);
		r->end_ns = at_ns - m->host->behind_ns;
		r->spans[0] =
			(struct eta_span){ .begin_ns = begin_ns,
					   .end_ns = r->end_ns,
					   .kind = ETA_SPAN_RUN_QUEUE,
					   .who = pick(2) ? (m == &a ? vm_b.pid : vm_a.pid) + 5
							  : 0 };
		r->n_spans = 1;
		r->op = (struct eta_kernel_op){ .head = { .time_ns = begin_ns,
							  .end_ns = r->end_ns,
							  .type = ETA_RECORD_WAIT,
							  .id = tid },
						.pid = m->vm->pid };
	}
}

static int by_end(const void *left, const void *right)
{
	const struct record *x = left, *y = right;

	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* How many disks the machine has that is in VM. */
static uint32_t disks_of(const struct vm *vm)
{
	return vm == b.vm ? DISKS : 1;
}

static void put_vm(struct spool *meta, const struct vm *vm, uint32_t dev)
{
	char text[256];

	snprintf(text, sizeof(text), "VM_%u={\"name\":\"%s\",\"icount\":false,\"vcpus\":[[0,%u]]}",
		 vm->pid, vm->name, vm->pid + 5);
	maker_name(meta, ETA_RECORD_PROPERTY, 0, 0, text);
	for (uint32_t disk = 0; disk < disks_of(vm); disk++) {
		snprintf(text, sizeof(text),
			 "VM_%u_DISK_%u={\"image\":\"/%s%s.img\",\"dev\":%u,\"inode\":%u,"
			 "\"format\":\"raw\"}",
			 vm->pid, disk, vm->name, disk ? "-2" : "", dev,
			 (unsigned)image_of(vm, disk));
		maker_name(meta, ETA_RECORD_PROPERTY, 0, 0, text);
	}
}

static void put_task(struct spool *spool, uint32_t pid, uint32_t tid, const char *comm)
{
	struct eta_task_record task = { .head = { .time_ns = 10, .id = tid }, .pid = pid };

	snprintf(task.comm, sizeof(task.comm), "%s", comm);
	maker_task(spool, task);
}

static void put_qemu(struct spool *spool, const struct vm *vm, uint32_t dev)
{
	char path[64];

	put_task(spool, vm->pid, vm->pid, "qemu");
	for (uint32_t w = 0; w < WORKERS; w++)
		put_task(spool, vm->pid, vm->pid + 1 + w, "worker");
	put_task(spool, vm->pid, vm->pid + 5, "CPU 0/KVM");
	for (uint32_t disk = 0; disk < disks_of(vm); disk++) {
		snprintf(path, sizeof(path), "/%s%s.img", vm->name, disk ? "-2" : "");
		maker_file_record(spool,
				  (struct eta_file_record){ .dev = dev,
							    .inode = image_of(vm, disk),
							    .fs_magic = 0xef53 },
				  path);
	}
}

static void write_record(struct spool *spool, const struct record *r)
{
	if (r->op.head.type == ETA_RECORD_WAIT) {
		unsigned char body[sizeof(r->op) - sizeof(r->op.head) + sizeof(r->spans[0])];

		memcpy(body, (const unsigned char *)&r->op + sizeof(r->op.head),
		       sizeof(r->op) - sizeof(r->op.head));
		memcpy(body + sizeof(r->op) - sizeof(r->op.head), r->spans, sizeof(r->spans[0]));
		maker_record(spool, r->op.head, body, sizeof(body));
	} else if (r->op.head.type) {
		maker_kernel_op(spool, r->op, r->spans, r->n_spans);
	} else {
		maker_bio(spool, r->bio);
	}
}

static void write_machine(const char *dir, struct machine *m)
{
	struct eta_spool_header header = { .kind = ETA_SPOOL_META, .clock_mono_ns = 1 };
	struct spool meta, cpus[CPUS];
	char path[512], name[16];

	snprintf(path, sizeof(path), "%s/%s.spool", dir, m->name);
	mkdir(path, 0755);
	snprintf(header.host, sizeof(header.host), "%s", m->name);
	snprintf(header.boot, sizeof(header.boot), "boot of %s", m->name);
	header.clock_real_ns = 1000000000000000000 + m->behind_ns;
	maker_file(&meta, path, "meta", &header);
	maker_name(&meta, ETA_RECORD_NAME, SYS_READ, ETA_OP_READ, "pread64");
	maker_name(&meta, ETA_RECORD_NAME, SYS_WRITE, ETA_OP_WRITE, "pwrite64");
	maker_name(&meta, ETA_RECORD_NAME, SYS_SYNC, ETA_OP_SYNC, "fdatasync");
	maker_name(&meta, ETA_RECORD_SLEEP, AT_JOURNAL, 0,
		   "fs:journal commit\njbd2_log_wait_commit");
	for (size_t i = 0; i < MACHINES; i++)
		if (machines[i]->host == m)
			put_vm(&meta, machines[i]->vm, m->dev);
	spool_close(&meta);
	header.kind = ETA_SPOOL_KERNEL;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		header.cpu = cpu;
		snprintf(name, sizeof(name), "cpu.%u", cpu);
		maker_file(&cpus[cpu], path, name, &header);
	}
	for (uint32_t disk = 0; disk < (m->apart ? DISKS : 1); disk++) {
		const struct transfer on = { .disk = disk };

		maker_task(&cpus[0],
			   (struct eta_task_record){ .head = { .time_ns = 10,
							       .id = JOURNAL + disk,
							       .flags = ETA_TASK_KERNEL_THREAD },
						     .pid = JOURNAL + disk,
						     .comm = "jbd2/disk-8" });
		maker_file_record(&cpus[0],
				  (struct eta_file_record){ .dev = dev_of(m, &on),
							    .inode = FILE_INODE,
							    .fs_magic = 0xef53 },
				  disk ? "/mnt/data" : "/data");
	}
	for (uint32_t i = 0; i < m->n_threads; i++)
		put_task(&cpus[0], 7, m->first_tid + i, "reader");
	for (size_t i = 0; i < MACHINES; i++)
		if (machines[i]->host == m)
			put_qemu(&cpus[0], machines[i]->vm, m->dev);
	qsort(m->v, m->n, sizeof(*m->v), by_end);
	for (size_t i = 0; i < m->n; i++)
		write_record(&cpus[m->v[i].cpu], &m->v[i]);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		spool_close(&cpus[cpu]);
}

/* A thread of a guest, and when it calls next. */
struct thread {
	struct machine *machine;
	uint32_t tid;
	uint64_t next_ns;
};

int main(int argc, char **argv)
{
	unsigned requests = argc > 3 ? (unsigned)atoi(argv[3]) : 400;
	struct thread threads[16];
	uint64_t last_ns = 0;
	size_t n = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: make-vms DIR SEED [REQUESTS]\n");
		return 2;
	}
	seed = strtoull(argv[2], NULL, 10);
	for (size_t i = 0; i < MACHINES; i++)
		for (uint32_t t = 0; t < machines[i]->n_threads; t++)
			threads[n++] = (struct thread){ machines[i], machines[i]->first_tid + t,
							2000000000 + pick(3000000) };
	for (unsigned i = 0; i < requests; i++) {
		struct thread *t = &threads[0];
		struct transfer transfer;

		for (size_t k = 1; k < n; k++)
			if (threads[k].next_ns < t->next_ns)
				t = &threads[k];
		transfer = (struct transfer){
			.pid = 7,
			.tid = t->tid,
			.inode = FILE_INODE,
			.offset = (int64_t)pick(4096) * BLOCK,
			.bytes = BLOCK << pick(3),
			.write = pick(3) == 0,
			.disk = t->tid == t->machine->apart,
		};
		transfer.place = (uint64_t)transfer.offset;
		if (pick(6) == 0) {
			transfer.bytes = 0;
			last_ns = sync_file(t->machine, &transfer, t->next_ns);
		} else {
			last_ns = call(t->machine, &transfer, t->next_ns);
		}
		t->next_ns = last_ns + 50000 + pick(2000000);
	}
	take_cpu(&a, last_ns);
	take_cpu(&b, last_ns);
	take_cpu(&nested, last_ns);
	for (size_t i = 0; i < MACHINES; i++) {
		write_machine(argv[1], machines[i]);
		free(machines[i]->v);
	}
	return 0;
}
