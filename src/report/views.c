/* The list of views. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "views.h"

#include <string.h>

static const struct view *const views[] = {
#define X(name) &view_##name,
	VIEWS(X)
#undef X
};
#define N_VIEWS (sizeof(views) / sizeof(*views))

const struct view *view_find(const char *name)
{
	for (size_t i = 0; i < N_VIEWS; i++)
		if (strcmp(views[i]->name, name) == 0)
			return views[i];
	return NULL;
}

const char *view_names(void)
{
#define X(name) #name ", "
	static const char names[] = VIEWS(X);
#undef X
	static char list[sizeof(names)];

	snprintf(list, sizeof(list), "%.*s", (int)(sizeof(names) - 3), names);
	return list;
}
