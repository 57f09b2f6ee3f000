/* What the kernel tracer summed, as json: limits, and waits between calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JSON_SUMS_H
#define SCI_JSON_SUMS_H

#include "json-set.h"

/* "limits" and "waits_between" of ROOT; not there in version 1, and with the published score. */
void json_put_sums(struct json_object root, const struct analysis *a);

#endif
