/* Where the time of a trace went, and how it does its I/O, as json. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "json-habits.h"

#include <stdlib.h>

#include "premises.h"
#include "src/analysis/tables/io-time.h"

/* N calls of the function NAME, together NS. */
static void set_calls(struct json_object o, const char *name, uint64_t n, uint64_t ns)
{
	set_text(o, "name", name);
	set_count(o, "count", n);
	set_count(o, "total_ns", ns);
}

#define MOST_PREMISES 16

void json_put_habits(struct json_object root, const struct analysis *a)
{
	struct json_object o = object_in(root, "time");
	struct premise premises[MOST_PREMISES];
	const struct io_times times = io_times(a);
	uint32_t n = premises_find(a, premises, MOST_PREMISES);
	struct io_asleep *asleep;
	int n_asleep = io_asleep_new(a, &asleep);
	json_t *array;

	set_count(o, "lifetime_ns", times.lifetime_ns);
	set_count(o, "outside_ns", io_outside_ns(&times));
	array = array_in(o, "functions");
	for (uint32_t i = 0; i < a->n_function_habits && o.of->ok; i++) {
		struct json_object f = object_at_end(array, o.of);

		set_calls(f, a->function_habits[i].name, a->function_habits[i].n,
			  a->function_habits[i].ns);
		set_count(f, "bytes", a->function_habits[i].bytes);
		if (a->function_habits[i].asynchronous)
			set(f, "asynchronous", json_true());
	}
	if (n_asleep < 0)
		o.of->ok = false;
	array = array_in(o, "asleep");
	for (int i = 0; i < n_asleep && o.of->ok; i++) {
		struct json_object f = object_at_end(array, o.of);

		set_calls(f, asleep[i].function, asleep[i].n, asleep[i].ns);
	}
	free(asleep);
	array = array_in(root, "premises");
	for (uint32_t i = 0; i < n && o.of->ok; i++) {
		struct json_object p = object_at_end(array, o.of);

		set_text(p, "name", premises[i].name);
		set_count(p, "ns", premises[i].ns);
		set_count(p, "files", premises[i].files);
		set_text(p, "advice", premises[i].text);
	}
}
