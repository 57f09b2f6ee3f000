/* The process that records for all ranks of a job on one node. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "job-node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool.h"
#include "job-link.h"
#include "node-clock.h"
#include "outputs.h"
#include "spool-server.h"
#include "watch.h"

/* Where fewer ranks have come than the launcher said, and the others have gone. */
#define PATIENCE_S 10

/* A rank that has come. */
struct member {
	int fd, pidfd; /* its connection, its program; -1: gone, or not there yet */
	unsigned rank;
	bool heard, greeted, answered;
};

struct node {
	const struct job *job;
	struct recording recording;
	struct user_side side;
	int rc;			     /* of what all of them need */
	int listener, events, timer; /* events: an epoll of the others */
	struct member *members;
	size_t n_members, room;
	bool loads, over;
	char *shown; /* the folder, as the caller knows it */
};

enum { ON_LISTENER, ON_TIMER, ON_MEMBER, N_PER_MEMBER = 2 };

static void wait_for(struct node *node, int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	if (epoll_ctl(node->events, EPOLL_CTL_ADD, fd, &event) != 0)
		eta_warn("a rank cannot be waited for: %s", strerror(errno));
}

/* Closing takes it out of the epoll, too. */
static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- messages ---- */

static void answer(const struct node *node, struct member *member)
{
	struct job_answer text = {
		.word = JOB_ANSWER,
		.rc = node->rc,
		.user = node->recording.user,
		.kernel = node->recording.kernel,
		.side = node->side,
	};

	/* whoever has gone is noticed by the end of his connection */
	(void)send(member->fd, &text, sizeof(text), MSG_NOSIGNAL);
	member->answered = true;
}

/* The program is stopped: it is traced before it begins. */
static void take_program(struct node *node, struct member *member, pid_t pid)
{
	struct recording *r = &node->recording;

	member->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (member->pidfd >= 0)
		wait_for(node, member->pidfd,
			 ON_MEMBER + N_PER_MEMBER * (uint64_t)(member - node->members) + 1);
	if (r->kernel && kernelio_attach(r->kernelio, pid, false) != 0)
		eta_warn("rank %u: its program is not traced in the kernel", member->rank);
}

static void receive(struct node *node, struct member *member)
{
	struct job_message message;
	ssize_t n = recv(member->fd, &message, sizeof(message), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(message)) { /* killed: its program may go on */
		close_fd(&member->fd);
		return;
	}
	member->rank = message.rank;
	member->heard = true;
	switch (message.word) {
	case JOB_HELLO:
		member->greeted = true;
		answer(node, member);
		break;
	case JOB_STARTED:
		if (member->pidfd < 0)
			take_program(node, member, (pid_t)message.pid);
		answer(node, member);
		break;
	case JOB_ENDED:
		node->loads |= message.loads != 0;
		member->greeted = false;
		close_fd(&member->pidfd);
		break;
	default:
		close_fd(&member->fd);
	}
}

static void take_member(struct node *node)
{
	int fd = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) ||
	    (peer.uid != getuid() && peer.uid != geteuid() && peer.uid != 0)) {
		close(fd);
		return;
	}
	if (node->n_members == node->room) {
		size_t room = node->room + 64;
		struct member *more = reallocarray(node->members, room, sizeof(*more));

		if (!more) {
			close(fd);
			return;
		}
		node->members = more;
		node->room = room;
	}
	node->members[node->n_members] = (struct member){ .fd = fd, .pidfd = -1 };
	wait_for(node, fd, ON_MEMBER + N_PER_MEMBER * (uint64_t)node->n_members++);
}

/* ---- until the last has gone ---- */

/*
 * A rank is there from its connection, whose first message may come later, to the end of its
 * program.
 */
static size_t n_there(const struct node *node)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_members; i++) {
		const struct member *member = &node->members[i];

		n += (member->fd >= 0 && (member->greeted || !member->heard)) || member->pidfd >= 0;
	}
	return n;
}

static void set_timer(const struct node *node, unsigned seconds)
{
	struct itimerspec when = { .it_value = { .tv_sec = seconds } };

	timerfd_settime(node->timer, 0, &when, NULL);
}

static bool is_complete(const struct node *node)
{
	return node->job->local_size && node->n_members >= node->job->local_size;
}

