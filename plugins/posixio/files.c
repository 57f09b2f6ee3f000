/* The descriptor table. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core.h"
#include "paths.h"

#define POOL_CHUNK 1024
#define POOL_CHUNKS (FILES_MAX_FD / POOL_CHUNK * 2)
#define N_FS_CACHE 64

_Atomic(struct file *) files_table[FILES_MAX_FD];
_Atomic uint32_t files_epoch = 1;
bool files_all, files_metadata;

static _Atomic int files_top = -1; /* highest descriptor ever entered */

/*
 * A pool of struct file without a lock: free ones are a stack of indices, whose head carries a tag
 * that changes with each operation, so that a stale head never passes for a fresh one.
 */
static struct {
	struct file *_Atomic chunks[POOL_CHUNKS];
	_Atomic uint32_t used;	    /* handed out for the first time so far */
	_Atomic uint64_t free_head; /* tag << 32 | index + 1; 0 in the low half: none */
	_Atomic uint32_t next_id;
} pool = { .next_id = 1 };

/* dev << 32 | f_type, for statfs once per file system. */
static _Atomic uint64_t fs_cache[N_FS_CACHE];

static struct file *pool_at(uint32_t index)
{
	struct file *chunk = atomic_load(&pool.chunks[index / POOL_CHUNK]);

	return chunk ? &chunk[index % POOL_CHUNK] : NULL;
}

/* The chunk of INDEX, made when missing. NULL: no memory. */
static struct file *pool_grow(uint32_t index)
{
	const size_t bytes = POOL_CHUNK * sizeof(struct file);
	struct file *none = NULL, *chunk;

	if (index / POOL_CHUNK >= POOL_CHUNKS)
		return NULL;
	chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&pool.chunks[index / POOL_CHUNK], &none, chunk))
		munmap(chunk, bytes);
	return pool_at(index);
}

static struct file *file_new(void)
{
	uint64_t head = atomic_load(&pool.free_head);
	struct file *file;
	uint32_t index;

	while ((uint32_t)head) {
		uint64_t next;

		index = (uint32_t)head - 1;
		file = pool_at(index);
		next = ((head >> 32) + 1) << 32 | file->next_free;
		if (atomic_compare_exchange_weak(&pool.free_head, &head, next))
			goto found;
	}
	index = atomic_fetch_add(&pool.used, 1);
	if (index >= FILES_MAX_FD)
		return NULL;
	file = pool_at(index);
	if (!file)
		file = pool_grow(index);
	if (!file)
		return NULL;
	file->index = index;
found:
	file->owner = file;
	file->references = 1;
	file->id = atomic_fetch_add(&pool.next_id, 1);
	file->dev = 0;
	file->inode = 0;
	file->sink_handle = file->sink_file = file->sink_parent = UINT32_MAX;
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
	if (syscall(SYS_fstatfs, fd, &fs) != 0)
		return 0;
	atomic_store(slot, (uint64_t)dev << 32 | (uint32_t)fs.f_type);
	return (uint32_t)fs.f_type;
}

/* Asks the kernel about FD. NULL: left out. */
static struct file *file_describe(int fd, int dir, const char *path, int flags, bool inherited)
{
	char *text = self->scratch;
	enum eta_file_kind kind;
	struct file *file;
	struct stat st;

	if (REAL(fstat)(fd, &st) != 0)
		return NULL;
	kind = kind_of(&st);
	if (!files_all && kind != ETA_FILE_REGULAR && kind != ETA_FILE_BLOCK_DEVICE &&
	    !(files_metadata && kind == ETA_FILE_DIRECTORY))
		return NULL;
	file = file_new();
	if (!file)
		return NULL;
	if (flags == -1)
		flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
	file->kind = (uint8_t)kind;
	file->dev = major(st.st_dev) << 20 | minor(st.st_dev);
	file->inode = st.st_ino;
	file->inherited = inherited;
	file->open_flags = (uint32_t)flags;
	atomic_store(&file->status, file->open_flags);
	atomic_store(&file->position, kind == ETA_FILE_REGULAR || kind == ETA_FILE_BLOCK_DEVICE
					      ? 0
					      : POSITION_UNKNOWN);
	sink_file(file, text, path_opened(fd, dir, path, flags, text, sizeof(self->scratch)),
		  fs_magic_of(fd, file->dev));
	return file;
}

/* Puts FILE (NULL: left out) into FD's slot; gives it back. */
static struct file *files_attach(int fd, struct file *file)
{
	int top = atomic_load(&files_top);

	if ((unsigned)fd >= FILES_MAX_FD) {
		files_put(file);
		return NULL;
	}
	while (fd > top && !atomic_compare_exchange_weak(&files_top, &top, fd))
		;
	files_put(atomic_exchange(&files_table[fd], file ? file : FILE_LEFT_OUT));
	return file;
}

