/* Sink of libsci-posixio: files of the spool, per process and per thread. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"
#include "eta-ext/format/spool-budget.h"
#include "eta-ext/format/spool-held.h"
#include "eta-ext/format/spool-reach.h"
#include "plugins/posixio/environment.h"
#include "plugins/posixio/text.h"
#include "names.h"
#include "rank.h"

#define WINDOW_FIRST_BYTES ((size_t)16 << 10) /* a short thread needs no more */
#define WINDOW_MAX_BYTES ((size_t)128 << 10)  /* fits the cache; more is no cheaper */
#define PROCESS_WINDOW_BYTES ((size_t)20 << 10)
#define CMDLINE_MAX_BYTES 4096

static struct {
	char dir[PATH_MAX];
	struct spool spool;
	struct eta_spool_header header; /* common to the headers of all files of the process */
	_Atomic bool locked;		/* protects the spool, which may grow after the start */
	_Atomic unsigned n_messages;
	bool started;
} process;

/* Data that is too large for the program's stack, used while the process is started. */
struct scratch {
	char path[PATH_MAX];
	char text[CMDLINE_MAX_BYTES];
	struct eta_spool_header header;
	struct spool parents;
	struct utsname host;
};

static void lock_process(void)
{
	bool unlocked = false;

	while (!atomic_compare_exchange_weak(&process.locked, &unlocked, true)) {
		unlocked = false;
		own_call(YIELD);
	}
}

static void unlock_process(void)
{
	atomic_store(&process.locked, false);
}

/*
 * SCI_SPOOL_ID, "DEVICE INODE SCI_SPOOL_DIR", by which sci-record identifies the folder, and the
 * value of the other variable that it belongs to.
 */
static void expect_folder(const char *dir)
{
	const char *id = environment_get("SCI_SPOOL_ID");
	unsigned long long dev, inode;
	char *end;

	if (!id)
		return;
	dev = strtoull(id, &end, 10);
	inode = strtoull(end, &end, 10);
	if (*end == ' ' && strcmp(end + 1, dir) == 0)
		spool_expect_folder((dev_t)dev, (ino_t)inode);
}

/*
 * The folder's absolute path: found once, by the first process that needs it, for all its forked
 * children.
 */
static int spool_dir(void)
{
	const char *dir = environment_get("SCI_SPOOL_DIR");
	long n = 0;

	if (process.dir[0])
		return 0;
	spool_reach_set(environment_get(SPOOL_REACH_VARIABLE));
	if (!dir || !*dir) {
		tracer_warn("SCI_SPOOL_DIR is not set: this program is not traced (set it to an "
			    "existing directory)");
		return -ENOENT;
	}
	expect_folder(dir);
	if (dir[0] != '/') {
		n = own_call(GETCWD, process.dir, sizeof(process.dir)); /* with the NUL */
		if (n <= 1 || process.dir[0] != '/') {
			process.dir[0] = '\0';
			return -ENOENT;
		}
		process.dir[n - 1] = '/';
	}
	if (text_format(process.dir + n, sizeof(process.dir) - (size_t)n, "%s", dir) + 1 ==
	    sizeof(process.dir) - (size_t)n) {
		process.dir[0] = '\0';
		return -ENAMETOOLONG;
	}
	return 0;
}

static void get_name(char name[16])
{
	own_call(GET_NAME, PR_GET_NAME, name);
}

static void header_fill(struct eta_spool_header *header, struct utsname *host)
{
	/* of the process that forked this one, whose header is still here */
	const uint32_t parent_ns = header->pid_ns;
	struct timespec real;
	long n;

	memset(header, 0, sizeof(*header));
	header->pid = (uint32_t)own_call(GETPID);
	header->ppid = (uint32_t)(process_parent_pid ? process_parent_pid : own_call(GETPPID));
	header->parent_tid = (uint32_t)process_parent_tid;
	spool_header_origin(header);
	header->parent_ns = process_parent_pid ? parent_ns : header->pid_ns;
	header->clock_mono_ns = clock_real();
	own_clock(CLOCK_REALTIME, &real);
	header->clock_real_ns = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
	if (own_call(UNAME, host) == 0)
		text_format(header->host, sizeof(header->host), "%s", host->nodename);
	n = own_call(READLINK, AT_FDCWD, "/proc/self/exe", header->exe, sizeof(header->exe) - 1);
	if (n < 0)
		header->exe[0] = '\0';
}

static void put_text(enum eta_record_type type, uint32_t id, uint8_t flags, const char *text,
		     size_t n)
{
	spool_put_text(&process.spool, type, id, flags, process.header.start_ns, text, n);
}

