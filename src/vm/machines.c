/* The virtual machines that run here, as /proc shows them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "machines.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "image.h"

/* ---- files of /proc ---- */

/* All of PATH, with a NUL behind it; NULL: it cannot be read. */
static char *read_whole(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t room = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	*bytes = 0;
	while (n > 0) {
		if (room - *bytes < 4096) {
			char *more = realloc(text, room = room ? 2 * room : 8192);

			n = more ? n : -1;
			text = more ? more : text;
		}
		if (n > 0)
			n = read(fd, text + *bytes, room - *bytes - 1);
		if (n > 0)
			*bytes += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[*bytes] = '\0';
	return text;
}

static void read_comm(const char *path, char comm[16])
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(comm, 16, file))
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* The next entry of FOLDER that is a number above 0; 0: none is left. */
static pid_t next_number(DIR *folder)
{
	const struct dirent *entry;

	while ((entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && !*end && number > 0)
			return (pid_t)number;
	}
	return 0;
}

/* ---- threads ---- */

/*
 * "CPU 0/TCG", "CPU 1/KVM", "ALL CPUs/TCG" and "IO io0", as QEMU names them with debug-threads=on.
 */
static bool parse_thread(const char *comm, struct vm_thread *thread)
{
	char kind;
	int n = 0;

	thread->vcpu = sscanf(comm, "CPU %u/%c", &thread->number, &kind) == 2;
	if (!thread->vcpu && strcmp(comm, "ALL CPUs/TCG") == 0) {
		thread->vcpu = true;
		thread->number = VM_ALL_VCPUS;
	}
	if (thread->vcpu)
		return true;
	if (sscanf(comm, "IO %n", &n) != 0 || n == 0 || !comm[n])
		return false;
	snprintf(thread->name, sizeof(thread->name), "%s", comm + n);
	return true;
}

static int by_kind(const void *left, const void *right)
{
	const struct vm_thread *a = left, *b = right;

	if (a->vcpu != b->vcpu)
		return a->vcpu ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int read_threads(struct vm *vm)
{
	char path[64];
	DIR *folder;
	pid_t tid;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)vm->pid);
	folder = opendir(path);
	while (folder && rc == 0 && (tid = next_number(folder))) {
		struct vm_thread thread = { .tid = tid }, *threads;
		char comm[16];

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)vm->pid, (int)tid);
		read_comm(path, comm);
		if (!parse_thread(comm, &thread))
			continue;
		threads = reallocarray(vm->threads, vm->n_threads + 1, sizeof(*threads));
		if (!threads) {
			rc = -ENOMEM;
			break;
		}
		vm->threads = threads;
		threads[vm->n_threads++] = thread;
	}
	if (folder)
		closedir(folder);
	if (vm->n_threads)
		qsort(vm->threads, vm->n_threads, sizeof(*vm->threads), by_kind);
	return rc;
}

/* ---- processes ---- */

static bool is_qemu(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strncmp(name, "qemu-system-", 12) == 0 || strcmp(name, "qemu-kvm") == 0 ||
	       strcmp(name, "kvm") == 0;
}

static void vm_free(struct vm *vm)
{
	for (size_t i = 0; vm->images && i < vm->command.n_disks; i++)
		free(vm->images[i].path);
	free(vm->images);
	free(vm->threads);
	qemu_command_free(&vm->command);
}

/* 1: VM is a virtual machine's, to be freed; 0: it is none. */
static int vm_read(pid_t pid, struct vm *vm)
{
	char path[64], program[PATH_MAX] = "";
	size_t bytes;
	char *text;
	int rc;

	*vm = (struct vm){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	text = read_whole(path, &bytes);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	/*
	 * A process between fork and exec has its parent's command line, and so has a thread's
	 * fork. Of a program that another starts under QEMU's name the first word is known.
	 */
	if (readlink(path, program, sizeof(program) - 1) < 0)
		program[0] = '\0';
	if (!text || !bytes || (!is_qemu(program) && !is_qemu(text))) {
		free(text);
		return 0;
	}
	rc = qemu_command_read(text, bytes + (text[bytes - 1] != '\0'), &vm->command);
	free(text);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	read_comm(path, vm->comm);
	vm->images = calloc(vm->command.n_disks + 1, sizeof(*vm->images));
	rc = vm->images ? read_threads(vm) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < vm->command.n_disks; i++)
		rc = image_find(pid, &vm->command, &vm->command.disks[i], &vm->images[i]);
	if (rc)
		vm_free(vm);
	return rc ? rc : 1;
}

