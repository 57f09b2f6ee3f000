/* How a program does its I/O. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "habits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define POSITION_UNKNOWN UINT64_MAX
#define PAGE_MASK 4095

/* ---- room ---- */

/* Is it a transfer by a system call, and not by the C library, which has a buffer? */
static bool is_system_call(const char *name)
{
	return strncmp(name, "read", 4) == 0 || strncmp(name, "write", 5) == 0 ||
	       strncmp(name, "pread", 5) == 0 || strncmp(name, "pwrite", 6) == 0;
}

static int habits_open(struct habits *h, const struct eta_defs *defs)
{
	uint32_t n = defs->n_regions ? defs->n_regions : 1;
	uint32_t handles = defs->n_handles ? defs->n_handles : 1;

	h->functions = calloc(n, sizeof(*h->functions));
	h->kinds = calloc(n, sizeof(*h->kinds));
	h->system_calls = calloc(n, sizeof(*h->system_calls));
	h->faults = calloc(n, sizeof(*h->faults));
	h->positions = calloc(handles, sizeof(*h->positions));
	h->position_of = calloc(handles, sizeof(*h->position_of));
	if (!h->functions || !h->kinds || !h->system_calls || !h->faults || !h->positions ||
	    !h->position_of)
		return -ENOMEM;
	h->n_functions = n;
	h->n_handles = handles;
	for (uint32_t i = 0; i < defs->n_regions; i++) {
		h->system_calls[i] = is_system_call(defs->regions[i].name);
		h->faults[i] = strncmp(defs->regions[i].name, "pagecache:mmap ", 15) == 0;
	}
	return 0;
}

/* FILE is not below N_FILES. */
static int files_room(struct habits *h, uint32_t file)
{
	uint32_t room = h->n_files ? h->n_files : 64;
	struct habit *files;

	while (room <= file)
		room *= 2;
	files = reallocarray(h->files, room, sizeof(*files));
	if (!files)
		return -ENOMEM;
	memset(files + h->n_files, 0, (room - h->n_files) * sizeof(*files));
	h->files = files;
	h->n_files = room;
	return 0;
}

void habits_free(struct habits *h)
{
	free(h->files);
	free(h->functions);
	free(h->kinds);
	free(h->system_calls);
	free(h->faults);
	free(h->positions);
	free(h->position_of);
	memset(h, 0, sizeof(*h));
}

/* ---- calls ---- */

static enum habit_kind kind_of(struct habits *h, const struct eta_defs *defs,
			       const struct operation *op)
{
	const char *name = defs->regions[op->region].name;
	enum habit_kind kind = HABIT_OTHER;

	if (op->mode != MODE_OTHER)
		return op->mode == MODE_READ ? HABIT_READ : HABIT_WRITE;
	if (h->kinds[op->region])
		return (enum habit_kind)(h->kinds[op->region] - 1);
	if (strstr(name, "sync"))
		kind = HABIT_SYNC;
	else if (strstr(name, "open") || strstr(name, "creat"))
		kind = HABIT_OPEN;
	h->kinds[op->region] = (uint8_t)(kind + 1);
	return kind;
}

/*
 * Did the call reach the kernel? A stdio call answered from the buffer costs next to nothing. In
 * light mode those that did not wait have no part of the kernel, either.
 */
static bool reached_kernel(const struct habits *h, const struct operation *op)
{
	return h->system_calls[op->region] ||
	       op->cells & ~cells_of_level(ETA_LEVEL_USER) & ~cells_of_level(ETA_LEVEL_CPU);
}

/* Did it wait for the device? What a limit throttles takes as long in any order. */
static bool waited(const struct operation *op)
{
	return op->cells & cells_of_level(ETA_LEVEL_BLOCK) &&
	       !(op->cells & 1ull << CELL_BLOCK_THROTTLED_BY_OWN_LIMIT);
}

/* OP's offset in its file, from the handle's position where the trace does not give it. */
static uint64_t offset_of(struct habits *h, const struct operation *op, uint32_t location)
{
	uint32_t handle = op->handle;
	bool known = handle < h->n_handles && h->position_of[handle] == location + 1;
	uint64_t offset = POSITION_UNKNOWN;

	if (op->has_offset)
		offset = op->offset;
	else if (op->opens)
		offset = 0;
	else if (known)
		offset = h->positions[handle];
	if (handle < h->n_handles && offset != POSITION_UNKNOWN) {
		h->position_of[handle] = location + 1;
		h->positions[handle] = offset + (op->mode == MODE_OTHER ? 0 : op->bytes);
	}
	return offset;
}

