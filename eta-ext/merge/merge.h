/* Inside of the merge: which locations of the inputs make one thread, and what their ids become. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MERGE_H
#define ETA_MERGE_H

#include "eta-ext/trace/source.h"
#include "request-store.h"
#include "steals.h"

struct known;

/* One location of one input. */
struct merge_part {
	uint32_t input;
	uint32_t location;
};

/* Who a location without a tid is. */
struct merge_name {
	uint32_t process; /* of the result */
	uint32_t tid;	  /* 0: not known */
};

struct merge_input {
	struct eta_trace *trace;
	uint32_t *regions; /* index there -> index in the result */
	uint32_t *files;
	uint32_t *handles;
	uint32_t *processes;
	struct known *hosts;	  /* name -> the first process there */
	struct merge_name *names; /* per location; NULL: none was needed */
	uint32_t first_module;
	enum eta_clock own_clock;   /* as it says */
	struct eta_clock_map clock; /* from its clock to the result's */
	bool clock_is_given;	    /* by the user, or found by a guest's requests */
	uint32_t host_input;	    /* of a guest whose clock was found; ETA_NONE */
	bool clock_is_known;
	bool is_measured; /* and the way to that clock was, by messages: right to within */
	uint64_t measured_ns;
	bool is_far;	      /* of another machine than the input whose clock the result has */
	uint32_t first_stack; /* its stacks stand behind those of the inputs before it */
	uint32_t rank; /* 0: has regions outside the kernel, so it is the outer side of a tie */
};

/* A thread as its pid namespace numbers it, and as the outside does. */
struct merge_number {
	uint32_t process; /* of the result */
	uint32_t ns_tid, tid;
	uint64_t start_ns; /* by the result's clock; 0: unknown */
};

struct merge {
	enum eta_clock clock; /* of the result; UNKNOWN: no input says */
	bool as_is;	      /* one input, of which nothing changes */
	struct merge_input *inputs;
	size_t n_inputs;
	/* location L of the result: parts[first[L]] to parts[first[L + 1] - 1], outermost first */
	uint32_t *first;
	struct merge_part *parts;
	uint32_t n_parts;
	struct merge_number *numbers; /* sorted; none where no input needs them */
	size_t n_numbers;
	struct request_store requests; /* of guests and for them, while these are compared */
	struct steal_store steals;     /* of virtual machines, so long */
	struct services *services;     /* what hosts did for their guests; NULL: there are none */
};

/* Zeros for N definitions of an input. 0 or -ENOMEM. */
int merge_new_map(uint32_t **map, uint32_t n);

/* Fills TRACE's definitions and the maps of MERGE from its inputs. OPTIONS may be NULL. */
int merge_defs(struct eta_trace *trace, struct merge *merge,
	       const struct eta_merge_options *options);

/*
 * The part of it that finds the processes, by which the other parts distinguish machines: TRACE's,
 * and the map of each input. 0 or -ENOMEM.
 */
int merge_processes(struct eta_trace *trace, struct merge *merge);

/*
 * Which host of the result the HOST of an input is: a container has a name of its own, and is the
 * machine that it runs on where the result knows it.
 */
const char *merge_host(const struct eta_trace *trace, const struct merge_input *input,
		       const char *host);
/*
 * node-clocks.c: INPUT's conversion from its CLOCK_MONOTONIC to that of another machine, by
 * messages that both exchanged with a third node, or one with the other: what ITS and OTHERS say of
 * that (ARCHIVE_READINGS; NULL: nothing) in boots of these ids. False: it is not known by that.
 */
bool merge_measured(struct merge_input *input, const char *its, const char *boot,
		    const char *others, const char *other_boot);

/* Fills MERGE's numbers, once processes and clocks are known. 0 or -ENOMEM. */
int merge_numbers(const struct eta_trace *trace, struct merge *merge);
/* Has LOCATION of INPUT a tid that only counts in the pid namespace of its process? */
bool merge_is_inside(const struct eta_trace *trace, const struct merge_input *input,
		     uint32_t location);
/* The number outside of the thread that had NS_TID at TIME_NS; 0: nobody knows. */
uint32_t merge_outer_tid(const struct merge *merge, uint32_t process, uint32_t ns_tid,
			 uint64_t time_ns);

/* Value of the property NAME, or NULL. */
const char *merge_property(const struct eta_trace *trace, const char *name);

/*
 * Of inputs of several machines, those that do not name theirs become parts of the one that has
 * their threads; a warning where that is none. 0 or -ENOMEM.
 */
int merge_homes(struct merge *merge);

/* A process of INPUT that says where it ran; NULL: none does. Are two inputs of one machine? */
const struct eta_process *merge_home(const struct merge *merge, uint32_t input);
bool merge_same_home(const struct merge *merge, uint32_t a, uint32_t b);

/* Is PROPERTY a virtual machine of its trace (doc/virtual-machines.md)? 0: no, else its pid. */
#define MERGE_VM_PREFIX "SCI::VM_"
uint32_t merge_vm_pid(const struct eta_property *property);

/*
 * Finds of which virtual machine each input is that a host among the inputs has recorded, and the
 * clock of it: from its own to the host's (clock, clock_is_given, host_input). A note for each.
 * -EINVAL where it may be two, or its clock is none; reported.
 */
int merge_guests(struct merge *merge, const struct eta_merge_options *options);
/* Makes these conversions to the result's clock, once the hosts' are known. 0 or -ENOMEM. */
int merge_guests_settle(struct merge *merge);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC on INPUT's machine, as it or another input of that says. */
bool merge_realtime_offset(const struct merge *merge, const struct merge_input *input,
			   int64_t *offset_ns);
/* The result's clock, and the conversions that the inputs or OPTIONS give. */
void merge_clocks(struct merge *merge, const struct eta_merge_options *options);
/* What each input was looked at for from time to time, once all conversions are known. 0 or
 * -ENOMEM, reported. */
int merge_samples(struct eta_trace *trace, const struct merge *merge);

/* Says the clock and the conversions in TRACE's properties, once all are known. */
int merge_clock_properties(struct eta_trace *trace, const struct merge *merge);

/* The threads that OPTIONS name; then the threads and clocks that only the calls show. */
int merge_names(struct eta_trace *trace, struct merge *merge,
		const struct eta_merge_options *options);
int merge_match(struct eta_trace *trace, struct merge *merge);

/* The part of it that finds the threads: locations of TRACE, MERGE's first and parts. */
int merge_threads(struct eta_trace *trace, struct merge *merge);

/*
 * Refuses two inputs that have recorded the same thread at the same time, as two copies of one
 * recording have: all that it did would be there twice. 0 or -errno, reported.
 */
int merge_refuse_doubles(const struct eta_trace *trace, const struct merge *merge);

#endif
