/* Wrappers of the other calls on descriptors: locks, sizes, advice, copies inside the kernel. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

EXPORT int flock(int fd, int operation)
{
	ON_FD(flock, OTHER, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd, operation));
}

/* from the descriptor's position, which is not looked up */
EXPORT int lockf(int fd, int command, off_t size)
{
	ON_FD(lockf, OTHER, int, fd, size < 0 ? 0 : (uint64_t)size, ETA_OFFSET_UNKNOWN, ret,
	      (fd, command, size));
}

EXPORT int lockf64(int fd, int command, off64_t size)
{
	ON_FD(lockf64, OTHER, int, fd, size < 0 ? 0 : (uint64_t)size, ETA_OFFSET_UNKNOWN, ret,
	      (fd, command, size));
}

EXPORT void sync(void)
{
	struct op op;

	if (!op_begin_open(&op, FN_sync, CALLER)) {
		REAL(sync)();
		return;
	}
	REAL(sync)();
	op_end_path(&op, ETA_OP_SYNC, 0, NULL);
}

EXPORT int syncfs(int fd)
{
	op_add_folder(fd);
	ON_FD(syncfs, SYNC, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, (fd));
}

EXPORT int sync_file_range(int fd, off64_t offset, off64_t size, unsigned int flags)
{
	ON_FD(sync_file_range, SYNC, int, fd, (uint64_t)size, offset, ret,
	      (fd, offset, size, flags));
}

EXPORT int truncate(const char *path, off_t size)
{
	ON_PATH(truncate, META, int, path, (path, size));
}

EXPORT int truncate64(const char *path, off64_t size)
{
	ON_PATH(truncate64, META, int, path, (path, size));
}

/* the offset is the new end of the file */
EXPORT int ftruncate(int fd, off_t size)
{
	ON_FD(ftruncate, META, int, fd, 0, size, ret, (fd, size));
}

EXPORT int ftruncate64(int fd, off64_t size)
{
	ON_FD(ftruncate64, META, int, fd, 0, size, ret, (fd, size));
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t size)
{
	ON_FD(fallocate, META, int, fd, (uint64_t)size, offset, ret, (fd, mode, offset, size));
}

EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
	ON_FD(fallocate64, META, int, fd, (uint64_t)size, offset, ret, (fd, mode, offset, size));
}

/* these two return the error itself and do not set errno */
#define GIVES_ERROR(name, kind, fd, offset, size, args)                                            \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!op_begin(&op, FN_##name, fd, (uint64_t)(size), offset, CALLER))                       \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end(&op, ETA_OP_##kind, -ret, offset);                                                  \
	return ret

EXPORT int posix_fallocate(int fd, off_t offset, off_t size)
{
	GIVES_ERROR(posix_fallocate, META, fd, offset, size, (fd, offset, size));
}

EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	GIVES_ERROR(posix_fallocate64, META, fd, offset, size, (fd, offset, size));
}

EXPORT int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
	GIVES_ERROR(posix_fadvise, OTHER, fd, offset, size, (fd, offset, size, advice));
}

EXPORT int posix_fadvise64(int fd, off64_t offset, off64_t size, int advice)
{
	GIVES_ERROR(posix_fadvise64, OTHER, fd, offset, size, (fd, offset, size, advice));
}

EXPORT ssize_t readahead(int fd, off64_t offset, size_t size)
{
	ON_FD(readahead, OTHER, ssize_t, fd, size, offset, ret, (fd, offset, size));
}

/* ---- from one descriptor to another ---- */

/*
 * One record: a write to OUT or, if OUT is not recorded (a pipe, a socket), a read of IN. MOVES:
 * the call uses and moves that descriptor's position.
 */
struct copy {
	int in, out;
	bool in_moves, out_moves;
	bool reads; /* what is recorded is the read */
};

static bool copy_begin(struct op *op, struct copy *copy, enum function fn, size_t size,
		       const void *caller)
{
	copy->reads = false;
	if (op_begin(op, fn, copy->out, size,
		     copy->out_moves ? AT_WRITE_POSITION : ETA_OFFSET_UNKNOWN, caller))
		return true;
	copy->reads = true;
	if (files_slot(copy->out) != FILE_LEFT_OUT ||
	    !op_begin(op, fn, copy->in, size, copy->in_moves ? AT_POSITION : ETA_OFFSET_UNKNOWN,
		      caller))
		return false;
	op_kind(op, ETA_OP_READ);
	return true;
}

static void reread_position(int fd)
{
	struct file *file = files_slot(fd);

	if ((uintptr_t)file > (uintptr_t)FILE_LEFT_OUT)
		files_reread_position(file);
}

