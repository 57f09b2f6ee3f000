/* What QEMU's command line says of a virtual machine: its name, its disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_QEMU_COMMAND_H
#define SCI_QEMU_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct json_t;

/* Texts are never NULL, "" where the command line does not say. */
struct qemu_disk {
	const char *id;	      /* of the drive or node */
	const char *device;   /* "virtio-blk-pci"; of -drive if=TYPE that type */
	const char *serial;   /* as the guest may show it */
	const char *iothread; /* the thread that serves it */
	const char *image;    /* as given: relative to QEMU's folder; "/dev/fdset/N" */
	const char *format;   /* "": QEMU finds out */
	const char *cache;    /* as -drive names the modes */
	const char *aio;
	bool backing; /* the command line names an image below it */
};

#define QEMU_MONITORS 4 /* those behind are passed over */

struct qemu_command {
	const char *name;
	bool named_threads; /* debug-threads=on */
	bool icount;	    /* the guest's clock counts instructions */
	struct qemu_disk *disks;
	size_t n_disks;
	const char *monitors[QEMU_MONITORS]; /* paths of its QMP sockets, as given */
	size_t n_monitors;
	struct json_t *parsed; /* has the texts */
};

/*
 * Reads the BYTES of TEXT, arguments that each end with a NUL, the program's name first (as in
 * /proc/PID/cmdline). What it does not understand is passed over. 0 or -ENOMEM; COMMAND is to be
 * freed then.
 */
int qemu_command_read(const char *text, size_t bytes, struct qemu_command *command);
void qemu_command_free(struct qemu_command *command);

/* The descriptor that -add-fd gave to the set of "/dev/fdset/N"; -1: none, or IMAGE is no such. */
int qemu_command_descriptor(const struct qemu_command *command, const char *image);

#endif
