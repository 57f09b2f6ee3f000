/* The values of the filters: from what a user writes to what the probes compare. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "eta-ext/base/levels.h"
#include "kernelio.h"

#define NAME_MAX_BYTES 255
#define MAX_CGROUP_DEPTH 64

__attribute__((format(printf, 3, 4))) static int wrong(char *why, size_t size, const char *format,
						       ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, size, format, ap);
	va_end(ap);
	return -EINVAL;
}

static int key_add(struct kernelio_filters *filters, struct kernelio_filter_key key)
{
	struct kernelio_filter_key *more =
		reallocarray(filters->keys, filters->n_keys + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	filters->keys = more;
	filters->keys[filters->n_keys++] = key;
	return 0;
}

/* As the kernel counts, not as stat does. */
static uint32_t kernel_dev(dev_t dev)
{
	return major(dev) << 20 | minor(dev);
}

static int parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || end == text || *end || text[0] == '-' || *value > max ? -EINVAL : 0;
}

/* Calls ADD for each part of TEXT between commas. */
static int each_part(struct kernelio_filters *filters, const char *text, char *why, size_t size,
		     int (*add)(struct kernelio_filters *filters, const char *part, char *why,
				size_t size))
{
	char *copy = strdup(text), *rest = copy, *part;
	int rc = copy ? 0 : -ENOMEM;

	while (rc == 0 && (part = strsep(&rest, ",")))
		rc = add(filters, part, why, size);
	free(copy);
	return rc;
}

/* ---- tasks ---- */

static int tid_add(struct kernelio_filters *filters, const char *text, char *why, size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_TID };

	if (parse_number(text, INT32_MAX, &key.number) || key.number == 0)
		return wrong(why, size, "not the number of a thread");
	return key_add(filters, key);
}

static int filter_set_TID(struct kernelio_filters *filters, const char *text, char *why,
			  size_t size)
{
	return each_part(filters, text, why, size, tid_add);
}

/* The kernel keeps 15 bytes of a name. */
static int filter_set_COMM(struct kernelio_filters *filters, const char *text, char *why,
			   size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_COMM };
	char comm[16] = "";

	if (!*text)
		return wrong(why, size, "no name");
	memcpy(comm, text, strnlen(text, sizeof(comm) - 1));
	memcpy(&key.number, comm, sizeof(key.number));
	memcpy(&key.name, comm + sizeof(key.number), sizeof(key.name));
	return key_add(filters, key);
}

static int filter_set_UID(struct kernelio_filters *filters, const char *text, char *why,
			  size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_UID };
	const struct passwd *user;

	if (parse_number(text, UINT32_MAX, &key.number)) {
		user = getpwnam(text);
		if (!user)
			return wrong(why, size, "no such user");
		key.number = user->pw_uid;
	}
	return key_add(filters, key);
}

static int filter_set_CGROUP(struct kernelio_filters *filters, const char *text, char *why,
			     size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_CGROUP };
	char path[PATH_MAX + 4], up[PATH_MAX + 4];
	struct stat status, above;
	struct statfs fs;
	unsigned depth = 0;

	if (!realpath(text, path) || stat(path, &status) || statfs(path, &fs))
		return wrong(why, size, "%s", strerror(errno));
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(status.st_mode))
		return wrong(why, size,
			     "not a folder of the cgroup2 file system (findmnt -t cgroup2)");
	/* up to the root of the file system */
	for (snprintf(up, sizeof(up), "%s", path);; depth++) {
		strcat(up, "/..");
		if (!realpath(up, path) || stat(path, &above))
			return wrong(why, size, "%s", strerror(errno));
		if (above.st_dev != status.st_dev)
			break;
		snprintf(up, sizeof(up), "%s", path);
	}
	if (depth >= MAX_CGROUP_DEPTH)
		return wrong(why, size, "more than %d levels below the root", MAX_CGROUP_DEPTH);
	key.number = status.st_ino; /* its id, where numbers of inodes have 64 bits */
	filters->constant.cgroup_depths |= 1ULL << depth;
	return key_add(filters, key);
}

/* ---- files ---- */

