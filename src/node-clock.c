/* Clocks of nodes compared by messages: one answers, the others ask, in threads of their own. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "node-clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/format/spool.h"

/*
 * Who makes the file FOLDER/.clock.JOB answers. It has the port, a secret, the boot and the
 * addresses of its node, and only the owner can read it. A packet that has not the secret is not
 * answered, and an answer is no longer than what it answers, so that who cannot read the folder
 * gets nothing out of the port. The secret is not hidden from who listens on the network: that one
 * could answer wrongly, and make times wrong by it, no more.
 */
enum {
	SECRET_BYTES = 16,
	MAX_ADDRESSES = 16,
	PINGS = 16,	     /* of which the one that took least counts */
	ANSWER_MS = 100,     /* what has not come by then is lost */
	LOST_PINGS = 3,	     /* in a row: nobody answers */
	FIRST_REST_MS = 100, /* until the file is there */
	REST_MS = 10000,     /* between two measurements */
	MAX_READINGS = 64,
	FILE_BYTES = 2048,
};

/* Both ways. */
struct ping {
	uint8_t secret[SECRET_BYTES];
	uint64_t number;
	uint64_t came_ns, went_ns; /* at the node that answers, by its clock */
};

/* From ASKED to HEARD by the own clock, in which the other node's said CAME to WENT. */
struct reading {
	uint64_t asked_ns, heard_ns, came_ns, went_ns;
};

struct address {
	struct sockaddr_storage at;
	socklen_t bytes;
};

struct node_clock {
	char path[PATH_MAX];
	char boot[40];	  /* of the node that answers */
	bool answers;	  /* this one */
	bool is_same;	  /* is of the same boot as that: their clock is one */
	bool gives_up;	  /* the file is none to trust */
	int socket, stop; /* stop: an eventfd */
	pthread_t thread;
	uint8_t secret[SECRET_BYTES];
	struct address addresses[MAX_ADDRESSES];
	size_t n_addresses, answered; /* answered: which of them, once one has */
	uint64_t number;
	struct reading readings[MAX_READINGS];
	size_t n_readings;
};

/* ---- the file ---- */

static bool is_usable(const struct ifaddrs *i, bool loopback)
{
	int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;

	if (!(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_LOOPBACK) == loopback)
		return false;
	return family == AF_INET ||
	       (family == AF_INET6 &&
		!IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr));
}

/* The addresses of this node, those that only itself can reach last. */
static void put_addresses(FILE *out)
{
	struct ifaddrs *list;
	char text[INET6_ADDRSTRLEN];
	int n = 0;

	if (getifaddrs(&list) != 0)
		return;
	for (int loopback = 0; loopback < 2; loopback++)
		for (const struct ifaddrs *i = list; i && n < MAX_ADDRESSES; i = i->ifa_next) {
			const void *bytes;

			if (!is_usable(i, loopback))
				continue;
			bytes = i->ifa_addr->sa_family == AF_INET
					? (const void *)&((struct sockaddr_in *)i->ifa_addr)
						  ->sin_addr
					: &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
			if (inet_ntop(i->ifa_addr->sa_family, bytes, text, sizeof(text))) {
				fprintf(out, " %s", text);
				n++;
			}
		}
	freeifaddrs(list);
}

/* A port for all addresses of both families; 0: none. */
static uint16_t open_port(struct node_clock *c)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	struct sockaddr_in at4 = { .sin_family = AF_INET };
	struct sockaddr_storage got;
	socklen_t bytes = sizeof(got);
	int no = 0;

	c->socket = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (c->socket >= 0 &&
	    (setsockopt(c->socket, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) != 0 ||
	     bind(c->socket, (struct sockaddr *)&at, sizeof(at)) != 0)) {
		close(c->socket);
		c->socket = -1;
	}
	if (c->socket < 0) { /* a node without IPv6 */
		c->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (c->socket < 0 || bind(c->socket, (struct sockaddr *)&at4, sizeof(at4)) != 0)
			return 0;
	}
	if (getsockname(c->socket, (struct sockaddr *)&got, &bytes) != 0)
		return 0;
	return ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
					       : ((struct sockaddr_in *)&got)->sin_port);
}

