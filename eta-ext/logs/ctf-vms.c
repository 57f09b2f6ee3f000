/* Source of LTTng's kernel traces: virtual machines, as sci-kernel would describe them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_BABELTRACE2

#include "ctf-tasks.h"
#include "eta-ext/base/array.h"

static bool is_vm(struct ctf *ctf, uint32_t pid)
{
	struct ctf_task *task;

	HASH_FIND(hh, ctf->tasks, &pid, sizeof(pid), task);
	return task && task->is_qemu;
}

int ctf_vm_transfer(struct ctf *ctf, const struct ctf_task *task, uint32_t file)
{
	uint32_t pid = ctf_owner_of(task);

	if (file == ETA_NONE || !is_vm(ctf, pid))
		return 0;
	/* a disk is used again and again */
	for (size_t i = ctf->n_images; i-- > 0;)
		if (ctf->images[i].pid == pid && ctf->images[i].file == file)
			return 0;
	if (!ARRAY_FITS(ctf->images, ctf->n_images + 1, ctf->images_room))
		return log_no_memory(ctf->log, "its virtual machines");
	ctf->images[ctf->n_images++] = (struct ctf_image){ pid, file };
	return 0;
}

static int put_property(struct ctf *ctf, const char *name, json_t *told)
{
	char *text = told ? json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	int rc = text && eta_defs_property(ctf->log->trace, name, text) != ETA_NONE ? 0 : -ENOMEM;

	free(text);
	json_decref(told);
	return rc;
}

static int put_vm(struct ctf *ctf, uint32_t pid)
{
	json_t *vcpus = json_array();
	struct ctf_task *task, *next;
	char name[64];

	HASH_ITER (hh, ctf->tasks, task, next)
		if (task->pid == pid && task->vcpu != VCPU_NONE)
			json_array_append_new(vcpus,
					      json_pack("[i, i]", (int)task->vcpu, (int)task->tid));
	snprintf(name, sizeof(name), "SCI::VM_%" PRIu32, pid);
	return put_property(ctf, name,
			    json_pack("{s:s, s:b, s:o}", "name", "", "icount", 0, "vcpus", vcpus));
}

/* The format is not known: requests are found if offsets are those of the guest. */
static int put_disk(struct ctf *ctf, uint32_t pid, unsigned number, uint32_t file)
{
	const char *path = ctf->log->trace->defs.files[file].path;
	json_t *image = json_string(path);
	char name[64];

	/* bytes that are no text: what json cannot say */
	if (!image)
		return 0;
	snprintf(name, sizeof(name), "SCI::VM_%" PRIu32 "_DISK_%u", pid, number);
	return put_property(
		ctf, name,
		json_pack("{s:o, s:s, s:s}", "image", image, "format", "raw", "known_by", "path"));
}

int ctf_vms_end(struct ctf *ctf)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ctf->n_images; i++) {
		uint32_t pid = ctf->images[i].pid;
		unsigned before = 0;

		for (size_t k = 0; k < i; k++)
			before += ctf->images[k].pid == pid;
		if (!before)
			rc = put_vm(ctf, pid);
		if (rc == 0)
			rc = put_disk(ctf, pid, before, ctf->images[i].file);
	}
	return rc ? log_no_memory(ctf->log, "its virtual machines") : 0;
}

#endif
