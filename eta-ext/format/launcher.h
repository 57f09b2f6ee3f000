/* What launchers of MPI jobs give a process in its environment: its rank, and of which job. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LAUNCHER_H
#define ETA_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * X(launcher, rank, ranks, ranks on this node, job, step): names of variables, "" where there is
 * none; the first row whose rank is set counts. SLURM is the last: a launcher inside of one of its
 * jobs leaves the numbers of its own helpers there.
 */
#define LAUNCHERS(X)                                                                               \
	X("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",                              \
	  "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "")                                      \
	X("PMIx", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_SIZE", "PMIX_NAMESPACE", "")               \
	X("PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID", "")                       \
	X("SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", "SLURM_JOB_ID", "SLURM_STEP_ID")

/* As in the environment; NULL: not said. */
struct launcher {
	const char *rank, *ranks, *local, *job, *step;
	const char *rank_variable;
	/* another variable, and its value, that says otherwise; NULL: none does */
	const char *other_variable, *other;
	/* the first variable of a rank, and its value, that is no number; NULL: none */
	const char *odd_variable, *odd;
};

static inline bool launcher_is_number(const char *text)
{
	size_t n = 0;

	while (text && text[n] >= '0' && text[n] <= '9')
		n++;
	return n > 0 && n < 10 && !text[n];
}

static inline bool launcher_is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* What GET, which is getenv or like it, knows. SLURM alone gives its jobs' steps. */
static inline struct launcher launcher_find(const char *(*get)(const char *name))
{
	static const struct {
		const char *rank, *ranks, *local, *job, *step;
	} launchers[] = {
#define X(launcher, rank, ranks, local, job, step) { rank, ranks, local, job, step },
		LAUNCHERS(X)
#undef X
	};
	enum { N = sizeof(launchers) / sizeof(*launchers) };
	struct launcher found = { 0 };

	for (size_t i = 0; i < N; i++) {
		const char *rank = get(launchers[i].rank);
		const char *ranks = get(launchers[i].ranks);

		if (rank && *rank && !launcher_is_number(rank) && !found.odd) {
			found.odd_variable = launchers[i].rank;
			found.odd = rank;
		}
		if (!launcher_is_number(rank) || (found.rank && i == N - 1))
			continue;
		if (found.rank) {
			if (!found.other && !launcher_is_same(found.rank, rank)) {
				found.other_variable = launchers[i].rank;
				found.other = rank;
			}
			continue;
		}
		found.rank = rank;
		found.rank_variable = launchers[i].rank;
		found.ranks = launcher_is_number(ranks) ? ranks : NULL;
		found.job = get(launchers[i].job);
		found.local = get(launchers[i].local);
		found.step = get(launchers[i].step);
	}
	return found;
}

#endif
