/* Watching of stretches as in presence.h, for traces where rows cannot have all threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CROWD_H
#define SCI_CROWD_H

#include <stdint.h>

struct crowd;
struct presence;
struct sweep;
struct sweep_thread;

/* C may be NULL. */
void crowd_free(struct crowd *c);
void crowd_comes(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		 uint64_t now);
void crowd_goes(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		uint64_t since_ns, uint64_t now);
void crowd_watch_begin(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);
void crowd_watch_end(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);

#endif
