/*
 * make-machines DIR: kernel spools of runs that never were, few enough calls to be counted by hand.
 * DIR/a.spool and DIR/b.spool: two machines with equal numbers and paths, at the same time;
 * DIR/stacked.spool: requests to a stacked device, and those they become.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/spool-maker.h"

/* Numbers that no device of the system has on which this runs, or its name would stand for them. */
enum { DISK = 4000 << 20, TOP = 4001 << 20, LEFT = 4002 << 20, RIGHT = 4003 << 20 };
enum { PID = 100, FIRST = 101, SECOND = 102, NOT_TRACED = 999 };
enum { SHARED_FILE = 5, OWN_FILE = 7 };
enum { SYS_PWRITE = 1, BYTES = 4096 };

/* What a call spends most of its time with: 50 ns before it, 50 behind. */
enum doing { NOTHING, THROTTLED, LOCK, REQUEST };

struct call {
	uint32_t tid;
	uint64_t begin_ns, end_ns;
	uint64_t inode;
	enum doing doing;
	uint32_t who; /* has the LOCK */
};

static const struct call on_a[] = {
	{ FIRST, 2000, 2500, SHARED_FILE, THROTTLED, 0 }, /* while b writes */
	{ FIRST, 4000, 4600, SHARED_FILE, LOCK, SECOND }, /* while b's second waits for its first */
	{ FIRST, 6000, 6850, SHARED_FILE, REQUEST, 0 },	  /* while b has one */
	{ FIRST, 10000, 10300, SHARED_FILE, NOTHING, 0 }, /* while b is on a file of that name */
	{ FIRST, 12000, 12300, SHARED_FILE, NOTHING, 0 }, /* both on one file */
	{ SECOND, 12000, 12300, SHARED_FILE, NOTHING, 0 },
	{ FIRST, 14000, 14200, SHARED_FILE, LOCK, NOT_TRACED },
};

static const struct call on_b[] = {
	{ SECOND, 2050, 2450, SHARED_FILE, NOTHING, 0 },
	{ SECOND, 4000, 4700, SHARED_FILE, LOCK, FIRST },
	{ SECOND, 5950, 6950, SHARED_FILE, REQUEST, 0 },
	{ SECOND, 7900, 8900, SHARED_FILE, REQUEST, 0 }, /* both on one device */
	{ FIRST, 8000, 8700, SHARED_FILE, REQUEST, 0 },
	{ FIRST, 10000, 10300, SHARED_FILE, NOTHING, 0 },
	{ FIRST, 14000, 14400, SHARED_FILE, LOCK, NOT_TRACED },
};

struct machine {
	const char *host, *own_path;
	uint32_t n_quick; /* calls of each thread with nothing in the way: 100 ns */
	const struct call *calls;
	size_t n_calls;
};

static const struct machine machines[] = {
	{ "a", "/data/only-a", 4, on_a, sizeof(on_a) / sizeof(*on_a) },
	{ "b", "/data/only-b", 5, on_b, sizeof(on_b) / sizeof(*on_b) },
};

static void put_request(struct spool *spool, const struct call *c, uint32_t dev, uint32_t bytes,
			uint32_t flags)
{
	maker_bio(spool, (struct eta_bio_record){ .head = { .time_ns = c->begin_ns + 50,
							    .end_ns = c->end_ns - 50,
							    .id = c->tid },
						  .issue_ns = c->begin_ns + 50,
						  .pid = PID,
						  .dev = dev,
						  .bytes = bytes,
						  .op_flags = ETA_BIO_WRITE | flags });
}

