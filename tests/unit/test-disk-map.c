/* Where a disk lies, as text and back: random maps, many pieces, too many, damage. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/disk-map.h"
#include "memory-trace.h"

enum { CHUNK = 3840 };

static uint64_t state = 19;

static uint64_t any(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

/* N pieces of up to MOST units, anywhere on a disk of 1 TB; one in three goes on where it was. */
static struct disk_map random_map(size_t n, uint64_t unit, uint64_t most)
{
	struct disk_map map = { 0 };
	uint64_t guest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct disk_piece *last = i ? &map.v[i - 1] : NULL;
		struct disk_piece piece = { .guest = guest + any(3) * unit,
					    .image = any(1 << 28) * unit,
					    .device = any(1 << 28) * unit,
					    .bytes = (1 + any(most)) * unit };

		if (last && any(3)) {
			piece.image = last->image + (piece.guest - last->guest);
			if (any(2))
				piece.device = last->device + last->bytes;
		}
		assert_int_equal(disk_map_add(&map, &piece), 0);
		guest = piece.guest + piece.bytes;
	}
	return map;
}

static void put(void *arg, unsigned number, const char *text)
{
	char name[64];

	assert_true(strlen(text) < CHUNK);
	snprintf(name, sizeof(name), DISK_MAP_PROPERTY "7_1_%u", number);
	assert_int_not_equal(eta_defs_property(arg, name, text), ETA_NONE);
}

static struct eta_trace *trace_of(const struct disk_map *map, uint64_t least)
{
	struct eta_trace *trace = memory_trace_new("host");
	uint64_t unit = disk_map_unit(map);
	unsigned chunks;
	char text[128];

	disk_map_write(map, unit, least, CHUNK, put, trace, &chunks);
	snprintf(text, sizeof(text), "{\"chunks\":%u,\"unit\":%llu}", chunks,
		 (unsigned long long)unit);
	eta_defs_property(trace, DISK_MAP_PROPERTY "7_1", text);
	return trace;
}

static void and_back(void **ctx)
{
	(void)ctx;
	for (unsigned round = 0; round < 200; round++) {
		uint64_t unit = round % 5 ? 4096 : 1;
		struct disk_map map = random_map(any(900), unit, 1 + any(5000)), read;
		uint64_t least = round % 3 ? 0 : unit * 100;
		struct eta_trace *trace = trace_of(&map, least);
		size_t n = 0;

		assert_int_equal(disk_map_read(eta_trace_defs(trace), 7, 1, &read), 0);
		for (size_t i = 0; i < map.n; i++) {
			if (map.v[i].bytes < least)
				continue;
			assert_true(n < read.n);
			assert_memory_equal(&map.v[i], &read.v[n++], sizeof(*map.v));
			assert_int_equal(disk_map_find(&read, map.v[i].guest), n - 1);
			assert_int_equal(disk_map_find(&read, map.v[i].guest + map.v[i].bytes), n);
		}
		assert_int_equal(n, read.n);
		disk_map_free(&read);
		assert_int_equal(disk_map_read(eta_trace_defs(trace), 7, 0, &read), -ENOENT);
		disk_map_free(&map);
		eta_close(trace);
	}
}

/* Places in the image, some of them shared by none. */
static void by_image(void **ctx)
{
	struct disk_map map = { 0 };
	uint64_t guest;

	(void)ctx;
	for (uint64_t i = 0; i < 100; i++)
		disk_map_add(&map,
			     &(struct disk_piece){ i * 4096, (i * 37 % 100) * 8192, 0, 4096 });
	disk_map_sort_by_image(&map);
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(disk_map_guest_of(&map, (i * 37 % 100) * 8192 + 4095, &guest));
		assert_int_equal(guest, i * 4096 + 4095);
		assert_false(disk_map_guest_of(&map, (i * 37 % 100) * 8192 + 4096, &guest));
	}
	disk_map_free(&map);
}

/* The worst case: 100 000 pieces, none of which goes on anywhere. */
static void many(void **ctx)
{
	struct disk_map map = { 0 };
	unsigned chunks;
	size_t bytes;

	(void)ctx;
	for (uint64_t i = 0; i < 100000; i++)
		disk_map_add(&map,
			     &(struct disk_piece){ i * 8192, i * 8192, any(1 << 28) * 4096, 4096 });
	bytes = disk_map_write(&map, disk_map_unit(&map), 0, CHUNK, NULL, NULL, &chunks);
	print_message("100000 pieces: %zu bytes in %u parts\n", bytes, chunks);
	assert_true(bytes < 1 << 20);
	disk_map_free(&map);
}

static void damage(void **ctx)
{
	static const char *const texts[] = { "z",
					     "0",
					     "000",
					     "000?",
					     "zzzzzzzzzzzzzzzzzzzz",
					     "0001 ",
					     "0zzzzzzzzzzzz7001",
					     "00zzzzzzzzzzzz71" };

	(void)ctx;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct eta_trace *trace = memory_trace_new("host");
		struct disk_map map;

		eta_defs_property(trace, DISK_MAP_PROPERTY "7_1_0", texts[i]);
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_1", "{\"chunks\":1,\"unit\":4096}");
		assert_int_equal(disk_map_read(eta_trace_defs(trace), 7, 1, &map), -EBADMSG);
		disk_map_free(&map);
		/* a part is missing; no unit; no JSON */
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_2", "{\"chunks\":1,\"unit\":4096}");
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_3", "{\"chunks\":1,\"unit\":3}");
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_4", "{");
		for (uint32_t disk = 2; disk <= 4; disk++) {
			assert_int_equal(disk_map_read(eta_trace_defs(trace), 7, disk, &map),
					 -EBADMSG);
			disk_map_free(&map);
		}
		eta_close(trace);
	}
	/* whatever is in it: it ends, and what is read is in order */
	for (unsigned round = 0; round < 20000; round++) {
		struct eta_trace *trace = memory_trace_new("host");
		struct disk_map map;
		char text[32] = "";
		int rc;

		for (size_t i = 0, n = any(30); i < n; i++)
			text[i] = (char)(33 + any(90));
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_1_0", text);
		eta_defs_property(trace, DISK_MAP_PROPERTY "7_1",
				  "{\"chunks\":1,\"unit\":1048576}");
		rc = disk_map_read(eta_trace_defs(trace), 7, 1, &map);
		assert_true(rc == 0 || rc == -EBADMSG);
		for (size_t i = 1; i < map.n; i++)
			assert_true(map.v[i].guest >= map.v[i - 1].guest + map.v[i - 1].bytes);
		disk_map_free(&map);
		eta_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(and_back),
		cmocka_unit_test(by_image),
		cmocka_unit_test(many),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
