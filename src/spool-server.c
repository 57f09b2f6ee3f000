/* Opens files of the spool for traced processes that cannot do so by path
 * (eta-ext/format/spool-reach.h).
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "spool-server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool-budget.h"
#include "eta-ext/format/spool-reach.h"

#define MAX_GUESTS 64	/* connections at a time; the others wait in the kernel's queue */
#define PATIENCE_MS 200 /* with one that connects and says nothing */
#define REST_MS 20	/* without descriptors */
#define MAX_FILES 65536 /* made for a recording: clients cannot fill the folder */

struct guest {
	int fd;
	uint64_t until_ms;
};

struct spool_server {
	int dir, socket, end; /* the spool; where to listen; an eventfd: enough */
	uint8_t token[SPOOL_REACH_TOKEN_BYTES];
	pthread_t thread;
	bool runs;
	unsigned files;
	struct guest guests[MAX_GUESTS];
	unsigned n_guests;
};

static uint64_t now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* ---- who may have what ---- */

/* In a time that does not depend on where they differ. */
static bool is_token(const uint8_t *a, const uint8_t *b)
{
	unsigned differs = 0;

	for (size_t i = 0; i < SPOOL_REACH_TOKEN_BYTES; i++)
		differs |= a[i] ^ b[i];
	return differs == 0;
}

/* A number without a zero before it, and what ends it; NULL: there is none. */
static const char *skip_number(const char *text, char end, uint64_t *number)
{
	char *behind;

	if (*text < '1' || *text > '9')
		return NULL;
	errno = 0;
	*number = strtoull(text, &behind, 10);
	return errno || *behind != end ? NULL : behind + (end != '\0');
}

/* The file that all share, which is there from the begin on. */
static bool is_shared_name(const struct spool_reach_request *request)
{
	return !request->is_new && strcmp(request->file, SPOOL_BUDGET_FILE) == 0;
}

/* Is NAME one that the tracer gives to its files? "process.PID.START", "user.PID.TID.START" */
static bool is_spool_name(const char *name, uint64_t *pid)
{
	bool user = strncmp(name, "user.", 5) == 0;
	uint64_t number;

	if (!user && strncmp(name, "process.", 8) != 0)
		return false;
	name = skip_number(strchr(name, '.') + 1, '.', pid);
	if (name && user)
		name = skip_number(name, '.', &number);
	return name && skip_number(name, '\0', &number);
}

/* The number that process PID has in its own pid namespace; 0: not known. */
static uint64_t inner_pid(pid_t pid)
{
	char path[64], line[256];
	uint64_t inner = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		const char *last;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t');
		inner = last ? strtoull(last + 1, NULL, 10) : 0;
		break;
	}
	fclose(file);
	return inner;
}

/* May the process behind FD have REQUEST's file? Its own only. 0 or -errno. */
static int check(const struct spool_server *server, int fd,
		 const struct spool_reach_request *request)
{
	struct ucred peer = { 0 };
	socklen_t bytes = sizeof(peer);
	uint64_t pid;

	if (!is_token(request->token, server->token))
		return -EACCES;
	if (strnlen(request->file, sizeof(request->file)) == sizeof(request->file))
		return -EINVAL;
	if (is_shared_name(request))
		return 0;
	if (!is_spool_name(request->file, &pid))
		return -EINVAL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.pid <= 0)
		return -EACCES;
	if (pid != (uint64_t)peer.pid && pid != inner_pid(peer.pid))
		return -EACCES;
	return request->is_new && server->files >= MAX_FILES ? -EDQUOT : 0;
}

/* ---- answers ---- */

/* False: who asked did not wait for it. */
static bool answer(int fd, int rc, int file)
{
	struct spool_reach_answer text = { .rc = rc };
	struct iovec part = { &text, sizeof(text) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (file >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &file, sizeof(file));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(text);
}

/* Hears what GUEST wants; true: it is served, or never will be. */
static bool serve(struct spool_server *server, const struct guest *guest)
{
	struct spool_reach_request request;
	ssize_t n = recv(guest->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
	int rc, file = -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != sizeof(request))
		return true;
	rc = check(server, guest->fd, &request);
	if (rc == 0) {
		file = openat(server->dir, request.file,
			      O_RDWR | O_CLOEXEC | O_NOFOLLOW |
				      (request.is_new ? O_CREAT | O_EXCL : 0),
			      0600);
		rc = file < 0 ? -errno : 0;
	}
	if (!answer(guest->fd, rc, file) && file >= 0 && request.is_new)
		unlinkat(server->dir, request.file, 0);
	else
		server->files += file >= 0 && request.is_new;
	if (file >= 0)
		close(file);
	return true;
}

static void take_guests(struct spool_server *server)
{
	while (server->n_guests < MAX_GUESTS) {
		int fd = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			/* else it would be asked again at once, for as long as it lasts */
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
				poll(NULL, 0, REST_MS);
			return;
		}
		server->guests[server->n_guests++] =
			(struct guest){ .fd = fd, .until_ms = now_ms() + PATIENCE_MS };
	}
}

