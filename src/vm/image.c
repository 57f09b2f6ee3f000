/* The file or device behind a virtual disk, among the files that QEMU has open. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TEXT_MAX = PATH_MAX + 64 };

/* "nbd://...", "rbd:pool/image": a word and a colon before any slash. "file:" is a file. */
static bool is_remote(const char *image)
{
	size_t n = strcspn(image, ":/");

	return image[n] == ':';
}

/* IMAGE as a path from QEMU's root. */
static void path_of(pid_t pid, const char *image, char path[TEXT_MAX])
{
	char link[64], folder[PATH_MAX] = "";

	if (strncmp(image, "file:", 5) == 0)
		image += 5;
	if (*image != '/') {
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
		if (readlink(link, folder, sizeof(folder) - 1) < 0)
			folder[0] = '\0';
	}
	snprintf(path, TEXT_MAX, "%s%s%s", folder, *folder && strcmp(folder, "/") != 0 ? "/" : "",
		 image);
}

static void take_status(struct vm_image *image, const struct stat *status)
{
	image->known = true;
	image->dev = major(status->st_dev) << 20 | minor(status->st_dev);
	image->inode = status->st_ino;
	if (S_ISBLK(status->st_mode))
		image->block = major(status->st_rdev) << 20 | minor(status->st_rdev);
}

/* Reading a header changes nothing, not even when the image was last read. */
static void read_header(const char *path, struct vm_image *image)
{
	unsigned char data[QCOW2_HEADER_BYTES];
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, flags | O_NOATIME);
	ssize_t n;

	if (fd < 0)
		fd = open(path, flags);
	if (fd < 0)
		return;
	n = pread(fd, data, sizeof(data), 0);
	close(fd);
	image->is_qcow2 = n > 0 && qcow2_header_read(data, (size_t)n, &image->header);
}

/* How a descriptor's file fits: it is the image, or was when it had the image's name. */
enum fit { FIT_NONE, FIT_NAME, FIT_FILE };

static enum fit fit(const char *link, const struct stat *status, const char *path,
		    const struct stat *named)
{
	static const char gone[] = " (deleted)";
	char text[TEXT_MAX];
	ssize_t n;
	size_t length = strlen(path);

	if (named && named->st_dev == status->st_dev && named->st_ino == status->st_ino)
		return FIT_FILE;
	n = readlink(link, text, sizeof(text) - 1);
	if (n < 0)
		return FIT_NONE;
	text[n] = '\0';
	if (strncmp(text, path, length) != 0 || (text[length] && strcmp(text + length, gone) != 0))
		return FIT_NONE;
	return FIT_NAME;
}

/* The descriptor of PATH, NAMED: what has that name now, or NULL. -1: none. */
static int find_descriptor(pid_t pid, const char *path, const struct stat *named, enum fit *best)
{
	char link[64];
	const struct dirent *entry;
	DIR *folder;
	int found = -1;

	*best = FIT_NONE;
	snprintf(link, sizeof(link), "/proc/%d/fd", (int)pid);
	folder = opendir(link);
	while (folder && (entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		struct stat status;
		enum fit how;

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
		if (entry->d_name[0] == '.' || stat(link, &status))
			continue;
		how = fit(link, &status, path, named);
		if (how > *best) {
			*best = how;
			found = fd;
		}
	}
	if (folder)
		closedir(folder);
	return found;
}

int image_find(pid_t pid, const struct qemu_command *command, const struct qemu_disk *disk,
	       struct vm_image *image)
{
	char path[TEXT_MAX] = "", below_root[TEXT_MAX + 32];
	struct stat status;
	int fd = qemu_command_descriptor(command, disk->image);
	bool there = false;
	enum fit how = FIT_FILE;

	*image = (struct vm_image){ .local = *disk->image &&
					     (strncmp(disk->image, "file:", 5) == 0 ||
					      !is_remote(disk->image)) };
	if (image->local)
		path_of(pid, disk->image, path);
	image->path = strdup(image->local ? path : disk->image);
	if (!image->path)
		return -ENOMEM;
	if (!image->local)
		return 0;
	if (fd < 0) {
		snprintf(below_root, sizeof(below_root), "/proc/%d/root%s", (int)pid, path);
		there = stat(below_root, &status) == 0;
		if (there)
			take_status(image, &status);
		fd = find_descriptor(pid, path, there ? &status : NULL, &how);
	}
	if (fd < 0)
		return 0;
	snprintf(below_root, sizeof(below_root), "/proc/%d/fd/%d", (int)pid, fd);
	if (stat(below_root, &status))
		return 0;
	take_status(image, &status);
	image->open = true;
	image->descriptor = fd;
	image->replaced = how == FIT_NAME;
	if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))
		read_header(below_root, image);
	return 0;
}
