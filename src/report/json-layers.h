/* Of guests with their hosts, as json: the time of each layer. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JSON_LAYERS_H
#define SCI_JSON_LAYERS_H

#include "json-set.h"

/* "layers" of ROOT: two for each guest; not there without guests. */
void json_put_layers(struct json_object root, const struct analysis *a);

#endif
