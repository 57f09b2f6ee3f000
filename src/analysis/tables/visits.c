/* What an operation did at each level: the outermost region of a level is a visit of it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "walk.h"

/* The visit of LEVEL among those directly in PARENT. */
static uint32_t find_visit(const struct operation *op, uint32_t parent, uint8_t level)
{
	for (size_t i = op->n_visits; i-- > 0 && (uint32_t)i != parent;)
		if (op->visits[i].parent == parent && op->visits[i].level == level)
			return (uint32_t)i;
	return ETA_NONE;
}

static int visit_new(struct walk *w, uint32_t *index)
{
	if (w->op.n_visits == w->visit_room) {
		size_t room = w->visit_room ? 2 * w->visit_room : 8;
		struct visit *p = reallocarray(w->op.visits, room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		w->op.visits = p;
		w->visit_room = room;
	}
	*index = (uint32_t)w->op.n_visits++;
	return 0;
}

/*
 * The frame just pushed: is it the outermost of its level? Several of a level in one call (a part
 * of the file each) are one visit: the size is that of the call.
 */
int visit_enter(struct walk *w, struct frame *f, const struct eta_event *e)
{
	const struct eta_region *r = &w->defs->regions[e->region];
	bool root = w->root == w->depth - 1;
	struct visit *v;
	uint32_t parent = root ? ETA_NONE : f[-1].visit;
	int rc;

	f->levels = root ? 0 : f[-1].levels;
	f->visit = parent;
	f->begins_visit = false;
	if (f->hidden || r->level > ETA_LEVEL_FS || f->levels & 1 << r->level)
		return 0;
	f->levels |= (uint8_t)(1 << r->level);
	f->begins_visit = true;
	/* system calls are each their own */
	f->visit = ETA_NONE;
	if (!root && r->level != ETA_LEVEL_VFS)
		f->visit = find_visit(&w->op, parent, (uint8_t)r->level);
	if (f->visit != ETA_NONE && !(e->has & ETA_HAS_SIZE)) {
		w->op.visits[f->visit].ns -= e->time_ns;
		return 0;
	}
	rc = visit_new(w, &f->visit);
	if (rc < 0)
		return rc;
	v = &w->op.visits[f->visit];
	*v = (struct visit){ .begin_ns = e->time_ns,
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

void visit_leave(struct walk *w, const struct frame *f, const struct eta_event *e)
{
	struct visit *v = &w->op.visits[f->visit];

	v->ns += e->time_ns;
	if (!(e->has & ETA_HAS_RET) || e->has & ETA_EVENT_TRUNCATED)
		return;
	if (!v->has_size && v->level != ETA_LEVEL_VFS)
		return;
	v->has_bytes = true;
	v->bytes = e->ret > 0 ? (uint64_t)e->ret : 0;
}

/* What a visit does not know itself is that of the one around it; the first is the operation's. */
void visits_finish(struct operation *op)
{
	for (size_t i = 0; i < op->n_visits; i++) {
		struct visit *v = &op->visits[i];

		if (v->parent == ETA_NONE) {
			v->mode = op->mode;
			v->bytes = op->bytes;
			v->offset = op->offset;
			v->has_offset = op->has_offset;
			continue;
		}
		/* a system call that does not read is none, as an fstat in an fgets */
		if (v->mode == MODE_OTHER && v->level != ETA_LEVEL_VFS)
			v->mode = op->visits[v->parent].mode;
		if (!v->has_size && !v->has_bytes)
			v->bytes = op->visits[v->parent].bytes;
		if (!v->has_offset && !v->has_size) {
			v->offset = op->visits[v->parent].offset;
			v->has_offset = op->visits[v->parent].has_offset;
		}
	}
}
