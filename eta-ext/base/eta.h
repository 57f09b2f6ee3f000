/* eta-ext: open traces of I/O, iterate events per thread, merge by thread and time, write OTF2. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_H
#define ETA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clocks.h"
#include "levels.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Conventions: functions return 0 or -errno and give results through the last pointer, NULL where
 * they fail. What a x_new/x_open function gives belongs to the caller until x_free/x_close;
 * everything reached through it belongs to it. x_free(NULL) and x_close(NULL) are safe. A failure
 * has already been reported, with the object, the place and the remedy, through the message
 * function; each may be -ENOMEM, what else it can be stands at the function. NULL in the place of
 * an object or of a result, and objects used after they were closed, are mistakes that nobody looks
 * for. Sizes and offsets are bytes, times ns.
 */

/* ---- messages ---- */

enum eta_severity { ETA_NOTE, ETA_WARNING, ETA_ERROR };
typedef void (*eta_message_fn)(void *arg, enum eta_severity severity, const char *text);

/*
 * Where messages go; NULL: stderr, as "program: text". Not thread-safe: call it first. FN may be
 * called by several threads at the same time; TEXT is one line without its end, FN's while it runs.
 */
void eta_set_message_fn(eta_message_fn fn, void *arg);
/* A message of the program's own; FORMAT as of printf, without the end of the line. */
void eta_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void eta_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void eta_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * TEXT as it may be shown, into OUT of SIZE bytes, cut where it does not fit; how long it is. Names
 * in a trace are what programs, files and hosts were called, which may be to do harm: messages have
 * them in this form already, definitions have them as they are. What is no UTF-8, control
 * characters and those that turn the direction of writing or end a line become "\n", "\033" and the
 * like.
 */
size_t eta_printable(const char *text, char *out, size_t size);

/* ---- definitions ---- */

#define ETA_NONE UINT32_MAX /* "no such index" in any uint32_t index below */
#define ETA_OFFSET_NONE INT64_MIN

struct eta_region {
	const char *name;	 /* "write", "vfs:sys_write", "fs:inode lock" */
	enum eta_level level;	 /* ETA_LEVEL_NONE: not I/O */
	enum eta_reason reason;	 /* ETA_REASON_NONE: no reason of its own */
	const char *description; /* may be "" */
};

/*
 * Begins the description of a wait's region where the kernel's tracer knows the place, but not what
 * is waited for there: functions, innermost first, follow.
 */
#define ETA_PLACE "at "

enum eta_location_kind {
	ETA_LOCATION_THREAD,
	ETA_LOCATION_KERNEL_THREAD,
	ETA_LOCATION_DEVICE,   /* completions only, no regions */
	ETA_LOCATION_UNTRACED, /* a thread that was in the way of others: no events, a name */
};

struct eta_location {
	uint64_t id;	  /* the source's own, unique in the trace */
	const char *name; /* "fio tid 4242", "vda" */
	enum eta_location_kind kind;
	uint32_t process; /* index into processes; ETA_NONE for a device */
	uint32_t tid;	  /* 0: unknown (EZTrace's built-in plugins) */
	uint32_t ns_tid;  /* the same in its own pid namespace, 0: unknown */
	/*
	 * 0: the thread itself. Else what it has submitted and does not wait for in a call
	 * (io_uring, libaio): as many tracks as there are such operations at a time.
	 */
	uint32_t track;
	uint64_t start_ns; /* thread start if known, else its first event; distinguishes reused tids
			    */
	uint64_t end_ns;   /* when the thread exited, 0: unknown, or it has not */
	uint32_t dev;	   /* DEVICE: major << 20 | minor */
	const char *host;  /* DEVICE: whose it is, "" unknown; a thread's is its process' */
	uint64_t events;   /* upper bound of events, 0: unknown */
	/* all that it has are block requests, for others' pages: it made no traced call. In no
	 * archive */
	bool only_requests;
};