/* Calls TAKE with each mount: id, device of the file system as the kernel has it, source. */
static void each_mount(bool (*take)(void *arg, uint64_t id, uint32_t dev, const char *source),
		       void *arg)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char *line = NULL;
	size_t room = 0;
	bool on = true;

	while (mounts && on && getline(&line, &room, mounts) > 0) {
		unsigned long long id;
		unsigned ma, mi;
		char source[PATH_MAX];
		const char *tail = strstr(line, " - ");

		if (tail && sscanf(line, "%llu %*u %u:%u", &id, &ma, &mi) == 3 &&
		    sscanf(tail, " - %*s %4095s", source) == 1)
			on = take(arg, id, ma << 20 | mi, source);
	}
	free(line);
	if (mounts)
		fclose(mounts);
}

struct mount_of {
	uint64_t id;
	uint32_t dev;
};

static bool is_mount(void *arg, uint64_t id, uint32_t dev, const char *source)
{
	struct mount_of *mount = arg;

	(void)source;
	if (id != mount->id)
		return true;
	mount->dev = dev;
	return false;
}

/*
 * Device and inode of PATH as the kernel's own structures have them: some file systems (btrfs)
 * report another device to stat.
 */
static int path_key(const char *path, struct kernelio_filter_key *key)
{
	struct mount_of mount = { 0 };
	struct statx status;

	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_MNT_ID, &status))
		return -errno;
	mount.dev = status.stx_dev_major << 20 | status.stx_dev_minor;
	mount.id = status.stx_mnt_id;
	if (status.stx_mask & STATX_MNT_ID)
		each_mount(is_mount, &mount);
	key->dev = mount.dev;
	key->number = status.stx_ino;
	return 0;
}

static uint64_t name_hash(const char *name)
{
	uint64_t hash = KERNELIO_NAME_HASH_START;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * KERNELIO_NAME_HASH_PRIME;
	return hash;
}

/* The name in its folder: so a file that is made later, or again, is found too. */
static int filter_set_FILE(struct kernelio_filters *filters, const char *text, char *why,
			   size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_FILE };
	char path[PATH_MAX], *slash;
	struct stat status;
	const char *name;
	int rc;

	if (!realpath(text, path)) {
		if (errno != ENOENT)
			return wrong(why, size, "%s", strerror(errno));
		if ((size_t)snprintf(path, sizeof(path), "%s", text) >= sizeof(path))
			return wrong(why, size, "the name is too long");
	} else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		return wrong(why, size, "a folder (--directory traces what is below it)");
	}
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return wrong(why, size, "not the name of a file");
	key.name = name_hash(name);
	if (slash)
		*slash = '\0';
	rc = path_key(!slash ? "." : path[0] ? path : "/", &key);
	if (rc)
		return wrong(why, size, "its folder: %s", strerror(-rc));
	return key_add(filters, key);
}

