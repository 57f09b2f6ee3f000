/* The descriptor table. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core.h"
#include "eta-ext/base/fnv.h"
#include "eta-ext/format/own-call.h"
#include "eta-ext/format/own-map.h"
#include "grown.h"
#include "paths.h"

#define N_FS_CACHE 64

_Atomic(struct file *) files_first[FILES_FIRST];
static struct grown files_others = { sizeof(struct file *), FILES_FIRST, { NULL } };
_Atomic uint32_t files_epoch = 1;

static _Atomic int files_top = -1; /* highest descriptor ever entered */

_Atomic uint32_t files_folders[FILES_FIRST];
#define FOLDER_LEFT_OUT ((struct file *)2) /* until it is entered as FILE_LEFT_OUT */

/*
 * A pool of struct file without a lock: free entries are a stack of indices. Its head carries a tag
 * that changes with each operation, so that a stale head is never taken for a fresh one.
 */
static struct {
	struct grown files;
	_Atomic uint32_t used;	    /* entries used at least once */
	_Atomic uint64_t free_head; /* tag << 32 | index + 1; 0 in the low half: none */
	_Atomic uint32_t next_id;
} pool = { .files = { sizeof(struct file), 32, { NULL } }, .next_id = 1 };

/* dev << 32 | f_type, for statfs once per file system. */
static _Atomic uint64_t fs_cache[N_FS_CACHE];

/* FD's place in the table; NULL: there is none and, with MAKE, none can be made. */
static _Atomic(struct file *) *slot_of(int fd, bool make)
{
	if ((unsigned)fd < FILES_FIRST)
		return &files_first[fd];
	if ((unsigned)fd >= FILES_MAX_FD)
		return NULL;
	return make ? grown_make(&files_others, (uint32_t)fd - FILES_FIRST)
		    : grown_at(&files_others, (uint32_t)fd - FILES_FIRST);
}

struct file *files_slot_beyond(int fd)
{
	_Atomic(struct file *) *slot = slot_of(fd, false);

	if ((unsigned)fd >= FILES_MAX_FD)
		return FILE_LEFT_OUT;
	return slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
}

static struct file *file_new(void)
{
	uint64_t head = atomic_load(&pool.free_head);
	struct file *file;
	uint32_t index;

	while ((uint32_t)head) {
		uint64_t next;

		index = (uint32_t)head - 1;
		file = grown_at(&pool.files, index);
		/* analyzer: what was in use has its piece of the table */
		next = ((head >> 32) + 1) << 32 | file->next_free;
		if (atomic_compare_exchange_weak(&pool.free_head, &head, next))
			goto found;
	}
	index = atomic_fetch_add(&pool.used, 1);
	if (index >= FILES_MAX_FD)
		return NULL;
	file = grown_make(&pool.files, index);
	if (!file)
		return NULL;
	file->index = index;
found:
	file->owner = file;
	file->references = 1;
	/* analyzer: as above */
	file->id = atomic_fetch_add(&pool.next_id, 1);
	file->dev = 0;
	file->inode = 0;
	file->sink_handle = file->sink_parent = UINT32_MAX;
	file->stream_read = file->stream_write = (const void *)-1;
	atomic_store(&file->epoch, atomic_load(&files_epoch) - 1);
	return file;
}

void files_put(struct file *file)
{
	uint64_t head, next;
	struct file *owner;

	if ((uintptr_t)file <= (uintptr_t)FILE_LEFT_OUT ||
	    atomic_fetch_sub(&file->references, 1) != 1)
		return;
	owner = file->owner;
	head = atomic_load(&pool.free_head);
	do {
		file->next_free = (uint32_t)head;
		next = ((head >> 32) + 1) << 32 | (file->index + 1);
	} while (!atomic_compare_exchange_weak(&pool.free_head, &head, next));
	if (owner != file)
		files_put(owner);
}

/* Unix98 pseudo terminals have 136 to 143, the others 4 and 5 */
static bool is_terminal(dev_t rdev)
{
	return (major(rdev) >= 136 && major(rdev) <= 143) || major(rdev) == 4 || major(rdev) == 5;
}