struct eta_process {
	const char *name;    /* program name */
	const char *host;    /* "" unknown */
	const char *boot;    /* boot id of the system it ran on, "" unknown */
	uint32_t pid;	     /* as seen from the outside where anyone did; 0: unknown */
	uint32_t ppid;	     /* 0: unknown */
	uint32_t parent_tid; /* the thread of ppid that forked it, 0: unknown */
	uint64_t cgroup;     /* id of its control group, 0: unknown */
	uint32_t ns_pid;     /* its number in its own pid namespace, 0: unknown */
	uint32_t pid_ns;     /* inode of that namespace, 0: unknown */
	uint64_t start_ns;   /* when it began, some to 10 ms only; 0: unknown */
};

struct eta_file {
	const char *path; /* "" unknown */
	uint32_t names;	  /* how many it had, if PATH is one of several; otherwise 0 */
	uint32_t dev;	  /* major << 20 | minor; 0 unknown */
	uint64_t inode;	  /* 0 unknown */
	const char *fs;	  /* "ext4", "" unknown */
	const char *host; /* "" unknown */
	/*
	 * Of a network file system, its kind and what is mounted: "nfs server:/export". Files of
	 * one mount and inode are one file, whichever hosts they are seen from. "", NULL: of no
	 * such, or not known
	 */
	const char *mount;
};

struct eta_handle {
	const char *name;
	uint32_t file;	     /* index into files, ETA_NONE */
	uint32_t device;     /* dev of a block device handle, 0 otherwise */
	const char *host;    /* of a block device handle, "" unknown */
	uint32_t open_flags; /* O_* */
};

struct eta_property {
	const char *name; /* "SCI::CLOCK"; of a process: "ARGV" */
	const char *value;
	uint32_t process; /* whose it is, index into processes; ETA_NONE: the trace's */
};

/* What was mapped into a process: where the addresses of its calls belong. */
struct eta_module {
	uint32_t process;
	bool program; /* the program itself, no library */
	uint64_t since_ns;
	uint64_t start, end;  /* addresses, the last one excluded */
	uint64_t bias;	      /* address - bias is an address as in the file */
	const char *build_id; /* hexadecimal, "" none */
	const char *path;
};

/* A path of calls: return addresses, that of the library call first. */
struct eta_stack {
	uint32_t process;
	uint32_t n_frames; /* never 0 */
	const uint64_t *frames;
};

struct eta_defs {
	struct eta_region *regions;
	uint32_t n_regions;
	struct eta_location *locations; /* ascending id */
	uint32_t n_locations;
	struct eta_process *processes;
	uint32_t n_processes;
	struct eta_file *files;
	uint32_t n_files;
	struct eta_handle *handles;
	uint32_t n_handles;
	struct eta_property *properties;
	uint32_t n_properties;
	struct eta_module *modules;
	uint32_t n_modules;
	struct eta_stack *stacks;
	uint32_t n_stacks;
	struct eta_machines *machines; /* for eta_machine alone */
};

/* Index of the module that ADDRESS of PROCESS lay in at TIME_NS, or ETA_NONE. */
uint32_t eta_find_module(const struct eta_defs *defs, uint32_t process, uint64_t address,
			 uint64_t time_ns);

/*
 * A number for the machine that HOST (of a process, file or device) is a name of: several names are
 * one machine where the processes say that they ran in one boot of it. 0: the first one, or
 * unknown.
 */
uint32_t eta_machine(const struct eta_defs *defs, const char *host);

/*
 * Are the pid of PROCESS and the tids of its threads numbers in a pid namespace of its own, since
 * nobody saw it from the outside?
 */
bool eta_inner_numbers(const struct eta_process *process);

/* ---- events ---- */

enum eta_kind {
	ETA_ENTER,
	ETA_LEAVE,
	ETA_IO_BEGIN,	 /* IoOperationBegin: handle, mode, size, match; on a bio also end_ns */
	ETA_IO_ISSUED,	 /* IoOperationIssued: handle, match */
	ETA_IO_COMPLETE, /* IoOperationComplete: handle, size = transferred bytes, match */
	ETA_IO_SEEK,	 /* handle, offset = new position */
	ETA_IO_CREATE,	 /* IoCreateHandle */
	ETA_IO_DESTROY,	 /* IoDestroyHandle */
	ETA_MARK,	 /* the thread began, ended, ...: only the time counts; handle ETA_NONE */
};