static void put_call(struct spool *spool, const struct call *c, uint32_t dev, uint32_t bytes)
{
	static const uint8_t kinds[] = { [THROTTLED] = ETA_SPAN_DIRTY_THROTTLING,
					 [LOCK] = ETA_SPAN_INODE_LOCK,
					 [REQUEST] = ETA_SPAN_SLEEP };
	const struct eta_span span = { .begin_ns = c->begin_ns + 50,
				       .end_ns = c->end_ns - 50,
				       .kind = kinds[c->doing],
				       .flags = c->doing == REQUEST ? ETA_SPAN_IOWAIT : 0,
				       .who = c->who };

	maker_kernel_op(
		spool,
		(struct eta_kernel_op){
			.head = { .time_ns = c->begin_ns, .end_ns = c->end_ns, .id = c->tid },
			.pid = PID,
			.dev = dev,
			.inode = c->inode,
			.size = bytes,
			.ret = (int32_t)bytes,
			.syscall = SYS_PWRITE },
		&span, c->doing != NOTHING);
}

static void put_file(struct spool *spool, uint32_t dev, uint64_t inode, const char *path)
{
	maker_file_record(
		spool, (struct eta_file_record){ .dev = dev, .inode = inode, .fs_magic = 0xef53 },
		path);
}

/* DIR/HOST.spool with what every one has; its only CPU is the caller's to close. */
static void begin(struct spool *cpu, const char *dir, const char *host)
{
	struct eta_spool_header header = { .kind = ETA_SPOOL_META };
	struct spool meta;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.spool", dir, host);
	mkdir(path, 0755);
	snprintf(header.host, sizeof(header.host), "%s", host);
	snprintf(header.boot, sizeof(header.boot), "boot of %s", host);
	maker_file(&meta, path, "meta", &header);
	maker_name(&meta, ETA_RECORD_NAME, SYS_PWRITE, ETA_OP_WRITE, "pwrite64");
	spool_close(&meta);
	header.kind = ETA_SPOOL_KERNEL;
	maker_file(cpu, path, "cpu.0", &header);
	for (uint32_t tid = FIRST; tid <= SECOND; tid++)
		maker_task(cpu, (struct eta_task_record){ .head = { .time_ns = 10, .id = tid },
							  .pid = PID,
							  .comm = "app" });
}

static void put_quick(struct spool *spool, uint32_t n, uint32_t tid, uint64_t inode)
{
	for (uint64_t begin_ns = 100; n-- > 0; begin_ns += 200)
		put_call(spool, &(struct call){ tid, begin_ns, begin_ns + 100, inode, NOTHING, 0 },
			 DISK, BYTES);
}

static void make_machine(const char *dir, const struct machine *m)
{
	struct spool cpu;

	begin(&cpu, dir, m->host);
	put_file(&cpu, DISK, SHARED_FILE, "/data/file");
	put_file(&cpu, DISK, OWN_FILE, m->own_path);
	put_quick(&cpu, m->n_quick, FIRST, SHARED_FILE);
	put_quick(&cpu, m->n_quick, SECOND, OWN_FILE);
	for (size_t i = 0; i < m->n_calls; i++) {
		put_call(&cpu, &m->calls[i], DISK, BYTES);
		if (m->calls[i].doing == REQUEST)
			put_request(&cpu, &m->calls[i], DISK, BYTES, 0);
	}
	spool_close(&cpu);
}

/* One call to a file on a stacked device, one to a file on a disk below it. */
static void make_stacked(const char *dir)
{
	static const struct call striped = { FIRST, 1000, 3000, SHARED_FILE, REQUEST, 0 };
	static const struct call plain = { SECOND, 5000, 6000, OWN_FILE, REQUEST, 0 };
	struct spool cpu;

	begin(&cpu, dir, "stacked");
	put_file(&cpu, TOP, SHARED_FILE, "/striped/file");
	put_file(&cpu, LEFT, OWN_FILE, "/plain/file");
	put_call(&cpu, &striped, TOP, 2 * BYTES);
	put_request(&cpu, &striped, TOP, 2 * BYTES, 0);
	put_request(&cpu, &striped, LEFT, BYTES, ETA_BIO_LOWER);
	put_request(&cpu, &striped, RIGHT, BYTES, ETA_BIO_LOWER);
	put_call(&cpu, &plain, LEFT, BYTES);
	put_request(&cpu, &plain, LEFT, BYTES, 0);
	spool_close(&cpu);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make-machines DIR\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		make_machine(argv[1], &machines[i]);
	make_stacked(argv[1]);
	return 0;
}
