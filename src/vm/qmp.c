/* QEMU's monitor protocol (QMP), as far as the counters of disks need it: docs/interop/qmp-spec. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"

enum { ANSWER_MAX = 4 << 20 }; /* of hundreds of disks */

static const char question[] = "{\"execute\":\"qmp_capabilities\"}\n"
			       "{\"execute\":\"query-blockstats\",\"id\":\"sci\"}\n";

/* ---- what it says ---- */

static bool is(const json_t *object, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && *text && strcmp(value, text) == 0;
}

static void take_disk(const json_t *one, struct counts *disk)
{
	static const char *const keys[] = {
#define X(id, key) key,
		DISK_COUNTS(X)
#undef X
	};
	const json_t *stats = json_object_get(one, "stats");

	disk->known = json_is_object(stats);
	for (int i = 0; i < N_DISK_COUNTS; i++) {
		json_int_t n = json_integer_value(json_object_get(stats, keys[i]));

		disk->n[i] = n > 0 ? (uint64_t)n : 0;
	}
}

/* Drives have the id that -drive gave, nodes their name; those without one come in order. */
static int take_answer(const json_t *list, const struct qemu_command *command, struct counts *disks)
{
	const json_t *one;
	size_t k;

	if (!json_is_array(list))
		return -EBADMSG;
	for (size_t i = 0; i < command->n_disks; i++) {
		const char *id = command->disks[i].id;

		disks[i].known = false;
		json_array_foreach (list, k, one)
			if (is(one, "device", id) || is(one, "node-name", id))
				take_disk(one, &disks[i]);
	}
	if (json_array_size(list) == command->n_disks)
		json_array_foreach (list, k, one)
			if (!*command->disks[k].id)
				take_disk(one, &disks[k]);
	return 0;
}

/* The messages in TEXT, the last of which may not be whole yet: -EAGAIN. */
static int read_messages(const char *text, size_t bytes, const struct qemu_command *command,
			 struct counts *disks, bool *greeted)
{
	while (bytes) {
		json_error_t error;
		json_t *message = json_loadb(text, bytes, JSON_DISABLE_EOF_CHECK, &error);
		int rc = -EAGAIN;

		if (!message)
			return json_error_code(&error) == json_error_premature_end_of_input
				       ? -EAGAIN
				       : -EBADMSG;
		text += error.position;
		bytes -= (size_t)error.position;
		while (bytes && (*text == '\r' || *text == '\n')) {
			text++;
			bytes--;
		}
		*greeted |= json_is_object(json_object_get(message, "QMP"));
		if (json_object_get(message, "error"))
			rc = -EBADMSG;
		else if (is(message, "id", "sci"))
			rc = take_answer(json_object_get(message, "return"), command, disks);
		json_decref(message);
		if (rc != -EAGAIN)
			return rc;
	}
	return -EAGAIN;
}

int qmp_read_answer(const char *text, size_t bytes, const struct qemu_command *command,
		    struct counts *disks)
{
	bool greeted = false;
	int rc = read_messages(text, bytes, command, disks, &greeted);

	return rc == -EAGAIN ? -EBADMSG : rc;
}

/* ---- the connection ---- */

static int64_t now_ms(void)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* Is it QEMU itself who listens? */
static bool is_of(int fd, pid_t pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid;
}

int qmp_open(pid_t pid, const char *path)
{
	char where[PATH_MAX + 64];
	int fd;

	/* it is QEMU's, from its folder and root */
	snprintf(where, sizeof(where), "/proc/%d/%s/%s", (int)pid, *path == '/' ? "root" : "cwd",
		 path);
	fd = open(where, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A descriptor, or -errno. */
static int connect_to(pid_t pid, int monitor)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = 0;

	/* a path of any length */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", monitor);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		rc = -errno;
	else if (!is_of(fd, pid))
		rc = -EPERM;
	if (rc && fd >= 0)
		close(fd);
	/* as many wait already as it takes */
	return rc == -EAGAIN ? -ETIMEDOUT : rc ? rc : fd;
}

/* Reads on. The number of bytes, or -errno. */
static ssize_t receive(int fd, char *text, size_t bytes, int64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = until_ms - now_ms();
	ssize_t n;

	if (left <= 0 || poll(&p, 1, (int)left) == 0)
		return -ETIMEDOUT;
	n = recv(fd, text, bytes, 0);
	if (n == 0)
		return -ECONNRESET;
	return n > 0 ? n : errno == EINTR || errno == EAGAIN ? 0 : -errno;
}

static int talk(int fd, const struct qemu_command *command, int timeout_ms, struct counts *disks)
{
	const int64_t until_ms = now_ms() + timeout_ms;
	size_t used = 0, room = 0;
	bool greeted = false, asked = false;
	char *text = NULL;
	int rc = -EAGAIN;

	while (rc == -EAGAIN) {
		ssize_t n;

		if (room - used < 4096) {
			char *more = room < ANSWER_MAX ? realloc(text, room += 65536) : NULL;

			rc = more ? rc : room < ANSWER_MAX ? -ENOMEM : -EBADMSG;
			if (!more)
				break;
			text = more;
		}
		n = receive(fd, text + used, room - used, until_ms);
		used += n > 0 ? (size_t)n : 0;
		rc = n < 0 ? (int)n : read_messages(text, used, command, disks, &greeted);
		/* what does not greet as QEMU does is sent nothing */
		if (rc == -EAGAIN && greeted && !asked) {
			asked = true;
			if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) !=
			    (ssize_t)sizeof(question) - 1)
				rc = -EIO;
		}
	}
	free(text);
	return rc;
}

int qmp_ask(pid_t pid, int monitor, const struct qemu_command *command, int timeout_ms,
	    struct counts *disks)
{
	int fd = connect_to(pid, monitor), rc;

	if (fd < 0)
		return fd;
	rc = talk(fd, command, timeout_ms, disks);
	close(fd);
	return rc;
}
