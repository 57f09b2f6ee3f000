/* The values of QEMU's options: "key=value,key.key=value" or JSON, as JSON. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qemu-keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "file.file.filename" has three; more is nothing that QEMU takes. */
enum { PARTS_MAX = 8 };

/* The object below OBJECT that the parts of KEY lead to, made where it is not; NULL: there is none,
 * or no memory (FAILED).
 */
static json_t *descend(json_t *object, char **key, bool *failed)
{
	char *dot;

	for (int parts = 0; (dot = strchr(*key, '.')) != NULL; parts++) {
		json_t *below;

		*dot = '\0';
		below = json_object_get(object, *key);
		if (!below && parts < PARTS_MAX) {
			below = json_object();
			*failed = json_object_set_new_nocheck(object, *key, below) != 0;
		}
		if (*failed || !json_is_object(below))
			return NULL;
		object = below;
		*key = dot + 1;
	}
	return object;
}

static int set(json_t *object, char *key, const char *value)
{
	bool failed = false;
	json_t *at = descend(object, &key, &failed);

	if (at && json_object_set_new_nocheck(at, key, json_stringn_nocheck(value, strlen(value))))
		failed = true;
	return failed ? -ENOMEM : 0;
}

/* Cuts the next element off *REST, its doubled commas made one. */
static char *next_element(char **rest)
{
	char *begin = *rest, *to = begin, *from = begin;

	for (; *from && (*from != ',' || from[1] == ','); *to++ = *from++)
		from += *from == ',';
	*rest = *from ? from + 1 : NULL;
	*to = '\0';
	return begin;
}

static int read_element(json_t *object, char *element, const char *first)
{
	char *value = strchr(element, '=');
	char key[64];

	if (value) {
		*value++ = '\0';
		return set(object, element, value);
	}
	if (first) {
		snprintf(key, sizeof(key), "%s", first);
		return set(object, key, element);
	}
	/* an old form of "key=on" and "key=off" */
	if (strncmp(element, "no", 2) == 0)
		return set(object, element + 2, "off");
	return set(object, element, "on");
}

int qemu_keys_read(const char *text, const char *first, json_t **out)
{
	char *copy = NULL, *rest;
	int rc = 0;

	*out = NULL;
	if (*text == '{') {
		*out = json_loads(text, 0, NULL);
		if (*out && !json_is_object(*out)) {
			json_decref(*out);
			*out = NULL;
		}
		return 0;
	}
	rest = copy = strdup(text);
	*out = json_object();
	if (!copy || !*out)
		rc = -ENOMEM;
	while (rc == 0 && rest && *rest) {
		char *element = next_element(&rest);

		if (*element)
			rc = read_element(*out, element, first);
		first = NULL;
	}
	free(copy);
	if (rc) {
		json_decref(*out);
		*out = NULL;
	}
	return rc;
}
