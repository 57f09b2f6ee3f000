/* The spool's processes, and the images of programs that each of them ran. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/known.h"
#include "spool.h"

static uint32_t out_of_memory(const struct eta_trace *trace)
{
	eta_error("%s: not enough memory for its processes", trace->path);
	return ETA_NONE;
}

/* What images are found by. */
struct number {
	uint32_t ns, pid;
};

bool spool_image_fill(struct eta_trace *trace, const struct eta_spool_header *header,
		      struct spool_image *image)
{
	const char *slash = strrchr(header->exe, '/');
	/* do others count differently? Then its number alone says little */
	bool own_numbers = header->pid_ns && header->pid_ns != ETA_FIRST_PID_NS;

	*image = (struct spool_image){
		.pid = header->pid,
		.ppid = header->ppid,
		.pid_ns = header->pid_ns,
		.parent_ns = header->parent_ns,
		.process_ns = own_numbers ? header->process_ns : 0,
		.began_ns = header->process_ns,
		.start_ns = header->start_ns,
		.parent = ETA_NONE,
		.parent_tid = header->parent_tid,
		.process = ETA_NONE,
		.next = ETA_NONE,
		.unnamed = ETA_NONE,
		.program = eta_trace_string(trace, slash && slash[1] ? slash + 1 : header->comm),
		.host = eta_trace_string(trace, header->host),
		.boot = eta_trace_string(trace, header->boot),
	};
	if (!image->program || !image->host || !image->boot)
		out_of_memory(trace);
	return image->program && image->host && image->boot;
}

uint32_t spool_image_add(struct eta_trace *trace, const struct spool_image *image)
{
	const struct number number = { image->pid_ns, image->pid };
	struct spool *spool = trace->data;
	uint32_t last;

	if (!ARRAY_FITS(spool->images, spool->n_images + 1, spool->image_room))
		return out_of_memory(trace);
	spool->images[spool->n_images] = *image;
	last = known_find(spool->numbers, &number, sizeof(number));
	if (last == ETA_NONE) {
		if (known_add(&spool->numbers, &number, sizeof(number), spool->n_images))
			return out_of_memory(trace);
	} else {
		while (spool->images[last].next != ETA_NONE)
			last = spool->images[last].next;
		spool->images[last].next = spool->n_images;
	}
	return spool->n_images++;
}

/*
 * Are these the starts of one process? Each is known to a tick, or not at all. Numbers are used
 * again, those of pid namespaces at once.
 */
static bool is_same_start(uint64_t a_ns, uint64_t b_ns)
{
	const uint64_t tick_ns = 10000000;

	return !a_ns || !b_ns || (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < tick_ns / 2;
}

/* The first image behind number NS, PID; ETA_NONE. */
static uint32_t first_of_number(const struct spool *spool, uint32_t ns, uint32_t pid)
{
	const struct number number = { ns, pid };

	return known_find(spool->numbers, &number, sizeof(number));
}

/*
 * The image that process PID of NS, which began at PROCESS_NS (0: unknown), ran at TIME_NS, else
 * its first, else ETA_NONE.
 */
static uint32_t find_image(const struct spool *spool, uint32_t ns, uint32_t pid,
			   uint64_t process_ns, uint64_t time_ns)
{
	uint32_t found = ETA_NONE;

	for (uint32_t i = first_of_number(spool, ns, pid); i != ETA_NONE;
	     i = spool->images[i].next) {
		const struct spool_image *image = &spool->images[i];
		uint64_t best_ns = found == ETA_NONE ? UINT64_MAX : spool->images[found].start_ns;
		bool began = image->start_ns <= time_ns, best_began = best_ns <= time_ns;

		if (i == 0 || !is_same_start(image->process_ns, process_ns))
			continue;
		/* the newest of those that had begun, else the oldest */
		if (found == ETA_NONE || (began && (!best_began || image->start_ns > best_ns)) ||
		    (!began && !best_began && image->start_ns < best_ns))
			found = i;
	}
	return found;
}

/* The image that the process of LIKE ran at TIME_NS. */
static uint32_t image_at(const struct spool *spool, const struct spool_image *like,
			 uint64_t time_ns)
{
	return find_image(spool, like->pid_ns, like->pid, like->process_ns, time_ns);
}

uint32_t spool_image_process(struct eta_trace *trace, const struct spool_image *like)
{
	const struct spool *spool = trace->data;
	/*
	 * exec keeps the process: it is named after its last image, and its parent is that of the
	 * first
	 */
	uint32_t last = image_at(spool, like, UINT64_MAX), first = image_at(spool, like, 0);
	struct eta_process process = { .name = like->program,
				       .host = like->host,
				       .boot = like->boot,
				       .pid = like->pid,
				       .ns_pid = like->pid_ns ? like->pid : 0,
				       .pid_ns = like->pid_ns,
				       .start_ns = like->began_ns,
				       .ppid = like->ppid,
				       .parent_tid = like->parent_tid };

	if (last != ETA_NONE) {
		process.name = spool->images[last].program;
		process.ppid = spool->images[first].ppid;
		process.parent_tid = spool->images[first].parent_tid;
	}
	/* where its number may be one of several equal ones, its first image says which */
	return spool_process(
		trace, &process,
		like->pid_ns && like->pid_ns != ETA_FIRST_PID_NS && first != ETA_NONE ? first : 0);
}

/* Which of its process' images INDEX is, from 1 on; 0: the last. */
static uint32_t number_of(const struct spool *spool, uint32_t index)
{
	const struct spool_image *image = &spool->images[index];
	bool later = false;
	uint32_t n = 1;

	for (uint32_t i = first_of_number(spool, image->pid_ns, image->pid); i != ETA_NONE;
	     i = spool->images[i].next) {
		const struct spool_image *other = &spool->images[i];

		if (i == index || !is_same_start(other->process_ns, image->process_ns))
			continue;
		if (other->start_ns > image->start_ns ||
		    (other->start_ns == image->start_ns && i > index))
			later = true;
		else
			n++;
	}
	return later ? n : 0;
}

/* What an image is said to be, of its process: what it is no more is numbered. */
static bool take_property(struct eta_trace *trace, struct eta_property *property)
{
	const struct spool *spool = trace->data;
	uint32_t number = number_of(spool, property->process);
	char name[4200];

	property->process = spool->images[property->process].process;
	if (!number)
		return true;
	snprintf(name, sizeof(name), "IMAGE_%" PRIu32 "::%s", number, property->name);
	property->name = eta_trace_string(trace, name);
	return property->name;
}

int spool_images_processes(struct eta_trace *trace)
{
	struct spool *spool = trace->data;

	for (uint32_t i = 1; i < spool->n_images; i++) {
		spool->images[i].process = spool_image_process(trace, &spool->images[i]);
		if (spool->images[i].process == ETA_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < trace->defs.n_properties; i++)
		if (trace->defs.properties[i].process != ETA_NONE &&
		    !take_property(trace, &trace->defs.properties[i])) {
			out_of_memory(trace);
			return -ENOMEM;
		}
	return 0;
}

/* ---- once all files are known ---- */

/* The image that most functions are named in; 0: none. */
static uint32_t best_named(const struct spool *spool)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < spool->n_images; i++)
		if (spool->images[i].n_names > (best ? spool->images[best].n_names : 0))
			best = i;
	return best;
}

