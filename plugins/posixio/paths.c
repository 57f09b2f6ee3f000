/* Names of open files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "paths.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "eta-ext/format/own-call.h"
#include "core.h"
#include "files.h"
#include "text.h"

size_t path_of(int fd, char *out, size_t room)
{
	char link[32];
	long n;

	text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = own_call(READLINK, AT_FDCWD, link, out, room);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * Can PATH be appended to its directory's path? Not if it has parts that name no entry. LENGTH: as
 * measured before: another thread may be changing it.
 */
static bool is_plain(const char *path, size_t length)
{
	for (const char *part = path, *end = path + length;; part++) {
		const char *slash = memchr(part, '/', (size_t)(end - part));
		size_t n = (size_t)((slash ? slash : end) - part);

		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && memcmp(part, "..", 2) == 0))
			return false;
		if (!slash)
			return true;
		part = slash;
	}
}

static bool is_same(const struct directory *d, const struct statx *st)
{
	return d->length && d->inode == st->stx_ino && d->born_s == st->stx_btime.tv_sec &&
	       d->born_ns == st->stx_btime.tv_nsec && d->dev_major == st->stx_dev_major &&
	       d->dev_minor == st->stx_dev_minor;
}

/*
 * Makes KNOWN the directory DIR; false: its path cannot be had. To check that it is still the same
 * as last time costs a tenth of asking for its name.
 */
static bool find_directory(struct directory *known, int dir)
{
	const unsigned wanted = STATX_INO | STATX_BTIME;
	struct statx st;
	size_t n;

	if (own_call(STATX, dir, "", AT_EMPTY_PATH, wanted, &st) || wanted & ~st.stx_mask)
		return false;
	if (is_same(known, &st))
		return true;
	known->length = 0;
	n = path_of(dir, known->name, sizeof(known->name));
	if (n == 0 || n == sizeof(known->name) || known->name[0] != '/')
		return false;
	known->inode = st.stx_ino;
	known->born_s = st.stx_btime.tv_sec;
	known->born_ns = st.stx_btime.tv_nsec;
	known->dev_major = st.stx_dev_major;
	known->dev_minor = st.stx_dev_minor;
	known->length = (uint32_t)n;
	return true;
}

/*
 * The path of the directory DIR. Where the descriptor was seen when it was opened, nothing needs to
 * be asked. A directory that is renamed meanwhile keeps its former name.
 */
static size_t directory_path(int dir, char *out, size_t room)
{
	struct directory *known = &self->directory;
	const uint32_t folder = files_folder(dir);

	if (!folder || folder != known->folder || !known->length) {
		known->folder = 0;
		if (!find_directory(known, dir))
			return 0;
		known->folder = folder;
	}
	if (known->length > room)
		return 0;
	memcpy(out, known->name, known->length);
	return known->length;
}

static size_t working_directory(char *out, size_t room)
{
	long n = own_call(GETCWD, out, room); /* with the NUL */

	/* outside the root directory it begins with "(unreachable)" */
	return n > 1 && out[0] == '/' ? (size_t)n - 1 : 0;
}

size_t path_opened(int fd, int dir, const char *path, int flags, char *out, size_t room)
{
	size_t n, length = path ? strnlen(path, room) : 0;

	/* a file without a name: PATH is its directory */
	if (!path || (flags != -1 && (flags & O_TMPFILE) == O_TMPFILE))
		return path_of(fd, out, room);
	if (length == 0)
		return path_of(fd, out, room);
	if (path[0] == '/') {
		memcpy(out, path, length);
		return length;
	}
	if (length > 2 && path[0] == '.' && path[1] == '/') {
		path += 2;
		length -= 2;
	}
	if (!is_plain(path, length))
		return path_of(fd, out, room);
	n = dir == AT_FDCWD ? working_directory(out, room) : directory_path(dir, out, room);
	if (n == 0 || n + 1 + length > room)
		return path_of(fd, out, room);
	if (out[n - 1] != '/')
		out[n++] = '/';
	memcpy(out + n, path, length);
	return n + length;
}
