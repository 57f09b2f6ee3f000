/* sci-analyze-mpi: what sci-analyze does, by the processes that mpirun starts. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyze-jobs.h"
#include "analyze.h"
#include "eta-ext/base/array.h"

enum { TAG_SIZE, TAG_BYTES };
#define MOST_BYTES ((size_t)1 << 30) /* MPI's counts are int */
#define LEAST_SLEEP_NS 20000
#define MOST_SLEEP_NS 1000000
#define MOST_SEND_SLEEP_NS 100000 /* some send a piece each time they are asked */

static struct exchange all;

/*
 * MPI libraries spin while they wait, and that on the CPUs of those who are waited for, where there
 * are more processes than CPUs.
 */
static void sleep_longer(struct timespec *t, long most_ns)
{
	nanosleep(t, NULL);
	t->tv_nsec = t->tv_nsec * 2 < most_ns ? t->tv_nsec * 2 : most_ns;
}

static void wait_for(int from, int tag)
{
	struct timespec t = { .tv_nsec = LEAST_SLEEP_NS };
	int is_there = 0;

	for (;;) {
		MPI_Iprobe(from, tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
		if (is_there)
			return;
		sleep_longer(&t, MOST_SLEEP_NS);
	}
}

/* The same until the other takes it, which may have others to hear before. */
static void send_part(int to, const void *bytes, int n)
{
	struct timespec t = { .tv_nsec = LEAST_SLEEP_NS };
	MPI_Request request;
	int is_done = 0;

	MPI_Isend(bytes, n, MPI_BYTE, to, TAG_BYTES, MPI_COMM_WORLD, &request);
	for (;;) {
		MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
		if (is_done)
			return;
		sleep_longer(&t, MOST_SEND_SLEEP_NS);
	}
}

/* MPI's default is to end all processes, with a message, where it fails. */
static int send_bytes(void *arg, unsigned to, const void *bytes, size_t size)
{
	uint64_t n = size;

	(void)arg;
	MPI_Send(&n, 1, MPI_UINT64_T, (int)to, TAG_SIZE, MPI_COMM_WORLD);
	for (size_t at = 0; at < size; at += MOST_BYTES) {
		size_t part = size - at < MOST_BYTES ? size - at : MOST_BYTES;

		send_part((int)to, (const char *)bytes + at, (int)part);
	}
	return 0;
}

static int receive_bytes(void *arg, unsigned from, struct packet *p)
{
	uint64_t n;

	(void)arg;
	packet_free(p);
	wait_for((int)from, TAG_SIZE);
	MPI_Recv(&n, 1, MPI_UINT64_T, (int)from, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!ARRAY_FITS(p->bytes, n, p->room)) {
		/* what was sent has to be taken; there is no room even for that */
		eta_error("not enough memory for what another process has sent");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	while (p->n < n) {
		size_t part = n - p->n < MOST_BYTES ? n - p->n : MOST_BYTES;

		wait_for((int)from, TAG_BYTES);
		MPI_Recv(p->bytes + p->n, (int)part, MPI_BYTE, (int)from, TAG_BYTES, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		p->n += part;
	}
	return 0;
}

/* A line of what this process did, where SCI_MPI_FIGURES names a file for it. */
static void put_figures(void)
{
	const char *path = getenv("SCI_MPI_FIGURES");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	struct rusage used;

	if (path && fd < 0)
		eta_warn("%s: cannot write the figures of rank %u: %s", path, all.rank,
			 strerror(errno));
	if (fd < 0)
		return;
	getrusage(RUSAGE_SELF, &used);
	/* one write, so that the lines of several processes do not mix */
	dprintf(fd,
		"rank %u: %" PRIu64 " events, %.3f CPU s, %" PRIu64 " bytes sent, of them %" PRIu64
		" of results, %" PRIu64 " bytes put aside, %ld KiB of memory, %" PRIu64
		" bytes of company, %" PRIu64 " operations of it, %" PRIu64
		" bytes of what was read for others, %" PRIu64 " operations of it, %" PRIu64
		" operations swept\n",
		all.rank, all.events,
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
		all.sent_bytes, all.gathered_bytes, all.spilled_bytes, used.ru_maxrss,
		all.company_bytes, all.company_operations, all.handed_bytes, all.handed_operations,
		all.swept_operations);
	close(fd);
}

/* Also where analyze() exits: on misuse, or to show its help. */
static void end(void)
{
	analyze_jobs_end(&all);
	put_figures();
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	int rank, n, provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	all.rank = (unsigned)rank;
	all.n = (unsigned)n;
	all.send = send_bytes;
	all.receive = receive_bytes;
	if (rank == 0) {
		atexit(end);
		return analyze(argc, argv, &all);
	}
	analyze_jobs(&all);
	put_figures();
	MPI_Finalize();
	return 0;
}
