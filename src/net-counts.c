/* Counters of network file systems' clients over time: found, read, put into the recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "net-counts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/eta.h"
#include "src/common/looks.h"

enum { FILE_BYTES = 65536 }; /* the longest one of Lustre has some 60 lines */

/*
 * "NAME N samples [UNIT] LEAST MOST SUM [SQUARES]" of Lustre, one line for each kind of request
 * that has been made, behind one with the time; "NAME: N" of BeeGFS.
 */
struct entry {
	const char *name;
	int times, sum;	   /* enum disk_count; -1: not taken */
	uint64_t sum_unit; /* of the sum, in bytes or ns */
};

static const struct entry lustre[] = {
	{ "read_bytes", DISK_COUNT_READS, DISK_COUNT_READ_BYTES, 1 },
	{ "write_bytes", DISK_COUNT_WRITES, DISK_COUNT_WRITTEN_BYTES, 1 },
	{ "ost_read", -1, DISK_COUNT_READ_NS, 1000 },
	{ "ost_write", -1, DISK_COUNT_WRITE_NS, 1000 },
	{ "ost_sync", DISK_COUNT_FLUSHES, DISK_COUNT_FLUSH_NS, 1000 },
	{ NULL, 0, 0, 0 },
};

static const struct entry beegfs[] = {
	{ "numRemoteReads:", DISK_COUNT_READS, -1, 0 },
	{ "numRemoteWrites:", DISK_COUNT_WRITES, -1, 0 },
	{ NULL, 0, 0, 0 },
};

static const struct client {
	const char *type, *files; /* of each server, or of each mount: */
	const char *end; /* of the name of its folder, is the same for all servers of a mount */
	const struct entry *entries;
	bool all_counted; /* what has no line is 0, else unknown */
} clients[] = {
	/* since Lustre 2.12, and before */
	{ "lustre", "/sys/kernel/debug/lustre/osc/*/stats", "-osc-", lustre, true },
	{ "lustre", "/proc/fs/lustre/osc/*/stats", "-osc-", lustre, true },
	{ "beegfs", "/proc/fs/beegfs/*/.status", NULL, beegfs, false },
};

struct server {
	const struct client *client;
	int fd;
	char name[200]; /* "TYPE NAME" */
};

struct net_counts {
	struct each_second each;
	struct server *v;
	size_t n, room;
	struct looks looks;
	char *text; /* FILE_BYTES */
};

/* ---- reading ---- */

static void take_line(const char *line, const struct entry *entries, struct counts *counts)
{
	unsigned long long times = 0, sum = 0;
	int length = 0, n;

	sscanf(line, "%*s%n", &length);
	n = sscanf(line + length, "%llu samples [%*[^]]] %*u %*u %llu", &times, &sum);
	for (const struct entry *e = entries; n >= 1 && e->name; e++) {
		if (strlen(e->name) != (size_t)length ||
		    strncmp(line, e->name, strlen(e->name)) != 0)
			continue;
		if (e->times >= 0)
			counts->n[e->times] = times;
		if (e->sum >= 0 && n == 2)
			counts->n[e->sum] = sum * e->sum_unit;
	}
}

/* What a file that says TEXT counts; it has ended with its mount where there is no text. */
static void take_text(char *text, const struct client *client, struct counts *counts)
{
	char *rest, *line = strtok_r(text, "\n", &rest);

	counts->known = line != NULL;
	for (int i = 0; i < N_DISK_COUNTS; i++)
		counts->n[i] = client->all_counted ? 0 : DISK_COUNT_UNKNOWN;
	for (; line; line = strtok_r(NULL, "\n", &rest))
		take_line(line, client->entries, counts);
	/* a client that was built without counters */
	if (counts->n[DISK_COUNT_READS] == DISK_COUNT_UNKNOWN)
		counts->known = false;
}

