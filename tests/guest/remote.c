/*
 * For tests/cases/kernel-nfs.py. remote write FILE CALLS: that many writes of 64 KiB past the page
 * cache, one after the other. remote relay PORT TO: passes what comes to PORT of this machine on to
 * TO and back; after SIGUSR1 it drops what the client sends next, and closes that connection 0.2 s
 * later.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 65536, SLOW_US = 200000 };

static volatile sig_atomic_t drops;

static void on_signal(int number)
{
	(void)number;
	drops = 1;
}

static void write_file(const char *path, unsigned long calls)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_DIRECT, 0600);
	char *block = aligned_alloc(BLOCK, BLOCK);

	if (fd < 0 || !block)
		err(1, "%s", path);
	memset(block, 'x', BLOCK);
	for (unsigned long i = 0; i < calls; i++)
		if (pwrite(fd, block, BLOCK, (off_t)(i % 16 * BLOCK)) != BLOCK)
			err(1, "%s", path);
	free(block);
	close(fd);
}

static int endpoint(uint16_t port, bool listens)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (listens ? bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8)
		    : connect(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "port %u", port);
	return fd;
}

/* What is there at FROM goes to TO; false: no more. */
static bool pass(int from, int to)
{
	static char bytes[1 << 18];
	ssize_t n = read(from, bytes, sizeof(bytes));

	for (ssize_t done = 0, more; n > 0 && done < n; done += more) {
		more = write(to, bytes + done, (size_t)(n - done));
		if (more <= 0)
			return false;
	}
	return n > 0;
}

/* One connection of the client, until an end is closed or the client's bytes are dropped. */
static void relay_one(int client, int server)
{
	struct pollfd ends[] = { { .fd = client, .events = POLLIN },
				 { .fd = server, .events = POLLIN } };

	while (poll(ends, 2, -1) >= 0 || drops) {
		if (ends[0].revents && drops) {
			drops = 0;
			usleep(SLOW_US);
			return;
		}
		if ((ends[0].revents && !pass(client, server)) ||
		    (ends[1].revents && !pass(server, client)))
			return;
		ends[0].revents = ends[1].revents = 0;
	}
}

/* Prints the process that does it, once that listens. */
static void relay(uint16_t port, uint16_t to)
{
	int listener = endpoint(port, true);
	pid_t child;

	signal(SIGUSR1, on_signal);
	signal(SIGPIPE, SIG_IGN);
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (child) {
		printf("%d\n", (int)child);
		return;
	}
	fclose(stdout);
	for (;;) {
		int client = accept(listener, NULL, NULL), server;

		if (client < 0)
			continue;
		server = endpoint(to, false);
		relay_one(client, server);
		close(client);
		close(server);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "write") == 0)
		write_file(argv[2], strtoul(argv[3], NULL, 10));
	else if (argc == 4 && strcmp(argv[1], "relay") == 0)
		relay((uint16_t)strtoul(argv[2], NULL, 10), (uint16_t)strtoul(argv[3], NULL, 10));
	else
		errx(2, "usage: remote write FILE CALLS | remote relay PORT TO");
	return 0;
}
