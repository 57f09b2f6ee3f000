/* sci-top: who is slowed now, where and by whom, on the whole machine. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/folder.h"
#include "options.h"
#include "plugins/kernelio/kernelio.h"
#include "privileges.h"
#include "top/screen.h"
#include "top/window.h"

struct arguments {
	unsigned interval_s, window_s, count;
	bool batch, json, full;
	const char *metrics;
	struct top_look look;
	const char *level;
	char level_filter[64];
};

static void set_view(const struct option_given *given)
{
	struct arguments *a = given->options;

	a->look.view = top_view_find(given->arg);
	if (!a->look.view)
		option_error(given, "one of process, thread, device, container");
}

static void add_filter(const struct option_given *given)
{
	struct arguments *a = given->options;

	/* two are left for those of the keys, one for --level */
	if (a->look.table.n_filters + 3 >= TABLE_FILTERS)
		option_error(given, "%d filters at most", TABLE_FILTERS - 3);
	a->look.table.filters[a->look.table.n_filters++] = given->arg;
}

static const struct option_row rows[] = {
	HEADING("When:"),
	{ "interval", 'd', "SECONDS", "update every SECONDS (2)",
	  SETS_NUMBER(struct arguments, interval_s, 1, 3600) },
	{ "window", 'w', "SECONDS", "score the last SECONDS (10)",
	  SETS_NUMBER(struct arguments, window_s, 1, 3600) },
	{ "count", 'n', "N", "end after N times (default: never)",
	  SETS_NUMBER(struct arguments, count, 1, 1 << 30) },
	HEADING("How it is recorded:"),
	{ "full", 0, NULL,
	  "record every call, not only those that wait: rates and latencies are of all calls, and "
	  "every program of the machine is a little slower",
	  SETS_FLAG(struct arguments, full) },
	HEADING("What is shown:"),
	{ "by", 0, "WHAT", "rows: process (default), thread, device or container",
	  CALLS(set_view) },
	{ "tree", 0, NULL, "processes, each with its threads below it",
	  SETS_FLAG(struct arguments, look.tree) },
	{ "sort", 0, "FIELD", "sort by FIELD, as in sci-analyze; -FIELD: the other way",
	  SETS_TEXT(struct arguments, look.table.sort) },
	{ "filter", 0, "EXPR",
	  "show rows where FIELD=VALUE, or with !=, <, <=, >, >=", CALLS(add_filter) },
	{ "level", 0, "LEVEL",
	  "show what is slowed at LEVEL: vfs, pagecache, fs, block, net or cpu",
	  SETS_TEXT(struct arguments, level) },
	{ "top", 0, "N", "print N rows (20; 0: all)",
	  SETS_NUMBER(struct arguments, look.table.top, 0, 1 << 20) },
	HEADING("Where to:"),
	{ "batch", 'b', NULL, "print text each time, in place of the screen",
	  SETS_FLAG(struct arguments, batch) },
	{ "json", 0, NULL, "print a line of json each time, with all rows",
	  SETS_FLAG(struct arguments, json) },
	{ "openmetrics", 0, "FILE",
	  "replace FILE (FILE.prom in the textfile folder of node_exporter) each time, too",
	  SETS_TEXT(struct arguments, metrics) },
	{ 0 },
};

static void check(struct arguments *a, struct argp_state *state)
{
	const struct view *view = a->look.tree ? &top_process : a->look.view;
	char why[512];

	if (a->batch && a->json)
		argp_error(state, "--batch and --json: give one of them");
	if (a->level) {
		int level = 0;

		while (level < ETA_N_LEVELS &&
		       strcmp(a->level, eta_level_name((enum eta_level)level)) != 0)
			level++;
		if (level == ETA_N_LEVELS)
			argp_error(state, "--level=%s: one of vfs, pagecache, fs, block, net, cpu",
				   a->level);
		snprintf(a->level_filter, sizeof(a->level_filter), "level=%s", a->level);
		a->look.table.filters[a->look.table.n_filters++] = a->level_filter;
	}
	if (table_check(view->columns, view->n_columns, &a->look.table, why, sizeof(why)))
		argp_error(state, "%s", why);
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG)
		argp_error(state, "%s: sci-top takes options only", arg);
	if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	check(state->input, state);
	return 0;
}

