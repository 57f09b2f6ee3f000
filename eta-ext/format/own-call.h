/* System calls of the tracer's own, made inside traced programs: one place that all go through. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OWN_CALL_H
#define ETA_OWN_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "record.h"

/*
 * X(NAME, number, KNOWN, a, b, c, d, e): every system call that the tracer makes. KNOWN has a bit
 * for each argument that is always what stands here, so that a seccomp filter that looks at it can
 * be asked beforehand (confine.c); the others are 0 here. The sixth argument is OWN_CALL_MARK where
 * the call has none.
 */
#define OWN_CALLS(X)                                                                               \
	X(OPEN_NEW, SYS_openat, 0x1c, 0, 0, OWN_OPEN_FLAGS | O_CREAT | O_EXCL, 0600, 0)            \
	X(OPEN_FOLDER, SYS_openat, 0x1d, AT_FDCWD, 0, OWN_FOLDER_FLAGS, 0, 0)                      \
	X(OPEN_BELOW, SYS_openat, 0x1c, 0, 0, OWN_OPEN_FLAGS, 0, 0)                                \
	X(OPEN_AGAIN, SYS_openat, 0x1d, AT_FDCWD, 0, OWN_OPEN_FLAGS, 0, 0)                         \
	X(OPEN_READ, SYS_openat, 0x1d, AT_FDCWD, 0, O_RDONLY | O_CLOEXEC, 0, 0)                    \
	X(CLOSE, SYS_close, 0x1e, 0, 0, 0, 0, 0)                                                   \
	X(READ, SYS_read, 0x18, 0, 0, 0, 0, 0)                                                     \
	X(PREAD, SYS_pread64, 0x10, 0, 0, 0, 0, 0)                                                 \
	X(PWRITE, SYS_pwrite64, 0x10, 0, 0, 0, 0, 0)                                               \
	X(PWRITEV, SYS_pwritev, 0x10, 0, 0, 0, 0, 0)                                               \
	X(MMAP, SYS_mmap, 0x04, 0, 0, PROT_READ | PROT_WRITE, 0, 0)                                \
	X(MUNMAP, SYS_munmap, 0x1c, 0, 0, 0, 0, 0)                                                 \
	X(POPULATE, SYS_madvise, 0x1c, 0, 0, OWN_POPULATE_WRITE, 0, 0)                             \
	X(WIPE_ON_FORK, SYS_madvise, 0x1c, 0, 0, MADV_WIPEONFORK, 0, 0)                            \
	X(TRUNCATE, SYS_ftruncate, 0x1c, 0, 0, 0, 0, 0)                                            \
	X(UNLINK, SYS_unlinkat, 0x1c, 0, 0, 0, 0, 0)                                               \
	X(READLINK, SYS_readlinkat, 0x11, AT_FDCWD, 0, 0, 0, 0)                                    \
	X(STAT, SYS_newfstatat, 0x18, 0, 0, 0, AT_EMPTY_PATH, 0)                                   \
	X(STATX, SYS_statx, 0x04, 0, 0, AT_EMPTY_PATH, 0, 0)                                       \
	X(STATFS, SYS_fstatfs, 0x1c, 0, 0, 0, 0, 0)                                                \
	X(GET_FLAGS, SYS_fcntl, 0x1e, 0, F_GETFL, 0, 0, 0)                                         \
	X(GET_FD, SYS_fcntl, 0x1e, 0, F_GETFD, 0, 0, 0)                                            \
	X(TELL, SYS_lseek, 0x1e, 0, 0, SEEK_CUR, 0, 0)                                             \
	X(GETCWD, SYS_getcwd, 0x1c, 0, 0, 0, 0, 0)                                                 \
	X(GETPID, SYS_getpid, 0x1f, 0, 0, 0, 0, 0)                                                 \
	X(GETPPID, SYS_getppid, 0x1f, 0, 0, 0, 0, 0)                                               \
	X(GETTID, SYS_gettid, 0x1f, 0, 0, 0, 0, 0)                                                 \
	X(GET_NAME, SYS_prctl, 0x1d, PR_GET_NAME, 0, 0, 0, 0)                                      \
	X(UNAME, SYS_uname, 0x1e, 0, 0, 0, 0, 0)                                                   \
	X(FILE_LIMIT, SYS_prlimit64, 0x17, 0, RLIMIT_FSIZE, 0, 0, 0)                               \
	X(WRITE, SYS_write, 0x19, STDERR_FILENO, 0, 0, 0, 0)                                       \
	X(SIGNALS, SYS_rt_sigprocmask, 0x19, SIG_SETMASK, 0, 0, 8, 0)                              \
	X(CLOCK, SYS_clock_gettime, 0x1d, CLOCK_MONOTONIC, 0, 0, 0, 0)                             \
	X(YIELD, SYS_sched_yield, 0x1f, 0, 0, 0, 0, 0)                                             \
	X(COPY, SYS_process_vm_readv, 0x14, 0, 0, 1, 0, 1)                                         \
	X(SOCKET, SYS_socket, 0x1f, AF_UNIX, OWN_SOCKET_TYPE, 0, 0, 0)                             \
	X(CONNECT, SYS_connect, 0x18, 0, 0, 0, 0, 0)                                               \
	X(PEER, SYS_getsockopt, 0x06, 0, SOL_SOCKET, SO_PEERCRED, 0, 0)                            \
	X(SENDMSG, SYS_sendmsg, 0x1c, 0, 0, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0)                     \
	X(POLL, SYS_ppoll, 0x1a, 0, 1, 0, 0, 8)                                                    \
	X(RECVMSG, SYS_recvmsg, 0x1c, 0, 0, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0)

