/* The table of a view, arranged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "src/common/machines.h"
#include "views.h"

/* What the published score does not have. */
static bool has(const void *context, const struct column *c)
{
	const struct analysis *a = context;

	if (a->options.sci == SCI_DEFAULT)
		return true;
	if (strcmp(c->name, "own_limit") == 0)
		return false;
	return strncmp(c->name, "interference", strlen("interference")) != 0 &&
	       strcmp(c->name, "self") != 0 && strcmp(c->name, "self_part") != 0 &&
	       strcmp(c->name, "path") != 0 && strcmp(c->name, "arguments") != 0 &&
	       strcmp(c->name, "threads_time") != 0;
}

int view_table(const struct view *view, const struct analysis *a,
	       const struct table_options *options, struct table *out)
{
	int rc;

	*out = (struct table){ .name = view->rows,
			       .columns = view->columns,
			       .n_columns = view->n_columns,
			       .has = has,
			       .hosts = machines_differ(a->defs),
			       .commands = a->any_command_line && a->options.sci == SCI_DEFAULT,
			       .limits = a->slowdown.limit_ns != 0,
			       .context = a };
	rc = view->fill(a, out);
	return rc ? rc : table_arrange(out, options);
}
