/*
 * Wrappers of calls that create descriptors which are not followed: a file known by that number is
 * gone.
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
 * A file that was closed without the tracer's knowledge (by a system call instruction of the
 * program, by the C library itself) is still in the table, and a socket may get its number.
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

EXPORT int inotify_init(void)
{
	MADE(inotify_init, ());
}

#define SHAPE_MADE_ONE(name, kind, type, detail)                                                   \
	EXPORT int name(type a)                                                                    \
	{                                                                                          \
		MADE(name, (a));                                                                   \
	}

EXPORT int eventfd(unsigned a, int b)
{
	MADE(eventfd, (a, b));
}

EXPORT int timerfd_create(clockid_t a, int b)
{
	MADE(timerfd_create, (a, b));
}

EXPORT int memfd_create(const char *label, unsigned flags)
{
	MADE(memfd_create, (label, flags));
}

EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	MADE(signalfd, (fd, mask, flags));
}

EXPORT int socket(int domain, int how, int protocol)
{
	MADE(socket, (domain, how, protocol));
}

EXPORT int socketpair(int domain, int how, int protocol, int fds[2])
{
	MADE_TWO(socketpair, fds, (domain, how, protocol, fds));
}

EXPORT int pipe(int fds[2])
{
	MADE_TWO(pipe, fds, (fds));
}

EXPORT int pipe2(int fds[2], int flags)
{
	MADE_TWO(pipe2, fds, (fds, flags));
}

EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *bytes)
{
	MADE(accept, (fd, address, bytes));
}

EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags)
{
	MADE(accept4, (fd, address, bytes, flags));
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_MADE_FUNCTIONS(X)
#undef X
