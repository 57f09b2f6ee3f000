/* Source: kernel traces of LTTng (CTF), read by babeltrace2: system calls and block requests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

/* A trace is a folder with this file in it, or as LTTng makes them with a folder "kernel" there. */
static bool find_folder(const char *path, char *folder, size_t room)
{
	static const char *const below[] = { "", "/kernel" };
	char metadata[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (snprintf(folder, room, "%s%s", path, below[i]) < (int)room &&
		    snprintf(metadata, sizeof(metadata), "%s/metadata", folder) <
			    (int)sizeof(metadata) &&
		    access(metadata, R_OK) == 0)
			return true;
	return false;
}

/* Metadata is text, or packets of it behind a number in either byte order. */
static bool is_metadata(const unsigned char *head, size_t head_bytes)
{
	static const char text[] = "/* CTF 1";
	static const unsigned char magic[] = { 0x75, 0xd1, 0x1d, 0x57 };
	bool same = true, swapped = true;

	for (size_t i = 0; i < sizeof(magic) && i < head_bytes; i++) {
		same &= head[i] == magic[i];
		swapped &= head[i] == magic[sizeof(magic) - 1 - i];
	}
	return head_bytes >= sizeof(text) - 1 &&
	       (memcmp(head, text, sizeof(text) - 1) == 0 || same || swapped);
}

static bool ctf_probe(const char *path, bool directory, const unsigned char *head,
		      size_t head_bytes)
{
	unsigned char start[16];
	char folder[PATH_MAX], metadata[PATH_MAX + 16];
	FILE *file;
	size_t n;

	if (!directory)
		return is_metadata(head, head_bytes);
	if (!find_folder(path, folder, sizeof(folder)))
		return false;
	snprintf(metadata, sizeof(metadata), "%s/metadata", folder);
	file = fopen(metadata, "re");
	if (!file)
		return false;
	n = fread(start, 1, sizeof(start), file);
	fclose(file);
	return is_metadata(start, n);
}

#ifndef HAVE_BABELTRACE2

static int ctf_open(struct eta_trace *trace)
{
	eta_error(
		"%s: is a CTF trace, which this build cannot read: install libbabeltrace2-dev and "
		"build again",
		trace->path);
	return -ENOTSUP;
}

#else

#include <babeltrace2/babeltrace.h>

#include "ctf.h"
#include "ctf-precheck.h"

/* What stops the reading is an error code of ours; babeltrace2 knows but two. */
struct reading {
	const char *folder;
	struct ctf *ctf; /* NULL: in the child, which only looks whether it can be read */
	struct precheck *precheck;
	uint64_t steps; /* the first makes the graph, each other one takes some messages */
	bool stopped;	/* the child got no further */
	int rc;
};

/* Before a step of babeltrace2: does it come back from it? */
static bool may_step(struct reading *reading)
{
	if (reading->ctf && !precheck_may_go_on(reading->precheck, reading->steps))
		reading->stopped = true;
	return !reading->stopped;
}

static void has_stepped(struct reading *reading)
{
	reading->steps++;
	if (!reading->ctf)
		precheck_step(reading->precheck);
}

static bt_graph_simple_sink_component_initialize_func_status
start(bt_message_iterator *iterator __attribute__((unused)), void *data __attribute__((unused)))
{
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static int take(struct ctf *ctf, const bt_message *message)
{
	uint64_t n;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		return ctf_event(ctf, message);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (bt_message_discarded_events_get_count(message, &n) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			n = 1; /* at least */
		ctf->log->trace->counts.lost += n;
		return 0;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		if (bt_message_discarded_packets_get_count(message, &n) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			n = 1;
		ctf->log->trace->counts.lost += n; /* at least an event in each */
		return 0;
	default:
		return 0;
	}
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator,
								  void *data)
{
	struct reading *reading = data;
	bt_message_array_const messages;
	uint64_t n;

	if (!may_step(reading))
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	/* its source may pass over an error, and then end the program at its next step */
	bt_current_thread_clear_error();
	switch (bt_message_iterator_next(iterator, &messages, &n)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	has_stepped(reading);
	for (uint64_t i = 0; i < n; i++) {
		if (reading->rc == 0 && reading->ctf)
			reading->rc = take(reading->ctf, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return reading->rc ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR
			   : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* A graph under construction, and what it was made of. */
struct graph {
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	bt_value *parameters;
};

static void graph_free(struct graph *g)
{
	bt_graph_put_ref(g->graph);
	bt_plugin_put_ref(g->ctf);
	bt_plugin_put_ref(g->utils);
	bt_value_put_ref(g->parameters);
}

static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return plugin;
}

/* source.ctf.fs of FOLDER -> filter.utils.muxer -> READING; false: babeltrace2 says why. */
static bool graph_make(struct graph *g, const char *folder, struct reading *reading)
{
	const bt_component_class_source *source_class;
	const bt_component_class_filter *muxer_class;
	const bt_component_source *source;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
	bt_value *inputs;

	g->ctf = find_plugin("ctf");
	g->utils = find_plugin("utils");
	g->graph = bt_graph_create(0);
	g->parameters = bt_value_map_create();
	if (!g->ctf || !g->utils || !g->graph || !g->parameters)
		return false;
	source_class = bt_plugin_borrow_source_component_class_by_name_const(g->ctf, "fs");
	muxer_class = bt_plugin_borrow_filter_component_class_by_name_const(g->utils, "muxer");
	if (!source_class || !muxer_class ||
	    bt_value_map_insert_empty_array_entry(g->parameters, "inputs", &inputs) ||
	    bt_value_array_append_string_element(inputs, folder) ||
	    bt_graph_add_source_component(g->graph, source_class, "source", g->parameters,
					  BT_LOGGING_LEVEL_NONE, &source) ||
	    bt_graph_add_filter_component(g->graph, muxer_class, "muxer", NULL,
					  BT_LOGGING_LEVEL_NONE, &muxer) ||
	    bt_graph_add_simple_sink_component(g->graph, "sink", start, consume, NULL, reading,
					       &sink))
		return false;
	/* the muxer makes itself a new input for each that is connected */
	for (uint64_t i = 0; i < bt_component_source_get_output_port_count(source); i++)
		if (bt_graph_connect_ports(
			    g->graph,
			    bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_filter_borrow_input_port_by_index_const(muxer, i), NULL))
			return false;
	return bt_graph_connect_ports(
		       g->graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) == 0;
}

/* The first cause of what babeltrace2 complains of, one line of it. */
static int complain(struct log *log, bool begun)
{
	const bt_error *error = bt_current_thread_take_error();
	const char *why = "babeltrace2 does not say why";
	int rc;

	if (error && bt_error_get_cause_count(error) > 0)
		why = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
	if (begun) {
		rc = log_bad(log, "%.*s", (int)strcspn(why, "\n"), why);
	} else {
		rc = -EBADMSG;
		eta_error("%s: babeltrace2 cannot read it: %.*s (try babeltrace2 with it)",
			  log->trace->path, (int)strcspn(why, "\n"), why);
	}
	if (error)
		bt_error_release(error);
	return rc;
}

/* All of it, as far as READING says. STATUS stays where the graph cannot be made. */
static void run(struct reading *reading, bt_graph_run_status *status)
{
	struct graph graph = { 0 };
	bool ok = graph_make(&graph, reading->folder, reading);

	has_stepped(reading);
	if (ok)
		bt_current_thread_clear_error(); /* as in consume */
	while (ok && (*status = bt_graph_run(graph.graph)) == BT_GRAPH_RUN_STATUS_AGAIN)
		;
	graph_free(&graph);
}

static void precheck_steps(struct precheck *precheck, void *arg)
{
	struct reading reading = *(const struct reading *)arg;
	bt_graph_run_status status;

	reading.ctf = NULL;
	reading.precheck = precheck;
	run(&reading, &status);
}

/* Where babeltrace2 would have ended us, too. */
static int give_up(struct log *log, const char *failure)
{
	if (log->trace->counts.records > 0)
		return log_bad(log, "babeltrace2 ends there (%s)", failure);
	eta_error(
		"%s: babeltrace2 ends when it reads it (%s): the trace is damaged (try babeltrace2 "
		"with it)",
		log->trace->path, failure);
	return -EBADMSG;
}

static int read_folder(struct ctf *ctf, const char *folder)
{
	struct reading reading = { .folder = folder, .ctf = ctf };
	bt_graph_run_status status = BT_GRAPH_RUN_STATUS_ERROR;
	int rc;

	reading.precheck = precheck_start(precheck_steps, &reading);
	if (!reading.precheck) {
		rc = errno ? -errno : -EAGAIN;
		eta_error("%s: no process can be started to try it first: %s", folder,
			  strerror(-rc));
		return rc;
	}
	if (may_step(&reading))
		run(&reading, &status);
	rc = reading.rc;
	if (rc == 0 && reading.stopped)
		rc = give_up(ctf->log, precheck_failure(reading.precheck));
	else if (rc == 0 && status == BT_GRAPH_RUN_STATUS_MEMORY_ERROR)
		rc = log_no_memory(ctf->log, "babeltrace2");
	else if (rc == 0 && status != BT_GRAPH_RUN_STATUS_OK)
		rc = complain(ctf->log, ctf->log->trace->counts.records > 0);
	/* what is left of an error ends the program at the next call of babeltrace2 */
	bt_current_thread_clear_error();
	precheck_end(reading.precheck);
	return rc;
}

static int ctf_open(struct eta_trace *trace)
{
	struct ctf ctf = { 0 };
	char folder[PATH_MAX], parent[PATH_MAX];
	const char *clock;
	int rc;

	/* also a folder can be opened; its files are babeltrace2's to read */
	rc = log_open(trace, &ctf.log);
	if (rc)
		return rc;
	snprintf(parent, sizeof(parent), "%s", trace->path);
	if (!find_folder(parent, folder, sizeof(folder))) {
		/* its metadata was named */
		char *slash = strrchr(parent, '/');

		snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - parent + 1) : 1,
			 slash ? parent : ".");
	}
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	rc = read_folder(&ctf, folder);
	if (rc == 0)
		rc = ctf_end(&ctf);
	clock = ctf_clock(&ctf);
	ctf_free(&ctf);
	return log_end(ctf.log, rc, clock);
}

#endif

LOG_SOURCE(ctf, "kernel trace of LTTng (folder with a CTF trace)");