/* Makes what FD is of complete: a reader waits for the end of the line. */
static bool write_file(struct node_clock *c, int fd)
{
	struct eta_spool_header own = { 0 };
	uint16_t port = open_port(c);
	FILE *out = fdopen(fd, "w");

	if (!out) {
		close(fd);
		return false;
	}
	spool_header_origin(&own);
	snprintf(c->boot, sizeof(c->boot), "%s", own.boot);
	if (port && *c->boot && getrandom(c->secret, SECRET_BYTES, 0) == SECRET_BYTES) {
		fprintf(out, "%u %s ", (unsigned)port, c->boot);
		for (int i = 0; i < SECRET_BYTES; i++)
			fprintf(out, "%02x", c->secret[i]);
		put_addresses(out);
		fputc('\n', out);
	} else {
		port = 0;
	}
	return (fclose(out) == 0) & (port != 0);
}

static void add_address(struct node_clock *c, const char *text, uint16_t port)
{
	struct address *a = &c->addresses[c->n_addresses];
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (c->n_addresses == MAX_ADDRESSES)
		return;
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(&a->at, &in, sizeof(in));
		a->bytes = sizeof(in);
	} else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
		memcpy(&a->at, &in6, sizeof(in6));
		a->bytes = sizeof(in6);
	} else {
		return;
	}
	c->n_addresses++;
}

