/*
 * Wrappers of libaio and liburing: they queue requests and fetch results; the transfers are in the
 * kernel's trace.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <signal.h>
#include <time.h>

/*
 * As in libaio.h and liburing.h, which need not be installed: only what a wrapper passes on. Most
 * of liburing is inline and calls these.
 */
struct iocb;
struct io_event;
struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;
int io_submit(void *context, long n, struct iocb **list);
int io_getevents(void *context, long least, long n, struct io_event *events,
		 struct timespec *limit);
int io_pgetevents(void *context, long least, long n, struct io_event *events,
		  struct timespec *limit, sigset_t *mask);
int io_uring_submit(struct io_uring *ring);
int io_uring_submit_and_get_events(struct io_uring *ring);
int io_uring_get_events(struct io_uring *ring);
int io_uring_enter(unsigned fd, unsigned submit, unsigned n, unsigned flags, sigset_t *mask);
int io_uring_enter2(unsigned fd, unsigned submit, unsigned n, unsigned flags, sigset_t *mask,
		    size_t mask_bytes);
int io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
				     struct __kernel_timespec *limit, sigset_t *mask);
int io_uring_wait_cqes(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
		       struct __kernel_timespec *limit, sigset_t *mask);
int io_uring_wait_cqe_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
			      struct __kernel_timespec *limit);
int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit,
		       unsigned n, sigset_t *mask);

/* these give -errno */
#define QUEUED(name, kind, library, args)                                                          \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER))                                                \
		return REAL(name) args;                                                            \
	async_used(library);                                                                       \
	ret = REAL(name) args;                                                                     \
	op_end_path(&op, ETA_OP_##kind, ret, NULL);                                                \
	return ret

EXPORT int io_submit(void *context, long n, struct iocb **list)
{
	QUEUED(io_submit, OTHER, "libaio", (context, n, list));
}

EXPORT int io_getevents(void *context, long least, long n, struct io_event *events,
			struct timespec *limit)
{
	QUEUED(io_getevents, OTHER, "libaio", (context, least, n, events, limit));
}

EXPORT int io_pgetevents(void *context, long least, long n, struct io_event *events,
			 struct timespec *limit, sigset_t *mask)
{
	QUEUED(io_pgetevents, OTHER, "libaio", (context, least, n, events, limit, mask));
}

#define SHAPE_URING(name, kind, type, detail)                                                      \
	EXPORT int name(struct io_uring *ring)                                                     \
	{                                                                                          \
		QUEUED(name, kind, "io_uring", (ring));                                            \
	}

EXPORT int io_uring_enter(unsigned fd, unsigned submit, unsigned n, unsigned flags, sigset_t *mask)
{
	QUEUED(io_uring_enter, OTHER, "io_uring", (fd, submit, n, flags, mask));
}

EXPORT int io_uring_enter2(unsigned fd, unsigned submit, unsigned n, unsigned flags, sigset_t *mask,
			   size_t mask_bytes)
{
	QUEUED(io_uring_enter2, OTHER, "io_uring", (fd, submit, n, flags, mask, mask_bytes));
}

EXPORT int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	QUEUED(io_uring_submit_and_wait, OTHER, "io_uring", (ring, n));
}

EXPORT int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
					    unsigned n, struct __kernel_timespec *limit,
					    sigset_t *mask)
{
	QUEUED(io_uring_submit_and_wait_timeout, OTHER, "io_uring", (ring, cqe, n, limit, mask));
}

EXPORT int io_uring_wait_cqes(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
			      struct __kernel_timespec *limit, sigset_t *mask)
{
	QUEUED(io_uring_wait_cqes, OTHER, "io_uring", (ring, cqe, n, limit, mask));
}

EXPORT int io_uring_wait_cqe_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
				     struct __kernel_timespec *limit)
{
	QUEUED(io_uring_wait_cqe_timeout, OTHER, "io_uring", (ring, cqe, limit));
}

EXPORT int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit,
			      unsigned n, sigset_t *mask)
{
	QUEUED(__io_uring_get_cqe, OTHER, "io_uring", (ring, cqe, submit, n, mask));
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_QUEUE_FUNCTIONS(X)
#undef X