/* Does a write wait for the device? One into the page cache does not, unless it has to. */
static bool is_synchronous(const struct eta_defs *defs, const struct operation *op)
{
	if (op->handle < defs->n_handles &&
	    defs->handles[op->handle].open_flags & (O_SYNC | O_DSYNC))
		return true;
	return !op->direct && op->issued_bio && waited(op);
}

static void add_access(struct habit *f, enum habit_kind kind, const struct operation *op,
		       uint64_t offset)
{
	struct habit_calls *c = &f->calls[kind];
	uint64_t ns = op->end_ns - op->begin_ns;
	struct habit_order *o;

	c->bytes += op->bytes;
	if (op->bytes && op->bytes < HABIT_SMALL_BYTES) {
		c->small++;
		c->small_ns += ns;
		c->small_bytes += op->bytes;
	}
	c->direct += op->direct;
	if (offset == POSITION_UNKNOWN || !op->bytes)
		return;
	if (op->direct)
		c->misaligned += ((offset | op->size) & PAGE_MASK) != 0;
	c->judged++;
	o = offset == f->end[kind] ? &c->sequential : &c->elsewhere;
	o->n++;
	o->bytes += op->bytes;
	if (waited(op)) {
		o->waited++;
		o->waited_ns += ns;
	}
	f->end[kind] = offset + op->bytes;
	if (kind == HABIT_READ && f->end[kind] > f->read_end)
		f->read_end = f->end[kind];
}

int habits_add(struct habits *h, const struct eta_defs *defs, const struct operation *op,
	       uint32_t file, uint32_t location)
{
	uint64_t ns = op->end_ns - op->begin_ns, offset;
	struct habit_function *function;
	enum habit_kind kind;
	struct habit *f;

	if ((!h->functions && habits_open(h, defs) < 0) ||
	    (file >= h->n_files && files_room(h, file) < 0))
		return -ENOMEM;
	function = &h->functions[op->region];
	function->n++;
	function->ns += ns;
	function->bytes += op->bytes;
	function->on_tracks += defs->locations[location].track != 0;
	kind = kind_of(h, defs, op);
	offset = offset_of(h, op, location);
	if ((kind == HABIT_READ || kind == HABIT_WRITE) && !reached_kernel(h, op))
		return 0;
	f = &h->files[file];
	if (f->location != location + 1) {
		f->location = location + 1;
		f->written = f->read_on_track = false;
		f->opens = 0;
		f->end[HABIT_READ] = f->end[HABIT_WRITE] = 0;
	}
	f->calls[kind].n++;
	f->calls[kind].ns += ns;
	f->calls[kind].mapped += h->faults[op->region];
	if (kind == HABIT_READ || kind == HABIT_WRITE)
		add_access(f, kind, op, offset);
	if (kind == HABIT_WRITE) {
		f->written = true;
		f->calls[kind].synchronous += is_synchronous(defs, op);
	} else if (kind == HABIT_SYNC) {
		f->syncs_after_write += f->written;
		f->written = false;
	} else if (kind == HABIT_OPEN && ++f->opens > f->opens_by_one) {
		f->opens_by_one = f->opens;
	} else if (kind == HABIT_READ && defs->locations[location].track && !f->read_on_track) {
		f->read_on_track = true;
		f->read_tracks++;
	}
	return 0;
}

/* ---- sums ---- */

static void order_add(struct habit_order *sum, const struct habit_order *more)
{
	sum->n += more->n;
	sum->bytes += more->bytes;
	sum->waited += more->waited;
	sum->waited_ns += more->waited_ns;
}

static void calls_add(struct habit_calls *sum, const struct habit_calls *more)
{
	sum->n += more->n;
	sum->ns += more->ns;
	sum->bytes += more->bytes;
	sum->small += more->small;
	sum->small_ns += more->small_ns;
	sum->small_bytes += more->small_bytes;
	sum->judged += more->judged;
	order_add(&sum->sequential, &more->sequential);
	order_add(&sum->elsewhere, &more->elsewhere);
	sum->direct += more->direct;
	sum->misaligned += more->misaligned;
	sum->synchronous += more->synchronous;
	sum->mapped += more->mapped;
}