static bool parse_file(struct node_clock *c, char *text)
{
	struct eta_spool_header own = { 0 };
	char secret[2 * SECRET_BYTES + 1], *rest, *word;
	unsigned port;
	int n = 0;

	if (sscanf(text, "%5u %39s %32[0-9a-f]%n", &port, c->boot, secret, &n) != 3 ||
	    strlen(secret) != 2 * SECRET_BYTES || port == 0 || port > UINT16_MAX)
		return false;
	for (int i = 0; i < SECRET_BYTES; i++)
		c->secret[i] =
			(uint8_t)strtoul((char[]){ secret[2 * i], secret[2 * i + 1], 0 }, NULL, 16);
	for (word = strtok_r(text + n, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
		add_address(c, word, (uint16_t)port);
	spool_header_origin(&own);
	c->is_same = strcmp(own.boot, c->boot) == 0;
	return true;
}

/* Is the file there, whole and of this user alone? */
static bool read_file(struct node_clock *c)
{
	int fd = open(c->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[FILE_BYTES];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	c->gives_up = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		      st.st_mode & 077;
	close(fd);
	if (n <= 0 || text[n - 1] != '\n')
		return false;
	text[n] = '\0';
	c->gives_up |= !parse_file(c, text);
	return !c->gives_up;
}

/* ---- messages ---- */

/* Waits for MS; true: it is to end. */
static bool rest(const struct node_clock *c, int ms)
{
	struct pollfd stop = { .fd = c->stop, .events = POLLIN };

	return poll(&stop, 1, ms) > 0;
}

static void answer_all(struct node_clock *c)
{
	struct pollfd fds[] = { { .fd = c->stop, .events = POLLIN },
				{ .fd = c->socket, .events = POLLIN } };

	for (;;) {
		struct sockaddr_storage from;
		socklen_t bytes = sizeof(from);
		struct ping ping;
		ssize_t n;

		if ((poll(fds, 2, -1) < 0 && errno != EINTR) || fds[0].revents)
			return;
		n = recvfrom(c->socket, &ping, sizeof(ping), MSG_DONTWAIT | MSG_TRUNC,
			     (struct sockaddr *)&from, &bytes);
		ping.came_ns = clock_ns(CLOCK_MONOTONIC);
		if (n != sizeof(ping) || memcmp(ping.secret, c->secret, SECRET_BYTES) != 0)
			continue;
		ping.went_ns = clock_ns(CLOCK_MONOTONIC);
		(void)sendto(c->socket, &ping, sizeof(ping), MSG_DONTWAIT | MSG_NOSIGNAL,
			     (struct sockaddr *)&from, bytes);
	}
}

/* One question on the connected socket FD; false: it or its answer is lost. */
static bool ask(struct node_clock *c, int fd, struct reading *r)
{
	struct ping ping = { .number = ++c->number }, got;
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	uint64_t until_ns;

	memcpy(ping.secret, c->secret, SECRET_BYTES);
	r->asked_ns = clock_ns(CLOCK_MONOTONIC);
	until_ns = r->asked_ns + ANSWER_MS * 1000000ull;
	if (send(fd, &ping, sizeof(ping), MSG_NOSIGNAL) != sizeof(ping))
		return false;
	while ((r->heard_ns = clock_ns(CLOCK_MONOTONIC)) < until_ns) {
		int ms = (int)((until_ns - r->heard_ns) / 1000000) + 1;
		ssize_t n;

		if (poll(&answer, 1, ms) <= 0)
			continue;
		n = recv(fd, &got, sizeof(got), MSG_DONTWAIT | MSG_TRUNC);
		r->heard_ns = clock_ns(CLOCK_MONOTONIC);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false; /* nobody listens there */
		/* of an earlier question, or of somebody else */
		if (n != sizeof(got) || got.number != ping.number ||
		    memcmp(got.secret, c->secret, SECRET_BYTES) != 0)
			continue;
		r->came_ns = got.came_ns;
		r->went_ns = got.went_ns;
		return got.went_ns >= got.came_ns &&
		       got.went_ns - got.came_ns <= r->heard_ns - r->asked_ns;
	}
	return false;
}

/* Every second one goes where there are too many; the first stays. */
static void keep(struct node_clock *c, const struct reading *r)
{
	if (c->n_readings == MAX_READINGS) {
		for (size_t i = 1; i < MAX_READINGS / 2; i++)
			c->readings[i] = c->readings[2 * i];
		c->n_readings = MAX_READINGS / 2;
	}
	c->readings[c->n_readings++] = *r;
}

/* The question of several that took least, to one address. */
static bool measure_at(struct node_clock *c, const struct address *a)
{
	int fd = socket(a->at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), lost = 0;
	struct reading best = { .heard_ns = UINT64_MAX }, r;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&a->at, a->bytes) != 0)
		lost = LOST_PINGS;
	for (int i = 0; i < PINGS && lost < LOST_PINGS; i++) {
		if (!ask(c, fd, &r)) {
			lost++;
			continue;
		}
		lost = 0;
		if (r.heard_ns - r.asked_ns - (r.went_ns - r.came_ns) <
		    best.heard_ns - best.asked_ns - (best.went_ns - best.came_ns))
			best = r;
	}
	if (fd >= 0)
		close(fd);
	if (best.heard_ns == UINT64_MAX)
		return false;
	keep(c, &best);
	return true;
}

static bool measure(struct node_clock *c)
{
	if (c->answered)
		return measure_at(c, &c->addresses[c->answered - 1]);
	for (size_t i = 0; i < c->n_addresses; i++)
		if (measure_at(c, &c->addresses[i])) {
			c->answered = i + 1;
			return true;
		}
	return false;
}

static void ask_all(struct node_clock *c)
{
	int ms = FIRST_REST_MS;

	while (!read_file(c))
		if (c->gives_up || rest(c, ms))
			return;
	while (!c->is_same) {
		/* soon again at the begin, so that there are two where a job is short */
		ms = measure(c) || ms > REST_MS / 4 ? REST_MS : 4 * ms;
		if (rest(c, c->n_readings == 1 ? 1000 : ms))
			break;
	}
	if (c->answered)
		measure(c);
}

static void *run(void *arg)
{
	struct node_clock *c = arg;

	if (c->answers)
		answer_all(c);
	else
		ask_all(c);
	return NULL;
}

/* ---- begin and end ---- */

static void give_up(struct node_clock *c)
{
	if (c->answers)
		unlink(c->path);
	if (c->socket >= 0)
		close(c->socket);
	if (c->stop >= 0)
		close(c->stop);
	free(c);
}

struct node_clock *node_clock_start(const char *folder, const char *job)
{
	struct node_clock *c = calloc(1, sizeof(*c));
	sigset_t all, before;
	int fd, failed;

	if (!c)
		return NULL;
	c->socket = -1;
	c->stop = eventfd(0, EFD_CLOEXEC);
	if (c->stop < 0 || snprintf(c->path, sizeof(c->path), "%s/.clock.%s", folder, job) >=
				   (int)sizeof(c->path)) {
		give_up(c);
		return NULL;
	}
	fd = open(c->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	c->answers = fd >= 0;
	if (c->answers && !write_file(c, fd)) {
		give_up(c);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		give_up(c);
		return NULL;
	}
	return c;
}

char *node_clock_end(struct node_clock *c)
{
	const uint64_t one = 1;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!c)
		return NULL;
	if (write(c->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(c->thread, NULL);
	out = c->answers || c->is_same || c->n_readings ? open_memstream(&text, &size) : NULL;
	if (out) {
		fprintf(out, "%s %" PRIu64, c->boot, clock_ns(CLOCK_MONOTONIC));
		for (size_t i = 0; i < c->n_readings; i++) {
			const struct reading *r = &c->readings[i];

			fprintf(out, "; %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, r->asked_ns,
				r->heard_ns, r->came_ns, r->went_ns);
		}
		if (fclose(out) != 0) {
			free(text);
			text = NULL;
		}
	}
	give_up(c);
	return text;
}
