/* While the kernel is traced: waits for its end, and answers sci-kernel status and the like. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/printable.h"
#include "nearest.h"

#define SOCKET_NAME "control"
#define SOCKET_NEW_NAME "control.new" /* until it answers */
#define ANSWER_BYTES 16384
#define CLIENT_TIMEOUT_S 1 /* a client that does not speak must not hold up the end */
#define SERVER_TIMEOUT_S 30

/* ---- the socket ---- */

/* Through /proc: a name has 107 bytes at most, and the folder's may be longer, or change. */
static void socket_name(int folder, const char *file, struct sockaddr_un *name)
{
	char path[FOLDER_PATH_BYTES];

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	snprintf(name->sun_path, sizeof(name->sun_path), "%.100s", folder_path(folder, file, path));
}

/* It gets its name once it answers, so whoever finds it can use it. */
static int socket_listen(int folder)
{
	struct sockaddr_un name;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = 0;
	mode_t before;

	if (fd < 0)
		return -errno;
	socket_name(folder, SOCKET_NEW_NAME, &name);
	before = umask(0177); /* for whoever may write to it */
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) || listen(fd, 8) ||
	    renameat2(folder, SOCKET_NEW_NAME, folder, SOCKET_NAME, RENAME_NOREPLACE))
		rc = -errno;
	umask(before);
	if (rc) {
		unlinkat(folder, SOCKET_NEW_NAME, 0);
		close(fd);
	}
	return rc ? rc : fd;
}

