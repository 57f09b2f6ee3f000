/*
 * A merged archive is what happened: threads of several hosts, numbers used again, reported by up
 * to four inputs with clocks of their own, come out event for event, so each input is a projection
 * of it.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"
#include "scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory-trace.h"

enum { HOSTS = 2, USER = 0, KERNEL, SIDES, INPUTS = HOSTS * SIDES, DEPTH = 16 };

static const char *const hosts[HOSTS] = { "a", "b" };
static const char *const user_regions[] = { "write", "pread", "fsync", "main" };
static const char *const kernel_regions[] = { "vfs:sys_write", "fs:inode lock", "cpu:run queue",
					      "pagecache:generic_perform_write", "block:device" };
static const char *const handles[] = { "user a", "kernel a", "user b", "kernel b" };

/* An event by the result's clock; region and handle are those of its input. */
struct happened {
	struct eta_event event;
	uint8_t side;
};

struct stream {
	struct eta_location location; /* host by `host` */
	uint32_t host, pid;
	uint64_t now_ns;
	struct happened *v;
	size_t n, room;
	bool has_user_side;
};

struct world {
	struct eta_trace *inputs[INPUTS];
	int64_t offsets[INPUTS]; /* from the input's clock to the result's */
	struct stream streams[64];
	size_t n_streams;
	uint64_t match;
};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* ---- what happens ---- */

static void put(struct stream *stream, unsigned side, struct eta_event event)
{
	if (stream->n == stream->room) {
		stream->room = stream->room ? 2 * stream->room : 256;
		stream->v = reallocarray(stream->v, stream->room, sizeof(*stream->v));
		assert_non_null(stream->v);
	}
	event.time_ns = stream->now_ns;
	stream->v[stream->n++] = (struct happened){ event, (uint8_t)side };
	stream->has_user_side |= side == USER;
}

/* Few values, so that regions inside each other often have the same. */
static struct eta_event attributes(struct eta_event event)
{
	event.has |= (uint16_t)(draw(0x10000) & (ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE));
	event.size = draw(3) * 4096;
	event.offset = (int64_t)draw(3) * 512;
	event.inode = 5 + draw(2);
	event.dev = 1 + (uint32_t)draw(2);
	return event;
}

static void enter(struct stream *stream, unsigned side, uint32_t region)
{
	struct eta_event event =
		attributes((struct eta_event){ .kind = ETA_ENTER, .region = region });

	if (draw(2)) {
		event.has |= side == USER ? ETA_HAS_CALLER : ETA_HAS_WHO;
		event.who = 1 + draw(1000);
	}
	event.has |= draw(8) ? 0 : ETA_EVENT_DIRECT;
	put(stream, side, event);
}

static void leave(struct stream *stream, unsigned side, uint32_t region)
{
	put(stream, side,
	    (struct eta_event){ .kind = ETA_LEAVE,
				.region = region,
				.has = draw(2) ? ETA_HAS_RET : 0,
				.ret = draw(4) ? (int64_t)draw(3) * 4096 : -(int64_t)draw(100) });
}

static void io(const struct world *w, struct stream *stream, unsigned side, enum eta_kind kind,
	       uint16_t has)
{
	struct eta_event event = attributes((struct eta_event){ .kind = (uint8_t)kind });

	event.has &= kind == ETA_IO_SEEK || kind >= ETA_IO_CREATE ? ETA_HAS_OFFSET
		     : kind == ETA_IO_ISSUED			  ? 0
								  : UINT16_MAX;
	if (kind >= ETA_IO_CREATE)
		event.has = 0;
	event.has |= has;
	event.mode = kind == ETA_IO_BEGIN ? (uint8_t)draw(3) : 0;
	if (kind <= ETA_IO_COMPLETE)
		event.match = w->match;
	put(stream, side, event);
}

/* Some time goes by, often no more than LEAST, which is 0 where the order of equal times is known.
 */
static void pass(struct stream *stream, uint64_t least)
{
	stream->now_ns += draw(3) ? least : least + draw(50);
}

