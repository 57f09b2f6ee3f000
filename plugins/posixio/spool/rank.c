/* Which rank of an MPI job this process is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.h"

#include "eta-ext/format/launcher.h"
#include "plugins/posixio/environment.h"
#include "sink.h"

void rank_put(void (*put)(const char *name, const char *value))
{
	const struct launcher launcher = launcher_find(environment_get);

	if (!launcher.rank)
		return;
	put("rank", launcher.rank);
	if (launcher.ranks)
		put("ranks", launcher.ranks);
	if (launcher.job)
		put("job", launcher.job);
	if (launcher.step)
		put("step", launcher.step);
	if (launcher.other)
		tracer_warn("%s=%s and %s=%s contradict each other: the rank is taken to be %s",
			    launcher.rank_variable, launcher.rank, launcher.other_variable,
			    launcher.other, launcher.rank);
}
