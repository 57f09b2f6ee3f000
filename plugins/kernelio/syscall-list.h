/* The system calls and other operations that are recorded: for the probes and the collector. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_SYSCALL_LIST_H
#define KERNELIO_SYSCALL_LIST_H

#include "eta-ext/base/name-calls.h"
#include "eta-ext/format/record.h"

/* How a system call's arguments are laid out. */
enum kernelio_shape {
	SHAPE_NONE,
	SHAPE_RW,	/* fd, buffer, bytes; at the file position */
	SHAPE_PRW,	/* fd, buffer, bytes, offset */
	SHAPE_RWV,	/* fd, iovec, n; at the file position */
	SHAPE_PRWV,	/* fd, iovec, n, offset; -1: at the file position */
	SHAPE_FD,	/* fd */
	SHAPE_RETURNS,	/* gives a descriptor */
	SHAPE_SEEK,	/* fd, offset, whence */
	SHAPE_RANGE,	/* fd, offset, bytes */
	SHAPE_TRUNCATE, /* fd, length */
	SHAPE_ALLOCATE, /* fd, mode, offset, bytes */
	SHAPE_COPY,	/* fd in, &offset, fd out, &offset, bytes: the file is the one written */
	SHAPE_SPLICE,	/* the same, with a pipe on one side */
	SHAPE_SENDFILE, /* fd out, fd in, &offset, bytes */
	SHAPE_CONTROL,	/* fd, command: one that locks or that file systems do, or no operation */
	SHAPE_SYNC,	/* fd, of a directory, too */
	SHAPE_MAPPED,	/* address, bytes: of what is mapped there */
	SHAPE_NO_FILE,	/* of all file systems */
	SHAPE_NAME,	/* no file that is known; no operation where it did not wait */
	SHAPE_FILE_MAP, /* the same; fd is the fifth */
	SHAPE_AIO,	/* from here on no operation itself: handed to bpf/aio.h */
	SHAPE_AIO_SUBMIT = SHAPE_AIO, /* context, n, list */
	SHAPE_AIO_REAP,		      /* context, least, n, events */
};

/* X(name, kind, shape): a system call that is an operation on a file. The NAME id is its place. */
#define KERNELIO_SYSCALLS(X)                                                                       \
	X(read, READ, RW)                                                                          \
	X(write, WRITE, RW)                                                                        \
	X(pread64, READ, PRW)                                                                      \
	X(pwrite64, WRITE, PRW)                                                                    \
	X(readv, READ, RWV)                                                                        \
	X(writev, WRITE, RWV)                                                                      \
	X(preadv, READ, PRWV)                                                                      \
	X(pwritev, WRITE, PRWV)                                                                    \
	X(preadv2, READ, PRWV)                                                                     \
	X(pwritev2, WRITE, PRWV)                                                                   \
	X(fsync, SYNC, SYNC)                                                                       \
	X(fdatasync, SYNC, SYNC)                                                                   \
	X(sync_file_range, SYNC, RANGE)                                                            \
	X(lseek, SEEK, SEEK)                                                                       \
	X(open, OPEN, RETURNS)                                                                     \
	X(openat, OPEN, RETURNS)                                                                   \
	X(openat2, OPEN, RETURNS)                                                                  \
	X(creat, OPEN, RETURNS)                                                                    \
	X(close, CLOSE, FD)                                                                        \
	X(ftruncate, META, TRUNCATE)                                                               \
	X(fallocate, META, ALLOCATE)                                                               \
	X(copy_file_range, WRITE, COPY)                                                            \
	X(sendfile, READ, SENDFILE)                                                                \
	X(splice, READ, SPLICE)                                                                    \
	ETA_NAME_CALLS(X)                                                                          \
	X(flock, OTHER, FD)                                                                        \
	X(fcntl, OTHER, CONTROL)                                                                   \
	X(ioctl, OTHER, CONTROL)                                                                   \
	X(sync, SYNC, NO_FILE)                                                                     \
	X(syncfs, SYNC, SYNC)                                                                      \
	X(msync, SYNC, MAPPED)                                                                     \
	X(fadvise64, OTHER, RANGE)                                                                 \
	X(readahead, OTHER, RANGE)

/* X(id, system call, kind): calls of the list above whose regular file is the other descriptor. */
#define KERNELIO_REVERSED_SYSCALLS(X)                                                              \
	X(sendfile_to, sendfile, WRITE)                                                            \
	X(splice_to, splice, WRITE)

