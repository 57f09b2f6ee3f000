/* References that were met in earlier pieces of a trace: what is slow all of a piece stays slow. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MET_H
#define SCI_MET_H

#include "classes.h"

struct met_references;

/* What is older than AGES pieces is forgotten. NULL: no memory. */
struct met_references *met_new(unsigned ages);
void met_free(struct met_references *met);

/* Before each piece. */
void met_next(struct met_references *met);
/* N_REFERENCES of the class; NULL: none was met. */
const struct reference *met_find(const struct met_references *met, const struct class_key *key);
/* Notes R, of a class with enough operations. 0 or -ENOMEM. */
int met_note(struct met_references *met, const struct class_key *key,
	     const struct reference *const r[N_REFERENCES]);

#endif