void files_leave_out(int fd)
{
	files_attach(fd, NULL);
}

struct file *files_meet(int fd)
{
	int saved = errno;
	struct file *file = NULL;

	/* a descriptor that is not open stays unknown: the call on it will fail by itself */
	if (syscall(SYS_fcntl, fd, F_GETFD) >= 0)
		file = files_attach(fd, file_describe(fd, AT_FDCWD, NULL, -1, true));
	errno = saved;
	return file;
}

struct file *files_open(int fd, int dir, const char *path, int flags)
{
	struct file *file = file_describe(fd, dir, path, flags, false);

	if (file) /* a file just opened is at its beginning */
		atomic_store(&file->epoch, atomic_load(&files_epoch));
	return files_attach(fd, file);
}

uint32_t files_failed(const char *path, int flags)
{
	struct file failed = { .kind = ETA_FILE_UNKNOWN, .open_flags = (uint32_t)flags };

	if (!path)
		return 0;
	failed.id = atomic_fetch_add(&pool.next_id, 1);
	sink_file(&failed, path, strnlen(path, PATH_MAX), 0);
	return failed.id;
}

/*
 * Calls name the same paths again and again. A slot is hash << 24 | id: one name in 2^40 that share
 * the slot is taken for another.
 */
#define NAMED_IDS 4096
static _Atomic uint64_t named[NAMED_IDS];

uint32_t files_named(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	_Atomic uint64_t *slot;
	uint64_t known;
	uint32_t id;

	if (!path)
		return 0;
	for (const char *c = path; *c && c - path < PATH_MAX; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	slot = &named[hash % NAMED_IDS];
	known = atomic_load(slot);
	if (known && known >> 24 == hash >> 24)
		return known & 0xffffff;
	id = files_failed(path, 0);
	if (id <= 0xffffff)
		atomic_store(slot, (hash >> 24) << 24 | id);
	return id;
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
		files_tell_flags(changed, fd);
}

void files_tell_flags(struct file *file, int fd)
{
	char *text = self->scratch;
	int saved = errno;

	file->open_flags = atomic_load(&file->owner->status);
	sink_file_flags(file, atomic_fetch_add(&pool.next_id, 1), text,
			path_of(fd, text, sizeof(self->scratch)), fs_magic_of(fd, file->dev));
	errno = saved;
}

struct file *files_dup(int old_fd, int new_fd)
{
	struct file *old = files_slot(old_fd), *file;

	if (!old)
		old = files_meet(old_fd);
	if (!old || old == FILE_LEFT_OUT)
		return files_attach(new_fd, NULL);
	if (old_fd == new_fd)
		return old;
	file = file_describe(new_fd, AT_FDCWD, NULL, (int)atomic_load(&old->owner->status), false);
	if (file) {
		atomic_fetch_add(&old->owner->references, 1);
		file->owner = old->owner;
		sink_file_dup(file, old);
	}
	return files_attach(new_fd, file);
}

struct file *files_detach(int fd)
{
	if ((unsigned)fd >= FILES_MAX_FD)
		return NULL;
	return atomic_exchange(&files_table[fd], NULL);
}

int64_t files_position_slow(struct file *owner, int fd)
{
	int64_t position = atomic_load(&owner->position);
	int saved = errno;

	if (position != POSITION_UNKNOWN) {
		position = syscall(SYS_lseek, fd, 0, SEEK_CUR);
		if (position < 0)
			position = POSITION_UNKNOWN;
		atomic_store(&owner->position, position);
	}
	atomic_store(&owner->epoch, atomic_load(&files_epoch));
	errno = saved;
	return position;
}

int64_t files_appended(struct file *file, int fd, int64_t bytes)
{
	struct file *owner = file->owner;
	int saved = errno;
	int64_t at;

	if (atomic_load(&owner->position) == POSITION_UNKNOWN)
		return ETA_OFFSET_UNKNOWN;
	at = syscall(SYS_lseek, fd, 0, SEEK_CUR);
	errno = saved;
	if (at < bytes)
		return ETA_OFFSET_UNKNOWN;
	files_moved(file, at);
	return at - bytes;
}

void files_gone(int fd)
{
	files_put(files_detach(fd));
}

int files_highest(void)
{
	return atomic_load(&files_top);
}

void files_doubt_positions(void)
{
	atomic_fetch_add(&files_epoch, 1);
}

void files_forget(void)
{
	int top = atomic_load(&files_top);

	for (int fd = 0; fd <= top; fd++)
		atomic_store_explicit(&files_table[fd], NULL, memory_order_relaxed);
	atomic_store(&pool.used, 0);
	atomic_store(&pool.free_head, 0);
	atomic_store(&pool.next_id, 1);
	for (int i = 0; i < NAMED_IDS; i++)
		atomic_store_explicit(&named[i], 0, memory_order_relaxed);
	files_doubt_positions();
}
