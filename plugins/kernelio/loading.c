/*
 * Loads the programs of an object side by side: the verifier takes far longer than all else, and
 * works on one program per thread. libbpf 1 loads them one by one, so it is given empty programs in
 * their place, whose descriptors become those of the real ones.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "loading.h"

#define MAX_THREADS 8
#define LICENSE "Dual BSD/GPL" /* as in bpf/ */

struct job {
	struct bpf_program *program;
	enum bpf_prog_type type;
	struct bpf_insn *insns;
	size_t n_insns;
	struct bpf_prog_load_opts options;
	int fd; /* < 0: refused, the error */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[MAX_THREADS];
	unsigned n_threads;
	struct job jobs[2 * KERNELIO_N_PROBES];
	size_t n_jobs, n_begun;
	bool open; /* more may come */
} loading = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* The next job; NULL: there will be none. */
static struct job *next_job(void)
{
	struct job *job = NULL;

	pthread_mutex_lock(&loading.lock);
	while (loading.n_begun == loading.n_jobs && loading.open)
		pthread_cond_wait(&loading.changed, &loading.lock);
	if (loading.n_begun < loading.n_jobs)
		job = &loading.jobs[loading.n_begun++];
	pthread_mutex_unlock(&loading.lock);
	return job;
}

static void *work(void *arg)
{
	struct job *job;

	while ((job = next_job()))
		job->fd = bpf_prog_load(job->type, bpf_program__name(job->program), LICENSE,
					job->insns, job->n_insns, &job->options);
	return arg;
}

void loading_begin(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	loading.n_jobs = loading.n_begun = 0;
	loading.n_threads = 0;
	/* libbpf shows what the verifier says of a program only if it loads that itself */
	if (getenv("SCI_LIBBPF_DEBUG"))
		return;
	loading.open = true;
	while (loading.n_threads < MAX_THREADS && loading.n_threads < n &&
	       pthread_create(&loading.threads[loading.n_threads], NULL, work, NULL) == 0)
		loading.n_threads++;
}

static void clean_job(struct job *job)
{
	if (job->options.attach_btf_obj_fd)
		close((int)job->options.attach_btf_obj_fd);
	free(job->insns);
}

/* What libbpf closes when it has loaded the object is kept open for the job. */
static int fill_job(struct job *job, struct bpf_program *program,
		    const struct bpf_prog_load_opts *options)
{
	int fd = 0;

	if (options->attach_btf_obj_fd)
		fd = fcntl((int)options->attach_btf_obj_fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	*job = (struct job){
		.program = program,
		.type = bpf_program__type(program),
		.n_insns = bpf_program__insn_cnt(program),
		.options = *options,
		.fd = -EINVAL,
	};
	job->options.attach_btf_obj_fd = (uint32_t)fd;
	job->insns = calloc(job->n_insns, sizeof(*job->insns));
	if (!job->insns) {
		clean_job(job);
		return -ENOMEM;
	}
	memcpy(job->insns, bpf_program__insns(program), job->n_insns * sizeof(*job->insns));
	return 0;
}

int loading_take(struct bpf_program *program, struct bpf_prog_load_opts *options)
{
	static struct bpf_insn empty[] = { EMPTY_PROGRAM };
	struct job *job = &loading.jobs[loading.n_jobs];
	int rc;

	/* without threads, or with what cannot be kept open, libbpf loads it itself */
	if (!loading.n_threads || options->fd_array ||
	    loading.n_jobs == sizeof(loading.jobs) / sizeof(loading.jobs[0]))
		return 0;
	rc = fill_job(job, program, options);
	if (rc)
		return rc;
	rc = bpf_program__set_insns(program, empty, sizeof(empty) / sizeof(empty[0]));
	if (rc) {
		clean_job(job);
		return rc;
	}
	options->func_info_cnt = options->line_info_cnt = 0;
	pthread_mutex_lock(&loading.lock);
	loading.n_jobs++;
	pthread_cond_signal(&loading.changed);
	pthread_mutex_unlock(&loading.lock);
	return 0;
}

/* The program's descriptor becomes that of what was loaded; or the error. */
static int end_job(struct job *job, int rc)
{
	if (rc == 0)
		rc = job->fd;
	if (rc >= 0)
		rc = dup3(job->fd, bpf_program__fd(job->program), O_CLOEXEC) < 0 ? -errno : 0;
	if (job->fd >= 0)
		close(job->fd);
	clean_job(job);
	return rc;
}

int loading_end(int rc, const struct bpf_program **refused)
{
	pthread_mutex_lock(&loading.lock);
	loading.open = false;
	if (rc) /* the object is of no use */
		loading.n_begun = loading.n_jobs;
	pthread_cond_broadcast(&loading.changed);
	pthread_mutex_unlock(&loading.lock);
	for (unsigned i = 0; i < loading.n_threads; i++)
		pthread_join(loading.threads[i], NULL);
	for (size_t i = 0; i < loading.n_jobs; i++) {
		bool failed = rc == 0;

		rc = end_job(&loading.jobs[i], rc);
		if (failed && rc)
			*refused = loading.jobs[i].program;
	}
	loading.n_threads = 0;
	loading.n_jobs = 0;
	return rc;
}
