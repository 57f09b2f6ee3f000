/* Writing one spool file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "own-call.h"
#include "own-map.h"
#include "spool-budget.h"
#include "spool-held.h"
#include "spool-last.h"
#include "spool-reach.h"

#define PAGE_BYTES ((size_t)4096)
#define ZERO_PAGES 64  /* written in one call */
#define RETRY_CALLS 64 /* lost before the next try where something was short */
#define CUT_WITHIN_NS 100000000

/*
 * System calls directly: this code runs inside the functions that the user tracer intercepts.
 */

/* Not for nothing, where a program has locked itself in: empty files, descriptors left open. */
static bool may_use(bool is_new)
{
	return own_call_may(OWN_CLOSE) && own_call_may(OWN_PWRITE) &&
	       (!is_new || (own_call_may(OWN_PWRITEV) && own_call_may(OWN_MMAP)));
}

/* Is ERROR about the way to a file, and not about what it would take? */
static bool is_out_of_reach(int error)
{
	return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR ||
	       error == ELOOP || error == EROFS || error == ESTALE;
}

/* The folder that new files belong to, where it is known. */
static struct {
	bool known;
	dev_t dev;
	ino_t inode;
} expected;

void spool_expect_folder(dev_t dev, ino_t inode)
{
	expected.known = true;
	expected.dev = dev;
	expected.inode = inode;
}

/* FD, if it is this file or folder; else -errno (-ESTALE: it is another), and FD is closed. */
static int only_if(int fd, dev_t dev, ino_t inode)
{
	struct stat st;
	long rc;

	if (fd < 0)
		return fd;
	rc = own_call(STAT, fd, "", &st, AT_EMPTY_PATH);
	if (rc == 0 && st.st_dev == dev && st.st_ino == inode)
		return fd;
	own_call(CLOSE, fd);
	return rc < 0 ? (int)rc : -ESTALE;
}

/*
 * The folder that PATH, which is changed meanwhile, lies in: opened if it is the one that is
 * expected, AT_FDCWD where none is; -errno. NAME: what PATH is called in it.
 */
static int open_folder(char *path, const char **name)
{
	char *slash = strrchr(path, '/');
	int folder;

	*name = path;
	if (!expected.known || !slash)
		return AT_FDCWD;
	*slash = '\0';
	folder = (int)own_call(OPEN_FOLDER, AT_FDCWD, path, OWN_FOLDER_FLAGS, 0);
	*slash = '/';
	*name = slash + 1;
	return only_if(folder, expected.dev, expected.inode);
}

static bool is_folder(int folder)
{
	return folder >= 0 || folder == AT_FDCWD;
}

static void close_folder(int folder)
{
	if (folder >= 0)
		own_call(CLOSE, folder);
}

/* Makes the file at PATH in the folder that is expected. */
static int open_below(char *path)
{
	const char *name;
	int folder = open_folder(path, &name), fd;

	if (!is_folder(folder))
		return folder;
	fd = (int)own_call(OPEN_NEW, folder, name, OWN_OPEN_FLAGS | O_CREAT | O_EXCL, 0600);
	close_folder(folder);
	return fd;
}

/*
 * Removes a file that could not be used from the folder it was made in, whatever is at its path
 * now.
 */
static void remove_new(char *path)
{
	const char *name;
	int folder = open_folder(path, &name);

	if (is_folder(folder))
		own_call(UNLINK, folder, name, 0);
	close_folder(folder);
}

static int open_new(char *path)
{
	int fd, reached;

	if (!may_use(true))
		return -EPERM;
	fd = open_below(path);
	reached = is_out_of_reach(-fd) ? spool_reach(path, true) : -1;
	return reached >= 0 ? reached : fd;
}

void spool_budget_open(char *path)
{
	static struct spool_budget nothing;
	const char *name;
	void *mapped;
	int folder, fd;

	if (spool_budget)
		return; /* of the process that forked this one */
	spool_budget = &nothing;
	folder = open_folder(path, &name);
	fd = is_folder(folder) ? (int)own_call(OPEN_BELOW, folder, name, OWN_OPEN_FLAGS) : folder;
	close_folder(folder);
	if (is_out_of_reach(-fd))
		fd = spool_reach(path, false);
	if (fd < 0)
		return;
	if (own_map(&mapped, SPOOL_BUDGET_BYTES, MAP_SHARED, fd, 0) == 0)
		spool_budget = mapped;
	own_call(CLOSE, fd);
}

int spool_reopen(const struct spool *spool)
{
	int fd, reached;

	if (!may_use(false))
		return -EPERM;
	fd = only_if((int)own_call(OPEN_AGAIN, AT_FDCWD, spool->path, OWN_OPEN_FLAGS), spool->dev,
		     spool->inode);
	reached = is_out_of_reach(-fd)
			  ? only_if(spool_reach(spool->path, false), spool->dev, spool->inode)
			  : -1;
	return reached >= 0 ? reached : fd;
}