/* N bytes were copied; IN_END and OUT_END: the offsets after the call, or unknown. */
static void copy_end(struct op *op, const struct copy *copy, ssize_t n, int64_t in_end,
		     int64_t out_end)
{
	const int64_t end = copy->reads ? in_end : out_end;

	if (!op->positioned)
		op->offset = n >= 0 && end != ETA_OFFSET_UNKNOWN ? end - n : ETA_OFFSET_UNKNOWN;
	op_end_transfer(op, copy->reads ? ETA_OP_READ : ETA_OP_WRITE,
			copy->reads ? copy->in : copy->out, n);
}

/* A copy that is not recorded still moves positions. */
static void copy_moved(const struct copy *copy, bool recorded)
{
	if (copy->in_moves && !(recorded && copy->reads))
		reread_position(copy->in);
	if (copy->out_moves && !(recorded && !copy->reads))
		reread_position(copy->out);
}

/*
 * An offset may be read only if the kernel has read it: after a success, and not for a splice of no
 * bytes, which reads nothing.
 */
#define AFTER(pointer) (n >= 0 && size && (pointer) ? *(pointer) : ETA_OFFSET_UNKNOWN)

#define COPIED(name, in_fd, in_moves_it, in_offset, out_fd, out_moves_it, out_offset, size, args)  \
	struct copy copy = {                                                                       \
		.in = in_fd, .out = out_fd, .in_moves = in_moves_it, .out_moves = out_moves_it     \
	};                                                                                         \
	struct op op;                                                                              \
	bool recorded = copy_begin(&op, &copy, FN_##name, size, CALLER);                           \
	ssize_t n = REAL(name) args;                                                               \
                                                                                                   \
	if (recorded)                                                                              \
		copy_end(&op, &copy, n, in_offset, out_offset);                                    \
	copy_moved(&copy, recorded);                                                               \
	return n

EXPORT ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset,
			       size_t size, unsigned int flags)
{
	COPIED(copy_file_range, in, !in_offset, AFTER(in_offset), out, !out_offset,
	       AFTER(out_offset), size, (in, in_offset, out, out_offset, size, flags));
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
	COPIED(sendfile, in, !offset, AFTER(offset), out, true, ETA_OFFSET_UNKNOWN, size,
	       (out, in, offset, size));
}

EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t size)
{
	COPIED(sendfile64, in, !offset, AFTER(offset), out, true, ETA_OFFSET_UNKNOWN, size,
	       (out, in, offset, size));
}

EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
		      unsigned int flags)
{
	COPIED(splice, in, !in_offset, AFTER(in_offset), out, !out_offset, AFTER(out_offset), size,
	       (in, in_offset, out, out_offset, size, flags));
}

/* between pipes */
EXPORT ssize_t tee(int in, int out, size_t size, unsigned int flags)
{
	COPIED(tee, in, false, ETA_OFFSET_UNKNOWN, out, false, ETA_OFFSET_UNKNOWN, size,
	       (in, out, size, flags));
}

EXPORT ssize_t vmsplice(int fd, const struct iovec *vector, size_t n_vectors, unsigned int flags)
{
	TRANSFER_VECTOR(vmsplice, WRITE, fd, vector, n_vectors, ETA_OFFSET_UNKNOWN, false,
			(fd, vector, n_vectors, flags));
}

/* ---- syscall(2) ---- */

/* the bounds of this library, to distinguish its own calls from the program's */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

static bool is_own(const void *caller)
{
	return (const char *)caller >= __ehdr_start && (const char *)caller < _etext;
}

static long syscall_open(raw_call *next, long number, long a, long b, long c, long d,
			 const void *caller)
{
	const bool at = number == SYS_openat;
	struct op op;
	int fd;

	if (!op_begin_open(&op, FN_syscall, caller)) {
		fd = (int)next(number, a, b, c, d, 0, 0);
		op_open_untraced(fd, caller);
		return fd;
	}
	op_kind(&op, ETA_OP_OPEN);
	fd = (int)next(number, a, b, c, d, 0, 0);
	op_end_open(&op, fd, at ? (int)a : AT_FDCWD, (const char *)(at ? b : a), (int)(at ? c : b));
	return fd;
}

static long syscall_queue(raw_call *next, long number, long a, long b, long c, long d, long e,
			  long f, const void *caller)
{
	struct op op;
	long ret;

	if (!op_begin_open(&op, FN_syscall, caller))
		return next(number, a, b, c, d, e, f);
	async_used(number == SYS_io_submit || number == SYS_io_getevents ? "libaio" : "io_uring");
	ret = next(number, a, b, c, d, e, f);
	op_end_path(&op, ETA_OP_OTHER, ret == -1 ? -errno : ret, NULL);
	return ret;
}

static long syscall_close(raw_call *next, long number, long fd, const void *caller)
{
	struct op op;
	long ret;

	if (!op_begin_close(&op, FN_syscall, (int)fd, caller))
		return next(number, fd, 0, 0, 0, 0, 0);
	op_kind(&op, ETA_OP_CLOSE);
	ret = next(number, fd, 0, 0, 0, 0, 0);
	op_end_close(&op, (int)ret);
	return ret;
}

