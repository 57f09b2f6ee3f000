/* Records of the spill as bytes, from one process to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "record-packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "src/analysis/tables/record-words.h"

/* What comes. */
enum { ITEM_FILE, ITEM_DEV, ITEM_OPERATION, ITEM_BIO };

/* Words of an operation. */
enum { WORD_BEGIN, WORD_LENGTH, WORD_WHAT, WORD_FIELDS, N_HEAD_WORDS };
#define DEV_MASK ((1u << DEV_BITS) - 1)

void record_packet_time(struct record_packet *records, uint64_t from_ns, uint64_t until_ns)
{
	records->from_ns = from_ns;
	records->until_ns = until_ns;
}

void record_packet_begin(struct record_packet *records, struct resources *resources,
			 uint32_t location, bool bytes)
{
	records->resources = resources;
	records->location = location;
	records->turn++;
	records->bytes = bytes;
	records->since_ns = 0;
	record_packet_time(records, 0, UINT64_MAX);
	/* who uses a file has to be noted anew */
	resource_cache_reset(&records->cache);
	records->n_files = records->n_devs = 0;
}

void record_packet_free(struct record_packet *records)
{
	free(records->told_files);
	free(records->told_devs);
	free(records->files);
	free(records->devs);
	free(records->words);
	memset(records, 0, sizeof(*records));
}

/* ---- numbers in the words of an operation ---- */

/* What takes the place of each. */
struct renaming {
	int (*file)(void *arg, uint32_t *number);
	int (*dev)(void *arg, uint32_t *number);
	void *arg;
};

/* Word of the first stretch: others may precede. */
static size_t first_stretch(const struct record_packet *records)
{
	return N_HEAD_WORDS + records->bytes + !!(records->words[WORD_FIELDS] & HELD);
}

static uint32_t halves_of(const struct record_packet *records)
{
	return (uint32_t)(records->words[WORD_FIELDS] >> 32);
}

static uint32_t half_at(const struct record_packet *records, size_t half)
{
	uint64_t word = records->words[first_stretch(records) + half / 2];

	return (uint32_t)(half % 2 ? word >> 32 : word);
}

static void set_half(struct record_packet *records, size_t half, uint32_t value)
{
	uint64_t *word = &records->words[first_stretch(records) + half / 2];
	unsigned shift = half % 2 ? 32 : 0;

	*word = (*word & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)value << shift;
}

/* As operation_unspill_stretches reads them. */
static int rename_stretches(struct record_packet *records, const struct renaming *to)
{
	uint32_t n = halves_of(records);
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t half = half_at(records, i), dev;
		enum cell cell = (enum cell)(half >> NS_BITS & CELL_MASK);

		i += half & LONG && i + 1 < n;
		if (!(half & WHAT) || i + 1 == n)
			continue;
		half = half_at(records, ++i);
		if (cell >= N_CELLS || !cell_names_others(cell))
			continue; /* a task */
		dev = half & DEV_MASK;
		rc = to->dev(to->arg, &dev);
		set_half(records, i, (half & ~DEV_MASK) | (dev & DEV_MASK));
		i += half & WHO && i + 1 < n;
	}
	return rc;
}

static int rename_numbers(struct record_packet *records, const struct renaming *to)
{
	uint64_t *what = &records->words[WORD_WHAT], *fields = &records->words[WORD_FIELDS];
	uint32_t file = (uint32_t)(*what >> 32), dev = (uint32_t)*fields & DEV_MASK;
	int rc = to->file(to->arg, &file);

	if (!rc)
		rc = to->dev(to->arg, &dev);
	*what = (uint32_t)*what | (uint64_t)file << 32;
	*fields = (*fields & ~(uint64_t)DEV_MASK) | (dev & DEV_MASK);
	return rc ? rc : rename_stretches(records, to);
}

static int words_fit(struct record_packet *records, size_t n)
{
	if (!ARRAY_FITS(records->words, n, records->room))
		return -ENOMEM;
	records->n_words = n;
	return 0;
}

/* ---- putting ---- */

struct putting {
	struct record_packet *records;
	struct packet *p;
};

/* NUMBER as it is sent; *IS_NEW: what it is has to be told. */
static int send_as(const struct record_packet *records, struct record_told **told, uint32_t *room,
		   uint32_t *n, uint32_t *number, bool *is_new)
{
	uint32_t before = *room;
	struct record_told *its;

	if (!ARRAY_FITS(*told, (size_t)*number + 1, *room))
		return -ENOMEM;
	memset(*told + before, 0, (*room - before) * sizeof(**told));
	its = &(*told)[*number];
	*is_new = its->turn != records->turn;
	if (*is_new)
		*its = (struct record_told){ records->turn, (*n)++ };
	*number = its->number;
	return 0;
}