#define OWN_OPEN_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW)
#define OWN_SOCKET_TYPE (SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK)
#define OWN_FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OWN_POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which libc's headers may not know yet */

enum own_call {
#define X(name, number, known, a, b, c, d, e) OWN_##name,
	OWN_CALLS(X)
#undef X
		OWN_N_CALLS,
	OWN_TSC = OWN_N_CALLS, /* no call, but it may be denied as they are */
};

/* As the table above has it. */
struct own_call_shape {
	long number;
	unsigned known;
	long args[5];
};
extern const struct own_call_shape own_call_shapes[OWN_N_CALLS];

/* Elsewhere the mark could be left in its register for the program's next call. */
#ifdef __x86_64__
#define OWN_CALL_MARK ETA_OWN_CALL_MARK
#else
#define OWN_CALL_MARK 0
#endif

/* What the system call gives: a result, or -errno (errno stays). -EPERM where it is denied. */
long own_call_make(enum own_call call, long a, long b, long c, long d, long e, long f);

/* The instruction itself, whatever is denied: a result, or -errno (errno stays). */
long own_call_number(long number, long a, long b, long c, long d, long e, long f);

/* Shorthand: arguments of any type, as many as the call has up to five. */
#define own_call(...) OWN_CALL_PADDED(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define OWN_CALL_PADDED(call, a, b, c, d, e, ...)                                                  \
	own_call_make(OWN_##call, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),           \
		      OWN_CALL_MARK)

/*
 * clock_gettime, even if another preloaded library replaces it (libfaketime): the system call until
 * the C library's own function, which is faster, has been found.
 */
extern int (*own_clock)(clockid_t clock, struct timespec *time);

/*
 * System calls that the calling thread must not make from here on: a bit for each enum own_call,
 * beside those that it must not make already. What that was, for own_call_allow.
 */
uint64_t own_call_deny(uint64_t calls);
void own_call_allow(uint64_t before);

/* Its children have that from it. So have its threads, and those whose maker is not known. */
void own_call_deny_new(uint64_t calls);

/* The same for all threads of the process, and taken back. */
void own_call_deny_all(uint64_t calls);
void own_call_allow_all(uint64_t calls);

/* May the calling thread make CALL? All of them? */
bool own_call_may(enum own_call call);
bool own_call_may_all(void);

#endif
