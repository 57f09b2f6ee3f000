/*
 * Wrappers of calls on mapped files. Only the kernel's side sees what the program does with the
 * pages.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <sys/mman.h>

#include "plugins/posixio/maps.h"

/* anonymous memory (fd -1) passes through op_begin as a descriptor that is not recorded */
static void mapped(struct op *op, void *at, size_t size, int64_t offset)
{
	if (at != MAP_FAILED) {
		maps_remove(at, size);
		maps_add(at, size, op->file, offset);
	}
	op_end(op, ETA_OP_OTHER, at == MAP_FAILED ? -errno : (intptr_t)at, offset);
}

static void *mapped_untraced(void *at, size_t size, int flags)
{
	if (at != MAP_FAILED && (flags & MAP_FIXED))
		maps_remove(at, size);
	return at;
}

EXPORT void *mmap(void *wish, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct op op;
	void *at;

	if ((flags & MAP_ANONYMOUS) || !op_begin(&op, FN_mmap, fd, size, offset, CALLER))
		return mapped_untraced(REAL(mmap)(wish, size, protection, flags, fd, offset), size,
				       flags);
	at = REAL(mmap)(wish, size, protection, flags, fd, offset);
	mapped(&op, at, size, offset);
	return at;
}

EXPORT void *mmap64(void *wish, size_t size, int protection, int flags, int fd, off64_t offset)
{
	struct op op;
	void *at;

	if ((flags & MAP_ANONYMOUS) || !op_begin(&op, FN_mmap64, fd, size, offset, CALLER))
		return mapped_untraced(REAL(mmap64)(wish, size, protection, flags, fd, offset),
				       size, flags);
	at = REAL(mmap64)(wish, size, protection, flags, fd, offset);
	mapped(&op, at, size, offset);
	return at;
}

#define ON_MAP(name, kind, at, size, args)                                                         \
	int64_t offset = ETA_OFFSET_UNKNOWN;                                                       \
	struct file *file = maps_find(at, &offset);                                                \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!(file || ETA_OP_##kind == ETA_OP_SYNC) ||                                             \
	    !op_begin_file(&op, FN_##name, file, size, offset, CALLER))                            \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end(&op, ETA_OP_##kind, ret ? -errno : 0, offset);                                      \
	return ret

EXPORT int msync(void *at, size_t size, int flags)
{
	ON_MAP(msync, SYNC, at, size, (at, size, flags));
}

EXPORT int madvise(void *at, size_t size, int advice)
{
	ON_MAP(madvise, OTHER, at, size, (at, size, advice));
}

/* removed first: after munmap the address may be another thread's */
EXPORT int munmap(void *at, size_t size)
{
	int64_t offset = ETA_OFFSET_UNKNOWN;
	struct file *file = maps_find(at, &offset);
	struct op op;
	int ret;

	if (!file)
		return REAL(munmap)(at, size);
	if (!op_begin_file(&op, FN_munmap, file, size, offset, CALLER)) {
		maps_remove(at, size);
		return REAL(munmap)(at, size);
	}
	atomic_fetch_add(&file->references, 1);
	maps_remove(at, size);
	ret = REAL(munmap)(at, size);
	op_end(&op, ETA_OP_OTHER, ret ? -errno : 0, offset);
	files_put(file);
	return ret;
}