static void kernel_call(struct world *w, struct stream *stream, unsigned depth)
{
	uint32_t region = (uint32_t)draw(5);
	uint64_t begin_ns = stream->now_ns;

	enter(stream, KERNEL, region);
	pass(stream, 0);
	if (draw(4) == 0) {
		w->match++;
		io(w, stream, KERNEL, ETA_IO_BEGIN, ETA_EVENT_BLOCK_IO);
		pass(stream, 0);
		io(w, stream, KERNEL, ETA_IO_ISSUED, ETA_EVENT_BLOCK_IO);
	}
	for (uint64_t n = depth < 4 ? draw(3) : 0; n > 0; n--) {
		pass(stream, 1);
		kernel_call(w, stream, depth + 1);
	}
	/* one of no length, where the call around it ends, might as well belong to the next */
	pass(stream, depth == 0 && stream->now_ns == begin_ns);
	leave(stream, KERNEL, region);
}

static void user_call(struct world *w, struct stream *stream)
{
	static const enum eta_kind kinds[] = { ETA_IO_SEEK, ETA_IO_CREATE, ETA_IO_DESTROY };
	uint32_t region = (uint32_t)draw(4);
	bool transfer = draw(2);

	enter(stream, USER, region);
	pass(stream, 0);
	w->match++;
	if (transfer)
		io(w, stream, USER, ETA_IO_BEGIN, 0);
	for (uint64_t n = draw(3); n > 0; n--) {
		pass(stream, 0);
		kernel_call(w, stream, 0);
		stream->now_ns += n > 1;
	}
	pass(stream, 0);
	if (transfer)
		io(w, stream, USER, ETA_IO_COMPLETE, 0);
	else if (draw(2))
		io(w, stream, USER, kinds[draw(3)], 0);
	pass(stream, 0);
	leave(stream, USER, region);
}

static struct stream *add_stream(struct world *w, uint32_t host, uint32_t pid, uint32_t tid,
				 uint64_t start_ns)
{
	struct stream *stream = &w->streams[w->n_streams++];

	assert_true(w->n_streams <= sizeof(w->streams) / sizeof(*w->streams));
	*stream = (struct stream){ .host = host, .pid = pid, .now_ns = start_ns };
	stream->location.tid = tid;
	stream->location.start_ns = start_ns;
	return stream;
}

/* Hosts with the same process and thread numbers, each thread number with one or two lives. */
static void live(struct world *w, size_t calls)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		for (uint32_t thread = 0; thread < 4; thread++) {
			uint64_t start = 1000000000 + draw(1000);

			for (uint64_t lifetime = 1 + draw(2); lifetime > 0; lifetime--) {
				struct stream *stream =
					add_stream(w, host, 7 + thread / 2, 7 + thread, start);
				bool user = draw(4); /* else its library calls are not recorded */

				for (size_t i = 0; i < calls; i++) {
					pass(stream, 1);
					if (user && draw(4))
						user_call(w, stream);
					else
						kernel_call(w, stream, 0);
				}
				start = stream->now_ns + 1 + draw(1000);
			}
		}
		struct stream *worker = add_stream(w, host, 90, 90, 1000000000);
		struct stream *device = add_stream(w, host, 0, 0, 1000000000);

		worker->location.kind = ETA_LOCATION_KERNEL_THREAD;
		device->location.kind = ETA_LOCATION_DEVICE;
		device->location.dev = 8 << 20 | host;
		for (size_t i = 0; i < calls; i++) {
			pass(worker, 1);
			kernel_call(w, worker, 0);
			pass(device, 0);
			w->match = draw(1000);
			io(w, device, KERNEL, ETA_IO_COMPLETE, ETA_EVENT_BLOCK_IO);
		}
	}
}

/* ---- what the inputs say of it ---- */

static uint32_t process_of(struct eta_trace *input, const struct stream *stream)
{
	struct eta_defs *defs = &input->defs;
	uint32_t p = 0;

	while (p < defs->n_processes && defs->processes[p].pid != stream->pid)
		p++;
	return p < defs->n_processes
		       ? p
		       : eta_defs_process(input, &(struct eta_process){ .name = stream->pid == 90
											? "kernel"
											: "app",
									.host = hosts[stream->host],
									.pid = stream->pid });
}