static enum eta_file_kind kind_of(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return ETA_FILE_REGULAR;
	case S_IFBLK:
		return ETA_FILE_BLOCK_DEVICE;
	case S_IFCHR:
		return is_terminal(st->st_rdev) ? ETA_FILE_TERMINAL : ETA_FILE_CHARACTER_DEVICE;
	case S_IFDIR:
		return ETA_FILE_DIRECTORY;
	case S_IFIFO:
		return ETA_FILE_PIPE;
	case S_IFSOCK:
		return ETA_FILE_SOCKET;
	default:
		return ETA_FILE_UNKNOWN;
	}
}

static uint32_t fs_magic_of(int fd, uint32_t dev)
{
	_Atomic uint64_t *slot = &fs_cache[(dev ^ dev >> 20) % N_FS_CACHE];
	uint64_t known = atomic_load(slot);
	struct statfs fs;

	if (known >> 32 == dev && known)
		return (uint32_t)known;
	if (own_call(STATFS, fd, &fs) != 0)
		return 0;
	atomic_store(slot, (uint64_t)dev << 32 | (uint32_t)fs.f_type);
	return (uint32_t)fs.f_type;
}

/* What FD is; false if that cannot be known. */
static bool ask(int fd, struct stat *st)
{
#ifdef __LP64__
	return own_call(STAT, fd, "", st, AT_EMPTY_PATH) == 0;
#else
	return REAL(fstat)(fd, st) == 0;
#endif
}

/* Are files of KIND recorded? */
static bool is_wanted(enum eta_file_kind kind)
{
	return files_all || kind == ETA_FILE_REGULAR || kind == ETA_FILE_BLOCK_DEVICE ||
	       (files_metadata && kind == ETA_FILE_DIRECTORY);
}

/*
 * Asks the kernel about FD. NULL: left out; FOLDER_LEFT_OUT: so is a directory, but with FOLDERS.
 */
static struct file *file_describe(int fd, int dir, const char *path, int flags, bool inherited,
				  bool folders)
{
	struct stat st = { .st_mode = 0 };
	enum eta_file_kind kind = ETA_FILE_UNKNOWN;
	bool known = ask(fd, &st);
	char *text = self->scratch;
	struct file *file;

	/* in a confined program the path may be all that is known of a file */
	if (known)
		kind = kind_of(&st);
	else if (own_call_may(OWN_STAT) || !path)
		return NULL;
	/* known, and of no kind: an event counter, a timer, a queue of signals or of inotify */
	if (known && !is_wanted(kind) && !(folders && kind == ETA_FILE_DIRECTORY))
		return kind == ETA_FILE_DIRECTORY ? FOLDER_LEFT_OUT : NULL;
	file = file_new();
	if (!file) {
		core_sink->call_missed(self);
		return NULL;
	}
	if (flags == -1)
		flags = (int)own_call(GET_FLAGS, fd, F_GETFL);
	file->kind = (uint8_t)kind;
	file->dev = major(st.st_dev) << 20 | minor(st.st_dev);
	file->inode = st.st_ino;
	file->inherited = inherited;
	file->open_flags = flags < 0 ? 0 : (uint32_t)flags;
	atomic_store(&file->status, file->open_flags);
	atomic_store(&file->position, kind == ETA_FILE_REGULAR || kind == ETA_FILE_BLOCK_DEVICE
					      ? 0
					      : POSITION_UNKNOWN);
	core_sink->file(file, text, path_opened(fd, dir, path, flags, text, sizeof(self->scratch)),
			fs_magic_of(fd, file->dev));
	return file;
}

/* From now on FD is a directory (IS), another one than any before, or is none. */
static void note_folder(int fd, bool is)
{
	static _Atomic uint32_t last;

	if ((unsigned)fd >= FILES_FIRST)
		return;
	if (is)
		atomic_store(&files_folders[fd], atomic_fetch_add(&last, 1) + 1);
	else if (files_folder(fd)) /* few are, and others' lines stay as they are */
		atomic_store(&files_folders[fd], 0);
}

/* Stores FILE (NULL, FOLDER_LEFT_OUT: left out) in FD's slot; gives it, NULL where left out. */
static struct file *files_attach(int fd, struct file *file)
{
	_Atomic(struct file *) *slot = slot_of(fd, true);
	int top = atomic_load(&files_top);

