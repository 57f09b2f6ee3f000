/* Wrappers of calls on mapped files. What the program does with the pages is the kernel's to tell.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <sys/mman.h>

#include "plugins/posixio/maps.h"

/* memory that is no file's (fd -1) passes through op_begin as a descriptor that is left out */
#define SHAPE_MMAP(name, kind, type, detail)                                                       \
	EXPORT void *name(void *wish, size_t size, int protection, int flags, int fd, type offset) \
	{                                                                                          \
		struct op op;                                                                      \
		void *at;                                                                          \
                                                                                                   \
		if ((flags & MAP_ANONYMOUS) ||                                                     \
		    !op_begin(&op, FN_##name, fd, size, offset, CALLER)) {                         \
			at = REAL(name)(wish, size, protection, flags, fd, offset);                \
			if (at != MAP_FAILED && (flags & MAP_FIXED))                               \
				maps_remove(at, size);                                             \
			return at;                                                                 \
		}                                                                                  \
		at = REAL(name)(wish, size, protection, flags, fd, offset);                        \
		if (at != MAP_FAILED) {                                                            \
			maps_remove(at, size);                                                     \
			maps_add(at, size, op.file, offset);                                       \
		}                                                                                  \
		op_end(&op, ETA_OP_##kind, at == MAP_FAILED ? -errno : (intptr_t)at, offset);      \
		return at;                                                                         \
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

#define SHAPE_MSYNC(name, kind, type, detail)                                                      \
	EXPORT int name(void *at, size_t size, int flags)                                          \
	{                                                                                          \
		ON_MAP(name, kind, at, size, (at, size, flags));                                   \
	}

#define SHAPE_MADVISE(name, kind, type, detail)                                                    \
	EXPORT int name(void *at, size_t size, int advice)                                         \
	{                                                                                          \
		ON_MAP(name, kind, at, size, (at, size, advice));                                  \
	}

/* forgotten first: once it is unmapped the address may be another thread's */
#define SHAPE_MUNMAP(name, kind, type, detail)                                                     \
	EXPORT int name(void *at, size_t size)                                                     \
	{                                                                                          \
		int64_t offset = ETA_OFFSET_UNKNOWN;                                               \
		struct file *file = maps_find(at, &offset);                                        \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!file)                                                                         \
			return REAL(name)(at, size);                                               \
		if (!op_begin_file(&op, FN_##name, file, size, offset, CALLER)) {                  \
			maps_remove(at, size);                                                     \
			return REAL(name)(at, size);                                               \
		}                                                                                  \
		atomic_fetch_add(&file->references, 1);                                            \
		maps_remove(at, size);                                                             \
		ret = REAL(name)(at, size);                                                        \
		op_end(&op, ETA_OP_##kind, ret ? -errno : 0, offset);                              \
		files_put(file);                                                                   \
		return ret;                                                                        \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_MAP_FUNCTIONS(X)
#undef X