static void tell(struct world *w, const struct stream *stream, unsigned side)
{
	unsigned i = stream->host * SIDES + side;
	struct eta_trace *input = w->inputs[i];
	struct eta_location location = stream->location;
	char name[32];
	uint32_t l;

	if (side == USER && !stream->has_user_side)
		return;
	snprintf(name, sizeof(name), location.tid ? "app tid %u" : "disk", location.tid);
	location.id = input->defs.n_locations;
	location.name = name;
	location.process =
		location.kind == ETA_LOCATION_DEVICE ? ETA_NONE : process_of(input, stream);
	/* the kernel knows when a thread began; a library meets it at its first call */
	location.start_ns = side == USER ? 0 : location.start_ns - (uint64_t)w->offsets[i];
	l = eta_defs_location(input, &location);
	for (size_t e = 0; e < stream->n; e++) {
		struct eta_event event = stream->v[e].event;

		if (stream->v[e].side != side)
			continue;
		event.time_ns -= (uint64_t)w->offsets[i];
		memory_event(input, l, event);
	}
}

static void make_inputs(struct world *w)
{
	for (unsigned i = 0; i < INPUTS; i++) {
		const char *const *regions = i % SIDES == USER ? user_regions : kernel_regions;

		w->inputs[i] = memory_trace_new(handles[i]);
		w->offsets[i] = i == 0 ? 0 : (int64_t)draw(2000000) - 1000000;
		memory_batch(w->inputs[i], draw(2) ? 0 : 1 + draw(40));
		for (unsigned r = 0; r < (i % SIDES == USER ? 4 : 5); r++)
			assert_int_equal(memory_region(w->inputs[i], regions[r]), r);
		eta_defs_handle(
			w->inputs[i],
			&(struct eta_handle){ .name = handles[i],
					      .file = ETA_NONE,
					      .device = i % SIDES == USER ? 0 : (8 << 20 | i) });
	}
	for (size_t l = 0; l < w->n_streams; l++)
		for (unsigned side = 0; side < SIDES; side++)
			tell(w, &w->streams[l], side);
}

/* ---- what comes out ---- */

/* What holds inside of a region: an inner one does not say it again. */
struct around {
	struct eta_event said;
};

static void same_attributes(const struct eta_event *expected, const struct eta_event *got,
			    const struct around *outer, struct around *inner)
{
	static const uint16_t each[] = { ETA_HAS_SIZE, ETA_HAS_OFFSET, ETA_HAS_FILE };
	struct eta_event all = *got;

	for (size_t i = 0; i < 3; i++) {
		const struct eta_event *from = got->has & each[i] ? got : &outer->said;

		/* nothing is made up */
		assert_true(!(got->has & each[i]) || expected->has & each[i]);
		all.has |= from->has & each[i];
		if (each[i] == ETA_HAS_SIZE)
			all.size = from->size;
		else if (each[i] == ETA_HAS_OFFSET)
			all.offset = from->offset;
		else
			all.inode = from->inode, all.dev = from->dev;
		if (!(expected->has & each[i]))
			continue;
		assert_true(all.has & each[i]);
	}
	if (expected->has & ETA_HAS_SIZE)
		assert_int_equal(all.size, expected->size);
	if (expected->has & ETA_HAS_OFFSET)
		assert_int_equal(all.offset, expected->offset);
	if (expected->has & ETA_HAS_FILE) {
		assert_int_equal(all.inode, expected->inode);
		assert_int_equal(all.dev, expected->dev);
	}
	inner->said = all;
}

static void same_event(const struct world *w, const struct stream *stream, const struct happened *h,
		       const struct eta_defs *defs, const struct eta_event *got,
		       struct around *stack, unsigned *depth)
{
	const struct eta_event *expected = &h->event;
	const uint16_t others =
		(uint16_t) ~(ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_HAS_RET);
	const struct eta_trace *input = w->inputs[stream->host * SIDES + h->side];
	struct around nothing = { 0 };