static void file_add(struct habit *sum, const struct habit *more)
{
	for (int k = 0; k < N_HABITS; k++)
		calls_add(&sum->calls[k], &more->calls[k]);
	sum->syncs_after_write += more->syncs_after_write;
	sum->read_tracks += more->read_tracks;
	if (more->read_end > sum->read_end)
		sum->read_end = more->read_end;
	if (more->opens_by_one > sum->opens_by_one)
		sum->opens_by_one = more->opens_by_one;
}

static int functions_room(struct habits *h, uint32_t n)
{
	if (!n || h->functions)
		return 0;
	h->functions = calloc(n, sizeof(*h->functions));
	if (!h->functions)
		return -ENOMEM;
	h->n_functions = n;
	return 0;
}

int habits_merge(struct habits *into, const struct habits *from)
{
	if (functions_room(into, from->n_functions) < 0)
		return -ENOMEM;
	if (from->n_files > into->n_files && files_room(into, from->n_files - 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->n_functions; i++) {
		into->functions[i].n += from->functions[i].n;
		into->functions[i].ns += from->functions[i].ns;
		into->functions[i].bytes += from->functions[i].bytes;
		into->functions[i].on_tracks += from->functions[i].on_tracks;
	}
	for (uint32_t i = 0; i < from->n_files; i++)
		file_add(&into->files[i], &from->files[i]);
	return 0;
}

/* all of its members are of one type */
#define N_CALLS (sizeof(struct habit_calls) / sizeof(uint64_t))

struct habit habit_mean(const struct habit *h, uint32_t files)
{
	struct habit mean = *h;

	if (files <= 1)
		return mean;
	for (int k = 0; k < N_HABITS; k++)
		for (size_t i = 0; i < N_CALLS; i++)
			((uint64_t *)&mean.calls[k])[i] /= files;
	mean.syncs_after_write /= files;
	mean.opens_by_one /= files;
	return mean;
}

/* ---- to another process ---- */

int habits_put_functions(const struct habits *h, struct packet *p)
{
	packet_put(p, h->n_functions);
	for (uint32_t i = 0; i < h->n_functions; i++) {
		packet_put(p, h->functions[i].n);
		packet_put(p, h->functions[i].ns);
		packet_put(p, h->functions[i].bytes);
		packet_put(p, h->functions[i].on_tracks);
	}
	return p->rc;
}

int habits_take_functions(struct habits *h, uint32_t n, struct packet *p)
{
	uint32_t taken = packet_take_below(p, (uint64_t)n + 1);

	if (functions_room(h, taken) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < taken && i < h->n_functions; i++) {
		h->functions[i].n += packet_take(p);
		h->functions[i].ns += packet_take(p);
		h->functions[i].bytes += packet_take(p);
		h->functions[i].on_tracks += packet_take(p);
	}
	return p->rc;
}

int habits_put_file(const struct habits *h, uint32_t file, struct packet *p)
{
	const struct habit *f = file < h->n_files ? &h->files[file] : NULL;

	packet_put(p, f != NULL);
	for (int k = 0; f && k < N_HABITS; k++)
		packet_put_list(p, (const uint64_t *)&f->calls[k], N_CALLS);
	if (f) {
		packet_put(p, f->syncs_after_write);
		packet_put(p, f->opens_by_one);
		packet_put(p, f->read_end);
		packet_put(p, f->read_tracks);
	}
	return p->rc;
}

int habits_take_file(struct habits *h, uint32_t file, struct packet *p)
{
	struct habit taken = { 0 };

	if (!packet_take(p))
		return p->rc;
	for (int k = 0; k < N_HABITS; k++)
		packet_take_list(p, (uint64_t *)&taken.calls[k], N_CALLS);
	taken.syncs_after_write = packet_take(p);
	taken.opens_by_one = packet_take(p);
	taken.read_end = packet_take(p);
	taken.read_tracks = packet_take(p);
	if (file >= h->n_files && files_room(h, file) < 0)
		return -ENOMEM;
	file_add(&h->files[file], &taken);
	return p->rc;
}