static int tell_file(void *arg, uint32_t *number)
{
	const struct putting *to = arg;
	struct record_packet *records = to->records;
	const struct resource_file *f = &records->resources->files[*number];
	bool is_new;
	int rc = send_as(records, &records->told_files, &records->told_file_room, &records->n_files,
			 number, &is_new);

	if (rc || !is_new)
		return rc;
	packet_put(to->p, ITEM_FILE);
	packet_put(to->p, f->dev);
	packet_put(to->p, f->inode);
	return to->p->rc;
}

static int tell_dev(void *arg, uint32_t *number)
{
	const struct putting *to = arg;
	struct record_packet *records = to->records;
	uint64_t dev = records->resources->devs[*number];
	bool is_new;
	int rc = send_as(records, &records->told_devs, &records->told_dev_room, &records->n_devs,
			 number, &is_new);

	if (rc || !is_new)
		return rc;
	packet_put(to->p, ITEM_DEV);
	packet_put(to->p, dev);
	return to->p->rc;
}

static int read_words(struct record_packet *records, struct spill_reader *r)
{
	int rc = words_fit(records, N_HEAD_WORDS);
	size_t n;

	for (n = 0; n < N_HEAD_WORDS && !rc; n++)
		records->words[n] = spill_get(r);
	if (!rc)
		rc = words_fit(records, first_stretch(records) + (halves_of(records) + 1) / 2);
	for (; n < records->n_words && !rc; n++)
		records->words[n] = spill_get(r);
	return rc ? rc : r->rc;
}

/* Of a record of R; later ones begin later. */
static bool is_in_time(const struct record_packet *records, struct spill_reader *r,
		       uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < records->until_ns || records->until_ns == UINT64_MAX)
		return end_ns >= records->from_ns;
	r->left = 0;
	return false;
}

static void put_begin(struct record_packet *records, struct packet *p, uint64_t begin_ns)
{
	packet_put_signed(p, (int64_t)(begin_ns - records->since_ns));
	records->since_ns = begin_ns;
}

static uint64_t take_begin(struct record_packet *records, struct packet *p)
{
	return records->since_ns += (uint64_t)packet_take_signed(p);
}

/* The highest bits, which are a stretch's cell, first: what is short takes few bytes. */
static uint32_t turn(uint32_t half)
{
	return half << (32 - NS_BITS) | half >> NS_BITS;
}

static uint32_t turn_back(uint32_t half)
{
	return half >> (32 - NS_BITS) | half << NS_BITS;
}

int record_packet_put_operation(struct record_packet *records, struct spill_reader *r,
				struct packet *p)
{
	struct putting to = { records, p };
	const struct renaming tell = { tell_file, tell_dev, &to };
	const uint64_t *words;
	int rc = read_words(records, r);

	words = records->words;
	if (!rc &&
	    !is_in_time(records, r, words[WORD_BEGIN], words[WORD_BEGIN] + words[WORD_LENGTH]))
		return 0;
	if (!rc)
		rc = rename_numbers(records, &tell);
	if (rc)
		return rc;
	packet_put(p, ITEM_OPERATION);
	put_begin(records, p, words[WORD_BEGIN]);
	packet_put(p, words[WORD_LENGTH]);
	packet_put(p, (uint32_t)words[WORD_WHAT]);
	packet_put(p, words[WORD_WHAT] >> 32);
	/* devices have small numbers, flags are behind them */
	packet_put(p, (words[WORD_FIELDS] & DEV_MASK) << (32 - DEV_BITS) |
			      (uint32_t)words[WORD_FIELDS] >> DEV_BITS);
	packet_put(p, halves_of(records));
	packet_put_list(p, words + N_HEAD_WORDS, first_stretch(records) - N_HEAD_WORDS);
	for (uint32_t i = 0; i < halves_of(records); i++)
		packet_put(p, turn(half_at(records, i)));
	return p->rc ? p->rc : RECORD_PUT;
}

int record_packet_put_bio(struct record_packet *records, struct spill_reader *r, struct packet *p)
{
	struct putting to = { records, p };
	struct bio_record bio;
	int rc = bio_unspill(r, &bio);

	if (!rc && !is_in_time(records, r, bio.begin_ns, bio.end_ns))
		return 0;
	if (!rc)
		rc = tell_dev(&to, &bio.dev);
	if (rc)
		return rc;
	packet_put(p, ITEM_BIO);
	put_begin(records, p, bio.begin_ns);
	packet_put(p, bio.end_ns - bio.begin_ns);
	packet_put(p, bio.dev);
	packet_put(p, bio.owner);
	return p->rc ? p->rc : RECORD_PUT;
}

