/* Verdicts and their advice. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verdict.h"

#include <stddef.h>
#include <string.h>

/* X(LEVEL, REASON, advice): one sentence each; REASON NONE serves the reasons not listed. */
#define ADVICE(X)                                                                                  \
	X(USER, NONE,                                                                              \
	  "Time is lost in the library call itself, in none of the waits that the kernel tells "   \
	  "of: make fewer, larger calls, and look where they are made (--by=callsite).")           \
	X(USER, STREAM_LOCK,                                                                       \
	  "Threads share a stdio stream: give each thread its own stream, or "                     \
	  "collect before writing.")                                                               \
	X(USER, USER_LOCK,                                                                         \
	  "Threads wait for each other's lock inside I/O calls: move the I/O out "                 \
	  "of the locked section.")                                                                \
	X(USER, BUFFERING, "The stream's buffer is flushed too often: enlarge it with setvbuf.")   \
	X(VFS, NONE,                                                                               \
	  "Time is lost on the way into the file system: use fewer, larger calls "                 \
	  "(readv, writev, larger buffers).")                                                      \
	X(VFS, FILE_POSITION_LOCK,                                                                 \
	  "Threads share one descriptor's file position: use pread and "                           \
	  "pwrite, or one descriptor per thread.")                                                 \
	X(VFS, FILE_LOCK,                                                                          \
	  "Threads wait for a lock on a file (flock, fcntl) that somebody else holds: hold it "    \
	  "for less time, or "                                                                     \
	  "lock a range or a file of its own.")                                                    \
	X(VFS, DIRECTORY_LOCK,                                                                     \
	  "Names are made, removed or renamed in one directory, one after the other: spread them " \
	  "over several "                                                                          \
	  "directories.")                                                                          \
	X(VFS, ADDRESS_SPACE_LOCK,                                                                 \
	  "Threads of one process map and unmap memory at once: keep mappings, or use read and "   \
	  "write, or processes.")                                                                  \
	X(VFS, LOOKUP,                                                                             \
	  "Path lookup is slow: open once and keep the descriptor, or use openat "                 \
	  "with short paths.")                                                                     \
	X(VFS, FANOTIFY_LISTENER,                                                                  \
	  "The kernel asks another program, such as a virus scanner, before it opens or reads "    \
	  "each file: exclude the files there, or open fewer.")                                    \
	X(VFS, OTHER_LOCK,                                                                         \
	  "Threads wait for a kernel lock in the system call: spread the work "                    \
	  "over separate files and descriptors.")                                                  \
	X(VFS, SPIN_LOCK,                                                                          \
	  "Threads spin for locks inside the kernel: spread the work over separate "               \
	  "files, or let fewer threads do I/O at once.")                                           \
	X(PAGECACHE, NONE,                                                                         \
	  "The page cache is busy: use larger requests, or O_DIRECT for data that "                \
	  "is not read again.")                                                                    \
	X(PAGECACHE, DIRTY_THROTTLING,                                                             \
	  "Writers outrun writeback and are paused: write less, raise "                            \
	  "vm.dirty_bytes, or start writeback earlier.")                                           \
	X(PAGECACHE, PAGE_LOCK, "Threads wait for the same pages: work on separate ranges.")       \
	X(PAGECACHE, PAGE_WRITEBACK_WAIT,                                                          \
	  "Calls write, cut off or remove pages while those are being written to the disk: sync "  \
	  "less often, or write each page once.")                                                  \
	X(PAGECACHE, RECLAIM,                                                                      \
	  "Memory is short and pages are reclaimed inside the calls: give more "                   \
	  "memory, or drop used pages (posix_fadvise).")                                           \
	X(PAGECACHE, EVICTION,                                                                     \
	  "Others push pages out of memory that are used again: limit the memory of "              \
	  "their control group (memory.high), or keep the pages (memory.low, mlock).")             \
	X(PAGECACHE, DROPPED_PAGES,                                                                \
	  "Others drop pages from the cache that are used again (POSIX_FADV_DONTNEED, "            \
	  "drop_caches, writing to the same file with O_DIRECT): leave files that are in use "     \
	  "out of that, or keep their pages mapped (mmap, mlock).")                                \
	X(PAGECACHE, OTHER_LOCK,                                                                   \
	  "Threads wait for the file's mapping lock: keep truncation and "                         \
	  "mmap off files that are being read or written.")                                        \
	X(FS, NONE,                                                                                \
	  "The file system itself is the bottleneck: write to separate files, preallocate "        \
	  "them, and avoid metadata changes in the hot path.")                                     \
	X(FS, INODE_LOCK,                                                                          \
	  "Threads write to the same file and wait for its inode lock: give each "                 \
	  "thread its own file, or write larger blocks from one thread.")                          \
	X(FS, METADATA_LOCK,                                                                       \
	  "Threads wait for the file system's own structures: make, remove and extend fewer "      \
	  "files at once, or in "                                                                  \
	  "separate directories and file systems.")                                                \
	X(FS, JOURNAL_COMMIT,                                                                      \
	  "Threads wait for journal commits: fsync less often, or gather "                         \
	  "several writes into one fsync.")                                                        \
	X(FS, ALLOCATION, "Block allocation is slow: preallocate with fallocate.")                 \
	X(FS, FUSE_SERVER,                                                                         \
	  "Other operations keep the server of this FUSE file system busy: give it more "          \
	  "threads, or make fewer, larger requests.")                                              \
	X(BLOCK, NONE,                                                                             \
	  "Threads wait for the device: issue fewer or larger requests, or spread "                \
	  "them over more devices.")                                                               \
	X(BLOCK, QUEUE,                                                                            \
	  "Requests queue before the device: lower the number of concurrent "                      \
	  "requests, or change the I/O scheduler.")                                                \
	X(BLOCK, DEVICE,                                                                           \
	  "The device is shared and busy: issue fewer or larger requests, or spread "              \
	  "them over more devices.")                                                               \
	X(BLOCK, THROTTLED,                                                                        \
	  "Requests are throttled before the queue: look at the cgroup's I/O limits and "          \
	  "weight (io.max, io.weight, blkio.throttle), at the queue depth, and at whether a "      \
	  "RAID is being checked or rebuilt (/proc/mdstat).")                                      \
	X(CPU, NONE,                                                                               \
	  "Threads are ready but get no CPU inside I/O calls: run fewer threads, or "              \
	  "give them CPUs of their own (taskset, cpuset).")                                        \
	X(CPU, WAKE_UP,                                                                            \
	  "Threads wake late on idle CPUs: make fewer, larger requests, or look at the "           \
	  "CPUs' idle states and at the hypervisor.")                                              \
	X(CPU, OWN_WORK,                                                                           \
	  "Who serves the threads (workers of loop devices and file systems, of io_uring, soft "   \
	  "interrupts, servers of FUSE) has their CPU: give them more CPUs, or issue fewer, "      \
	  "larger requests.")                                                                      \
	X(CPU, QUOTA,                                                                              \
	  "A limit of CPU time stops the threads, nobody else: raise the quota of the "            \
	  "control group (cpu.max, cpu.cfs_quota_us), of real-time priorities "                    \
	  "sched_rt_runtime_us, of a deadline thread its runtime.")                                \
	X(CPU, STOPPED,                                                                            \
	  "The threads were stopped from outside (SIGSTOP, a debugger, the freezer of their "      \
	  "control group): nothing in the program took that time.")                                \
	X(VFS, FROZEN_FILE_SYSTEM,                                                                 \
	  "The file system was frozen (fsfreeze, a snapshot): take snapshots at another time, "    \
	  "or thaw it sooner.")                                                                    \
	X(PAGECACHE, RECLAIM_AT_OWN_LIMIT,                                                         \
	  "The control group's memory is at its limit, so its pages are reclaimed inside the "     \
	  "calls: raise the limit (memory.max, memory.high), or drop used pages "                  \
	  "(posix_fadvise).")                                                                      \
	X(PAGECACHE, EVICTION_AT_OWN_LIMIT,                                                        \
	  "What is used again does not fit into the control group's memory, so the group's own "   \
	  "pages are pushed out of memory and read again: raise the limit (memory.max, "           \
	  "memory.high), or use less of it at a time.")                                            \
	X(BLOCK, THROTTLED_BY_OWN_LIMIT,                                                           \
	  "The control group's limit of I/O throttles the requests: raise it (io.max, "            \
	  "blkio.throttle), or make fewer and larger requests.")                                   \
	X(BLOCK, VIRTIO,                                                                           \
	  "Requests wait between the guest and its host's calls: give the disk an I/O thread "     \
	  "of its own, QEMU CPUs of its own, or make fewer and larger requests.")                  \
	X(CPU, STEAL,                                                                              \
	  "The host runs others while the guest believes that it computes: fewer virtual CPUs "    \
	  "on it, or CPUs of their own for them (taskset, cpuset).")                               \
	X(NET, RPC_QUEUE,                                                                          \
	  "Calls to the file server wait for their turn on the connection: make fewer and larger " \
	  "ones, or open more connections (mount with nconnect=N, "                                \
	  "sunrpc.tcp_slot_table_entries).")                                                       \
	X(NET, SERVER,                                                                             \
	  "Calls take longer at the file server while others use it: make fewer and larger ones. " \
	  "What it does for clients that are not traced no client knows: sci-kernel --all on the " \
	  "server, merged with this, names them.")