/* "argv=a b c": arguments separated by blanks, cut to CMDLINE_MAX_BYTES. */
static void put_command_line(char text[CMDLINE_MAX_BYTES])
{
	const size_t n = text_format(text, CMDLINE_MAX_BYTES, "argv=");
	long fd = own_call(OPEN_READ, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC), got;

	if (fd < 0)
		return;
	got = own_call(READ, fd, text + n, CMDLINE_MAX_BYTES - n);
	own_call(CLOSE, fd);
	if (got <= 0)
		return;
	got += (long)n;
	for (long i = 0; i + 1 < got; i++)
		if (!text[i])
			text[i] = ' ';
	put_text(ETA_RECORD_PROPERTY, 0, 0, text, (size_t)got - (text[got - 1] == '\0'));
}

void spool_sink_module(const struct module_found *found)
{
	size_t path_bytes = strlen(found->path), id_bytes = found->build_id_bytes;
	size_t bytes = spool_record_bytes(sizeof(struct eta_module_record) + id_bytes + path_bytes);
	struct eta_module_record *record;

	lock_process();
	record = process.spool.header ? spool_reserve(&process.spool, bytes) : NULL;
	if (record) {
		record->head.time_ns = found->time_ns;
		record->head.units = (uint16_t)(bytes / ETA_UNIT_BYTES);
		record->head.flags = found->program ? ETA_MODULE_PROGRAM : 0;
		record->start = found->start;
		record->end = found->end;
		record->bias = found->bias;
		record->build_id_bytes = (uint16_t)id_bytes;
		record->path_bytes = (uint16_t)path_bytes;
		if (id_bytes)
			memcpy(record->text, found->build_id, id_bytes);
		memcpy(record->text + id_bytes, found->path, path_bytes);
		__atomic_store_n(&record->head.type, ETA_RECORD_MODULE, __ATOMIC_RELEASE);
	}
	unlock_process();
}

static void modules_look(void)
{
	modules_update(spool_sink_module);
}

/*
 * The parent's other threads may have held locks of the dynamic linker at the fork: then neither
 * its list of modules nor the unwinder, which uses that list, can be used in this process.
 */
static void start_addresses(bool forked)
{
	/* under EZTrace a child of a fork is the first process here */
	forked |= process_parent_pid != 0;
	if (forked && !__libc_single_threaded)
		stacks_on = false;
	modules_start(forked);
	if (!forked)
		stacks_start();
}

void spool_sink_name(uint32_t id, enum eta_op_kind kind, const char *name)
{
	lock_process();
	if (process.spool.header)
		put_text(ETA_RECORD_NAME, id, (uint8_t)kind, name, strlen(name));
	unlock_process();
}

static bool put_stack(uint32_t id, const uintptr_t *frames, unsigned n)
{
	size_t bytes = spool_record_bytes(sizeof(struct eta_stack_record) + n * sizeof(uint64_t));
	struct eta_stack_record *record;

	record = spool_reserve(&process.spool, bytes);
	if (!record)
		return false;
	record->head.time_ns = clock_real();
	record->head.units = (uint16_t)(bytes / ETA_UNIT_BYTES);
	record->head.id = id;
	record->n_frames = n;
	for (unsigned i = 0; i < n; i++)
		record->frames[i] = frames[i];
	__atomic_store_n(&record->head.type, ETA_RECORD_STACK, __ATOMIC_RELEASE);
	return true;
}

/* What the recording may take, where it is limited. */
static void open_budget(char path[PATH_MAX])
{
	if (environment_get(SPOOL_BUDGET_VARIABLE) &&
	    text_format(path, PATH_MAX, "%s/" SPOOL_BUDGET_FILE, process.dir) < PATH_MAX - 1)
		spool_budget_open(path);
}

/* The file of this process, in place of its parent's. */
static int create_process(struct scratch *scratch, bool forked)
{
	struct eta_spool_header *header = &scratch->header;
	int rc;

	open_budget(scratch->path);

	scratch->parents = process.spool;
	header_fill(&process.header, &scratch->host);
	process.header.start_ns = process.header.clock_mono_ns;
	spool_held_begin();
	*header = process.header;
	header->kind = ETA_SPOOL_PROCESS;
	header->flags = forked ? ETA_SPOOL_FORKED : 0;
	header->tid = header->pid;
	get_name(header->comm);
	if (text_format(scratch->path, PATH_MAX, "%s/process.%u.%llu", process.dir, header->pid,
			(unsigned long long)header->start_ns) == PATH_MAX - 1)
		rc = -ENAMETOOLONG;
	else
		rc = spool_create(&process.spool, scratch->path, header, PROCESS_WINDOW_BYTES,
				  WINDOW_MAX_BYTES);
	if (rc)
		process.spool = scratch->parents;
	else
		spool_abandon(&scratch->parents);
	return rc;
}