	note_folder(fd, file == FOLDER_LEFT_OUT);
	if (file == FOLDER_LEFT_OUT)
		file = NULL;
	if (!slot) {
		files_put(file);
		return NULL;
	}
	while (fd > top && !atomic_compare_exchange_weak(&files_top, &top, fd))
		;
	files_put(atomic_exchange(slot, file ? file : FILE_LEFT_OUT));
	return file;
}

void files_leave_out(int fd)
{
	files_attach(fd, NULL);
}

struct file *files_look_up(int fd)
{
	int saved = errno;
	struct file *file = NULL;

	/* a descriptor that is not open stays unknown: the call on it will fail */
	if (own_call(GET_FD, fd, F_GETFD) >= 0)
		file = files_attach(fd, file_describe(fd, AT_FDCWD, NULL, -1, true, false));
	errno = saved;
	return file;
}

void files_add_folder(int fd)
{
	int saved = errno;
	struct stat st;

	if (ask(fd, &st) && kind_of(&st) == ETA_FILE_DIRECTORY)
		files_attach(fd, file_describe(fd, AT_FDCWD, NULL, -1, true, true));
	errno = saved;
}

struct file *files_open(int fd, int dir, const char *path, int flags)
{
	struct file *file = file_describe(fd, dir, path, flags, false, false);

	if (file && file != FOLDER_LEFT_OUT) /* a file just opened is at its beginning */
		atomic_store(&file->epoch, atomic_load(&files_epoch));
	return files_attach(fd, file);
}

void files_record_again(const struct file *file, int fd)
{
	struct file again = { .id = file->id,
			      .dev = file->dev,
			      .inode = file->inode,
			      .open_flags = file->open_flags,
			      .kind = file->kind };
	char *text = self->scratch;
	int saved = errno;

	core_sink->file(&again, text, fd < 0 ? 0 : path_of(fd, text, sizeof(self->scratch)),
			fd < 0 ? 0 : fs_magic_of(fd, file->dev));
	errno = saved;
}

static void record_path(uint32_t id, const char *path, int flags)
{
	struct file file = { .kind = ETA_FILE_UNKNOWN, .open_flags = (uint32_t)flags, .id = id };

	core_sink->file(&file, path, strnlen(path, PATH_MAX), 0);
}

uint32_t files_failed(const char *path, int flags)
{
	uint32_t id = path ? atomic_fetch_add(&pool.next_id, 1) : 0;

	if (path)
		record_path(id, path, flags);
	return id;
}

/*
 * Calls use the same paths repeatedly. A slot is hash << 24 | id: of the names that share a slot,
 * one in 2^40 is taken for another.
 */
#define NAMED_IDS 4096
typedef _Atomic uint64_t named_ids[NAMED_IDS];
static _Atomic(named_ids *) named; /* if the program gives any */

static _Atomic uint64_t *named_slot(uint64_t hash)
{
	named_ids *ids = atomic_load(&named), *none = NULL;

	if (!ids) {
		ids = own_memory(sizeof(*ids));
		if (ids && !atomic_compare_exchange_strong(&named, &none, ids)) {
			own_unmap(ids, sizeof(*ids));
			ids = none;
		}
	}
	return ids ? &(*ids)[hash % NAMED_IDS] : NULL;
}

uint32_t files_named(const char *path)
{
	_Atomic uint64_t *slot;
	uint64_t hash, known;
	uint32_t id;

	if (!path)
		return 0;
	hash = fnv_add(FNV_BEGIN, path, strnlen(path, PATH_MAX));
	slot = named_slot(hash);
	known = slot ? atomic_load(slot) : 0;
	if (known && known >> 24 == hash >> 24) {
		id = known & 0xffffff;
		if (core_sink->has_name && !core_sink->has_name(id))
			record_path(id, path, 0);
		return id;
	}
	id = files_failed(path, 0);
	if (slot && id <= 0xffffff)
		atomic_store(slot, (hash >> 24) << 24 | id);
	return id;
}