static void refund(const struct spool *spool, uint64_t bytes)
{
	if (spool->budgeted)
		spool_budget_give(bytes);
}

/* Cuts the file, which has HAS bytes behind its header, to BYTES. */
static void cut(const struct spool *spool, size_t has, size_t bytes)
{
	int fd = spool_reopen(spool);

	if (fd < 0)
		return;
	if (own_call(TRUNCATE, fd, ETA_SPOOL_HEADER_BYTES + bytes) == 0)
		refund(spool, has - bytes);
	own_call(CLOSE, fd);
}

/* May the file become larger by BYTES? 0 or -errno. */
static int charge(const struct spool *spool, uint64_t bytes)
{
	if (!spool->budgeted)
		return 0;
	if (!spool->keeps_last)
		return spool_budget_take(bytes) ? 0 : -SPOOL_BUDGET_ERROR;
	/* without its first window it would be of no use */
	spool_budget_force(bytes);
	return 0;
}

/* What PATH holds, as a text of at most ROOM - 1 bytes; "" where it cannot be read. */
static void read_text(const char *path, char *text, size_t room)
{
	long fd = own_call(OPEN_READ, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : own_call(READ, fd, text, room - 1);

	if (fd >= 0)
		own_call(CLOSE, fd);
	text[n > 0 ? n : 0] = '\0';
}

static uint64_t digits(const char *text)
{
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return number;
}

/* From the ticks since boot that are field 22 of /proc/PID/stat; 0: not there. */
static uint64_t process_start(void)
{
	enum { STARTTIME = 22, TICK_NS = 10000000 };
	struct timespec boot, mono;
	char text[512], *at; /* more than the fields up to that one */
	uint64_t start_ns;

	read_text("/proc/self/stat", text, sizeof(text));
	at = strrchr(text, ')'); /* ends field 2, a name that may hold anything */
	for (int field = 2; at && field < STARTTIME; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	own_clock(CLOCK_BOOTTIME, &boot);
	own_clock(CLOCK_MONOTONIC, &mono);
	start_ns = digits(at + 1) * TICK_NS + (uint64_t)mono.tv_sec * 1000000000 +
		   (uint64_t)mono.tv_nsec;
	return start_ns - (uint64_t)boot.tv_sec * 1000000000 - (uint64_t)boot.tv_nsec;
}

void spool_header_origin(struct eta_spool_header *header)
{
	char link[64];
	long n = own_call(READLINK, AT_FDCWD, "/proc/self/ns/pid", link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	/* "pid:[4026531836]" */
	header->pid_ns = n > 5 ? (uint32_t)digits(link + 5) : 0;
	header->process_ns = process_start();
	read_text("/proc/sys/kernel/random/boot_id", header->boot, sizeof(header->boot));
	header->boot[strcspn(header->boot, "\n")] = '\0';
}

static uint64_t page_down(uint64_t offset)
{
	return offset & ~(uint64_t)(PAGE_BYTES - 1);
}

/*
 * May a file of this process become BYTES long? Beyond RLIMIT_FSIZE the kernel would not only
 * refuse, but kill the program by SIGXFSZ.
 */
static int may_reach(uint64_t bytes)
{
	static _Atomic uint64_t limit = UINT64_MAX; /* where it cannot be asked for any more */
	struct {
		uint64_t now, most;
	} got;

	if (own_call(FILE_LIMIT, 0, RLIMIT_FSIZE, NULL, &got) == 0)
		limit = got.now;
	return bytes > limit ? -EFBIG : 0;
}

/* Writes zeros to [FROM, TO), both on pages. */
static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[PAGE_BYTES];
	static const struct iovec pages[ZERO_PAGES] = { [0 ... ZERO_PAGES - 1] = { (void *)zeros,
										   PAGE_BYTES } };
	int rc = may_reach(to);

	if (rc)
		return rc;
	while (from < to) {
		size_t n = (size_t)((to - from) / PAGE_BYTES);
		long done = own_call(PWRITEV, fd, pages, n < ZERO_PAGES ? n : ZERO_PAGES, from, 0);

		if (done <= 0)
			return done < 0 ? (int)done : -ENOSPC;
		/* of a page that was written in part, the rest comes again */
		from += page_down((uint64_t)done);
		if (page_down((uint64_t)done) == 0)
			return -ENOSPC;
	}
	return 0;
}

/*
 * Makes the window BYTES large: fills what is new of it with zeros and maps all of it.
 *
 * Filled first: a store into a hole of a full disk would be a SIGBUS in the traced program. And by
 * writing: that brings pages into the cache many at a time, and one madvise maps them all.
 */
static int map_window(struct spool *spool, int fd, size_t bytes)
{
	/* a new file gets its header in the same piece */
	uint64_t from = spool->base ? ETA_SPOOL_HEADER_BYTES + spool->mapped : 0;
	const uint64_t more = ETA_SPOOL_HEADER_BYTES + bytes - from;
	int rc = charge(spool, more);
	unsigned char *at;
	void *mapped;

	if (rc)
		return rc;
	spool->reserved_ns = spool_now_ns();
	rc = write_zeros(fd, from, from + more);
	if (rc == 0)
		rc = own_map(&mapped, bytes, MAP_SHARED, fd, ETA_SPOOL_HEADER_BYTES);
	if (rc) {
		refund(spool, more);
		return rc;
	}
	at = mapped;
	rc = (int)own_call(POPULATE, at, bytes, OWN_POPULATE_WRITE);
	if (rc && rc != -EINVAL && rc != -EPERM) {
		/* EINVAL: before Linux 5.14, then each page faults */
		own_unmap(at, bytes);
		refund(spool, more);
		return rc;
	}
	own_unmap(spool->base, spool->mapped);
	spool->next = at + (spool->next - spool->base);
	spool->base = at;
	spool->shift = spool->base_offset - (uint64_t)(uintptr_t)at;
	spool->mapped = bytes;
	spool->end = at + bytes - spool->tail_bytes;
	return 0;
}

/*
 * What others need to make sense of their own records, and names, are not counted; a file that
 * keeps its last records needs no more than that.
 */
static void take_budget(struct spool *spool, const struct eta_spool_header *header)
{
	const bool last = spool_budget && spool_budget->keeps_last;
	const bool names = header->kind == ETA_SPOOL_META ||
			   header->flags & ETA_SPOOL_DEFINITIONS ||
			   (header->kind == ETA_SPOOL_PROCESS && last);

	spool->budgeted = spool_budget && !names;
	spool->keeps_last = spool->budgeted && last;
	spool->tail_bytes = ETA_UNIT_BYTES + (spool->keeps_last ? SPOOL_LAST_BYTES : 0);
}

int spool_create(struct spool *spool, const char *path, const struct eta_spool_header *header,
		 size_t first, size_t max)
{
	struct stat st = { 0 };
	void *mapped;
	int rc, fd;

	memset(spool, 0, offsetof(struct spool, path));
	if (strlen(path) >= sizeof(spool->path))
		return -ENAMETOOLONG;
	strcpy(spool->path, path);
	spool->window_bytes = max;
	spool->base_offset = ETA_SPOOL_HEADER_BYTES;
	take_budget(spool, header);
	fd = open_new(spool->path);
	if (fd < 0)
		return fd;
	rc = (int)own_call(STAT, fd, "", &st, AT_EMPTY_PATH);
	spool->dev = st.st_dev;
	spool->inode = st.st_ino;
	if (rc == 0)
		rc = map_window(spool, fd, first);
	if (rc == 0)
		rc = own_map(&mapped, ETA_SPOOL_HEADER_BYTES, MAP_SHARED, fd, 0);
	own_call(CLOSE, fd);
	if (rc) {
		refund(spool, spool->base ? ETA_SPOOL_HEADER_BYTES + first : 0);
		spool_abandon(spool);
		remove_new(spool->path);
		return rc;
	}
	spool->header = mapped;
	*spool->header = *header;
	memcpy(spool->header->magic, ETA_SPOOL_MAGIC, sizeof(spool->header->magic));
	spool->header->version = spool->keeps_last ? ETA_SPOOL_VERSION_LAST : ETA_SPOOL_VERSION;
	spool->header->window_bytes = max;
	spool->header->window_at = spool->base_offset;
	return 0;
}

/* Writes the BYTES of the window to where they are to be from now on. */
static int store_window(const struct spool *spool, int fd, size_t bytes)
{
	const uint64_t place = spool_place(spool, spool->base_offset);
	int rc = may_reach(place + bytes);
	size_t done = 0;

	if (rc)
		return rc;
	while (done < bytes) {
		long n = own_call(PWRITE, fd, spool->base + done, bytes - done, place + done);

		if (n <= 0)
			return n < 0 ? (int)n : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/*
 * Appends the window to the file, and begins it anew. Each step leaves a file that reads right: the
 * process may be killed between any two.
 */
static int append_window(struct spool *spool, int fd)
{
	const size_t bytes =
		spool->keeps_last ? spool->window_bytes : (size_t)(spool->next - spool->base);
	int rc = spool->keeps_last ? 0 : charge(spool, bytes);

	if (rc)
		return rc;
	if (spool->keeps_last)
		spool_last_turn(spool, fd);
	rc = store_window(spool, fd, bytes);
	if (rc) {
		if (!spool->keeps_last)
			refund(spool, bytes);
		return rc;
	}
	spool->base_offset += bytes;
	spool->shift += bytes;
	__atomic_store_n(&spool->header->stored, spool->base_offset, __ATOMIC_RELEASE);
	spool_set_end(spool->base);
	__atomic_store_n(&spool->header->window_at, spool->base_offset, __ATOMIC_RELEASE);
	spool->next = spool->base;
	if (spool->turned)
		spool->turned(spool);
	return 0;
}

/* The program has no descriptor left, no memory: perhaps it will have some later. */
static bool is_passing(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN ||
	       error == -EINTR;
}

void *spool_grow(struct spool *spool, size_t bytes)
{
	uint64_t begin_ns;
	int fd, rc = 0;

	if (!spool->header)
		return NULL;
	if (spool->error || bytes > spool->window_bytes - spool->tail_bytes)
		goto lost;
	if (spool->rest) {
		spool->rest--;
		goto lost;
	}
	begin_ns = spool_now_ns();
	fd = spool_reopen(spool);
	if (fd >= 0) {
		if (spool->mapped < spool->window_bytes)
			rc = map_window(spool, fd, spool->window_bytes);
		if (rc == 0 && (size_t)(spool->end - spool->next) < bytes)
			rc = append_window(spool, fd);
		own_call(CLOSE, fd);
		spool_note_held(begin_ns);
		if (rc == 0)
			return spool_take(spool, bytes);
	} else {
		rc = fd;
	}
	if (is_passing(rc))
		spool->rest = RETRY_CALLS;
	else
		spool->error = -rc;
lost:
	if (spool->error == SPOOL_BUDGET_ERROR)
		spool_budget_refused(1);
	__atomic_fetch_add(&spool->header->lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

void spool_widen(struct spool *spool)
{
	int fd;

	if (!spool->header || spool->error)
		return;
	fd = spool_reopen(spool);
	if (fd < 0)
		return;
	if ((spool->mapped == spool->window_bytes ||
	     map_window(spool, fd, spool->window_bytes) == 0) &&
	    (size_t)(spool->next - spool->base) > spool->window_bytes / 2)
		append_window(spool, fd);
	own_call(CLOSE, fd);
}

void spool_put_text(struct spool *spool, enum eta_record_type type, uint32_t id, uint8_t flags,
		    uint64_t time_ns, const char *text, size_t n)
{
	const size_t bytes = spool_record_bytes(sizeof(struct eta_name_record) + n);
	struct eta_name_record *record = spool_reserve(spool, bytes);

	_Static_assert(offsetof(struct eta_name_record, text) ==
			       offsetof(struct eta_property_record, text),
		       "the same layout");
	if (!record)
		return;
	record->head.time_ns = time_ns;
	record->head.units = (uint16_t)(bytes / ETA_UNIT_BYTES);
	record->head.id = id;
	record->head.flags = flags;
	record->text_bytes = (uint32_t)n;
	memcpy(record->text, text, n);
	__atomic_store_n(&record->head.type, type, __ATOMIC_RELEASE);
}

/*
 * Is what the file has reserved to be given back? Not in a traced program where it may have begun
 * to be written to the disk: the program would wait for that, on a busy disk for half a second. But
 * where files have a budget it is. Readers know where records end. The window of a file that has
 * more behind it stays as it is.
 */
static bool worth_cutting(const struct spool *spool)
{
	if (!spool->header || spool->header->stored)
		return false;
	return spool->budgeted ||
	       (spool->header->kind != ETA_SPOOL_USER &&
		spool->header->kind != ETA_SPOOL_PROCESS) ||
	       spool_now_ns() - spool->reserved_ns < CUT_WITHIN_NS;
}

void spool_trim(struct spool *spool)
{
	size_t used = (size_t)(spool->next - spool->base);
	size_t keep = (used / PAGE_BYTES + 2) * PAGE_BYTES;

	if (!worth_cutting(spool) || keep >= spool->mapped)
		return;
	own_unmap(spool->base + keep, spool->mapped - keep);
	cut(spool, spool->mapped, keep);
	spool->mapped = keep;
	spool->end = spool->base + keep - spool->tail_bytes;
}

void spool_abandon(struct spool *spool)
{
	own_unmap(spool->base, spool->mapped);
	own_unmap(spool->header, ETA_SPOOL_HEADER_BYTES);
	spool->base = spool->next = spool->end = NULL;
	spool->mapped = 0;
	spool->header = NULL;
}

void spool_close(struct spool *spool)
{
	if (worth_cutting(spool))
		cut(spool, spool->mapped, (size_t)(spool->next - spool->base));
	spool_abandon(spool);
}