static const char advice_none[] = "No interference to speak of.";
static const char advice_mixed[] =
	"No level has half of the slowdown: see the levels of each thread (--json).";

static const char *advice_of(enum eta_level level, enum eta_reason reason)
{
	static const struct {
		enum eta_level level;
		enum eta_reason reason;
		const char *text;
	} advice[] = {
#define X(l, r, text) { ETA_LEVEL_##l, ETA_REASON_##r, text },
		ADVICE(X)
#undef X
	};
	const char *general = "";

	for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
		if (advice[i].level != level)
			continue;
		if (advice[i].reason == reason)
			return advice[i].text;
		if (advice[i].reason == ETA_REASON_NONE)
			general = advice[i].text;
	}
	return general;
}

/* Slowdown by level; returns the sum of the positive ones. */
static int64_t sum_levels(const int64_t cell_ns[N_CELLS], int64_t level_ns[ETA_N_LEVELS])
{
	int64_t positive = 0;

	memset(level_ns, 0, ETA_N_LEVELS * sizeof(*level_ns));
	for (int c = 0; c < N_CELLS; c++)
		level_ns[cell_table[c].level] += cell_ns[c];
	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (level_ns[l] > 0)
			positive += level_ns[l];
	return positive;
}

static enum eta_level largest_level(const int64_t level_ns[ETA_N_LEVELS])
{
	enum eta_level level = ETA_LEVEL_USER;

	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (level_ns[l] > level_ns[level])
			level = (enum eta_level)l;
	return level;
}

