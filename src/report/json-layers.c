/* Of guests with their hosts, as json: the time of each layer. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "json-layers.h"

#include <stdlib.h>

#include "layers.h"

static void put_layer(json_t *array, struct document *of, const struct layers *layers, bool inside)
{
	const int64_t *level_ns = inside ? layers->inside_ns : layers->outside_ns;
	struct json_object o = object_at_end(array, of), levels;
	int64_t sum = 0;

	for (int l = 0; l < ETA_N_LEVELS; l++)
		sum += level_ns[l];
	set_text(o, "layer", inside ? "L1" : "L0");
	set_text(o, "guest", layers->guest);
	set_text(o, "host", layers->host);
	set_text(o, "vm", layers->name);
	set_count(o, "pid", layers->pid);
	set_int(o, "io_ns", sum);
	levels = object_in(o, "io_levels");
	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (l != ETA_LEVEL_NET || level_ns[l])
			set_int(levels, eta_level_name((enum eta_level)l), level_ns[l]);
}

void json_put_layers(struct json_object root, const struct analysis *a)
{
	struct layers *list;
	json_t *array;
	uint32_t n;

	if (layers_new(a, &list, &n) < 0)
		root.of->ok = false;
	array = n && root.of->version > 1 ? array_in(root, "layers") : NULL;
	for (uint32_t i = 0; array && i < n; i++) {
		put_layer(array, root.of, &list[i], true);
		put_layer(array, root.of, &list[i], false);
	}
	free(list);
}