static void put_property(const char *prefix, const char *name, const char *value)
{
	char text[256];
	size_t n = text_format(text, sizeof(text), "%s%s=%s", prefix, name, value);

	lock_process();
	put_text(ETA_RECORD_PROPERTY, 0, 0, text, n);
	unlock_process();
}

static void put_own_property(const char *name, const char *value)
{
	put_property("", name, value);
}

/*
 * Prints nothing if no file can be created, since stderr belongs to the program. If the process was
 * forked, its calls are counted as lost in its parent's file, which is still mapped.
 */
static int process_start(void)
{
	bool forked = process.started;
	struct scratch *scratch;
	int rc = spool_dir();

	if (rc)
		return rc;
	process.locked = false; /* it was the parent's */
	process.n_messages = 0;
	scratch = own_memory(sizeof(*scratch));
	rc = scratch ? create_process(scratch, forked) : -ENOMEM;
	if (rc == -ENOTDIR || rc == -ENAMETOOLONG)
		tracer_warn("%s: %s: this program is not traced (set SCI_SPOOL_DIR to a "
			    "directory)",
			    process.dir, strerror(-rc));
	if (rc)
		goto out;
	for (uint32_t i = 0; i < N_REGIONS; i++)
		if (function_recorded(i))
			put_text(ETA_RECORD_NAME, i + 1, function_kinds[i], function_names[i],
				 strlen(function_names[i]));
	put_command_line(scratch->text);
	process.started = true;
	start_addresses(forked);
	modules_look();
	rank_put(put_own_property);
out:
	own_unmap(scratch, sizeof(*scratch));
	if (rc) {
		/*
		 * except for the counts, the mapping belongs to the parent, which continues to
		 * store there
		 */
		process.spool.end = process.spool.next;
		process.spool.error = -rc;
	}
	return rc;
}

static bool report(const char *text)
{
	char line[512];
	size_t n;

	if (!process.started || !process.spool.header || process.spool.error)
		return false;
	n = text_format(line, sizeof(line), "warning_%u=%s", ++process.n_messages, text);
	lock_process();
	put_text(ETA_RECORD_PROPERTY, 0, 0, line, n);
	unlock_process();
	return true;
}

/* Reports that the disk of the recording has slowed the program, where that is worth a word. */
static void report_held(void)
{
	enum { LEAST_MS = 100, LEAST_PART = 50 };
	const uint64_t held_ms = spool_held_ns() / 1000000;
	const uint64_t life_ms = (clock_real() - process.header.start_ns) / 1000000;

	if (held_ms >= LEAST_MS && held_ms >= life_ms / LEAST_PART)
		tracer_warn("calls have waited %llu ms for the disk of the recording: record on "
			    "another disk, or in memory (-o /dev/shm/RUN)",
			    (unsigned long long)held_ms);
}

static void process_end(void)
{
	modules_look();
	report_held();
	lock_process();
	spool_trim(&process.spool);
	unlock_process();
}

/* What follows in the file is of WHOSE. 0, or -errno. */
static int put_thread(struct spool *spool, const struct eta_thread_record *whose, uint8_t flags)
{
	struct eta_thread_record *record = spool_reserve(spool, sizeof(*record));
	uint64_t at;

	if (!record)
		return -spool->error;
	at = spool_offset(spool, record);
	record->head.time_ns = whose->head.time_ns;
	record->head.units = sizeof(*record) / ETA_UNIT_BYTES;
	record->head.id = whose->head.id;
	record->head.flags = flags;
	record->prev = spool->header->last_thread;
	memcpy(record->comm, whose->comm, sizeof(record->comm));
	__atomic_store_n(&record->head.type, ETA_RECORD_THREAD, __ATOMIC_RELEASE);
	__atomic_store_n(&spool->header->last_thread, at, __ATOMIC_RELEASE);
	return 0;
}

/* A window has begun that may become the first: it must make sense without those before. */
static void thread_turned(struct spool *spool)
{
	struct spool_sink_thread *sink = (struct spool_sink_thread *)spool;

	_Static_assert(offsetof(struct spool_sink_thread, spool) == 0, "one is the other");
	memset(sink->patterns, 0, sizeof(sink->patterns));
	names_forget(sink);
	if (spool->keeps_last)
		put_thread(spool, &sink->whose, ETA_THREAD_GOES_ON);
}