static enum cell largest_cell(const int64_t cell_ns[N_CELLS], enum eta_level level)
{
	enum cell best = CELL_INHERITED;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level &&
		    (best == CELL_INHERITED || cell_ns[c] > cell_ns[best]))
			best = (enum cell)c;
	return best;
}

/* Waits for a CPU that others have, of the machine itself or of its host. */
#define BUSY_CPU (1ull << CELL_CPU_RUN_QUEUE | 1ull << CELL_CPU_STEAL)

/* The least share of slowdown, and of the lifetime, of a cause named beside a busy machine. */
#define BESIDE_CPU_SHARE 0.25
#define BESIDE_CPU_SCI 0.05

/*
 * On a busy machine every wait is followed by one for a CPU. Without that, is there a cause that
 * has most of the rest, and enough of the lifetime? Its SHARE of all that was lost.
 */
static bool cause_beside_cpu(const int64_t cell_ns[N_CELLS], double sci, enum eta_level *level,
			     double *share)
{
	int64_t level_ns[ETA_N_LEVELS], positive = sum_levels(cell_ns, level_ns);
	int64_t others = positive - level_ns[ETA_LEVEL_CPU];

	if (!(1ull << largest_cell(cell_ns, ETA_LEVEL_CPU) & BUSY_CPU))
		return false; /* a limit */
	level_ns[ETA_LEVEL_CPU] = 0;
	*level = largest_level(level_ns);
	*share = (double)level_ns[*level] / (double)positive;
	return *share * sci >= BESIDE_CPU_SCI && 2 * level_ns[*level] >= others;
}