/* Serves those that have said what they want, and lets go of those that do not. */
static void serve_guests(struct spool_server *server)
{
	for (unsigned i = server->n_guests; i-- > 0;) {
		struct guest *guest = &server->guests[i];

		if (!serve(server, guest) && now_ms() < guest->until_ms)
			continue;
		close(guest->fd);
		*guest = server->guests[--server->n_guests];
	}
}

static void *run(void *arg)
{
	struct spool_server *server = arg;
	struct pollfd polls[MAX_GUESTS + 2];

	do {
		nfds_t n = 0;

		polls[n++] = (struct pollfd){ .fd = server->end, .events = POLLIN };
		polls[n++] =
			(struct pollfd){ .fd = server->n_guests < MAX_GUESTS ? server->socket : -1,
					 .events = POLLIN };
		for (unsigned i = 0; i < server->n_guests; i++)
			polls[n++] =
				(struct pollfd){ .fd = server->guests[i].fd, .events = POLLIN };
		if (poll(polls, n, server->n_guests ? PATIENCE_MS : -1) < 0 && errno != EINTR)
			break;
		take_guests(server);
		serve_guests(server);
	} while (!polls[0].revents);
	return NULL;
}

/* ---- its lifetime ---- */

/* Binds a name that nobody else has, and passes it to the program. 0 or -errno. */
static int make_socket(struct spool_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[SPOOL_REACH_NAME_BYTES + 64 + 2 * SPOOL_REACH_TOKEN_BYTES];
	uint64_t number;
	int n;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
	    getrandom(server->token, sizeof(server->token), 0) != sizeof(server->token))
		return -errno;
	n = snprintf(address.sun_path + 1, SPOOL_REACH_NAME_BYTES, "sci-record-%016" PRIx64,
		     number);
	server->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->socket < 0 ||
	    bind(server->socket, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ||
	    listen(server->socket, SOMAXCONN))
		return -errno;
	n = snprintf(text, sizeof(text), "%s.%d.%u.", address.sun_path + 1, (int)getpid(),
		     (unsigned)geteuid());
	for (size_t i = 0; i < sizeof(server->token); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", server->token[i]);
	return setenv(SPOOL_REACH_VARIABLE, text, 1) ? -errno : 0;
}

struct spool_server *spool_server_new(int dir)
{
	struct spool_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server) {
		eta_error("not enough memory to record");
		return NULL;
	}
	server->socket = -1;
	server->end = eventfd(0, EFD_CLOEXEC);
	server->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	rc = server->end < 0 || server->dir < 0 ? -errno : make_socket(server);
	if (rc == 0)
		return server;
	eta_warn("calls of processes that cannot reach the recording's folder will be lost: no "
		 "socket: %s",
		 strerror(-rc));
	spool_server_free(server);
	return NULL;
}

int spool_server_start(struct spool_server *server)
{
	sigset_t all, before;
	int rc;

	/* signals are for who waits for the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&server->thread, NULL, run, server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	server->runs = rc == 0;
	if (rc)
		eta_warn("calls of processes that cannot reach the recording's folder will be "
			 "lost: no thread: %s",
			 strerror(-rc));
	return rc;
}

void spool_server_free(struct spool_server *server)
{
	const uint64_t one = 1;

	if (!server)
		return;
	if (server->runs && write(server->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(server->thread, NULL);
	while (server->n_guests > 0)
		close(server->guests[--server->n_guests].fd);
	unsetenv(SPOOL_REACH_VARIABLE);
	if (server->socket >= 0)
		close(server->socket);
	if (server->dir >= 0)
		close(server->dir);
	if (server->end >= 0)
		close(server->end);
	free(server);
}