/* Reports what has happened; true: nobody is left to wait for. */
static bool serve(void *arg)
{
	struct node *node = arg;
	struct epoll_event events[16];
	int n = epoll_wait(node->events, events, 16, 0);
	bool timeout = false;

	for (int i = 0; i < n; i++) {
		uint64_t what = events[i].data.u64, ticks;
		struct member *member;

		if (what == ON_LISTENER) {
			take_member(node);
			set_timer(node, 0);
			continue;
		}
		if (what == ON_TIMER) {
			timeout = read(node->timer, &ticks, sizeof(ticks)) == sizeof(ticks);
			continue;
		}
		member = &node->members[(what - ON_MEMBER) / N_PER_MEMBER];
		if ((what - ON_MEMBER) % N_PER_MEMBER)
			close_fd(&member->pidfd);
		else if (member->fd >= 0)
			receive(node, member);
	}
	if (n_there(node) == 0 && !timeout && !is_complete(node)) {
		struct itimerspec left;

		if (n > 0 && timerfd_gettime(node->timer, &left) == 0 &&
		    left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0)
			set_timer(node, PATIENCE_S);
		return false;
	}
	node->over = n_there(node) == 0;
	return node->over;
}

static void watch_all(struct node *node)
{
	struct recording *r = &node->recording;
	struct watch watch = {
		.kernelio = r->kernelio,
		.directory = KERNEL_SPOOL,
		.folder = r->folder.kernel,
		.duration_ms = r->options->kernel.duration_ms,
		.ended_by = -1,
		.also = node->events,
		.serve = serve,
		.serve_arg = node,
	};
	struct pollfd events = { .fd = node->events, .events = POLLIN };
	enum watch_end end;

	if (r->kernel && watch_run(&watch, &end) == 0 && !node->over)
		eta_note("the kernel's side has ended; the ranks go on");
	recording_kernel_stop(r, true);
	while (!node->over) {
		if (poll(&events, 1, -1) < 0 && errno != EINTR)
			break;
		serve(node);
	}
}

/* ---- the beginning and the end ---- */

/* Hosts of one name that record into the same folder. */
enum { MAX_NAMESAKES = 64 };

/* This job on this boot of the host. */
static void name_whose(const struct job *job, char whose[RECORDING_JOB_BYTES])
{
	struct eta_spool_header own = { 0 };

	spool_header_origin(&own);
	snprintf(whose, RECORDING_JOB_BYTES, "%s %s", job->id, own.boot);
}

/*
 * Opens node->shown, unless another host of this name records there: -EEXIST, not reported. 0 or
 * another -errno, reported.
 */
static int open_as(struct node *node, const char *whose)
{
	const struct record_options *o = node->recording.options;
	struct recording_folder *folder = &node->recording.folder;
	char found[RECORDING_JOB_BYTES];
	size_t job = strcspn(whose, " ") + 1;
	int rc;

	recording_folder_whose(node->shown, found);
	if (strcmp(found, whose) == 0) {
		eta_error("%s: the recording of the other ranks on this node has ended already: "
			  "this rank came too late, and is not recorded",
			  node->shown);
		return -EALREADY;
	}
	if (strncmp(found, whose, job) == 0)
		return -EEXIST;
	rc = recording_folder_open(folder, node->shown, o->argv[0], o->force, o->mode);
	if (rc)
		return rc == -EEXIST ? -EBUSY : rc;
	rc = recording_folder_job(folder, whose);
	if (rc)
		recording_folder_close(folder);
	return rc;
}

/* Opens the folder of this node in FOLDER, under a name that no other node has. 0 or -errno,
 * reported. */
static int open_own(struct node *node, const char *folder)
{
	char whose[RECORDING_JOB_BYTES];
	int rc = -EEXIST;

	name_whose(node->job, whose);
	for (unsigned n = 1; rc == -EEXIST && n <= MAX_NAMESAKES; n++) {
		char behind[16] = "";

		if (n > 1)
			snprintf(behind, sizeof(behind), ".%u", n);
		free(node->shown);
		if (asprintf(&node->shown, "%s%s%s%s", folder, node->job->is_node ? "" : "/",
			     node->job->is_node ? "" : node->job->node, behind) < 0) {
			node->shown = NULL;
			return -ENOMEM;
		}
		rc = open_as(node, whose);
	}
	return rc;
}

/* FOLDER is of the whole job, what is in it of one node each. 0 or -errno, reported. */
static int open_folder(struct node *node, const char *folder)
{
	struct folder whole = { .fd = -1 };
	int rc = output_check_folder(folder);

	if (rc == 0 && !node->job->is_node)
		rc = folder_take(folder, folder_mode(node->recording.options->mode), &whole);
	if (rc)
		return rc;
	/* two nodes of one name do not look for theirs at the same time; where a file system has no
	 * locks of folders, that is left to chance */
	if (whole.fd >= 0)
		(void)flock(whole.fd, LOCK_EX);
	rc = open_own(node, folder);
	if (whole.fd >= 0)
		folder_close(&whole);
	node->recording.shown = node->shown;
	if (rc == 0 && node->recording.options->force && !node->job->is_node)
		job_unlink(folder);
	return rc;
}

