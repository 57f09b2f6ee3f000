/* The first screen of the analysis of what sci-record has just merged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "record-answer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/report.h"
#include "report/screen.h"
#include "src/analysis/tables/analysis.h"
#include "src/common/progress.h"

/* All of it or nothing: a part of an answer could be read as one. */
static int put_answer(const struct analysis *a)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		return -ENOMEM;
	rc = report_answer(out, a, screen_width(STDERR_FILENO));
	if (fclose(out) == EOF && !rc)
		rc = -ENOMEM;
	if (!rc && (fwrite(text, 1, size, stderr) != size || fflush(stderr) == EOF))
		rc = -EIO;
	free(text);
	return rc;
}

static int analyse(const char *archive)
{
	struct progress progress;
	/* as sci-analyze has it for its default view */
	struct analysis_options options = { .files = true,
					    .habits = true,
					    .n_culprits = ANALYSIS_CULPRITS,
					    .progress = progress_step,
					    .progress_arg = &progress };
	struct eta_options open = { 0 };
	struct eta_trace *trace = NULL;
	struct analysis *analysis = NULL;
	int rc = eta_open(archive, &open, &trace);

	if (rc)
		return rc;
	broken_off_leaves("%s is complete", archive);
	progress_begin(&progress, progress_events(trace), false);
	rc = analysis_run(trace, &options, &analysis);
	progress_end(&progress);
	if (!rc)
		rc = put_answer(analysis);
	analysis_free(analysis);
	eta_close(trace);
	return rc;
}

/* The parent says what a signal leaves; who ends it alone does not want the answer either. */
static void analyse_and_exit(const char *archive, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction action;

		sigaction(signals[i], NULL, &action);
		if (action.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
	}
	signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	_exit(analyse(archive) ? 1 : 0);
}

void record_answer(const char *archive)
{
	pid_t parent = getpid(), child;
	int status;

	fflush(NULL);
	child = fork();
	if (child < 0) {
		eta_warn("not analysed: cannot start a process: %s", strerror(errno));
		return;
	}
	if (child == 0)
		analyse_and_exit(archive, parent);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return;
	if (WIFSIGNALED(status))
		eta_warn("not analysed: the analysis was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		eta_warn("not analysed: the analysis failed");
}