static int thread_start(struct thread *t)
{
	struct spool_sink_thread *sink = spool_sink_of(t);
	static _Atomic bool warned;
	struct eta_spool_header header = process.header;
	struct eta_thread_record whose = { 0 };
	int rc;

	modules_look();
	/* the previous thread may have come to the same places by other paths */
	stacks_forget(&sink->stacks);
	memset(sink->patterns, 0, sizeof(sink->patterns));
	whose.head.id = (uint32_t)own_call(GETTID);
	whose.head.time_ns = clock_real();
	get_name(whose.comm);
	if (sink->spool.header && put_thread(&sink->spool, &whose, 0) == 0) {
		sink->whose = whose;
		return 0;
	}
	spool_close(&sink->spool);
	sink->whose = whose;
	header.kind = ETA_SPOOL_USER;
	header.tid = whose.head.id;
	if (header.tid != header.pid)
		header.parent_tid = 0; /* the first thread of the process is the forked one */
	header.start_ns = whose.head.time_ns;
	memcpy(header.comm, whose.comm, sizeof(whose.comm));
	if (text_format(t->scratch, PATH_MAX, "%s/user.%u.%u.%llu", process.dir, header.pid,
			header.tid, (unsigned long long)header.start_ns) == PATH_MAX - 1)
		rc = -ENAMETOOLONG;
	else
		rc = spool_create(&sink->spool, t->scratch, &header, WINDOW_FIRST_BYTES,
				  WINDOW_MAX_BYTES);
	if (rc == 0 && sink->spool.keeps_last)
		sink->spool.turned = thread_turned;
	if (rc && rc != -ENOENT && rc != -SPOOL_BUDGET_ERROR && !atomic_exchange(&warned, true))
		tracer_warn(
			"%s: %s: calls of thread %u (and maybe of others) are lost, and counted",
			t->scratch, strerror(-rc), header.tid);
	return rc;
}

static bool thread_rest(struct thread *t)
{
	return !spool_sink_of(t)->spool.error;
}

static void thread_end(struct thread *t)
{
	spool_close(&spool_sink_of(t)->spool);
	stacks_free(&spool_sink_of(t)->stacks);
}

static void thread_trim(struct thread *t)
{
	spool_trim(&spool_sink_of(t)->spool);
}

static void confine(struct thread *t, uint64_t denied)
{
	(void)denied;
	modules_look();
	lock_process();
	spool_widen(&process.spool);
	unlock_process();
	spool_widen(&spool_sink_of(t)->spool);
}

static void thread_lost(void)
{
	struct eta_spool_header *header = process.spool.header;

	if (header)
		__atomic_fetch_add(&header->lost, 1, __ATOMIC_RELAXED);
}

static void call_missed(struct thread *t)
{
	__atomic_fetch_add(&spool_sink_of(t)->spool.header->lost, 1, __ATOMIC_RELAXED);
}

static void put_file(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic)
{
	struct spool_sink_thread *sink = spool_sink_of(self);

	modules_look();
	if (!sink->spool.keeps_last || !file->lasting) {
		names_put(sink, file, path, path_bytes, fs_magic);
		return;
	}
	/* the process' file keeps it, whatever becomes of the thread's windows */
	lock_process();
	if (process.spool.header)
		names_store(&process.spool, file, path, path_bytes, fs_magic);
	unlock_process();
}

static bool has_name(uint32_t id)
{
	return names_has(spool_sink_of(self), id);
}

/* FILE is NEW_ID from now on, so that calls before keep the old flags. */
static void file_flags(struct file *file, uint32_t new_id, const char *path, size_t path_bytes,
		       uint32_t fs_magic)
{
	file->id = new_id;
	put_file(file, path, path_bytes, fs_magic);
}

static bool own_caller(const void *caller)
{
	(void)caller;
	return false; /* the tracer makes no calls that are intercepted */
}

const struct sink spool_sink = {
	.process_start = process_start,
	.process_end = process_end,
	.thread_start = thread_start,
	.thread_end = thread_end,
	.thread_rest = thread_rest,
	.thread_trim = thread_trim,
	.confine = confine,
	.own_caller = own_caller,
	.thread_lost = thread_lost,
	.call_missed = call_missed,
	/* counted only in the child of a fork, which has its parent's file for that */
	.off_call = thread_lost,
	.file = put_file,
	.has_name = has_name,
	.file_flags = file_flags,
	.report = report,
	.property = put_property,
	.stack = put_stack,
	.modules_update = modules_look,
	.lock = lock_process,
	.unlock = unlock_process,
};