	assert_int_equal(got->kind, expected->kind);
	assert_int_equal(got->time_ns, expected->time_ns);
	assert_int_equal(got->has & others, expected->has & others);
	if (expected->kind > ETA_LEAVE) {
		assert_string_equal(defs->handles[got->handle].name, input->defs.handles[0].name);
		same_attributes(expected, got, &nothing, &nothing);
		if (expected->kind == ETA_IO_BEGIN)
			assert_int_equal(got->mode, expected->mode);
		if (expected->kind <= ETA_IO_COMPLETE)
			assert_int_equal(got->match / INPUTS, expected->match);
		return;
	}
	assert_string_equal(defs->regions[got->region].name,
			    (h->side == USER ? user_regions : kernel_regions)[expected->region]);
	if (expected->kind == ETA_ENTER) {
		assert_true(*depth + 1 < DEPTH);
		same_attributes(expected, got, &stack[*depth], &stack[*depth + 1]);
		++*depth;
		if (expected->has & (ETA_HAS_CALLER | ETA_HAS_WHO))
			assert_int_equal(got->who, expected->who);
		return;
	}
	assert_true(*depth > 0);
	if (got->has & ETA_HAS_RET)
		assert_int_equal(got->ret,
				 expected->has & ETA_HAS_RET ? expected->ret : got->ret + 1);
	else if (expected->has & ETA_HAS_RET)
		/* all that was asked for: the size says it */
		assert_int_equal(expected->ret, stack[*depth].said.size);
	--*depth;
}

static uint32_t find(const struct eta_defs *defs, const struct stream *stream)
{
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *at = &defs->locations[l];

		if (at->kind != stream->location.kind)
			continue;
		if (at->kind == ETA_LOCATION_DEVICE
			    ? at->dev == stream->location.dev
			    : at->tid == stream->location.tid &&
				      at->start_ns == stream->location.start_ns &&
				      strcmp(defs->processes[at->process].host,
					     hosts[stream->host]) == 0)
			return l;
	}
	fail_msg("host %s tid %u from %llu is missing", hosts[stream->host], stream->location.tid,
		 (unsigned long long)stream->location.start_ns);
	return ETA_NONE;
}

static void same_world(const struct world *w, struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);

	assert_int_equal(defs->n_locations, w->n_streams);
	for (size_t l = 0; l < w->n_streams; l++) {
		const struct stream *stream = &w->streams[l];
		struct around stack[DEPTH] = { 0 };
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		unsigned depth = 0;
		size_t at = 0;
		ssize_t n;

		assert_int_equal(eta_cursor_open(trace, find(defs, stream), &cursor), 0);
		while ((n = eta_cursor_read(cursor, &batch)) > 0)
			for (ssize_t i = 0; i < n; i++) {
				assert_true(at < stream->n);
				same_event(w, stream, &stream->v[at++], defs, &batch[i], stack,
					   &depth);
			}
		assert_int_equal(n, 0);
		assert_int_equal(at, stream->n);
		eta_cursor_close(cursor);
	}
}

static void what_is_merged_is_what_happened(void **unused)
{
	char scratch[] = "/tmp/sci-test.XXXXXX", anchor[64];

	(void)unused;
	assert_non_null(mkdtemp(scratch));
	snprintf(anchor, sizeof(anchor), "%s/t.otf2", scratch);
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct eta_clock_map maps[INPUTS];
		const struct eta_clock_map *clocks[INPUTS];
		const struct eta_write_options writing = { .threads = 1 + seed % 3 };
		struct eta_trace *merged, *archive;
		struct eta_counts counts;
		struct world w = { 0 };

		state = seed * 2654435761u + 88172645463325252ull;
		live(&w, seed % 8 ? 20 : 400);
		make_inputs(&w);
		for (unsigned i = 0; i < INPUTS; i++) {
			maps[i] = eta_clock_offset(w.offsets[i], 0);
			clocks[i] = &maps[i];
		}
		assert_int_equal(eta_merge_with(w.inputs, INPUTS,
						&(struct eta_merge_options){ .clocks = clocks },
						&merged),
				 0);
		same_world(&w, merged);
		assert_int_equal(eta_write_otf2(merged, anchor, &writing, &counts), 0);
		assert_int_equal(counts.orphan + counts.overlapping + counts.truncated +
					 counts.out_of_order,
				 0);
		assert_int_equal(eta_open(anchor, NULL, &archive), 0);
		same_world(&w, archive);
		eta_close(archive);
		eta_close(merged);
		for (size_t l = 0; l < w.n_streams; l++)
			free(w.streams[l].v);
	}
	assert_int_equal(scratch_remove(scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_merged_is_what_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
