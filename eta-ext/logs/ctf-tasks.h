/* Inside of the source of CTF traces: fields of events, threads and the calls they are in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CTF_TASKS_H
#define ETA_CTF_TASKS_H

#include "ctf.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A thread, and the call it is in. */
struct ctf_task {
	UT_hash_handle hh;
	uint32_t tid, pid; /* pid 0: not reported yet */
	bool named;
	bool is_qemu;  /* by its name */
	uint32_t vcpu; /* of a virtual machine, by its name; VCPU_NONE */
	char *name;    /* of the call; NULL: in none */
	char *path;
	uint64_t begin_ns;
	int64_t fd, to_fd, size, offset, flags, command, whence;
	uint8_t kind; /* enum eta_op_kind */
};

struct ctf_event {
	const char *name;
	const bt_field *payload, *common, *specific; /* the latter two are contexts */
	uint64_t time_ns;
	int64_t cpu; /* -1 unknown */
};

#define VCPU_NONE UINT32_MAX

/* ---- fields ---- */

/* The member NAME of STRUCTURE; NULL: there is none, or STRUCTURE is NULL or no structure. */
const bt_field *ctf_member(const bt_field *structure, const char *name);

/* Is FIELD, which may be NULL, a number? Then it is *VALUE. */
bool ctf_number(const bt_field *field, int64_t *value);

/* The first of NAMES, up to NULL, that is a number in STRUCTURE; OTHERWISE without one. */
int64_t ctf_first_number(const bt_field *structure, const char *const *names, int64_t otherwise);

#define CTF_NUMBER(structure, otherwise, ...)                                                      \
	ctf_first_number(structure, (const char *const[]){ __VA_ARGS__, NULL }, otherwise)

/* "" where STRUCTURE has no such string; it lives as long as STRUCTURE. */
const char *ctf_text(const bt_field *structure, const char *name);

/* ---- threads: NULL, ETA_NONE or -ENOMEM without memory, which has been said ---- */

/* The thread TID, made when it is new. */
struct ctf_task *ctf_task_of(struct ctf *ctf, int64_t tid);

/* Whose descriptors TASK uses: a process id. */
uint32_t ctf_owner_of(const struct ctf_task *task);

/* TASK is called NAME from now on, unless that is "". */
int ctf_name_task(struct ctf *ctf, struct ctf_task *task, const char *name);

/* The location of TASK, ETA_NONE without memory. */
uint32_t ctf_location_of(struct ctf *ctf, const struct ctf_task *task);

/* The task of EVENT: *OUT is NULL if neither a context nor the switches of its CPU show it. */
int ctf_find_task(struct ctf *ctf, const struct ctf_event *event, struct ctf_task **out);

/* TASK is in no call any more. */
void ctf_forget_call(struct ctf_task *task);

/* ---- events: 0 or -errno, reported ---- */

int ctf_sched_switch(struct ctf *ctf, const struct ctf_event *event);
int ctf_process_fork(struct ctf *ctf, const struct ctf_event *event);
int ctf_process_exec(struct ctf *ctf, const struct ctf_event *event);
int ctf_process_exit(struct ctf *ctf, const struct ctf_event *event);
/* What was there when tracing began. */
int ctf_statedump_process(struct ctf *ctf, const struct ctf_event *event);
int ctf_statedump_file(struct ctf *ctf, const struct ctf_event *event);

/*
 * ---- virtual machines: processes that are called as QEMU is (ctf-vms.c) ----
 * TASK has moved bytes of FILE at an offset: of a virtual machine that is the image of a disk.
 */
int ctf_vm_transfer(struct ctf *ctf, const struct ctf_task *task, uint32_t file);
/* Behind the last event: they become the properties that a recording of sci-kernel has of them. */
int ctf_vms_end(struct ctf *ctf);

/* The system call NAME, as Linux calls it, begins and ends. */
int ctf_call_entry(struct ctf *ctf, const struct ctf_event *event, const char *name);
int ctf_call_exit(struct ctf *ctf, const struct ctf_event *event, const char *name);

/* The call that TASK is in ends with *RET, if that is known, or END_NS is 0: was never seen to. */
int ctf_call_end(struct ctf *ctf, struct ctf_task *task, uint64_t end_ns, const int64_t *ret);

#endif
