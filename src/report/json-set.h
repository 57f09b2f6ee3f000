/* Setters of json objects, which remember that one of them failed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_JSON_SET_H
#define SCI_JSON_SET_H

#include <jansson.h>

#include "src/analysis/tables/analysis.h"
#include "src/common/machines.h"
#include "src/common/texts.h"
#include "words.h"

/*
 * Without memory jansson's constructors give NULL and the setters fail on it; `ok` gathers that, so
 * that a half document is never written.
 */
struct document {
	bool ok;
	unsigned version;
};

struct json_object {
	json_t *json;
	struct document *of;
};

static inline void set(struct json_object o, const char *key, json_t *value)
{
	if (json_object_set_new(o.json, word_in_version(key, o.of->version), value) < 0)
		o.of->ok = false;
}

static inline void set_int(struct json_object o, const char *key, int64_t value)
{
	set(o, key, json_integer(value));
}

static inline void set_count(struct json_object o, const char *key, uint64_t value)
{
	set(o, key, json_integer((json_int_t)value));
}

static inline void set_text(struct json_object o, const char *key, const char *text)
{
	set(o, key, json_name(text));
}

/* A trace of one machine needs no hosts. */
static inline void set_host(struct json_object o, const struct analysis *a, const char *host)
{
	if (machines_differ(a->defs))
		set_text(o, "host", host);
}

static inline struct json_object object_in(struct json_object o, const char *key)
{
	struct json_object in = { json_object(), o.of };

	set(o, key, in.json);
	return in;
}

static inline json_t *array_in(struct json_object o, const char *key)
{
	json_t *array = json_array();

	set(o, key, array);
	return array;
}

static inline struct json_object object_at_end(json_t *array, struct document *of)
{
	struct json_object o = { json_object(), of };

	if (json_array_append_new(array, o.json) < 0)
		of->ok = false;
	return o;
}

#endif