enum eta_io_mode { ETA_IO_READ, ETA_IO_WRITE, ETA_IO_FLUSH };

/* Which of the optional fields of an event are set. */
#define ETA_HAS_SIZE 0x01
#define ETA_HAS_OFFSET 0x02
#define ETA_HAS_FILE 0x04 /* dev and inode */
#define ETA_HAS_RET 0x08
#define ETA_HAS_CALLER 0x10 /* caller */
/* who: tid of a lock's holder, of the task that had the CPU, of the owner of a request ahead */
#define ETA_HAS_WHO 0x20
#define ETA_HAS_END 0x40	 /* end_ns: when a bio's completion was seen */
#define ETA_EVENT_TRUNCATED 0x80 /* a LEAVE made up because the trace ended inside the region */
#define ETA_EVENT_DIRECT 0x100	 /* O_DIRECT */
#define ETA_HAS_STACK 0x400	 /* stack */
#define ETA_HAS_PAUSE 0x800	 /* pause_ns: what the kernel asked the thread to pause */
#define ETA_EVENT_BLOCK_IO 0x200 /* IO_BEGIN/ISSUED/COMPLETE of a block request, not of a call */
/* IO_BEGIN of a bio: part of one to a stacked device, which is in the trace, too */
#define ETA_EVENT_LOWER 0x1000
/* ENTER and LEAVE of a region that is there for the waits in it: none inside of a library call */
#define ETA_EVENT_WAITS 0x2000
/*
 * Of a virtual machine whose guest is in the trace, too. ENTER: of a call that its host made for a
 * request of the guest, so part of what a thread there did, not an operation of the host's;
 * IO_BEGIN of a bio: for such a call, `owner` is an index into locations.
 */
#define ETA_EVENT_SERVES 0x4000
/*
 * ENTER in a guest's thread that waits for a request: what its host did meanwhile. `who` and
 * `device` are indices into locations.
 */
#define ETA_EVENT_OF_HOST 0x8000

struct eta_event {
	uint64_t time_ns;
	uint8_t kind; /* enum eta_kind */
	uint8_t mode; /* enum eta_io_mode */
	uint16_t has; /* ETA_HAS_*, ETA_EVENT_* */
	union {
		uint32_t region; /* ENTER, LEAVE: index */
		uint32_t handle; /* IO_*: index or ETA_NONE */
	};
	uint64_t size;	/* bytes requested; COMPLETE: bytes transferred */
	int64_t offset; /* bytes */
	uint64_t inode;
	uint32_t dev; /* major << 20 | minor */
	union {
		uint32_t owner; /* IO_BEGIN of a bio: tid of the thread that dirtied the pages */
		uint32_t stack; /* ENTER: index */
		/* ENTER with ETA_EVENT_OF_HOST: location of the device waited for, ETA_NONE */
		uint32_t device;
		/* ENTER, LEAVE in a kernel spool: 1 + the CPU from here on, 0: not known */
		uint32_t cpu;
	};
	union {
		int64_t ret;	   /* LEAVE: returned value, -errno where the call failed */
		uint64_t end_ns;   /* IO_BEGIN of a bio */
		uint64_t pause_ns; /* ENTER of dirty throttling */
	};
	union {
		uint64_t match;	 /* IO_*: matching id, unique in the trace */
		uint64_t caller; /* ENTER: return address */
		uint64_t who;	 /* ENTER of a reason: tid */
	};
};

/* ---- traces ---- */

/*
 * What a reader met. A number here reaches the user; none is dropped silently.
 */
struct eta_counts {
	uint64_t records;      /* as stored */
	uint64_t events;       /* delivered */
	uint64_t passed;       /* understood, but of nothing that is I/O */
	uint64_t bad;	       /* records that could not be understood */
	uint64_t lost;	       /* said to be lost by the tracer */
	uint64_t orphan;       /* LEAVE without ENTER */
	uint64_t truncated;    /* ENTER without LEAVE at the end */
	uint64_t overlapping;  /* regions closed because an outer one left first */
	uint64_t unmatched;    /* locations of one input without a counterpart (merge) */
	uint64_t out_of_order; /* events earlier than the one before them, moved up to it */
	uint64_t matched;      /* threads of the result that several inputs have (merge) */
	uint64_t missing;      /* machines and ranks of a recording that left no trace */
};

