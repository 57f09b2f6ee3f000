/* Are the events of a trace those of another? For tests that write and read. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "memory-trace.h"
#include "same-events.h"

static void same_event(const struct eta_event *a, const struct eta_event *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->has, b->has);
	assert_int_equal(a->region, b->region);
	if (a->has & ETA_HAS_SIZE)
		assert_int_equal(a->size, b->size);
	if (a->has & ETA_HAS_OFFSET)
		assert_int_equal(a->offset, b->offset);
	if (a->has & ETA_HAS_FILE) {
		assert_int_equal(a->inode, b->inode);
		assert_int_equal(a->dev, b->dev);
	}
	if (a->has & (ETA_HAS_RET | ETA_HAS_END | ETA_HAS_PAUSE))
		assert_int_equal(a->ret, b->ret);
	if (a->has & (ETA_HAS_CALLER | ETA_HAS_WHO))
		assert_int_equal(a->who, b->who);
	if (a->kind >= ETA_IO_BEGIN && a->kind <= ETA_IO_COMPLETE)
		assert_int_equal(a->match, b->match);
	if (a->kind == ETA_IO_BEGIN) {
		assert_int_equal(a->mode, b->mode);
		assert_int_equal(a->owner, b->owner);
	}
}

void same_events(const struct eta_trace *given, struct eta_trace *read)
{
	for (uint32_t location = 0; location < given->defs.n_locations; location++) {
		const struct eta_event *expected, *batch;
		struct eta_cursor *cursor;
		size_t n, at = 0;
		ssize_t got;

		expected = memory_events(given, location, &n);
		assert_int_equal(eta_cursor_open(read, location, &cursor), 0);
		while ((got = eta_cursor_read(cursor, &batch)) > 0)
			for (ssize_t i = 0; i < got; i++) {
				assert_true(at < n);
				same_event(&expected[at++], &batch[i]);
			}
		assert_int_equal(got, 0);
		assert_int_equal(at, n);
		eta_cursor_close(cursor);
	}
}