static int filter_set_DIRECTORY(struct kernelio_filters *filters, const char *text, char *why,
				size_t size)
{
	struct kernelio_filter_key key = { .filter = KERNELIO_FILTER_DIRECTORY };
	struct stat status;
	int rc;

	if (stat(text, &status))
		return wrong(why, size, "%s", strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return wrong(why, size, "not a folder (--file traces one file)");
	rc = path_key(text, &key);
	if (rc)
		return wrong(why, size, "%s", strerror(-rc));
	return key_add(filters, key);
}

static int device_add(struct kernelio_filters *filters, uint32_t dev)
{
	return key_add(filters, (struct kernelio_filter_key){ .filter = KERNELIO_FILTER_DEVICE,
							      .dev = dev });
}

struct device_mounts {
	struct kernelio_filters *filters;
	const char *source;
	int rc;
};

static bool add_mounted(void *arg, uint64_t id, uint32_t dev, const char *source)
{
	struct device_mounts *mounts = arg;

	(void)id;
	if (strcmp(source, mounts->source) == 0)
		mounts->rc = device_add(mounts->filters, dev);
	return mounts->rc == 0;
}

/* The partitions of a whole disk. */
static int add_partitions(struct kernelio_filters *filters, dev_t dev)
{
	char path[128], line[64];
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	dir = opendir(path);
	while (dir && rc == 0 && (entry = readdir(dir))) {
		unsigned ma, mi;
		char file[512];
		FILE *number;

		snprintf(file, sizeof(file), "%s/%s/partition", path, entry->d_name);
		number = fopen(file, "r");
		if (!number)
			continue;
		fclose(number);
		snprintf(file, sizeof(file), "%s/%s/dev", path, entry->d_name);
		number = fopen(file, "r");
		if (number && fgets(line, sizeof(line), number) &&
		    sscanf(line, "%u:%u", &ma, &mi) == 2)
			rc = device_add(filters, ma << 20 | mi);
		if (number)
			fclose(number);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* A device node, MAJOR:MINOR, or anything on a file system that is meant. */
static int filter_set_DEVICE(struct kernelio_filters *filters, const char *text, char *why,
			     size_t size)
{
	struct device_mounts mounts = { .filters = filters };
	struct kernelio_filter_key key = { 0 };
	char path[PATH_MAX], end;
	struct stat status;
	unsigned ma, mi;
	int rc;

	if (sscanf(text, "%u:%u%c", &ma, &mi, &end) == 2) {
		rc = device_add(filters, ma << 20 | mi);
		return rc ? rc : add_partitions(filters, makedev(ma, mi));
	}
	if (!realpath(text, path) || stat(path, &status))
		return wrong(why, size, "%s (or give MAJOR:MINOR)", strerror(errno));
	if (!S_ISBLK(status.st_mode)) {
		rc = path_key(path, &key);
		return rc ? wrong(why, size, "%s", strerror(-rc)) : device_add(filters, key.dev);
	}
	mounts.source = path;
	rc = device_add(filters, kernel_dev(status.st_rdev));
	if (rc == 0)
		rc = add_partitions(filters, status.st_rdev);
	if (rc)
		return rc;
	each_mount(add_mounted, &mounts);
	return mounts.rc;
}

/* ---- calls, levels ---- */

static int operation_add(struct kernelio_filters *filters, const char *text, char *why, size_t size)
{
	static const struct {
		const char *name;
		enum eta_op_kind kind;
	} kinds[] = {
		{ "read", ETA_OP_READ },  { "write", ETA_OP_WRITE }, { "sync", ETA_OP_SYNC },
		{ "open", ETA_OP_OPEN },  { "close", ETA_OP_CLOSE }, { "seek", ETA_OP_SEEK },
		{ "other", ETA_OP_META },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, text) == 0) {
			filters->constant.operations |= 1U << kinds[i].kind;
			if (kinds[i].kind == ETA_OP_META)
				filters->constant.operations |= 1U << ETA_OP_OTHER;
			return 0;
		}
	return wrong(why, size, "not one of read, write, sync, open, close, seek, other");
}

static int filter_set_OPERATION(struct kernelio_filters *filters, const char *text, char *why,
				size_t size)
{
	return each_part(filters, text, why, size, operation_add);
}

static int filter_set_MIN_DURATION(struct kernelio_filters *filters, const char *text, char *why,
				   size_t size)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(end, units[i].name) == 0 && value >= 0 && value * units[i].ns < 1e18) {
			filters->constant.min_ns = (uint64_t)(value * units[i].ns);
			return 0;
		}
	return wrong(why, size, "not a time such as 500ns, 100us, 2.5ms, 1s");
}

static int level_add(struct kernelio_filters *filters, const char *text, char *why, size_t size)
{
	for (int level = 0; level < ETA_N_LEVELS; level++)
		if (level != ETA_LEVEL_USER &&
		    strcmp(eta_level_name((enum eta_level)level), text) == 0) {
			/* vfs: the calls that all others are part of */
			filters->constant.levels |= 1U << level | 1U << ETA_LEVEL_VFS;
			return 0;
		}
	return wrong(why, size, "not one of vfs, pagecache, fs, block, net, cpu");
}

static int filter_set_LEVEL(struct kernelio_filters *filters, const char *text, char *why,
			    size_t size)
{
	return each_part(filters, text, why, size, level_add);
}

int kernelio_filter_add(struct kernelio_filters *filters, enum kernelio_filter_id id,
			const char *text, char *why, size_t size)
{
	static int (*const set[KERNELIO_N_FILTERS])(struct kernelio_filters * filters,
						    const char *text, char *why, size_t size) = {
#define X(id, option, argument, help) filter_set_##id,
		KERNELIO_FILTERS(X)
#undef X
	};
	int rc;

	snprintf(why, size, "%s", strerror(ENOMEM));
	rc = set[id](filters, text, why, size);
	if (rc == 0)
		filters->constant.set |= 1U << id;
	return rc;
}

void kernelio_filters_free(struct kernelio_filters *filters)
{
	free(filters->keys);
	memset(filters, 0, sizeof(*filters));
}