/* X(name, shape): system calls that submit or complete operations of the list below. */
#define KERNELIO_QUEUE_SYSCALLS(X)                                                                 \
	X(io_submit, AIO_SUBMIT)                                                                   \
	X(io_getevents, AIO_REAP)                                                                  \
	X(io_pgetevents, AIO_REAP)

/*
 * X(number): the same calls by the numbers of 32-bit x86 (asm/unistd_32.h), which mean other calls
 * to a 64-bit program. They are not traced, but counted.
 */
#define KERNELIO_COMPAT_SYSCALLS(X)                                                                \
	X(3)   /* read */                                                                          \
	X(4)   /* write */                                                                         \
	X(5)   /* open */                                                                          \
	X(6)   /* close */                                                                         \
	X(8)   /* creat */                                                                         \
	X(19)  /* lseek */                                                                         \
	X(36)  /* sync */                                                                          \
	X(93)  /* ftruncate */                                                                     \
	X(118) /* fsync */                                                                         \
	X(140) /* _llseek */                                                                       \
	X(143) /* flock */                                                                         \
	X(144) /* msync */                                                                         \
	X(145) /* readv */                                                                         \
	X(146) /* writev */                                                                        \
	X(148) /* fdatasync */                                                                     \
	X(180) /* pread64 */                                                                       \
	X(181) /* pwrite64 */                                                                      \
	X(187) /* sendfile */                                                                      \
	X(194) /* ftruncate64 */                                                                   \
	X(225) /* readahead */                                                                     \
	X(239) /* sendfile64 */                                                                    \
	X(247) /* io_getevents */                                                                  \
	X(248) /* io_submit */                                                                     \
	X(250) /* fadvise64 */                                                                     \
	X(272) /* fadvise64_64 */                                                                  \
	X(295) /* openat */                                                                        \
	X(313) /* splice */                                                                        \
	X(314) /* sync_file_range */                                                               \
	X(324) /* fallocate */                                                                     \
	X(333) /* preadv */                                                                        \
	X(334) /* pwritev */                                                                       \
	X(344) /* syncfs */                                                                        \
	X(377) /* copy_file_range */                                                               \
	X(378) /* preadv2 */                                                                       \
	X(379) /* pwritev2 */                                                                      \
	X(385) /* io_pgetevents */                                                                 \
	X(416) /* io_pgetevents_time64 */                                                          \
	X(437) /* openat2 */

/* X(id, region, kind): operations that no system call is. */
#define KERNELIO_OPERATIONS(X)                                                                     \
	X(mmap_fault, "pagecache:mmap read fault", READ)                                           \
	X(aio_read, "vfs:aio_read", READ)                                                          \
	X(aio_write, "vfs:aio_write", WRITE)                                                       \
	X(aio_fsync, "vfs:aio_fsync", SYNC)                                                        \
	X(uring_read, "vfs:io_uring_read", READ)                                                   \
	X(uring_write, "vfs:io_uring_write", WRITE)                                                \
	X(uring_fsync, "vfs:io_uring_fsync", SYNC)                                                 \
	X(mmap_write_fault, "pagecache:mmap write fault", WRITE)                                   \
	X(memory_fault, "pagecache:memory fault", OTHER)

enum kernelio_syscall {
	KERNELIO_SYS_NONE,
#define X(name, kind, shape) KERNELIO_SYS_##name,
	KERNELIO_SYSCALLS(X)
#undef X
#define X(id, name, kind) KERNELIO_SYS_##id,
		KERNELIO_REVERSED_SYSCALLS(X)
#undef X
#define X(id, region, kind) KERNELIO_SYS_##id,
			KERNELIO_OPERATIONS(X)
#undef X
				KERNELIO_N_SYSCALLS,
	KERNELIO_SYS_QUEUE, /* the index of all of KERNELIO_QUEUE_SYSCALLS */
};
#define KERNELIO_SYS_REVERSED KERNELIO_SYS_sendfile_to /* from here on */

#define KERNELIO_MAX_SYSCALL_NR 512 /* a power of two above every number in the list */

/* One per system call number; index 0 is "not one of ours". */
struct kernelio_syscall_info {
	uint8_t index;	/* enum kernelio_syscall */
	uint8_t kind;	/* enum eta_op_kind */
	uint8_t shape;	/* enum kernelio_shape */
	uint8_t compat; /* is one of ours by this number in a 32-bit program */
};

#endif