uint32_t files_at(const char *path)
{
	char *text = self->scratch;
	struct file file = { .kind = ETA_FILE_UNKNOWN, .lasting = true };
	const size_t room = sizeof(self->scratch), n = strnlen(path, room);
	struct stat st = { .st_mode = 0 };
	long folder = 0;

	if (own_call(STAT, AT_FDCWD, path, &st, AT_EMPTY_PATH) != 0)
		return 0;
	file.kind = (uint8_t)kind_of(&st);
	file.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	file.inode = st.st_ino;
	file.id = atomic_fetch_add(&pool.next_id, 1);
	if (path[0] != '/') {
		folder = own_call(GETCWD, text, room); /* with the NUL */
		if (folder > 1 && text[0] == '/')
			text[folder - 1] = '/';
		else
			folder = 0;
	}
	if ((size_t)folder + n > room)
		return 0;
	memcpy(text + folder, path, n);
	core_sink->file(&file, text, (size_t)folder + n, 0);
	return file.id;
}

void files_set_flags(int fd, int flags)
{
	const int changeable = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK;
	struct file *changed = files_slot(fd);
	uint32_t status;

	if ((uintptr_t)changed <= (uintptr_t)FILE_LEFT_OUT)
		return;
	status = atomic_load(&changed->owner->status);
	atomic_store(&changed->owner->status,
		     (status & (uint32_t)~changeable) | (uint32_t)(flags & changeable));
	if (files_flags_changed(changed))
		files_record_flags(changed, fd);
}

void files_record_flags(struct file *file, int fd)
{
	char *text = self->scratch;
	int saved = errno;

	file->open_flags = atomic_load(&file->owner->status);
	core_sink->file_flags(file, atomic_fetch_add(&pool.next_id, 1), text,
			      path_of(fd, text, sizeof(self->scratch)), fs_magic_of(fd, file->dev));
	errno = saved;
}

struct file *files_dup(int old_fd, int new_fd)
{
	struct file *old = files_slot(old_fd), *file;

	if (!old)
		old = files_look_up(old_fd);
	if (!old || old == FILE_LEFT_OUT)
		return files_attach(new_fd, NULL);
	if (old_fd == new_fd)
		return old;
	file = file_describe(new_fd, AT_FDCWD, NULL, (int)atomic_load(&old->owner->status), false,
			     old->kind == ETA_FILE_DIRECTORY);
	if (file && file != FOLDER_LEFT_OUT) {
		atomic_fetch_add(&old->owner->references, 1);
		file->owner = old->owner;
		file->sink_parent = old->sink_handle;
	}
	return files_attach(new_fd, file);
}

struct file *files_detach(int fd)
{
	_Atomic(struct file *) *slot = slot_of(fd, false);

	note_folder(fd, false);
	return slot ? atomic_exchange(slot, NULL) : NULL;
}

int64_t files_position_slow(struct file *owner, int fd)
{
	int64_t position = atomic_load(&owner->position);

	if (position != POSITION_UNKNOWN) {
		position = own_call(TELL, fd, 0, SEEK_CUR);
		if (position < 0)
			position = POSITION_UNKNOWN;
		atomic_store(&owner->position, position);
	}
	atomic_store(&owner->epoch, atomic_load(&files_epoch));
	return position;
}

int64_t files_appended(struct file *file, int fd, int64_t bytes)
{
	struct file *owner = file->owner;
	int64_t at;

	if (atomic_load(&owner->position) == POSITION_UNKNOWN)
		return ETA_OFFSET_UNKNOWN;
	at = own_call(TELL, fd, 0, SEEK_CUR);
	if (at < bytes)
		return ETA_OFFSET_UNKNOWN;
	files_moved(file, at);
	return at - bytes;
}

int files_highest(void)
{
	return atomic_load(&files_top);
}

void files_reread_positions(void)
{
	atomic_fetch_add(&files_epoch, 1);
}

void files_forget(void)
{
	int top = atomic_load(&files_top);

	for (int fd = 0; fd <= top; fd++) {
		_Atomic(struct file *) *slot = slot_of(fd, false);

		if (slot)
			atomic_store_explicit(slot, NULL, memory_order_relaxed);
		note_folder(fd, false);
	}
	atomic_store(&pool.used, 0);
	atomic_store(&pool.free_head, 0);
	atomic_store(&pool.next_id, 1);
	if (named)
		memset((void *)named, 0, sizeof(named_ids));
	files_reread_positions();
}
