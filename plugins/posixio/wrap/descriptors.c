/* Wrappers of calls that give descriptors which are not followed: whatever had the number is gone.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/*
 * A file that was closed behind the tracer's back (by an instruction of the program's own, by the
 * C library itself) is still in the table, and its number may come back as a socket's.
 */
#define MADE(name, args)                                                                           \
	int fd_ = REAL(name) args;                                                                 \
                                                                                                   \
	descriptor_made(fd_);                                                                      \
	return fd_

#define MADE_TWO(name, fds, args)                                                                  \
	int ret_ = REAL(name) args;                                                                \
                                                                                                   \
	if (ret_ == 0) {                                                                           \
		descriptor_made((fds)[0]);                                                         \
		descriptor_made((fds)[1]);                                                         \
	}                                                                                          \
	return ret_

#define SHAPE_MADE_NONE(name, kind, type, detail)                                                  \
	EXPORT int name(void)                                                                      \
	{                                                                                          \
		MADE(name, ());                                                                    \
	}

#define SHAPE_MADE_ONE(name, kind, type, detail)                                                   \
	EXPORT int name(type a)                                                                    \
	{                                                                                          \
		MADE(name, (a));                                                                   \
	}

#define SHAPE_MADE_TWO(name, kind, type, detail)                                                   \
	EXPORT int name(type a, int b)                                                             \
	{                                                                                          \
		MADE(name, (a, b));                                                                \
	}

#define SHAPE_MEMFD(name, kind, type, detail)                                                      \
	EXPORT int name(const char *label, unsigned flags)                                         \
	{                                                                                          \
		MADE(name, (label, flags));                                                        \
	}

#define SHAPE_SIGNALFD(name, kind, type, detail)                                                   \
	EXPORT int name(int fd, const sigset_t *mask, int flags)                                   \
	{                                                                                          \
		MADE(name, (fd, mask, flags));                                                     \
	}

#define SHAPE_SOCKET(name, kind, type, detail)                                                     \
	EXPORT int name(int domain, int how, int protocol)                                         \
	{                                                                                          \
		MADE(name, (domain, how, protocol));                                               \
	}

#define SHAPE_SOCKETPAIR(name, kind, type, detail)                                                 \
	EXPORT int name(int domain, int how, int protocol, int fds[2])                             \
	{                                                                                          \
		MADE_TWO(name, fds, (domain, how, protocol, fds));                                 \
	}

#define SHAPE_PIPE(name, kind, type, detail)                                                       \
	EXPORT int name(int fds[2])                                                                \
	{                                                                                          \
		MADE_TWO(name, fds, (fds));                                                        \
	}

#define SHAPE_PIPE2(name, kind, type, detail)                                                      \
	EXPORT int name(int fds[2], int flags)                                                     \
	{                                                                                          \
		MADE_TWO(name, fds, (fds, flags));                                                 \
	}

#define SHAPE_ACCEPT(name, kind, type, detail)                                                     \
	EXPORT int name(int fd, __SOCKADDR_ARG address, socklen_t *bytes)                          \
	{                                                                                          \
		MADE(name, (fd, address, bytes));                                                  \
	}

#define SHAPE_ACCEPT4(name, kind, type, detail)                                                    \
	EXPORT int name(int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags)               \
	{                                                                                          \
		MADE(name, (fd, address, bytes, flags));                                           \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_MADE_FUNCTIONS(X)
#undef X
