/* One rank of a job: runs its program for the node's process to record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/base/fnv.h"
#include "job-node.h"
#include "job.h"
#include "launch.h"
#include "program-check.h"
#include "src/common/progress.h"

enum {
	JOIN_ROUNDS = 500, /* with a rest in between, while another rank becomes the node's */
	JOIN_REST_MS = 10,
	GREETINGS = 10, /* a node's process may be just ending */
};

/* ---- the way to the node's process ---- */

static uint64_t add_text(uint64_t hash, const char *text)
{
	return fnv_add(hash, text, strlen(text) + 1); /* "ab", "c" is not "a", "bc" */
}

/*
 * One name for all ranks of a job that record into the same folder on this node: in the abstract
 * namespace it can be bound once, and is free again when its process has ended.
 */
static socklen_t node_address(const struct job *job, const char *folder, struct sockaddr_un *name)
{
	char cwd[PATH_MAX] = "";
	uint64_t hash = FNV_BEGIN;
	int n;

	if (folder[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	hash = add_text(add_text(hash, job->id), job->node);
	hash = add_text(add_text(hash, cwd), folder);
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		     "sci-record-job-%u-%016" PRIx64, (unsigned)getuid(), hash);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Starts the node's process, if nobody else does. 0 or -errno, -EADDRINUSE among them. */
static int become_node(const struct job *job, const struct record_options *o, const char *folder,
		       const struct sockaddr_un *name, socklen_t bytes)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	pid_t child;

	if (listener < 0)
		return -errno;
	if (bind(listener, (const struct sockaddr *)name, bytes) || listen(listener, SOMAXCONN)) {
		rc = -errno;
		close(listener);
		return rc;
	}
	fflush(NULL);
	child = fork();
	rc = child < 0 ? -errno : 0;
	if (child == 0)
		job_node_run(job, o, folder, listener);
	close(listener);
	return rc;
}

/* Nobody else may answer in the node's place. */
static int check_peer(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return -errno;
	return peer.uid == geteuid() || peer.uid == 0 ? 0 : -EACCES;
}

/* A connection to the node's process, which is started where there is none; -errno, reported. */
static int join_node(const struct job *job, const struct record_options *o, const char *folder)
{
	struct sockaddr_un name;
	socklen_t bytes = node_address(job, folder, &name);
	int rc = -ETIMEDOUT;

	for (int round = 0; round < JOIN_ROUNDS; round++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (fd < 0) {
			rc = -errno;
			break;
		}
		if (connect(fd, (const struct sockaddr *)&name, bytes) == 0) {
			rc = check_peer(fd);
			if (rc == 0)
				return fd;
			close(fd);
			break;
		}
		rc = -errno;
		close(fd);
		if (rc != -ECONNREFUSED)
			break;
		rc = become_node(job, o, folder, &name, bytes);
		if (rc && rc != -EADDRINUSE)
			break;
		if (rc) /* it is about to listen */
			poll(NULL, 0, JOIN_REST_MS);
		rc = -ETIMEDOUT;
	}
	eta_error("rank %u: the process that records on %s cannot be reached: %s", job->rank,
		  job->node, strerror(-rc));
	return rc;
}

/* ---- messages ---- */

static int send_word(int fd, const struct job *job, enum job_word word, pid_t pid, bool loads)
{
	const struct job_message message = { word, job->rank, pid, loads };

	return send(fd, &message, sizeof(message), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The node's next message that is not to be printed: 0, or -errno, where it has ended. */
static int receive(int fd, struct job_answer *answer)
{
	ssize_t n;

	do {
		do
			n = recv(fd, answer, sizeof(*answer), 0);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -errno;
		if (n != sizeof(*answer))
			return -ECONNRESET;
		if (answer->word == JOB_TEXT)
			fwrite(answer->text, 1, strnlen(answer->text, sizeof(answer->text)),
			       stderr);
	} while (answer->word == JOB_TEXT);
	return 0;
}

/*
 * A connection to a node's process that has answered with ANSWER. One that was ending when this
 * rank came closes the connection unheard: its successor says why nothing is recorded. -errno,
 * reported.
 */
static int be_greeted(const struct job *job, const struct record_options *o, const char *folder,
		      struct job_answer *answer)
{
	int rc = 0;

	for (int i = 0; i < GREETINGS; i++) {
		int fd = join_node(job, o, folder);

		if (fd < 0)
			return fd;
		rc = send_word(fd, job, JOB_HELLO, 0, false);
		if (rc == 0)
			rc = receive(fd, answer);
		if (rc == 0)
			return fd;
		close(fd);
		if (rc != -ECONNRESET && rc != -EPIPE)
			break;
	}
	eta_error("rank %u: the process that records on %s has ended: %s", job->rank, job->node,
		  strerror(-rc));
	return rc;
}

/* Waits until the node's process has merged: the command's exit status. */
static int wait_for_merge(int fd, const struct job *job, int status, bool strict)
{
	struct job_answer answer;
	int rc;

	while ((rc = receive(fd, &answer)) == 0)
		if (answer.word == JOB_OVER)
			return status == 0 && strict ? answer.rc : status;
	eta_warn("rank %u: the process that records on %s has ended: what it has recorded is kept "
		 "there (sci-merge reads it)",
		 job->rank, job->node);
	return status == 0 && strict ? CLI_FAILED : status;
}

/* ---- the program ---- */

static int status_of_exec(int rc)
{
	return rc == -ENOENT ? 127 : rc == -EACCES || rc == -ENOEXEC ? 126 : CLI_FAILED;
}

/* Runs the program while the node's process, at FD, records it. Gives the exit status. */
static int run(const struct job *job, const struct record_options *o, int fd,
	       const struct user_side *side, bool user, const struct identity *identity)
{
	static char *env[RECORDING_VARIABLES];
	struct job_answer answer;
	struct launch launch;
	bool loads = false;
	int status = 0, rc;

	if (user && recording_environment(o, side, env) == 0)
		loads = program_check(o->argv[0]);
	rc = launch_stopped(&launch, o->argv, env, identity);
	if (rc) {
		eta_error("cannot start a process: %s", strerror(-rc));
		return CLI_FAILED;
	}
	rc = privileges_drop(identity);
	if (rc) {
		launch_cancel(&launch);
		return CLI_FAILED;
	}
	/* without an answer it runs all the same: other ranks wait for it */
	if (send_word(fd, job, JOB_STARTED, launch.pid, false) == 0)
		(void)receive(fd, &answer);
	rc = launch_go(&launch);
	if (rc == -EINTR)
		launch_end_by(launch_signal());
	if (rc) {
		eta_error("%s: cannot run it: %s", o->argv[0], strerror(-rc));
		send_word(fd, job, JOB_ENDED, 0, false);
		wait_for_merge(fd, job, 0, false);
		return status_of_exec(rc);
	}
	if (launch_wait(&launch, NULL, &status) != 0) {
		eta_error("%s: cannot wait for it: its status is not known", o->argv[0]);
		status = CLI_FAILED;
	}
	send_word(fd, job, JOB_ENDED, 0, loads);
	return wait_for_merge(fd, job, status, o->strict);
}

int job_record(const struct job *job, const struct record_options *options, const char *folder)
{
	struct identity identity;
	struct job_answer answer;
	int fd, rc, status;

	rc = identity_choose(&identity, options->run_as);
	if (rc)
		return CLI_FAILED;
	launch_hold_signals();
	fd = be_greeted(job, options, folder, &answer);
	if (fd < 0)
		return CLI_FAILED;
	if (answer.rc && answer.rc != -EALREADY) {
		while (receive(fd, &answer) == 0)
			; /* why */
		status = CLI_FAILED;
	} else { /* too late to be recorded: the other ranks wait for it all the same */
		const struct user_side side = answer.side;

		status = run(job, options, fd, &side, answer.user, &identity);
	}
	close(fd);
	return status;
}