/*
 * The names of IMAGE are lost with its file, or some. Those of the functions are the same in every
 * process; without any, a call is one of an unknown function.
 */
static int borrow_names(struct eta_trace *trace, struct spool_image *image)
{
	struct spool *spool = trace->data;
	uint32_t best = best_named(spool);
	const struct spool_image *from = &spool->images[best];

	if (!best) {
		image->unnamed = spool_region(trace, "?");
		return image->unnamed == ETA_NONE ? -ENOMEM : 0;
	}
	if (from->n_names > image->n_names) {
		struct spool_name *names =
			reallocarray(image->names, from->n_names, sizeof(*names));

		if (!names) {
			out_of_memory(trace);
			return -ENOMEM;
		}
		for (uint32_t i = image->n_names; i < from->n_names; i++)
			names[i] = (struct spool_name){ .region = ETA_NONE };
		image->names = names;
		image->n_names = from->n_names;
	}
	for (uint32_t i = 0; i < from->n_names; i++)
		if (image->names[i].region == ETA_NONE)
			image->names[i] = from->names[i];
	return 0;
}

/* Which images' names are not whole: of those without a file, or with a damaged one. */
static int complete_names(struct eta_trace *trace, uint32_t n_with_file)
{
	struct spool *spool = trace->data;
	int rc = 0;

	for (uint32_t i = n_with_file; rc == 0 && i < spool->n_images; i++)
		rc = borrow_names(trace, &spool->images[i]);
	for (uint32_t i = 0; rc == 0 && i < spool->n_files; i++)
		if (spool->files[i].kind == ETA_SPOOL_PROCESS && spool->files[i].damage.found)
			rc = borrow_names(trace, &spool->images[spool->files[i].image]);
	return rc;
}

int spool_images_connect(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	uint32_t n_with_file = spool->n_images;

	for (uint32_t i = 0; i < spool->n_files; i++) {
		struct spool_file *file = &spool->files[i];

		if (file->kind != ETA_SPOOL_USER)
			continue;
		file->image = find_image(spool, file->like.pid_ns, file->like.pid,
					 file->like.process_ns, file->start_ns);
		if (file->image == ETA_NONE)
			file->image = spool_image_add(trace, &file->like);
		if (file->image == ETA_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < spool->n_images; i++) {
		struct spool_image *image = &spool->images[i];

		image->parent =
			find_image(spool, image->parent_ns, image->ppid, 0, image->start_ns);
		if (image->parent == i)
			image->parent = ETA_NONE;
	}
	return complete_names(trace, n_with_file);
}