static int by_pid(const void *left, const void *right)
{
	const struct vm *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

int vms_find(struct vms *vms)
{
	DIR *folder = opendir("/proc");
	int rc = folder ? 0 : -errno;
	pid_t pid;

	*vms = (struct vms){ 0 };
	while (rc >= 0 && folder && (pid = next_number(folder))) {
		struct vm vm, *more;

		rc = vm_read(pid, &vm);
		if (rc <= 0)
			continue;
		more = reallocarray(vms->v, vms->n + 1, sizeof(*more));
		if (!more) {
			vm_free(&vm);
			rc = -ENOMEM;
			break;
		}
		vms->v = more;
		more[vms->n++] = vm;
	}
	if (folder)
		closedir(folder);
	if (rc < 0) {
		eta_error("/proc: the virtual machines cannot be found (%s)", strerror(-rc));
		vms_free(vms);
		return rc;
	}
	if (vms->n)
		qsort(vms->v, vms->n, sizeof(*vms->v), by_pid);
	return 0;
}

void vms_free(struct vms *vms)
{
	for (size_t i = 0; i < vms->n; i++)
		vm_free(&vms->v[i]);
	free(vms->v);
	*vms = (struct vms){ 0 };
}

/* ---- those that are meant ---- */

/* Marks in TAKEN the one that WORD names, by its name or else by its number. */
static int take_word(const struct vms *vms, const char *word, bool *taken)
{
	size_t named = 0, at = vms->n;
	char *end;
	long number = strtol(word, &end, 10);

	for (size_t i = 0; i < vms->n; i++)
		if (*word && strcmp(vms->v[i].command.name, word) == 0) {
			named++;
			at = i;
		}
	if (named > 1) {
		eta_error("--vm=%s: %zu virtual machines have this name: give the number of one "
			  "(sci-kernel vms lists them)",
			  word, named);
		return -ENOENT;
	}
	for (size_t i = 0; !named && *word && !*end && i < vms->n; i++)
		if (vms->v[i].pid == number)
			at = i;
	if (at == vms->n) {
		eta_error("--vm=%s: no virtual machine has this name or number (sci-kernel vms "
			  "lists them)",
			  word);
		return -ENOENT;
	}
	taken[at] = true;
	return 0;
}

int vms_select(struct vms *vms, const char *words)
{
	bool *taken = calloc(vms->n + 1, sizeof(*taken));
	char *copy = strdup(words), *rest = copy, *word;
	int rc = taken && copy ? 0 : -ENOMEM;
	size_t n = 0;

	if (rc)
		eta_error("not enough memory for %zu virtual machines", vms->n);
	if (rc == 0 && !vms->n) {
		eta_error("--vm: no virtual machine runs here (a process of qemu-system-*)");
		rc = -ENOENT;
	}
	while (rc == 0 && (word = strsep(&rest, ","))) {
		if (strcmp(word, "all") == 0)
			memset(taken, true, vms->n);
		else
			rc = take_word(vms, word, taken);
	}
	for (size_t i = 0; rc == 0 && i < vms->n; i++) {
		if (taken[i])
			vms->v[n++] = vms->v[i];
		else
			vm_free(&vms->v[i]);
	}
	if (rc == 0)
		vms->n = n;
	free(copy);
	free(taken);
	return rc;
}

const char *vm_format(const struct qemu_disk *disk, const struct vm_image *image)
{
	if (*disk->format)
		return disk->format;
	return image->is_qcow2 ? "qcow2" : image->open ? "raw" : "";
}
