/* References found in earlier pieces of a trace: what is slow all of a piece stays slow. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EARLIER_H
#define SCI_EARLIER_H

#include "classes.h"

struct earlier_references;

/* What is older than AGES pieces is forgotten. NULL: no memory. */
struct earlier_references *earlier_new(unsigned ages);
void earlier_free(struct earlier_references *earlier);

/* Before each piece. */
void earlier_next(struct earlier_references *earlier);
/* N_REFERENCES of the class; NULL: there is none. */
const struct reference *earlier_find(const struct earlier_references *earlier,
				     const struct class_key *key);
/* Notes R, of a class with enough operations. 0 or -ENOMEM. */
int earlier_note(struct earlier_references *earlier, const struct class_key *key,
		 const struct reference *const r[N_REFERENCES]);

#endif
