/* The temporary file of the sweep. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"
#include "spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/whole-io.h"

static int failed(struct spill *spill, const char *what, int error)
{
	if (!__atomic_exchange_n(&spill->reported, true, __ATOMIC_RELAXED))
		eta_error("%s: cannot %s a temporary file: %s (TMPDIR names another place)",
			  spill->dir, what, strerror(error));
	return -error;
}

int spill_open(struct spill *spill)
{
	spill->end = 0;
	spill->reported = false;
	pthread_mutex_init(&spill->lock, NULL);
	spill->fd = folder_temporary("/tmp", &spill->dir);
	return spill->fd < 0 ? failed(spill, "make", -spill->fd) : 0;
}

void spill_close(struct spill *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
	pthread_mutex_destroy(&spill->lock);
}

void spill_stream_free(struct spill_stream *stream)
{
	free(stream->chunks);
	memset(stream, 0, sizeof(*stream));
}

void spill_writer_begin(struct spill_writer *w, struct spill *spill, struct spill_stream *stream)
{
	w->spill = spill;
	w->stream = stream;
	w->rc = 0;
	w->used = 0;
	w->marked = (struct spill_chunk){ .first = SPILL_CHUNK_WORDS };
}

void spill_write_chunk(struct spill_writer *w)
{
	struct spill_stream *s = w->stream;
	size_t used = w->used;
	off_t at;
	int rc;

	w->used = 0;
	if (!w->rc && !ARRAY_FITS(s->chunks, s->n_chunks + 1, s->room))
		w->rc = -ENOMEM;
	if (w->rc)
		return;
	pthread_mutex_lock(&w->spill->lock);
	at = w->spill->end;
	w->spill->end += SPILL_CHUNK_BYTES;
	pthread_mutex_unlock(&w->spill->lock);
	w->marked.number = (uint32_t)(at / SPILL_CHUNK_BYTES);
	s->chunks[s->n_chunks++] = w->marked;
	w->marked.first = SPILL_CHUNK_WORDS;
	s->words += used;
	rc = write_whole(w->spill->fd, w->words, used * sizeof(*w->words), (uint64_t)at);
	w->rc = rc ? failed(w->spill, "write", -rc) : 0;
}

int spill_writer_end(struct spill_writer *w)
{
	if (w->used)
		spill_write_chunk(w);
	return w->rc;
}

void spill_reader_begin(struct spill_reader *r, struct spill *spill,
			const struct spill_stream *stream)
{
	r->spill = spill;
	r->stream = stream;
	r->rc = 0;
	r->next = 0;
	r->at = r->have = 0;
	r->left = stream->words;
}

/* The word of the first record in the chunk in which the first one begins that ends later. */
static uint64_t word_of(const struct spill_stream *s, uint64_t time_ns)
{
	size_t low =
		PARTITION_POINT((size_t)0, s->n_chunks, i, !(s->chunks[i].latest_ns > time_ns));

	return low < s->n_chunks ? low * SPILL_CHUNK_WORDS + s->chunks[low].first : s->words;
}

static void go_to(struct spill_reader *r, uint64_t word)
{
	r->at = r->have = 0;
	r->next = word;
	r->left = r->stream->words - word;
}

void spill_reader_seek(struct spill_reader *r, uint64_t time_ns)
{
	go_to(r, word_of(r->stream, time_ns));
}

void spill_reader_advance(struct spill_reader *r, uint64_t time_ns)
{
	uint64_t word = word_of(r->stream, time_ns);

	if (word > r->stream->words - r->left)
		go_to(r, word);
}

void spill_read_words(struct spill_reader *r)
{
	size_t chunk = r->next / SPILL_CHUNK_WORDS, from = r->next % SPILL_CHUNK_WORDS;
	size_t words = SPILL_CHUNK_WORDS - from;
	off_t at;
	int rc;

	if (words > SPILL_READ_WORDS)
		words = SPILL_READ_WORDS;
	if (words > r->left)
		words = r->left;
	if (!r->rc && words == 0)
		r->rc = -EIO;
	if (!r->rc) {
		at = (off_t)r->stream->chunks[chunk].number * SPILL_CHUNK_BYTES +
		     (off_t)(from * sizeof(*r->words));
		rc = read_whole(r->spill->fd, r->words, words * sizeof(*r->words), (uint64_t)at);
		r->rc = rc ? failed(r->spill, "read", rc == -ENODATA ? EIO : -rc) : 0;
	}
	if (r->rc) {
		words = SPILL_READ_WORDS;
		memset(r->words, 0, sizeof(r->words));
	}
	r->next += words;
	r->at = 0;
	r->have = words;
}
