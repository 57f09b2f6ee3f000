/* What an operation did at each level: the outermost regions of it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"
#include "walk.h"

/* The one of LEVEL among those directly in PARENT. */
static uint32_t find_level_region(const struct operation *op, uint32_t parent, uint8_t level)
{
	for (size_t i = op->n_level_regions; i-- > 0 && (uint32_t)i != parent;)
		if (op->level_regions[i].parent == parent && op->level_regions[i].level == level)
			return (uint32_t)i;
	return ETA_NONE;
}

static int level_region_new(struct walk *w, uint32_t *index)
{
	if (!ARRAY_FITS(w->op.level_regions, w->op.n_level_regions + 1, w->level_region_room))
		return -ENOMEM;
	*index = (uint32_t)w->op.n_level_regions++;
	return 0;
}

/*
 * The frame just pushed: is it the outermost of its level? Several of a level in one call (a part
 * of the file each) are one: the size is that of the call.
 */
int level_region_enter(struct walk *w, struct frame *f, const struct eta_event *e)
{
	const struct eta_region *r = &w->defs->regions[e->region];
	bool root = w->root == w->depth - 1;
	struct level_region *v;
	uint32_t parent = root ? ETA_NONE : f[-1].level_region;
	int rc;

	f->levels = root ? 0 : f[-1].levels;
	f->level_region = parent;
	f->begins_level = false;
	if (f->hidden || r->level > ETA_LEVEL_FS || f->levels & 1 << r->level)
		return 0;
	f->levels |= (uint8_t)(1 << r->level);
	f->begins_level = true;
	/* system calls are each their own */
	f->level_region = ETA_NONE;
	if (!root && r->level != ETA_LEVEL_VFS)
		f->level_region = find_level_region(&w->op, parent, (uint8_t)r->level);
	if (f->level_region != ETA_NONE && !(e->has & ETA_HAS_SIZE)) {
		w->op.level_regions[f->level_region].ns -= e->time_ns;
		return 0;
	}
	rc = level_region_new(w, &f->level_region);
	if (rc < 0)
		return rc;
	v = &w->op.level_regions[f->level_region];
	*v = (struct level_region){ .begin_ns = e->time_ns,
				    .ns = -e->time_ns,
				    .bytes = e->has & ETA_HAS_SIZE ? e->size : 0,
				    .offset = e->has & ETA_HAS_OFFSET ? (uint64_t)e->offset : 0,
				    .parent = parent,
				    .level = (uint8_t)r->level,
				    .mode = w->regions->info[e->region].mode,
				    .has_size = e->has & ETA_HAS_SIZE,
				    .has_offset = e->has & ETA_HAS_OFFSET && e->offset >= 0 };
	return 0;
}

void level_region_leave(struct walk *w, const struct frame *f, const struct eta_event *e)
{
	struct level_region *v = &w->op.level_regions[f->level_region];

	v->ns += e->time_ns;
	if (!(e->has & ETA_HAS_RET) || e->has & ETA_EVENT_TRUNCATED)
		return;
	if (!v->has_size && v->level != ETA_LEVEL_VFS)
		return;
	v->has_bytes = true;
	v->bytes = e->ret > 0 ? (uint64_t)e->ret : 0;
}

/* What a region does not know itself is that of the one around it; the first is the operation's. */
void level_regions_finish(struct operation *op)
{
	for (size_t i = 0; i < op->n_level_regions; i++) {
		struct level_region *v = &op->level_regions[i];

		if (v->parent == ETA_NONE) {
			v->mode = op->mode;
			v->bytes = op->bytes;
			v->offset = op->offset;
			v->has_offset = op->has_offset;
			continue;
		}
		/* a system call that does not read is none, as an fstat in an fgets */
		if (v->mode == MODE_OTHER && v->level != ETA_LEVEL_VFS)
			v->mode = op->level_regions[v->parent].mode;
		if (!v->has_size && !v->has_bytes)
			v->bytes = op->level_regions[v->parent].bytes;
		if (!v->has_offset && !v->has_size) {
			v->offset = op->level_regions[v->parent].offset;
			v->has_offset = op->level_regions[v->parent].has_offset;
		}
	}
}
