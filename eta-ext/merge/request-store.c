/*
 * Requests that were read once, in temporary files. What guests and hosts have of them is compared
 * several times, and is little of what has to be read for it.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "request-store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/paged-array.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/whole-io.h"

enum { BUFFER = sizeof(((struct request_file *)NULL)->buffer) / sizeof(struct request) };

static bool is_same(const struct request_key *a, const struct request_key *b)
{
	return a->trace == b->trace && a->pid == b->pid && a->dev == b->dev && a->inode == b->inode;
}

static void forget(struct kept_requests *kept)
{
	if (kept->fd >= 0)
		close(kept->fd);
	kept->fd = -1;
}

void request_store_free(struct request_store *store)
{
	for (size_t i = 0; i < store->n; i++) {
		forget(&store->list[i]);
		paged_free(store->list[i].pieces);
	}
	free(store->list);
	*store = (struct request_store){ 0 };
}

int request_file_open(struct request_store *store, const struct request_key *key,
		      struct request_file *file)
{
	const char *dir;
	size_t at = 0;

	file->all = store;
	file->store = NULL;
	file->at = file->n = 0;
	file->next = 0;
	while (at < store->n && !is_same(&store->list[at].key, key))
		at++;
	if (at == store->n) {
		if (!ARRAY_FITS(store->list, store->n + 1, store->room))
			return -ENOMEM;
		store->list[store->n++] = (struct kept_requests){ .key = *key, .fd = -1 };
	}
	file->at = at;
	if (!store->list[at].whole) {
		/* who did not read to the end has left some */
		forget(&store->list[at]);
		store->list[at].n = store->list[at].n_pieces = 0;
		store->list[at].fd = folder_temporary("/tmp", &dir);
	}
	if (store->list[at].fd >= 0)
		file->store = store;
	return store->list[at].whole;
}

int request_file_pieces(struct request_file *file, const struct call_cutter *c,
			struct request *request)
{
	struct kept_requests *kept = &file->all->list[file->at];

	if (kept->n_pieces + c->n_pieces > UINT32_MAX ||
	    !PAGED_FITS(kept->pieces, kept->n_pieces + c->n_pieces, kept->pieces_room))
		return -ENOMEM;
	request->first_piece = (uint32_t)kept->n_pieces;
	request->n_pieces = (uint32_t)c->n_pieces;
	if (c->n_pieces)
		memcpy(kept->pieces + kept->n_pieces, c->pieces, c->n_pieces * sizeof(*c->pieces));
	kept->n_pieces += c->n_pieces;
	return 0;
}

/* What the buffer has goes to the file; where there is no room, all is read again by who wants it.
 */
static void flush(struct request_file *file)
{
	struct kept_requests *kept = &file->store->list[file->at];

	if (write_whole(kept->fd, file->buffer, file->n * sizeof(*file->buffer),
			kept->n * sizeof(*file->buffer))) {
		forget(kept);
		file->store = NULL;
	}
	kept->n += file->n;
	file->n = 0;
}

void request_file_put(struct request_file *file, const struct request *request)
{
	if (!file->store)
		return;
	file->buffer[file->n++] = *request;
	if (file->n == BUFFER)
		flush(file);
}

void request_file_end(struct request_file *file)
{
	if (file->store)
		flush(file);
	if (file->store)
		file->store->list[file->at].whole = true;
	file->store = NULL;
}

int request_file_next(struct request_file *file, struct request *request)
{
	const struct kept_requests *kept = &file->store->list[file->at];
	size_t in_buffer = file->next % BUFFER;

	if (file->next == kept->n)
		return 0;
	if (in_buffer == 0) {
		uint64_t n = kept->n - file->next < BUFFER ? kept->n - file->next : BUFFER;
		int rc = read_whole(kept->fd, file->buffer, n * sizeof(*file->buffer),
				    file->next * sizeof(*file->buffer));

		if (rc) {
			eta_error("cannot read the requests of a virtual machine back from the "
				  "temporary file: %s",
				  strerror(-rc));
			return -EIO;
		}
	}
	*request = file->buffer[in_buffer];
	file->next++;
	return 1;
}
