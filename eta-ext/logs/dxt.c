/* Source: what darshan-dxt-parser prints, the transfers of MPI programs by rank and file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log-defs.h"
#include "log-events.h"
#include "log-text.h"

/*
 * Comments say which file and which host the lines below belong to, and their columns:
 *   # DXT, file_id: 1234, file_name: /path
 *   # DXT, rank: 0, hostname: node1
 *   # Module    Rank  Wt/Rd  Segment  Offset  Length  Start(s)  End(s)  [OST]  Pthread-ID
 *    X_POSIX   0  write   0   OFFSET  LENGTH  START  END  [OST...]  THREAD
 * X_MPIIO has no offset before Darshan 3.2, only Lustre has OSTs, THREAD comes after 3.4.7. Times
 * are seconds since the job's start, to 0.1 ms. The files follow each other, each with its writes
 * and then its reads.
 */
struct dxt {
	char program[256];
	char host[256];
	uint32_t handle;
	bool has_offset, has_thread; /* columns */
	bool has_module;	     /* any data of DXT */
};

/* X(module, read's region, write's region) */
#define MODULES(X)                                                                                 \
	X(X_POSIX, "read", "write")                                                                \
	X(X_MPIIO, "MPI_File_read", "MPI_File_write")

static const char *region_of(const char *module, bool write)
{
#define X(name, reads, writes)                                                                     \
	if (strcmp(module, #name) == 0)                                                            \
		return write ? writes : reads;
	MODULES(X)
#undef X
	return NULL;
}

static bool dxt_line(char *line)
{
	return strncmp(line, "# DXT, file_id:", 15) == 0 ||
	       strncmp(line, "# darshan log version:", 22) == 0 ||
	       strncmp(line, "# DXT_POSIX module data", 23) == 0;
}

static bool dxt_probe(const char *path, bool directory, const unsigned char *head,
		      size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 4, dxt_line);
}

/* What stands behind KEY in LINE up to the next comma or the end, in TO; false: nothing. */
static bool value(const char *line, const char *key, bool to_end, char *to, size_t room)
{
	const char *at = strstr(line, key);
	size_t n;

	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, " ");
	n = to_end ? strlen(at) : strcspn(at, ",");
	snprintf(to, room, "%.*s", (int)(n < room ? n : room - 1), at);
	return true;
}

static int comment(struct log *log, struct dxt *d, char *line)
{
	const char *slash;
	char text[4096];
	uint32_t file;

	if (value(line, "# exe:", true, text, sizeof(text))) {
		text[strcspn(text, " ")] = '\0';
		slash = strrchr(text, '/');
		snprintf(d->program, sizeof(d->program), "%.255s", slash ? slash + 1 : text);
	} else if (strncmp(line, "# Module", 8) == 0) {
		d->has_offset = strstr(line, "Offset");
		d->has_thread = strstr(line, "Pthread-ID");
	} else if (strncmp(line, "# DXT_", 6) == 0) { /* "# DXT_POSIX module data" */
		d->has_module = true;
	} else if (strncmp(line, "# *WARNING*", 11) == 0) {
		/* how many Darshan does not know either; --strict must not be content */
		log->trace->counts.lost++;
		eta_note("%s:%llu: Darshan's memory did not hold all transfers, an unknown number "
			 "is lost (raise MODMEM for them)",
			 log->trace->path, (unsigned long long)log->line);
	} else if (strncmp(line, "# DXT", 5) == 0 &&
		   value(line, "file_name:", true, text, sizeof(text))) {
		d->handle = ETA_NONE;
		if (strcmp(text, "(null)") == 0) /* Darshan lost its name */
			return log_pass(log);
		file = log_file(log, text, 0);
		d->handle = file == ETA_NONE ? ETA_NONE : log_handle(log, file, 0);
		if (d->handle == ETA_NONE)
			return -ENOMEM;
	} else if (strncmp(line, "# DXT", 5) == 0) {
		value(line, "hostname:", false, d->host, sizeof(d->host));
	}
	return log_pass(log);
}

/*
 * A location for each rank, module and thread, since the calls of one module lie in those of
 * another. THREAD: as Darshan has it, NULL: not.
 */
static uint32_t location_of(struct log *log, const struct dxt *d, uint32_t rank, const char *module,
			    const char *thread)
{
	char key[96], process[320], name[128];
	size_t n = (size_t)snprintf(key, sizeof(key), "%u%s %.40s", rank, module,
				    thread ? thread : "");
	uint32_t location = log_known(log, 'x', key, n);

	if (location != ETA_NONE)
		return location;
	snprintf(process, sizeof(process), "%s rank %u", *d->program ? d->program : "program",
		 rank);
	snprintf(name, sizeof(name), "rank %u %s%s%.40s", rank, module + 2,
		 thread ? " pthread " : "", thread ? thread : "");
	location = log_named_thread(log, process, d->host, name);
	return location != ETA_NONE && log_remember(log, 'x', key, n, location) ? location
										: ETA_NONE;
}