/*
 * Time without a reason is what work took longer beside others: a cause may be part of it, but it
 * is none. So where no level has most of all, one may be the cause that has most of what has a
 * reason.
 */
#define BESIDE_UNKNOWN_SHARE (1.0 / 3)

static bool cause_of_the_known(const int64_t cell_ns[N_CELLS], enum eta_level *level)
{
	int64_t level_ns[ETA_N_LEVELS], known_ns[N_CELLS], known;
	enum eta_level cause;
	int64_t positive = sum_levels(cell_ns, level_ns);

	for (int c = 0; c < N_CELLS; c++)
		known_ns[c] = cell_table[c].reason == ETA_REASON_NONE ? 0 : cell_ns[c];
	known = sum_levels(known_ns, level_ns);
	cause = largest_level(level_ns);
	if (2 * level_ns[cause] < known ||
	    (double)level_ns[cause] < BESIDE_UNKNOWN_SHARE * (double)positive)
		return false;
	*level = cause;
	return true;
}

const char *verdict_advice(enum cell cell)
{
	return advice_of(cell_table[cell].level, cell_table[cell].reason);
}

/* Time without a reason is no cause. */
static void name_beside(const int64_t cell_ns[N_CELLS], enum eta_level level, double share,
			struct verdict *v)
{
	enum cell best = largest_cell(cell_ns, level);

	if (cell_table[best].reason == ETA_REASON_NONE)
		return;
	v->beside_level = eta_level_name(level);
	v->beside_reason = eta_reason_name(cell_table[best].reason);
	v->beside_share = share;
}

struct verdict verdict_of(const int64_t cell_ns[N_CELLS], double sci, double sure, unsigned options)
{
	int64_t level_ns[ETA_N_LEVELS], positive = sum_levels(cell_ns, level_ns);
	enum eta_level level = largest_level(level_ns);
	struct verdict v = { .level = "none", .reason = "", .advice = advice_none };
	double cpu_share, rest_share = 0;
	enum eta_level rest = ETA_LEVEL_NONE;
	enum cell best;
	bool beside;

	if (sci < VERDICT_NONE_BELOW || sure < VERDICT_SURE_FROM || positive == 0)
		return v;
	cpu_share =
		(double)(cell_ns[CELL_CPU_RUN_QUEUE] + cell_ns[CELL_CPU_STEAL]) / (double)positive;
	beside = options & VERDICT_ADDS_CPU && cpu_share >= BESIDE_CPU_SHARE &&
		 cause_beside_cpu(cell_ns, sci, &rest, &rest_share);
	if (beside && rest_share >= BESIDE_CPU_SHARE) {
		level = rest;
		v.cpu_share = cpu_share;
	}
	if (2 * level_ns[level] < positive && v.cpu_share == 0 &&
	    !(options & VERDICT_ADDS_CPU && cause_of_the_known(cell_ns, &level))) {
		v.share = (double)level_ns[level] / (double)positive;
		v.level = "mixed";
		v.advice = advice_mixed;
		return v;
	}
	v.share = (double)level_ns[level] / (double)positive;
	best = largest_cell(cell_ns, level);
	v.level = eta_level_name(level);
	v.reason = eta_reason_name(cell_table[best].reason);
	v.advice = advice_of(level, cell_table[best].reason);
	v.own_limit = cell_table[best].group == GROUP_LIMIT;
	if (beside && level == ETA_LEVEL_CPU)
		name_beside(cell_ns, rest, rest_share, &v);
	/* a wait recorded by the user tracer itself is named without the kernel */
	if (!(options & VERDICT_KNOWS_LEVELS) && level == ETA_LEVEL_USER &&
	    cell_table[best].reason == ETA_REASON_NONE)
		v.advice = "The trace knows the library calls only: trace the kernel too "
			   "(sci-record) to see where the time goes below.";
	return v;
}
