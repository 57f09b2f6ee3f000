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

#define POOL_CHUNK 1024
#define POOL_CHUNKS (FILES_MAX_FD / POOL_CHUNK * 2)
#define N_FS_CACHE 64

_Atomic(struct file *) files_table[FILES_MAX_FD];
_Atomic uint32_t files_epoch = 1;
bool files_all;

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

static enum eta_file_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return ETA_FILE_REGULAR;
	case S_IFBLK:
		return ETA_FILE_BLOCK_DEVICE;
	case S_IFCHR:
		return ETA_FILE_CHARACTER_DEVICE;
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

/* The absolute path of FD; PATH as given serves where it is absolute already. Length. */
static size_t path_of(int fd, const char *path, char *out, size_t room)
{
	char link[32];
	long n;

	if (path && path[0] == '/') {
		n = (long)strnlen(path, room);
		memcpy(out, path, (size_t)n);
		return (size_t)n;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, out, room);
	return n < 0 ? 0 : (size_t)n;
}

/* Asks the kernel about FD. NULL: left out. */
static struct file *file_describe(int fd, const char *path, int flags, bool inherited)
{
	char *text = self->scratch;
	enum eta_file_kind kind;
	struct file *file;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return NULL;
	kind = kind_of(st.st_mode);
	if (!files_all && kind != ETA_FILE_REGULAR && kind != ETA_FILE_BLOCK_DEVICE)
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
	atomic_store(&file->position, (flags & O_APPEND) ? POSITION_UNKNOWN : 0);
	sink_file(file, text, path_of(fd, path, text, sizeof(self->scratch)),
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
		file = files_attach(fd, file_describe(fd, NULL, -1, true));
	errno = saved;
	return file;
}

struct file *files_open(int fd, const char *path, int flags)
{
	struct file *file = file_describe(fd, path, flags, false);

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

struct file *files_dup(int old_fd, int new_fd)
{
	struct file *old = files_slot(old_fd), *file;

	if (!old)
		old = files_meet(old_fd);
	if (!old || old == FILE_LEFT_OUT)
		return files_attach(new_fd, NULL);
	if (old_fd == new_fd)
		return old;
	file = file_describe(new_fd, NULL, (int)old->open_flags, false);
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
	files_doubt_positions();
}
