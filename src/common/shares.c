/* Network file systems: which devices of which machines are one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"

struct mounted {
	uint64_t dev;
	const char *mount;
	size_t server; /* how much of MOUNT names the server */
};

/*
 * Behind the type, "server:/export" and "//server/export" begin with a server's name; of all else,
 * such as "mgs@tcp:/lustre", the whole is what its servers have in common.
 */
static size_t server_length(const char *mount)
{
	const char *source = strchr(mount, ' '), *end;

	source = source ? source + 1 : mount;
	if (strncmp(source, "//", 2) == 0)
		end = strchr(source + 2, '/');
	else
		end = strchr(source, '@') ? NULL : strstr(source, ":/");
	return end ? (size_t)(end - mount) : strlen(mount);
}

static int by_name(const void *a, const void *b)
{
	const struct mounted *x = a, *y = b;
	size_t shorter = x->server < y->server ? x->server : y->server;
	/* those of one server side by side */
	int order = memcmp(x->mount, y->mount, shorter);

	if (!order)
		order = (x->server > y->server) - (x->server < y->server);
	if (!order)
		order = strcmp(x->mount, y->mount);
	return order ? order : (x->dev > y->dev) - (x->dev < y->dev);
}

static bool are_of_one_server(const struct mounted *x, const struct mounted *y)
{
	return x->server == y->server && memcmp(x->mount, y->mount, x->server) == 0;
}

static int by_dev(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->dev > y->dev) - (x->dev < y->dev);
}

/* One per device, in no order. */
static uint32_t find_mounts(const struct eta_defs *defs, struct mounted *list)
{
	uint32_t n = 0, machine = 0;
	const char *host = NULL;

	for (uint32_t i = 0; i < defs->n_files; i++) {
		const struct eta_file *f = &defs->files[i];

		if (!f->mount || !*f->mount || !*f->host || !f->dev)
			continue;
		/* equal texts are one */
		if (f->host != host) {
			host = f->host;
			machine = eta_machine(defs, host);
		}
		list[n++] = (struct mounted){ .dev = machine_dev(machine, f->dev),
					      .mount = f->mount,
					      .server = server_length(f->mount) };
	}
	return n;
}

static void number_shares(struct mounted *list, uint32_t n, struct shares *out)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct mounted *before = i ? &list[i - 1] : NULL;
		bool same_server = before && are_of_one_server(before, &list[i]);
		bool same = same_server && strcmp(before->mount, list[i].mount) == 0;

		out->several |= same_server && before->dev >> 32 != list[i].dev >> 32;
		if (same && before->dev == list[i].dev)
			continue;
		out->n_servers += !same_server;
		out->n_shares += !same;
		out->server_of[out->n_shares - 1] = out->n_servers - 1;
		out->list[out->n++] = (struct share){ .dev = list[i].dev,
						      .number = out->n_shares - 1,
						      .server = out->n_servers - 1 };
	}
	if (out->n)
		qsort(out->list, out->n, sizeof(*out->list), by_dev);
}

int shares_new(const struct eta_defs *defs, struct shares *out)
{
	size_t room = (size_t)defs->n_files + 1;
	struct mounted *list;
	uint32_t n;

	*out = (struct shares){ 0 };
	list = calloc(room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = find_mounts(defs, list);
	out->list = calloc((size_t)n + 1, sizeof(*out->list));
	out->server_of = calloc((size_t)n + 1, sizeof(*out->server_of));
	if (out->list && out->server_of) {
		if (n)
			qsort(list, n, sizeof(*list), by_name);
		number_shares(list, n, out);
	}
	free(list);
	return out->list && out->server_of ? 0 : -ENOMEM;
}

void shares_free(struct shares *shares)
{
	free(shares->list);
	free(shares->server_of);
	*shares = (struct shares){ 0 };
}

const struct share *share_of(const struct shares *shares, uint64_t dev)
{
	const struct share wanted = { .dev = dev };

	return shares->n ? bsearch(&wanted, shares->list, shares->n, sizeof(wanted), by_dev) : NULL;
}
