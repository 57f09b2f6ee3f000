/* Virtual machines as lines of text, and as properties of a recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/printable.h"

enum { TEXT_MAX = 4096 };

/* ---- for people ---- */

static void print_image(FILE *to, const struct vm_image *image)
{
	if (!*image->path)
		fputs("no image", to);
	else
		printable_put(to, image->path);
	if (image->block)
		fprintf(to, " (device %u:%u)", image->block >> 20, image->block & 0xfffff);
	else if (image->known)
		fprintf(to, " (inode %" PRIu64 " on %u:%u)", image->inode, image->dev >> 20,
			image->dev & 0xfffff);
	if (image->replaced)
		fputs(", deleted or replaced since", to);
	else if (*image->path && !image->local)
		fputs(", not of this machine", to);
	else if (*image->path && !image->open)
		fputs(", not open (or another user's)", to);
}

static void print_disk(FILE *to, const struct qemu_disk *disk, const struct vm_image *image)
{
	const char *format = vm_format(disk, image);

	fputs("  disk ", to);
	printable_put(to, *disk->id ? disk->id : "-");
	fputs(": ", to);
	print_image(to, image);
	if (*disk->device) {
		fputs(", ", to);
		printable_put(to, disk->device);
	}
	fputs(", format=", to);
	printable_put(to, *format ? format : "?");
	fprintf(to, ", cache=%s, aio=", disk->cache);
	printable_put(to, disk->aio);
	if (*disk->iothread) {
		fputs(", iothread=", to);
		printable_put(to, disk->iothread);
	}
	if (disk->backing || (image->is_qcow2 && image->header.backing))
		fputs(", on a backing image", to);
	if (image->is_qcow2 && image->header.encrypted)
		fputs(", encrypted", to);
	fputc('\n', to);
}

static void print_vm(FILE *to, const struct vm *vm)
{
	if (*vm->command.name)
		printable_put(to, vm->command.name);
	else
		fputs("(no name)", to);
	fprintf(to, ": pid %d%s\n", (int)vm->pid,
		vm->command.icount ? ", -icount: its clock counts instructions" : "");
	if (!vm->n_threads || !vm->threads[0].vcpu)
		fputs("  vCPU threads: not known, they have no names (QEMU's -name "
		      "NAME,debug-threads=on gives them)\n",
		      to);
	for (size_t i = 0; i < vm->n_threads; i++) {
		const struct vm_thread *thread = &vm->threads[i];

		if (thread->vcpu && thread->number == VM_ALL_VCPUS) {
			fprintf(to, "  all vCPUs: thread %d\n", (int)thread->tid);
			continue;
		}
		if (thread->vcpu) {
			fprintf(to, "  vCPU %u: thread %d\n", thread->number, (int)thread->tid);
			continue;
		}
		fputs("  I/O thread ", to);
		printable_put(to, thread->name);
		fprintf(to, ": thread %d\n", (int)thread->tid);
	}
	for (size_t i = 0; i < vm->command.n_disks; i++)
		print_disk(to, &vm->command.disks[i], &vm->images[i]);
	for (size_t i = 0; i < vm->command.n_monitors; i++) {
		fputs("  monitor: ", to);
		printable_put(to, vm->command.monitors[i]);
		fputc('\n', to);
	}
}

void vm_table_print(FILE *to, const struct vms *vms)
{
	for (size_t i = 0; i < vms->n; i++)
		print_vm(to, &vms->v[i]);
}

/* ---- for programs ---- */

/* TEXT as it may be shown: JSON is UTF-8. */
static json_t *shown(const char *text)
{
	char printable[TEXT_MAX];

	eta_printable(text, printable, sizeof(printable));
	return json_string(printable);
}

static int put_json(json_t *object, const char *name, void (*put)(void *arg, const char *text),
		    void *arg)
{
	char *json = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	char text[TEXT_MAX];
	int n = json ? snprintf(text, sizeof(text), "%s=%s", name, json) : 0;

	json_decref(object);
	if (!json)
		return -ENOMEM;
	free(json);
	if ((size_t)n < sizeof(text))
		put(arg, text);
	else
		eta_warn("%s: longer than a property can be: not recorded", name);
	return 0;
}

static json_t *disk_json(const struct qemu_disk *disk, const struct vm_image *image)
{
	json_t *object =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "id", shown(disk->id),
			  "image", shown(image->path), "device", shown(disk->device), "serial",
			  shown(disk->serial), "format", shown(vm_format(disk, image)), "cache",
			  disk->cache, "aio", shown(disk->aio), "iothread", shown(disk->iothread));
	int failed = !object;

	if (object && image->known)
		failed |= json_object_set_new(object, "dev", json_integer(image->dev)) |
			  json_object_set_new(object, "inode", json_integer((int64_t)image->inode));
	if (object && image->block)
		failed |= json_object_set_new(object, "block", json_integer(image->block));
	if (object && image->is_qcow2)
		failed |= json_object_set_new(object, "cluster_bytes",
					      json_integer(image->header.cluster_bytes)) |
			  json_object_set_new(object, "encrypted",
					      json_boolean(image->header.encrypted));
	if (object && (disk->backing || (image->is_qcow2 && image->header.backing)))
		failed |= json_object_set_new(object, "backing", json_true());
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *threads_json(const struct vm *vm, bool vcpus)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < vm->n_threads; i++) {
		const struct vm_thread *thread = &vm->threads[i];
		json_t *one;

		if (thread->vcpu != vcpus)
			continue;
		one = !vcpus ? json_pack("[o, i]", shown(thread->name), (int)thread->tid)
		      : thread->number == VM_ALL_VCPUS
			      ? json_pack("[s, i]", "all", (int)thread->tid)
			      : json_pack("[i, i]", (int)thread->number, (int)thread->tid);
		if (json_array_append_new(list, one)) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

int vm_properties(const struct vm *vm, void (*put)(void *arg, const char *text), void *arg)
{
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "VM_%d", (int)vm->pid);
	rc = put_json(json_pack("{s:o, s:b, s:o, s:o}", "name", shown(vm->command.name), "icount",
				vm->command.icount, "vcpus", threads_json(vm, true), "iothreads",
				threads_json(vm, false)),
		      name, put, arg);
	for (size_t i = 0; rc == 0 && i < vm->command.n_disks; i++) {
		snprintf(name, sizeof(name), "VM_%d_DISK_%zu", (int)vm->pid, i);
		rc = put_json(disk_json(&vm->command.disks[i], &vm->images[i]), name, put, arg);
	}
	return rc;
}