/* ---- taking ---- */

static int own_file(void *arg, uint32_t *number)
{
	const struct record_packet *records = arg;

	if (*number >= records->n_files)
		return -EBADMSG;
	*number = records->files[*number];
	return 0;
}

static int own_dev(void *arg, uint32_t *number)
{
	const struct record_packet *records = arg;

	if (*number >= records->n_devs)
		return -EBADMSG;
	*number = records->devs[*number];
	return 0;
}

static int take_file(struct record_packet *records, struct packet *p)
{
	uint64_t dev = packet_take(p), inode = packet_take(p);

	if (p->rc)
		return p->rc;
	if (!ARRAY_FITS(records->files, records->n_files + 1, records->file_room))
		return -ENOMEM;
	return resource_file(records->resources, &records->cache, dev, inode, records->location,
			     &records->files[records->n_files++]);
}

static int take_dev(struct record_packet *records, struct packet *p)
{
	uint64_t dev = packet_take(p);

	if (p->rc)
		return p->rc;
	if (!ARRAY_FITS(records->devs, records->n_devs + 1, records->dev_room))
		return -ENOMEM;
	return resource_dev(records->resources, &records->cache, dev,
			    &records->devs[records->n_devs++]);
}

static int take_words(struct record_packet *records, struct packet *p)
{
	uint64_t what, fields;
	uint32_t halves;
	int rc = words_fit(records, N_HEAD_WORDS);

	if (rc)
		return rc;
	records->words[WORD_BEGIN] = take_begin(records, p);
	records->words[WORD_LENGTH] = packet_take(p);
	what = (uint32_t)packet_take(p);
	records->words[WORD_WHAT] = what | packet_take(p) << 32;
	fields = packet_take(p);
	/* each takes a byte at least */
	halves = packet_take_below(p, p->n + 1);
	records->words[WORD_FIELDS] = (uint32_t)(fields >> (32 - DEV_BITS) & DEV_MASK) |
				      (uint32_t)fields << DEV_BITS | (uint64_t)halves << 32;
	rc = p->rc ? p->rc : words_fit(records, first_stretch(records) + ((size_t)halves + 1) / 2);
	if (rc)
		return rc;
	packet_take_list(p, records->words + N_HEAD_WORDS, first_stretch(records) - N_HEAD_WORDS);
	memset(records->words + first_stretch(records), 0,
	       (records->n_words - first_stretch(records)) * sizeof(*records->words));
	for (uint32_t i = 0; i < halves; i++)
		set_half(records, i, turn_back((uint32_t)packet_take(p)));
	return p->rc;
}

static int take_operation(struct record_packet *records, struct packet *p, struct spill_writer *w)
{
	const struct renaming own = { own_file, own_dev, records };
	int rc = take_words(records, p);

	if (!rc)
		rc = rename_numbers(records, &own);
	if (rc)
		return rc;
	spill_record(w, records->words[WORD_BEGIN],
		     records->words[WORD_BEGIN] + records->words[WORD_LENGTH]);
	for (size_t i = 0; i < records->n_words; i++)
		spill_put(w, records->words[i]);
	return w->rc;
}

static int take_bio(struct record_packet *records, struct packet *p, struct spill_writer *w)
{
	struct bio_record bio = { .begin_ns = take_begin(records, p) };
	int rc;

	bio.end_ns = bio.begin_ns + packet_take(p);
	bio.dev = (uint32_t)packet_take(p);
	bio.owner = (uint32_t)packet_take(p);
	rc = p->rc ? p->rc : own_dev(records, &bio.dev);
	if (!rc)
		bio_spill(w, &bio);
	return rc ? rc : w->rc;
}

int record_packet_take(struct record_packet *records, struct packet *p,
		       struct spill_writer *operations, struct spill_writer *bios)
{
	int rc = 0;

	while (!rc && p->at < p->n) {
		switch (packet_take(p)) {
		case ITEM_FILE:
			rc = take_file(records, p);
			break;
		case ITEM_DEV:
			rc = take_dev(records, p);
			break;
		case ITEM_OPERATION:
			rc = take_operation(records, p, operations);
			break;
		case ITEM_BIO:
			rc = take_bio(records, p, bios);
			break;
		default:
			rc = -EBADMSG;
		}
	}
	return rc;
}