/* What a system call does to its descriptor. */
struct syscall_use {
	enum eta_op_kind kind;
	enum { USE_OTHER, USE_BUFFER, USE_VECTOR } transfer;
	int64_t offset;
};

/* What NUMBER with its fourth argument D does; false: no call that is recorded by descriptor. */
static ALWAYS_INLINE bool syscall_use(long number, long d, struct syscall_use *use)
{
	*use = (struct syscall_use){ .offset = ETA_OFFSET_UNKNOWN };
	switch (number) {
	case SYS_read:
	case SYS_readv:
		use->kind = ETA_OP_READ;
		use->transfer = number == SYS_readv ? USE_VECTOR : USE_BUFFER;
		use->offset = AT_POSITION;
		return true;
	case SYS_write:
	case SYS_writev:
		use->kind = ETA_OP_WRITE;
		use->transfer = number == SYS_writev ? USE_VECTOR : USE_BUFFER;
		use->offset = AT_WRITE_POSITION;
		return true;
#ifdef __LP64__
	case SYS_pread64:
	case SYS_preadv:
		use->kind = ETA_OP_READ;
		use->transfer = number == SYS_preadv ? USE_VECTOR : USE_BUFFER;
		use->offset = d;
		return true;
	case SYS_pwrite64:
	case SYS_pwritev:
		use->kind = ETA_OP_WRITE;
		use->transfer = number == SYS_pwritev ? USE_VECTOR : USE_BUFFER;
		use->offset = d;
		return true;
#endif
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_syncfs:
	case SYS_sync_file_range:
		use->kind = ETA_OP_SYNC;
		return true;
	case SYS_ftruncate:
	case SYS_fallocate:
		use->kind = ETA_OP_META;
		return true;
	case SYS_fadvise64:
	case SYS_readahead:
		use->kind = ETA_OP_OTHER;
		return true;
	default:
		return false;
	}
}

static long syscall_on_fd(raw_call *next, const struct syscall_use *use, long number, long a,
			  long b, long c, long d, long e, long f, const void *caller)
{
	struct op op;
	long ret;

	if (use->kind == ETA_OP_SYNC)
		op_add_folder((int)a);
	if (!op_begin(&op, FN_syscall, (int)a, use->transfer == USE_BUFFER ? (uint64_t)c : 0,
		      use->offset, caller))
		return next(number, a, b, c, d, e, f);
	op_kind(&op, use->kind);
	ret = next(number, a, b, c, d, e, f);
	if (use->transfer == USE_VECTOR && ret >= 0)
		op_size(&op, vector_bytes((const struct iovec *)b, (size_t)c, ret));
	op_end_transfer(&op, use->kind, (int)a, ret);
	return ret;
}

/*
 * glibc's syscall() is a jump to the kernel, and its callers may rely on that (a clone with another
 * stack). What is not I/O must leave by a jump, too, so this is no variadic function: the compiler
 * turns the last call, with equal arguments, into a jump.
 */
EXPORT long syscall_traced(long number, long a, long b, long c, long d, long e,
			   long f) __asm__("syscall");

long syscall_traced(long number, long a, long b, long c, long d, long e, long f)
{
	raw_call *next = (raw_call *)REAL(syscall);
	struct syscall_use use;
	long ret;

	switch (number) {
	case SYS_prctl:
	case SYS_seccomp:
	case SYS_landlock_restrict_self:
		return confine_syscall(next, number, a, b, c, d, e, f);
	case SYS_dup:
	case SYS_dup3:
	case SYS_openat2:
	case SYS_socket:
	case SYS_accept4:
	case SYS_memfd_create:
		ret = next(number, a, b, c, d, e, f);
		descriptor_made((int)ret);
		return ret;
	}
	if (is_own(CALLER))
		return next(number, a, b, c, d, e, f);
	if (syscall_use(number, d, &use))
		return syscall_on_fd(next, &use, number, a, b, c, d, e, f, CALLER);
	switch (number) {
	case SYS_io_uring_setup:
	case SYS_io_uring_enter:
	case SYS_io_submit:
	case SYS_io_getevents:
		return syscall_queue(next, number, a, b, c, d, e, f, CALLER);
#ifdef SYS_open
	case SYS_open:
#endif
	case SYS_openat:
		return syscall_open(next, number, a, b, c, d, CALLER);
	case SYS_close:
		return syscall_close(next, number, a, CALLER);
	case SYS_close_range:
		if (!(c & ~(long)CLOSE_RANGE_UNSHARE))
			op_close_many(FN_syscall, (unsigned)a, (unsigned)b, CALLER);
		break;
	case SYS_lseek:
		reread_position((int)a);
		break;
	}
	return next(number, a, b, c, d, e, f);
}