static const struct command_line command_line = {
	.rows = rows,
	.parser = parse_words,
	.doc = "Shows who is slowed now, at which level and by whom: processes, threads, devices "
	       "and containers of the whole machine, scored over the last seconds. Nothing is "
	       "written to disk."
	       "\v"
	       "EXAMPLES\n"
	       "  sci-top\n"
	       "  sci-top --batch --count=1 --interval=5 --by=thread\n"
	       "  sci-top --by=device --sort=queue\n"
	       "  sci-top --full --interval=1\n"
	       "  sci-top --json --openmetrics=sci.prom >log.json\n"
	       "\n"
	       "The key h lists the keys. Needs root, or CAP_SYS_ADMIN. A call counts when it has "
	       "ended.\n\n"
	       "SEE ALSO\n"
	       "  sci-record(1), sci-analyze(1), sci-kernel(1)",
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

/* ---- what is recorded ---- */

struct recorder {
	int memory; /* a file system that has no place, and goes with the last descriptor */
	int spool, view;
	char path[FOLDER_PATH_BYTES], temporary[FOLDER_PATH_BYTES];
	struct kernelio *kernelio;
	struct window *window;
	struct slices slices;
	uint64_t start_ns, taken_ns; /* the last look */
};

static int make_memory(struct recorder *r)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs >= 0 && fsconfig(fs, FSCONFIG_SET_STRING, "size", "25%", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0700", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		r->memory = fsmount(fs, FSMOUNT_CLOEXEC,
				    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fs >= 0)
		close(fs);
	if (r->memory < 0 || mkdirat(r->memory, "spool", 0700) < 0 ||
	    mkdirat(r->memory, "window", 0700) < 0 ||
	    (r->spool = openat(r->memory, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
	    (r->view = openat(r->memory, "window", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		int rc = -errno;

		eta_error("cannot make a file system in memory: %s", strerror(-rc));
		return rc;
	}
	folder_path(r->memory, "window", r->path);
	/* what reading puts aside goes there as well */
	if (setenv("TMPDIR", folder_path(r->memory, NULL, r->temporary), 1) < 0)
		return -ENOMEM;
	return 0;
}

static int record(struct recorder *r, const struct arguments *a)
{
	const struct kernelio_options options = {
		.name = "sci-top", .skip = -1, .everyone = true, .light = !a->full
	};
	struct authority authority;
	int rc = authority_get(&authority);

	if (rc == 0 && !authority.everyone) {
		eta_error("only root, or who has CAP_SYS_ADMIN, may look at all of the machine: "
			  "sudo sci-top (sci-record shows a program of yours)");
		return -EPERM;
	}
	if (rc)
		eta_error("cannot read this process's capabilities: %s", strerror(-rc));
	/* a slice keeps its files open, one for each CPU: a long window has many */
	cli_allow_files();
	if (rc == 0)
		rc = kernelio_new(&options, &r->kernelio);
	if (rc == 0)
		rc = make_memory(r);
	if (rc == 0)
		rc = kernelio_start(r->kernelio, r->spool);
	if (rc)
		return rc;
	r->start_ns = r->taken_ns = clock_ns(CLOCK_MONOTONIC);
	r->window = window_new(r->spool, true);
	if (!r->window)
		return -ENOMEM;
	return slices_new(&r->slices, 1 + a->window_s / a->interval_s);
}

static void recorder_free(struct recorder *r)
{
	kernelio_free(r->kernelio);
	window_free(r->window);
	slices_free(&r->slices);
	if (r->spool >= 0)
		close(r->spool);
	if (r->view >= 0)
		close(r->view);
	if (r->memory >= 0)
		close(r->memory);
}

/* Takes over what was recorded since the last look, and scores it. 0 or -errno, reported. */
static int take(struct recorder *r, const struct arguments *a, uint64_t now)
{
	const uint64_t second = 1000000000, window_ns = a->window_s * second;
	uint64_t half_ns = a->interval_s * second / 2;
	/* names of tasks that ended since then are wanted still */
	int rc = window_read(r->window, now, r->taken_ns + 1);

	r->taken_ns = now;
	if (rc == 0)
		rc = window_write(r->window, r->view);
	if (rc == 0)
		rc = slices_add(&r->slices, r->path, now);
	/* what was taken over at once is kept or forgotten as a whole */
	if (now - r->start_ns > window_ns)
		slices_forget(&r->slices,
			      now - window_ns + (half_ns < window_ns ? half_ns : window_ns));
	return rc;
}

/* What was recorded until now. 0 or -errno, reported. */
static int look(struct recorder *r, const struct arguments *a, struct frame *frame)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), real_ns = clock_ns(CLOCK_REALTIME);
	int rc = take(r, a, now);

	if (rc)
		return rc;
	frame_free(frame);
	rc = frame_new(&r->slices, frame);
	frame->real_ns = real_ns;
	frame->window_ns = now - slices_begin(&r->slices, r->start_ns);
	return rc;
}

/* ---- what is shown ---- */

/* A missing folder is reported before anything is recorded. */
static int check_place(const char *path)
{
	const char *name;
	int folder = folder_of(path, &name);

	if (folder < 0)
		return folder;
	close(folder);
	return 0;
}

static int show(struct arguments *a, const struct frame *frame, bool screen)
{
	int rc = 0;

	if (screen) {
		screen_draw(frame, &a->look);
	} else if (a->json) {
		rc = top_json(stdout, frame);
	} else {
		top_head(stdout, frame, 0);
		rc = top_table(stdout, frame, &a->look);
		putchar('\n');
		if (rc == 0 && fflush(stdout) == EOF)
			rc = -EIO;
	}
	if (rc == -ENOMEM)
		eta_error("not enough memory to show it");
	else if (rc)
		eta_error("standard output: cannot write: %s", strerror(errno));
	if (rc == 0 && a->metrics)
		rc = top_metrics(a->metrics, frame);
	return rc;
}

static void wait_until(uint64_t end_ns)
{
	const struct timespec t = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };

	while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int run(struct arguments *a, struct recorder *r, bool screen)
{
	struct frame frame = { 0 };
	bool have = false;
	uint64_t next = r->start_ns, worked_ns = 0;
	int rc = 0;

	for (unsigned n = 0; rc == 0 && !ended && (!a->count || n < a->count); n++) {
		uint64_t begun, now = clock_ns(CLOCK_MONOTONIC);

		/* on a busy machine no more than half of the time is worked */
		next += a->interval_s * UINT64_C(1000000000);
		if (next < now + worked_ns)
			next = now + worked_ns;
		if (screen && screen_wait(have ? &frame : NULL, &a->look, next))
			break;
		wait_until(next);
		if (ended)
			break;
		if (screen && screen_frozen()) {
			/* what is recorded meanwhile is not to fill memory */
			rc = take(r, a, clock_ns(CLOCK_MONOTONIC));
			continue;
		}
		begun = clock_ns(CLOCK_MONOTONIC);
		rc = look(r, a, &frame);
		have = rc == 0;
		if (rc == 0)
			rc = show(a, &frame, screen);
		worked_ns = clock_ns(CLOCK_MONOTONIC) - begun;
	}
	frame_free(&frame);
	return rc;
}

/* The screen would be drawn over messages: they are printed after it has ended. */
static int hold_messages(int *own)
{
	int file = memfd_create("messages", MFD_CLOEXEC);

	*own = file < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*own >= 0)
		dup2(file, STDERR_FILENO);
	return file;
}

static void print_messages(int file, int own)
{
	char text[4096];
	ssize_t n;

	if (own < 0)
		return;
	dup2(own, STDERR_FILENO);
	close(own);
	lseek(file, 0, SEEK_SET);
	while ((n = read(file, text, sizeof(text))) > 0)
		if (write(STDERR_FILENO, text, (size_t)n) < 0)
			break;
	close(file);
}

int main(int argc, char **argv)
{
	struct arguments a = { .interval_s = 2,
			       .window_s = 10,
			       .look = { .view = &top_process, .table.top = 20 } };
	struct recorder r = { .memory = -1, .spool = -1, .view = -1 };
	struct sigaction action = { .sa_handler = on_signal };
	int rc, held = -1, own = -1;
	bool screen;

	options_parse(&command_line, argc, argv, &a);
	screen = !a.batch && !a.json;
	rc = a.metrics ? check_place(a.metrics) : 0;
	if (rc == 0)
		rc = record(&r, &a);
	if (rc == 0 && screen)
		rc = screen_begin();
	if (rc == 0 && screen)
		held = hold_messages(&own);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (rc == 0 && screen)
		screen_draw(NULL, &a.look);
	if (rc == 0) {
		rc = run(&a, &r, screen);
		if (screen)
			screen_end();
	}
	print_messages(held, own);
	recorder_free(&r);
	return rc ? CLI_FAILED : CLI_OK;
}