static void read_server(struct net_counts *c, const struct server *s, struct counts *counts)
{
	size_t used = 0;
	ssize_t got;

	/* these files are made when they are read from the begin on */
	while (used < FILE_BYTES - 1 &&
	       (got = pread(s->fd, c->text + used, FILE_BYTES - 1 - used, (off_t)used)) > 0)
		used += (size_t)got;
	c->text[used] = 0;
	take_text(c->text, s->client, counts);
}

static void look_at_all(struct net_counts *c, bool always)
{
	struct look *look = looks_due(&c->looks, always);

	if (!look)
		return;
	look->time_ns = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < c->n; i++)
		read_server(c, &c->v[i], &look->devices[i]);
	looks_keep(&c->looks, look);
}

static void work(void *arg)
{
	look_at_all(arg, false);
}

/* ---- finding ---- */

/* The folder that PATH lies in, without what is of the mount and not of the server. */
static void name_server(struct server *s, const char *path)
{
	const char *end = strrchr(path, '/'), *begin = end, *cut;

	while (begin > path && begin[-1] != '/')
		begin--;
	cut = s->client->end ? strstr(begin, s->client->end) : NULL;
	snprintf(s->name, sizeof(s->name), "%s %.*s", s->client->type,
		 (int)((cut && cut < end ? cut : end) - begin), begin);
	/* a blank ends the name */
	for (char *at = s->name + strlen(s->client->type) + 1; *at; at++)
		if (isspace((unsigned char)*at))
			*at = '_';
}

/* 0 or -ENOMEM. What has no counters is left out. */
static int add_server(struct net_counts *c, const struct client *client, const char *path)
{
	struct server s = { .client = client, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct counts counts;

	if (s.fd < 0) {
		eta_warn("%s: %s: what it counts is not recorded", path, strerror(errno));
		return 0;
	}
	name_server(&s, path);
	read_server(c, &s, &counts);
	if (!counts.known)
		eta_note("%s: this client counts no reads and writes", path);
	if (counts.known && ARRAY_FITS(c->v, c->n + 1, c->room)) {
		c->v[c->n++] = s;
		return 0;
	}
	close(s.fd);
	return counts.known ? -ENOMEM : 0;
}

static int find(struct net_counts *c, const char *root)
{
	char pattern[4096];
	glob_t found;
	int rc = 0;

	for (size_t i = 0; i < sizeof(clients) / sizeof(*clients) && !rc; i++) {
		snprintf(pattern, sizeof(pattern), "%s%s", root, clients[i].files);
		if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc && !rc; k++)
				rc = add_server(c, &clients[i], found.gl_pathv[k]);
		globfree(&found);
	}
	return rc;
}

void net_counts_free(struct net_counts *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		close(c->v[i].fd);
	looks_free(&c->looks);
	free(c->v);
	free(c->text);
	free(c);
}

int net_counts_new(const char *root, struct net_counts **out)
{
	struct net_counts *c = calloc(1, sizeof(*c));
	int rc = c ? 0 : -ENOMEM;

	if (c) {
		c->each.end = -1;
		c->text = malloc(FILE_BYTES);
		rc = c->text ? find(c, root) : -ENOMEM;
	}
	if (!rc && c->n)
		rc = looks_init(&c->looks, c->n);
	if (rc)
		eta_error("not enough memory for the counters of network file systems");
	if (rc || !c->n) {
		net_counts_free(c);
		c = NULL;
	}
	*out = c;
	return rc;
}

void net_counts_begin(struct net_counts *c)
{
	int rc;

	/* what comes from now on is in the recording, whenever the thread comes to run */
	look_at_all(c, true);
	rc = each_second_begin(&c->each, work, c);
	if (rc)
		eta_warn("the counters of network file systems cannot be read: %s", strerror(-rc));
}

void net_counts_end(struct net_counts *c, void (*put)(void *arg, const char *text), void *arg)
{
	struct looks_out out;

	if (c->each.end < 0)
		return;
	each_second_end(&c->each);
	look_at_all(c, true);
	looks_out_begin(&out, "NETCOUNTS_", put, arg);
	for (size_t i = 0; i < c->n; i++)
		looks_put(&out, &c->looks, i, c->v[i].name);
}
