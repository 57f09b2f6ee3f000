/* Operations and block requests put aside in a temporary file, for the sweep across threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SPILL_H
#define SCI_SPILL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One unlinked file in TMPDIR for all streams. A stream (the operations of a location, or its block
 * requests) is a list of chunks of words; what is in memory is one chunk per stream being written,
 * less per stream being read, and what it takes to begin reading at any time.
 */
#define SPILL_CHUNK_BYTES 16384
#define SPILL_CHUNK_WORDS (SPILL_CHUNK_BYTES / sizeof(uint64_t))
#define SPILL_READ_WORDS 512 /* at once: a sweep has a reader for each of many streams */

struct spill {
	int fd;
	const char *dir; /* where it is */
	pthread_mutex_t lock;
	off_t end;     /* of the file */
	bool reported; /* a failure, by one of the threads: once is enough */
};

struct spill_chunk {
	uint32_t number;   /* in the file */
	uint32_t first;	   /* word of the first record that begins in it; SPILL_CHUNK_WORDS: none */
	uint64_t begin_ns; /* of that record */
	uint64_t latest_ns; /* end among all records that begin in it or before */
};

struct spill_stream {
	struct spill_chunk *chunks; /* in order; all but the last are full */
	size_t n_chunks, room;
	uint64_t words; /* in all */
};

struct spill_writer {
	struct spill *spill;
	struct spill_stream *stream;
	int rc;			   /* the first failure; nothing is written any more */
	size_t used;		   /* words of the chunk */
	struct spill_chunk marked; /* what is known of the chunk */
	uint64_t words[SPILL_CHUNK_WORDS];
};

struct spill_reader {
	struct spill *spill;
	const struct spill_stream *stream;
	int rc;		 /* the first failure; all words are 0 then */
	uint64_t next;	 /* word of the stream, to be read */
	size_t at, have; /* words */
	uint64_t left;
	uint64_t words[SPILL_READ_WORDS];
};

/* A file without a name in TMPDIR, for the streams of one analysis. 0 or -errno, reported. */
int spill_open(struct spill *spill);
void spill_close(struct spill *spill);
void spill_stream_free(struct spill_stream *stream);

/* Appends to STREAM, an empty one; words go to the file chunk by chunk. */
void spill_writer_begin(struct spill_writer *w, struct spill *spill, struct spill_stream *stream);
/* Inside of the two below: writes the full chunk. */
void spill_write_chunk(struct spill_writer *w);
static inline void spill_put(struct spill_writer *w, uint64_t word)
{
	if (w->used == SPILL_CHUNK_WORDS)
		spill_write_chunk(w);
	w->words[w->used++] = word;
}
/* A record from BEGIN to END begins with the next word; records come in order of their begins. */
static inline void spill_record(struct spill_writer *w, uint64_t begin_ns, uint64_t end_ns)
{
	if (w->used == SPILL_CHUNK_WORDS)
		spill_write_chunk(w);
	if (w->marked.first == SPILL_CHUNK_WORDS) {
		w->marked.first = (uint32_t)w->used;
		w->marked.begin_ns = begin_ns;
	}
	if (end_ns > w->marked.latest_ns)
		w->marked.latest_ns = end_ns;
}
/* Behind spill_record: it is the first one of its chunk, with which a reader may begin. */
static inline bool spill_is_first(const struct spill_writer *w)
{
	return w->marked.first == w->used;
}
/* Writes what is left; 0 or the first failure since the begin. */
int spill_writer_end(struct spill_writer *w);

/* Reads STREAM, which is complete, from its begin. */
void spill_reader_begin(struct spill_reader *r, struct spill *spill,
			const struct spill_stream *stream);
/* On to the chunk in which the first record begins that ends after TIME_NS; earlier ones precede
 * it. */
void spill_reader_seek(struct spill_reader *r, uint64_t time_ns);
/* The same, but never back. */
void spill_reader_advance(struct spill_reader *r, uint64_t time_ns);
/* Inside of the two below: reads on. */
void spill_read_words(struct spill_reader *r);
/* The next word; whole records are written, so whole records can be read. */
static inline uint64_t spill_get(struct spill_reader *r)
{
	if (r->at == r->have)
		spill_read_words(r);
	r->left--;
	return r->words[r->at++];
}
/* The next words are going to be wanted, once much else has been done. */
static inline void spill_prefetch(const struct spill_reader *r)
{
	__builtin_prefetch(&r->words[r->at]);
	__builtin_prefetch(&r->words[r->at + 8 < SPILL_READ_WORDS ? r->at + 8 : 0]);
}
/* Passes over as many words, all of which are there. */
static inline void spill_skip(struct spill_reader *r, uint64_t words)
{
	while (words) {
		uint64_t n;

		if (r->at == r->have)
			spill_read_words(r);
		n = r->have - r->at < words ? r->have - r->at : words;
		r->at += n;
		r->left -= n;
		words -= n;
	}
}

#endif
