/* What sci-analyze is asked for on its command line. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYZE_OPTIONS_H
#define SCI_ANALYZE_OPTIONS_H

#include "src/analysis/tables/analysis.h"
#include "report/views.h"

enum analyze_what { SHOW_SCORE, SHOW_WORKLOAD, SHOW_COMPARISON, SHOW_UNNAMED, SHOW_VM_FILES };
enum analyze_form { FORM_TEXT, FORM_CSV, FORM_JSON, FORM_HTML };

struct analyze_options {
	enum analyze_what what;
	enum analyze_form form;
	const struct view *view;    /* of the score */
	const char *by;		    /* of --by, NULL: not given */
	struct table_options table; /* `top` as it is for the form */
	struct analysis_options analysis;
	struct eta_options open;
	uint64_t interval_ns; /* of the workload: a row for each so long; 0: one for all */
	const char *baseline; /* path of another trace */
	const char *html;     /* the page to write, of FORM_HTML */
	uint64_t html_bytes;  /* that it may have at most */
	bool strict;
	char **paths; /* of the command line */
	size_t n_paths;
	/* what was given, for what does not go together */
	bool top_given, rows_given, similar_given, reference_given, sci_given;
	const char *view_given; /* the option that chose the view */
	const char *of_json;	/* an option that means nothing without */
	const char *of_html;	/* the same of html */
	bool list_fields;	/* only say which there are */
};

/* Parses the command line; exits on misuse, --help, --fields=help. Free paths. */
void analyze_options_parse(int argc, char **argv, struct analyze_options *options);

#endif
