/* Spool files for processes that cannot open them by path: the traced process' side. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-reach.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "own-call.h"

/*
 * How long a program may be held up by a recorder that does not answer (stopped, or without a CPU):
 * once, since it is not asked again.
 */
#define PATIENCE_NS 500000000

#define OVERFLOW_ID 65534 /* of a user that has no number in this user namespace */

static struct {
	struct sockaddr_un address;
	socklen_t bytes; /* of address; 0: no recorder, or it does not answer */
	uint32_t pid, uid;
	uint8_t token[SPOOL_REACH_TOKEN_BYTES];
} recorder;

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number at *TEXT, which ends with a dot; *TEXT behind that, or NULL. */
static uint32_t take_number(const char **text)
{
	uint32_t number = 0;

	if (!*text)
		return 0;
	for (; **text >= '0' && **text <= '9'; ++*text)
		number = number * 10 + (uint32_t)(**text - '0');
	*text = **text == '.' ? *text + 1 : NULL;
	return number;
}

void spool_reach_set(const char *text)
{
	const char *end = text ? strchr(text, '.') : NULL;
	size_t n = end ? (size_t)(end - text) : 0;

	memset(&recorder, 0, sizeof(recorder));
	if (n == 0 || n > SPOOL_REACH_NAME_BYTES)
		return;
	recorder.address.sun_family = AF_UNIX;
	memcpy(recorder.address.sun_path + 1, text, n);
	text = end + 1;
	recorder.pid = take_number(&text);
	recorder.uid = take_number(&text);
	for (size_t i = 0; text && i < SPOOL_REACH_TOKEN_BYTES; i++) {
		int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return;
		recorder.token[i] = (uint8_t)(high << 4 | low);
	}
	if (text)
		recorder.bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/*
 * Is it the recorder that answers? Once it has ended, anybody can take its name. In other
 * namespaces its numbers have no meaning.
 */
static bool is_recorder(int fd)
{
	struct ucred peer = { 0 };
	socklen_t bytes = sizeof(peer);

	if (own_call(PEER, fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return false;
	return (peer.pid == 0 || (uint32_t)peer.pid == recorder.pid) &&
	       (peer.uid == OVERFLOW_ID || peer.uid == recorder.uid);
}

static long ask(int fd, const struct spool_reach_request *request)
{
	struct iovec part = { (void *)request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return own_call(SENDMSG, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The descriptor that comes, or -errno. */
static int take(int fd)
{
	struct timespec left = { PATIENCE_NS / 1000000000, PATIENCE_NS % 1000000000 };
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	struct spool_reach_answer answer = { 0 };
	struct iovec part = { &answer, sizeof(answer) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const struct cmsghdr *head;
	long rc;
	int got;

	/* the kernel counts `left` down over signals */
	do
		rc = own_call(POLL, &poll, 1, &left, NULL, 8);
	while (rc == -EINTR);
	if (rc <= 0)
		return rc < 0 ? (int)rc : -ETIMEDOUT;
	rc = own_call(RECVMSG, fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (rc != sizeof(answer))
		return rc < 0 ? (int)rc : -ECONNRESET;
	head = CMSG_FIRSTHDR(&message);
	if (answer.rc)
		return answer.rc < 0 ? answer.rc : -EPROTO;
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EMFILE; /* no number was free for it */
	memcpy(&got, CMSG_DATA(head), sizeof(got));
	return got;
}

int spool_reach(const char *path, bool is_new)
{
	const char *file = strrchr(path, '/');
	struct spool_reach_request request = { .is_new = is_new };
	long fd, rc;

	file = file ? file + 1 : path;
	if (!recorder.bytes || strlen(file) >= sizeof(request.file))
		return -ENOENT;
	memcpy(request.token, recorder.token, sizeof(request.token));
	strcpy(request.file, file);
	fd = own_call(SOCKET, AF_UNIX, OWN_SOCKET_TYPE, 0);
	if (fd < 0)
		return (int)fd;
	rc = own_call(CONNECT, fd, &recorder.address, recorder.bytes);
	if (rc == 0 && !is_recorder((int)fd))
		rc = -ECONNREFUSED;
	if (rc == 0)
		rc = ask((int)fd, &request);
	if (rc >= 0)
		rc = take((int)fd);
	own_call(CLOSE, fd);
	/* ended, in another network namespace, or it does not answer */
	if (rc == -ECONNREFUSED || rc == -ETIMEDOUT || rc == -EAGAIN || rc == -ECONNRESET)
		recorder.bytes = 0;
	return (int)rc;
}