struct eta_options {
	bool lenient; /* keep the good part of damaged input, counting the rest */
	const char
		*format; /* name of the source (eta_source_name), NULL: the first that knows it */
	/* nobody cuts its files short while it is read: those of a kernel spool are mapped */
	bool stable;
};

struct eta_trace;
struct eta_cursor;

/*
 * Opens PATH (an OTF2 anchor file, a spool directory, a log: the first source whose probe knows it,
 * or the one that OPTIONS name). OPTIONS may be NULL; both are copied. -ENOENT, -EACCES, ...: it
 * cannot be opened; -EINVAL: no source knows it, or the one named is none; -EBADMSG: it is damaged
 * (less of that with `lenient`); -EPROTO: a spool of another version.
 */
int eta_open(const char *path, const struct eta_options *options, struct eta_trace **out);
/* Its cursors must be closed before. */
void eta_close(struct eta_trace *trace);

/* Name of source number I, from 0, and for lists what it reads; NULL behind the last one. */
const char *eta_source_name(size_t i, const char **what);

/* Who and what is in TRACE. Like all that is reached through it, until eta_close. */
const struct eta_defs *eta_trace_defs(const struct eta_trace *trace);
/* The path as it was opened; of a merged trace that of its first input. */
const char *eta_trace_path(const struct eta_trace *trace);
/* Name of the source ("otf2", "spool", "merge"). */
const char *eta_trace_source(const struct eta_trace *trace);
/* Counts so far: of the definitions after eta_open, of a location once its cursor is closed. */
void eta_trace_counts(const struct eta_trace *trace, struct eta_counts *counts);

/*
 * Events of one location (index into defs->locations) in time order. Cursors of one trace may be
 * used by different threads at the same time, each by one. A location may be read again, by a new
 * cursor; of an OTF2 archive not by two at a time.
 * eta_cursor_open: -EINVAL without such a location, -EBUSY where one of an OTF2 archive is being
 * read, -EIO and -EBADMSG where its beginning cannot be.
 * eta_cursor_read gives a batch that stays valid until the next call or the end of the cursor, not
 * to be written to: its length, 0 at the end, -EBADMSG or -EIO on damage, behind the events that
 * are good; then the cursor can only be closed.
 */
int eta_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
ssize_t eta_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch);
void eta_cursor_close(struct eta_cursor *cursor);

/* What a location has in all, where a part of it is read. */
struct eta_whole {
	uint64_t events;
	uint64_t first_ns, last_ns;
	uint64_t open_requests; /* block requests without an end */
	bool regions;		/* there are any */
	/* Per region of the trace: I/O records of calls lie directly in it, somewhere. */
	const bool *calls;
};

/*
 * Of CURSOR, before its first event is read: leave out what ended before FROM_NS and what begins at
 * TO_NS or later, regions and block requests, as far as the index of the archive tells. What is
 * given begins and ends outside of all regions; the counts are those of all. False: there is no
 * such index, and all is given.
 */
bool eta_cursor_part(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
		     struct eta_whole *whole);

/* ---- whole traces ---- */

/*
 * The N >= 1 traces at PATHS, opened with OPTIONS (may be NULL) and merged, so a single one is
 * checked, too: afterwards every ENTER has its LEAVE. Errors of eta_open and eta_merge.
 */
int eta_open_merged(char *const *paths, size_t n, const struct eta_options *options,
		    struct eta_trace **out);

/* An event of LOCATION (index into defs->locations); other than 0 ends the reading. */
typedef int (*eta_event_fn)(void *arg, uint32_t location, const struct eta_event *event);

/*
 * FN for every event, location by location, each in time order; what FN returned if not 0, else the
 * errors of cursors. The event is FN's while it runs.
 */
int eta_trace_read(struct eta_trace *trace, eta_event_fn fn, void *arg);