static int begin(struct node *node, const char *folder)
{
	struct recording *r = &node->recording;
	int rc = identity_choose(&r->identity, r->options->run_as);

	if (rc == 0)
		rc = identity_files(&r->identity);
	if (rc == 0)
		rc = open_folder(node, folder);
	if (rc)
		return rc;
	r->user = !r->options->no_user && recording_user(r, &node->side) == 0;
	rc = recording_budget(r);
	if (rc == 0)
		rc = recording_kernel(r);
	if (rc == 0 && !r->user && !r->kernel) {
		eta_error("neither level can be traced, so %s was not run", r->options->argv[0]);
		rc = -EPERM;
	}
	if (rc == 0 && r->server)
		spool_server_start(r->server);
	if (rc) {
		spool_server_free(r->server);
		recording_kernel_give_up(r);
		recording_folder_undo(&r->folder);
	}
	return rc;
}

/* Nothing is recorded: all ranks get to know. */
static void refuse_all(struct node *node)
{
	struct pollfd events = { .fd = node->events, .events = POLLIN };

	while (!node->over && poll(&events, 1, PATIENCE_S * 1000) > 0) {
		serve(node);
		node->over = node->rc == -EALREADY || is_complete(node);
		for (size_t i = 0; i < node->n_members; i++)
			node->over &= node->members[i].answered || node->members[i].fd < 0;
	}
}

/* What was printed meanwhile, to the rank with the smallest number; else to the launcher. */
static void hand_over(struct node *node, int printed, int launcher)
{
	struct job_answer text = { .word = JOB_TEXT };
	const struct member *first = NULL;
	ssize_t n;

	for (size_t i = 0; i < node->n_members; i++)
		if (node->members[i].fd >= 0 && (!first || node->members[i].rank < first->rank))
			first = &node->members[i];
	fflush(stderr);
	lseek(printed, 0, SEEK_SET);
	while ((n = read(printed, text.text, sizeof(text.text) - 1)) > 0) {
		text.text[n] = '\0';
		if (first)
			(void)send(first->fd, &text, sizeof(text), MSG_NOSIGNAL);
		else if (write(launcher, text.text, (size_t)n) < 0)
			break;
	}
}

static void end_all(struct node *node, int status)
{
	const struct job_answer over = { .word = JOB_OVER, .rc = status };

	for (size_t i = 0; i < node->n_members; i++)
		if (node->members[i].fd >= 0)
			(void)send(node->members[i].fd, &over, sizeof(over), MSG_NOSIGNAL);
}

/* Away from the launcher's pipes, which it may wait for; stderr is kept for what no rank prints. */
static void leave_launcher(int *printed, int *launcher)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	signal(SIGPIPE, SIG_IGN);
	*launcher = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	*printed = memfd_create("sci-record", MFD_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (*printed >= 0)
		dup2(*printed, STDERR_FILENO);
}

void job_node_run(const struct job *job, const struct record_options *options, const char *folder,
		  int listener)
{
	struct node node = {
		.job = job,
		.recording = { .options = options,
			       .name = options->argv[0],
			       .folder = { .folder = { .fd = -1, .parent = -1 },
					   .user = -1,
					   .kernel = -1 } },
		.listener = listener,
		.events = epoll_create1(EPOLL_CLOEXEC),
		.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
	};
	struct recording *r = &node.recording;
	struct node_clock *clock = NULL;
	char *readings = NULL;
	int printed, launcher, status = CLI_OK;

	leave_launcher(&printed, &launcher);
	/* two for each rank */
	cli_allow_files();
	if (node.events < 0 || node.timer < 0)
		_exit(CLI_FAILED);
	wait_for(&node, listener, ON_LISTENER);
	wait_for(&node, node.timer, ON_TIMER);
	set_timer(&node, PATIENCE_S);
	node.rc = begin(&node, folder);
	if (node.rc) {
		refuse_all(&node);
		status = CLI_FAILED;
	} else {
		if (!job->is_node && (!job->local_size || job->local_size < job->size))
			clock = node_clock_start(folder, job->id);
		watch_all(&node);
		r->readings = readings = node_clock_end(clock);
		if (node.n_members < job->local_size)
			eta_warn("%zu of the %u ranks on %s have come", node.n_members,
				 job->local_size, job->node);
		recording_user_stop(r, node.loads);
		/* one answer for the job */
		for (size_t i = 0; i < node.n_members && !r->no_answer; i++)
			r->no_answer = node.members[i].rank == 0;
		r->no_answer = !r->no_answer;
		status = recording_finish(r, CLI_OK);
		if (!job->is_node && node.n_members < job->size)
			job_link(job, options, folder);
	}
	hand_over(&node, printed, launcher);
	end_all(&node, status);
	recording_folder_close(&r->folder);
	free(node.shown);
	free(node.members);
	free(readings);
	exit(CLI_OK);
}