/* The last field of LINE, which is cut off there; NULL: it is no number ("N/A" of older logs). */
static const char *take_thread(char *line)
{
	char *last = strrchr(log_trim(line), ' ');
	uint64_t number;

	if (!last || !log_u64(last + 1, &number))
		return NULL;
	*last = '\0';
	return last + 1;
}

static int parse(struct log *log, void *state, char *line)
{
	enum { MODULE, RANK, OP, SEGMENT, OFFSET, LENGTH, START, END, FIELDS };
	struct log_call call = { .has = ETA_HAS_SIZE | ETA_HAS_RET };
	struct dxt *d = state;
	char *f[FIELDS + 1], none[] = "N/A";
	const char *region, *thread;
	uint32_t rank, location;
	int64_t length;
	size_t n;
	bool write;

	if (*line == '#')
		return comment(log, d, line);
	thread = d->has_thread ? take_thread(line) : NULL;
	n = log_split(line, ' ', f, FIELDS + 1);
	if (!d->has_offset && n >= OFFSET && n < FIELDS + 1) {
		memmove(&f[LENGTH], &f[OFFSET], (n - OFFSET) * sizeof(*f));
		f[OFFSET] = none;
		n++;
	}
	write = n > OP && strcmp(f[OP], "write") == 0;
	region = n > OP ? region_of(f[MODULE], write) : NULL;
	if (n > 0 && !region && strncmp(f[MODULE], "X_", 2) != 0)
		return log_bad(log,
			       "\"%.40s\" is no module of DXT (darshan-parser's text is not "
			       "read, darshan-dxt-parser's is)",
			       f[MODULE]);
	if (n < FIELDS)
		return log_bad(log, "fewer than %d fields", FIELDS - !d->has_offset);
	if (!region)
		return log_bad(log, "\"%.40s\" is no module of DXT", f[MODULE]);
	if (!write && strcmp(f[OP], "read") != 0)
		return log_bad(log, "\"%.40s\" is neither read nor write", f[OP]);
	if (!log_u32(f[RANK], &rank))
		return log_bad(log, "\"%.40s\" is no rank", f[RANK]);
	if (!log_i64(f[LENGTH], &length))
		return log_bad(log, "\"%.40s\" is no length", f[LENGTH]);
	if (strcmp(f[OFFSET], "N/A") == 0)
		call.offset = -1;
	else if (!log_i64(f[OFFSET], &call.offset))
		return log_bad(log, "\"%.40s\" is no offset", f[OFFSET]);
	if (length < 0) { /* DXT_MPIIO counts in an int: 2 GiB and more have no length */
		call.has = 0;
		length = 0;
	}
	if (!log_time(f[START], &call.begin_ns) || !log_time(f[END], &call.call.end_ns))
		return log_bad(log, "no times of start and end");
	if (call.call.end_ns < call.begin_ns)
		return log_bad(log, "ends before it begins");
	/* -1 where the module does not have it */
	if (call.offset >= 0)
		call.has |= ETA_HAS_OFFSET;
	location = location_of(log, d, rank, f[MODULE], thread);
	call.call.region = log_region_at(log, region, ETA_LEVEL_USER);
	if (location == ETA_NONE || call.call.region == ETA_NONE)
		return -ENOMEM;
	call.call.kind = write ? ETA_OP_WRITE : ETA_OP_READ;
	call.call.handle = d->handle;
	/* failed transfers are not in the log */
	call.size = (uint64_t)length;
	call.call.ret = length;
	return log_call(log, location, &call);
}

static int dxt_open(struct eta_trace *trace)
{
	struct dxt d = { .handle = ETA_NONE, .has_offset = true };
	int rc = log_read_lines(trace, parse, &d, "relative");

	if (rc == 0 && !d.has_module)
		eta_note("%s: no data of DXT in it (run the program with DXT_ENABLE_IO_TRACE=1)",
			 trace->path);
	return rc;
}

/*
 * Without threads, the calls of several share a location. Calls of one module are never inside each
 * other, so one that begins inside of another is another thread's: it cannot be an operation of its
 * own there, and is counted as overlapping.
 */
struct dxt_filter {
	struct log_filter filter;
	uint64_t open;
};

static int dxt_filter_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	return log_filter_open(trace, location, sizeof(struct dxt_filter), out);
}

static ssize_t dxt_filter_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct dxt_filter *c = (struct dxt_filter *)cursor;
	ssize_t n = log_cursor_read(c->filter.inner, batch);

	for (ssize_t i = 0; i < n; i++) {
		if ((*batch)[i].kind == ETA_ENTER)
			cursor->counts.overlapping += c->open++ > 0;
		else if ((*batch)[i].kind == ETA_LEAVE)
			c->open--;
	}
	return n;
}

LOG_SOURCE_FILTERED(dxt, "text of darshan-dxt-parser", dxt_filter);