/* Time of the first event of all, 0 without one. Counts nothing. Errors of cursors. */
int eta_trace_start(struct eta_trace *trace, uint64_t *start_ns);

/* ---- merge ---- */

/*
 * One trace out of N >= 1: definitions united (regions by name, files by dev and inode, threads by
 * host, pid, tid and overlapping lifetime), events of a thread merged by time. At equal times the
 * outer ENTER comes first and the inner LEAVE first. The result is checked: every ENTER has its
 * LEAVE, an orphan LEAVE is dropped and counted, an open ENTER is closed at the location's last
 * event with ETA_EVENT_TRUNCATED. Merging a single trace only checks it. The inputs belong to the
 * result, and are closed with it or on failure; until then they may be asked (eta_trace_defs,
 * eta_trace_counts), but neither closed nor read. -EINVAL without an input, or where one is there
 * twice; errors of cursors, since threads and clocks may be found by reading.
 */
int eta_merge(struct eta_trace **inputs, size_t n, struct eta_trace **out);

/* Who a location without a thread id is. */
struct eta_thread_name {
	const char *location; /* its name */
	uint32_t pid, tid;
};

struct eta_merge_options {
	/*
	 * From the clock of each input to the result's; NULL, all or one: as the inputs say
	 * (SCI::CLOCK, SCI::REALTIME_OFFSET), else found from the calls that a thread made on both
	 * sides.
	 */
	const struct eta_clock_map *const *clocks;
	/* For locations without a tid; others are found from their calls if one thread fits. */
	const struct eta_thread_name *threads;
	size_t n_threads;
	/* Of each input that is a guest: its QEMU's pid on the host; 0, NULL: found by requests. */
	const uint32_t *guests;
};

/*
 * eta_merge where the user knows more than the inputs say. OPTIONS may be NULL. -ENOENT where they
 * name a location that no input has.
 */
int eta_merge_with(struct eta_trace **inputs, size_t n, const struct eta_merge_options *options,
		   struct eta_trace **out);

/* ---- write ---- */

/* What becomes of events: each is read, and written; or they stay in the files of the archives. */
enum eta_links {
	ETA_NO_LINKS,
	ETA_LINKS,  /* to those files, which lie below the folder of the new archive */
	ETA_COPIES, /* of those files */
};

struct eta_write_options {
	unsigned threads; /* 0: as many as CPUs */
	/*
	 * May be NULL. Called now and then, by one thread at a time; other than 0: writing ends
	 * with -ECANCELED, and nothing of it is left.
	 */
	int (*progress)(void *arg, uint64_t events_done);
	void *arg;
	unsigned mode; /* of its files; its folder has x where there is r. 0: 0600 */
	const int *
		folder; /* descriptor of the folder that ANCHOR's last part is in; NULL: ANCHOR's */
	/*
	 * Other than ETA_NO_LINKS: of a TRACE that was merged of archives which eta_write_otf2
	 * wrote, and of which no two have events of one thread; else -EINVAL.
	 */
	enum eta_links links;
	/*
	 * After so many operations of a thread, equal ones that follow each other are one region
	 * of the archive, and their times in a file beside it (doc/archive.md). Read back they are
	 * what they were; programs other than ours see the one. 0: each is by itself.
	 */
	unsigned runs;
};

/*
 * Writes TRACE as the OTF2 archive ANCHOR ("dir/unified.otf2"), in the layout of doc/archive.md. It
 * appears under its name only when complete; an existing archive of ours is replaced. TRACE should
 * be a merged one: what it has of unbalanced regions is written as it is. OPTIONS may be NULL.
 * COUNTS (may be NULL): those of TRACE, now that it is read, and what was put in order.
 * -EINVAL: ANCHOR does not end in ".otf2", or locations are not in ascending order; -EEXIST:
 * something else has the name; -ENOSPC, -EDQUOT: no room; -EIO, -EACCES, ...: cannot be written;
 * -ECANCELED: by `progress`, the only failure that is not reported; errors of cursors.
 */
int eta_write_otf2(struct eta_trace *trace, const char *anchor,
		   const struct eta_write_options *options, struct eta_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