static void limit_wait(int fd, int seconds)
{
	struct timeval limit = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* ---- the verbs ---- */

static int do_status(struct kernelio *k, char *answer, size_t size)
{
	return kernelio_status(k, answer, size);
}

static int do_pause(struct kernelio *k, char *answer, size_t size)
{
	kernelio_pause(k, true);
	return kernelio_status(k, answer, size);
}

static int do_resume(struct kernelio *k, char *answer, size_t size)
{
	kernelio_pause(k, false);
	return kernelio_status(k, answer, size);
}

static int do_snapshot(struct kernelio *k, char *answer, size_t size)
{
	int rc = kernelio_snapshot(k);

	snprintf(answer, size, "%s%s\n", rc ? "?the snapshot cannot be written: " : "snapshot",
		 rc ? strerror(-rc) : "");
	return 0;
}

static const struct verb {
	const char *name;
	int (*act)(struct kernelio *k, char *answer, size_t size);
	bool ends;
} verbs[] = {
	{ "status", do_status, false },		{ "stop", do_status, true },
	{ "pause", do_pause, false },		{ "resume", do_resume, false },
	{ WATCH_SNAPSHOT, do_snapshot, false },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

const char *watch_verb_like(const char *text)
{
	char small[32];
	size_t n = 0;

	for (; n < sizeof(small) - 1 && text[n]; n++)
		small[n] = (char)tolower((unsigned char)text[n]);
	small[n] = '\0';
	if (n == 0 || text[n] || strchr(text, '/'))
		return NULL;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strncmp(verbs[i].name, small, n) == 0 ||
		    nearest_distance(small, verbs[i].name) <= 1)
			return verbs[i].name;
	return NULL;
}

/* One question and its answer; true: it was to stop. */
static bool answer_client(struct kernelio *k, int client)
{
	char *answer = malloc(ANSWER_BYTES), name[32] = "";
	const struct verb *verb;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	bool ends = false;
	ssize_t n;

	limit_wait(client, CLIENT_TIMEOUT_S);
	if (!answer || getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != 0 && peer.uid != geteuid()))
		goto out;
	n = recv(client, name, sizeof(name) - 1, 0);
	if (n <= 0)
		goto out;
	name[n] = '\0';
	verb = find_verb(name);
	if (!verb) {
		snprintf(answer, ANSWER_BYTES, "?%s: not understood\n", name);
	} else {
		ends = verb->ends;
		if (verb->act(k, answer, ANSWER_BYTES))
			snprintf(answer, ANSWER_BYTES, "?the counters cannot be read\n");
	}
	if (send(client, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		eta_warn("control: a client went away before its answer (%s)", strerror(errno));
out:
	free(answer);
	close(client);
	return ends;
}

/* ---- waiting ---- */

/* behind these: processes */
enum { ON_TIME, ON_CONTROL, ON_SIGNAL, ON_CALLER, ON_SERVED, N_EVENTS };

static void fill_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
}

void watch_block_signals(void)
{
	sigset_t signals;

	fill_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

void watch_unblock_signals(void)
{
	const struct timespec now = { 0 };
	sigset_t signals;

	fill_signals(&signals);
	while (sigtimedwait(&signals, NULL, &now) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

static int open_signals(void)
{
	sigset_t signals;

	fill_signals(&signals);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static int open_timer(unsigned ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000L } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd >= 0 && timerfd_settime(fd, 0, &when, NULL)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A byte is the end; without one the caller has become another program, which is traced on. */
static bool caller_said(struct pollfd *event)
{
	char byte;

	if (read(event->fd, &byte, 1) == 1)
		return true;
	event->fd = -1;
	return false;
}

/* Have all of the N PROCESSES, of which there is any, ended? */
static bool all_ended(struct pollfd *processes, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (processes[i].revents)
			processes[i].fd = -1;
		left += processes[i].fd >= 0;
	}
	return n && left == 0;
}

static int wait_for_end(const struct watch *watch, struct pollfd *events, size_t n,
			enum watch_end *end)
{
	for (;;) {
		int client;

		if (poll(events, (nfds_t)n, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (events[ON_CONTROL].revents) {
			client = accept4(events[ON_CONTROL].fd, NULL, NULL, SOCK_CLOEXEC);
			if (client >= 0 && answer_client(watch->kernelio, client)) {
				*end = WATCH_STOPPED;
				return 0;
			}
		}
		if (all_ended(events + N_EVENTS, n - N_EVENTS))
			*end = WATCH_PROCESS;
		else if (events[ON_SERVED].revents && watch->serve(watch->serve_arg))
			*end = WATCH_PROCESS;
		else if (events[ON_CALLER].revents && caller_said(&events[ON_CALLER]))
			*end = WATCH_STOPPED;
		else if (events[ON_SIGNAL].revents)
			*end = WATCH_SIGNAL;
		else if (events[ON_TIME].revents)
			*end = WATCH_DURATION;
		else
			continue;
		return 0;
	}
}

int watch_run(const struct watch *watch, enum watch_end *end)
{
	size_t n = N_EVENTS + watch->n_pidfds + (watch->pid != 0);
	struct pollfd *events = calloc(n, sizeof(*events));
	int own_pidfd = -1, rc = 0;

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		events[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	for (size_t i = 0; i < watch->n_pidfds; i++)
		events[N_EVENTS + i].fd = watch->pidfds[i];
	if (watch->pid) {
		own_pidfd = (int)syscall(SYS_pidfd_open, watch->pid, 0);
		events[n - 1].fd = own_pidfd;
		if (own_pidfd < 0) {
			rc = -errno;
			eta_error("process %d: cannot be watched (%s)", (int)watch->pid,
				  strerror(-rc));
			goto out;
		}
	}
	if (watch->duration_ms) {
		events[ON_TIME].fd = open_timer(watch->duration_ms);
		if (events[ON_TIME].fd < 0) {
			rc = -errno;
			eta_error("cannot set a timer (%s)", strerror(-rc));
			goto out;
		}
	}
	if (watch->signals) {
		events[ON_SIGNAL].fd = open_signals();
		if (events[ON_SIGNAL].fd < 0) {
			rc = -errno;
			eta_error("cannot wait for signals (%s)", strerror(-rc));
			goto out;
		}
	}
	events[ON_CONTROL].fd = socket_listen(watch->folder);
	if (events[ON_CONTROL].fd < 0)
		eta_warn("%s/" SOCKET_NAME ": cannot be made (%s): no status while it runs",
			 watch->directory, strerror(-events[ON_CONTROL].fd));
	events[ON_CALLER].fd = watch->ended_by;
	events[ON_SERVED].fd = watch->serve ? watch->also : -1;
	rc = wait_for_end(watch, events, n, end);
	if (rc)
		eta_error("cannot wait for the end (%s)", strerror(-rc));
out:
	if (events[ON_CONTROL].fd >= 0)
		unlinkat(watch->folder, SOCKET_NAME, 0);
	if (own_pidfd >= 0)
		close(own_pidfd);
	events[ON_CALLER].fd = events[ON_SERVED].fd = -1;
	for (int i = 0; i < N_EVENTS; i++)
		if (events[i].fd >= 0)
			close(events[i].fd);
	free(events);
	return rc;
}

/* ---- the other side ---- */

static int try_connect(const char *directory, const char *below)
{
	struct sockaddr_un name;
	int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), folder = at, fd = -1, rc = 0;

	if (at >= 0 && below)
		folder = openat(at, below, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		rc = -errno;
		goto out;
	}
	socket_name(folder, SOCKET_NAME, &name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)))
		rc = -errno;
out:
	if (rc && fd >= 0)
		close(fd);
	if (folder >= 0 && folder != at)
		close(folder);
	if (at >= 0)
		close(at);
	return rc ? rc : fd;
}

/* The folder, and whoever answers, may be another user's: he controls nothing but lines of text. */
static void put_answer(const char *text, size_t size)
{
	const char *end = text + size;
	char step[PRINTABLE_STEP];

	while (text < end) {
		bool ends = *text == '\n';

		text += printable_step(text, (size_t)(end - text), step);
		fputs(ends ? "\n" : step, stdout);
	}
}

/* Asks who listens at FD; its answer goes to standard output, or is kept back where it is QUIET. */
static int ask(const char *directory, int fd, const char *verb, bool quiet)
{
	char text[4096];
	bool bad = false, first = true;
	ssize_t n;

	limit_wait(fd, SERVER_TIMEOUT_S);
	n = send(fd, verb, strlen(verb), MSG_NOSIGNAL);
	while (n > 0 && (n = recv(fd, text, sizeof(text), 0)) > 0) {
		bad |= first && text[0] == '?';
		if (!quiet || bad)
			put_answer(text, (size_t)n);
		first = false;
	}
	close(fd);
	if (n < 0 || first) {
		eta_error("%s: the kernel tracer gave no answer (%s)", directory,
			  n < 0 ? strerror(errno) : "another user's?");
		return -EIO;
	}
	return bad ? -EINVAL : 0;
}

static int connect_to(const char *directory)
{
	int fd = try_connect(directory, "kernel.spool");

	return fd == -ENOENT || fd == -ENOTDIR ? try_connect(directory, NULL) : fd;
}

int watch_send(const char *directory, const char *verb)
{
	int fd = connect_to(directory);

	if (fd >= 0)
		return ask(directory, fd, verb, false);
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		eta_error("%s: no kernel tracer runs there (it has ended, or writes "
			  "to another folder)",
			  directory);
	else
		eta_error("%s: the kernel tracer cannot be asked (%s)", directory, strerror(-fd));
	return fd;
}

int watch_snapshot(const char *directory)
{
	int fd = connect_to(directory);

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return 0;
	if (fd < 0) {
		eta_error("%s: the kernel tracer cannot be asked (%s)", directory, strerror(-fd));
		return fd;
	}
	return ask(directory, fd, WATCH_SNAPSHOT, true);
}
