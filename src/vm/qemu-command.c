/* What QEMU's command line says: -name, -drive, -blockdev, -device and their short forms. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qemu-command.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "qemu-keys.h"

/* How deep nodes lie below each other; a node may name itself. */
enum { DEPTH_MAX = 8 };

/* ---- what a node says ---- */

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

/* Nodes that are no format: they hand on what is below. */
static bool hands_on(const char *driver)
{
	static const char *const drivers[] = { "throttle", "copy-on-read", "preallocate",
					       "compress", "blkdebug",	   "copy-before-write",
					       NULL };

	return is_one_of(driver, drivers);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* "on", "true" or JSON's true; OTHERWISE where KEY is not there. */
static bool flag_of(const json_t *object, const char *key, bool otherwise)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_boolean(value))
		return json_is_true(value);
	if (json_is_string(value))
		return strcmp(json_string_value(value), "on") == 0 ||
		       strcmp(json_string_value(value), "true") == 0 ||
		       strcmp(json_string_value(value), "yes") == 0;
	return otherwise;
}

/* The modes of -drive cache=, from what they are made of. */
static const char *cache_name(bool direct, bool no_flush, bool write_through)
{
	if (no_flush)
		return direct ? "none,no-flush" : "unsafe";
	if (direct)
		return write_through ? "directsync" : "none";
	return write_through ? "writethrough" : "writeback";
}

struct walk {
	const json_t *nodes; /* by name */
	const char *cache;   /* of -drive, "" none */
	struct qemu_disk *disk;
	bool direct, no_flush, write_through;
};

static void take_cache(struct walk *walk, const json_t *node)
{
	const json_t *cache = json_object_get(node, "cache");

	walk->direct = flag_of(cache, "direct", walk->direct);
	walk->no_flush = flag_of(cache, "no-flush", walk->no_flush);
	walk->write_through = !flag_of(cache, "writeback", !walk->write_through);
}

/* NODE and what is below it, down to the image. */
static void walk_node(struct walk *walk, const json_t *node, int depth)
{
	const char *driver = text_of(node, "driver");
	const json_t *child = json_object_get(node, "file"), *backing;

	if (depth > DEPTH_MAX || !json_is_object(node))
		return;
	take_cache(walk, node);
	backing = json_object_get(node, "backing");
	walk->disk->backing |= backing && !json_is_null(backing);
	if (*text_of(node, "aio"))
		walk->disk->aio = text_of(node, "aio");
	if (json_is_string(child) && json_object_get(walk->nodes, json_string_value(child)))
		child = json_object_get(walk->nodes, json_string_value(child));
	if (!child) {
		walk->disk->image = text_of(node, "filename");
		return;
	}
	if (*driver && !*walk->disk->format && !hands_on(driver))
		walk->disk->format = driver;
	if (json_is_string(child))
		walk->disk->image = json_string_value(child);
	else
		walk_node(walk, child, depth + 1);
}

/* ---- disks ---- */

static struct qemu_disk *new_disk(struct qemu_command *command)
{
	struct qemu_disk *disks =
		reallocarray(command->disks, command->n_disks + 1, sizeof(*disks));

	if (!disks)
		return NULL;
	command->disks = disks;
	disks += command->n_disks;
	*disks = (struct qemu_disk){ .id = "",
				     .device = "",
				     .serial = "",
				     .iothread = "",
				     .image = "",
				     .format = "",
				     .cache = "",
				     .aio = "threads" };
	return disks;
}

static const json_t *device_with(const json_t *devices, const char *drive)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		if (*drive && strcmp(text_of(device, "drive"), drive) == 0)
			return device;
	return NULL;
}

static void take_device(struct qemu_disk *disk, const json_t *device)
{
	disk->device = text_of(device, "driver");
	disk->serial = text_of(device, "serial");
	disk->iothread = text_of(device, "iothread");
}

/* The mode that -drive names as a whole. */
static void take_mode(struct walk *walk, const char *mode)
{
	walk->direct = strcmp(mode, "none") == 0 || strcmp(mode, "off") == 0 ||
		       strcmp(mode, "directsync") == 0;
	walk->no_flush = strcmp(mode, "unsafe") == 0;
	walk->write_through = strcmp(mode, "writethrough") == 0 || strcmp(mode, "directsync") == 0;
}

static int add_drive(struct qemu_command *command, const json_t *parsed, const json_t *drive)
{
	const json_t *device, *file = json_object_get(drive, "file");
	const char *type = text_of(drive, "if");
	struct walk walk = { .nodes = json_object_get(parsed, "nodes") };
	struct qemu_disk *disk;

	/* firmware is no disk, and a CD drive may be empty */
	if (strcmp(type, "pflash") == 0 || (!file && !*text_of(drive, "filename")))
		return 0;
	disk = new_disk(command);
	if (!disk)
		return -ENOMEM;
	walk.disk = disk;
	disk->id = text_of(drive, "id");
	disk->serial = text_of(drive, "serial");
	disk->device = *type ? type : "ide";
	if (*text_of(drive, "format"))
		disk->format = text_of(drive, "format");
	take_mode(&walk, text_of(drive, "cache"));
	walk_node(&walk, drive, 0);
	disk->cache = cache_name(walk.direct, walk.no_flush, walk.write_through);
	if (strcmp(disk->device, "none") == 0) {
		device = device_with(json_object_get(parsed, "devices"), disk->id);
		disk->device = "";
		if (device)
			take_device(disk, device);
	}
	command->n_disks++;
	return 0;
}

/* A node that a device shows to the guest; those below it are part of it. */
static int add_node(struct qemu_command *command, const json_t *parsed, const char *name,
		    const json_t *node)
{
	const json_t *device = device_with(json_object_get(parsed, "devices"), name);
	struct walk walk = { .nodes = json_object_get(parsed, "nodes") };

	if (!device)
		return 0;
	walk.disk = new_disk(command);
	if (!walk.disk)
		return -ENOMEM;
	walk.disk->id = name;
	take_device(walk.disk, device);
	walk_node(&walk, node, 0);
	if (!*walk.disk->format)
		walk.disk->format = "raw";
	walk.write_through |= !flag_of(device, "write-cache", true);
	walk.disk->cache = cache_name(walk.direct, walk.no_flush, walk.write_through);
	command->n_disks++;
	return 0;
}

static int add_disks(struct qemu_command *command, json_t *parsed)
{
	json_t *nodes = json_object_get(parsed, "nodes"), *value;
	const char *name;
	size_t i;
	int rc = 0;

	json_array_foreach (json_object_get(parsed, "drives"), i, value)
		if (rc == 0)
			rc = add_drive(command, parsed, value);
	json_object_foreach (nodes, name, value)
		if (rc == 0)
			rc = add_node(command, parsed, name, value);
	return rc;
}

/* ---- monitors ---- */

/* A socket that QEMU listens on: -qmp unix:PATH,server=on, or a -chardev that a -mon names. */
static void add_monitor(struct qemu_command *command, const json_t *socket)
{
	static const char prefix[] = "unix:";
	const char *path = text_of(socket, "path");

	if (strncmp(path, prefix, strlen(prefix)) == 0)
		path += strlen(prefix);
	else if (strcmp(text_of(socket, "backend"), "socket") != 0)
		return;
	if (*path && flag_of(socket, "server", false) && !flag_of(socket, "abstract", false) &&
	    command->n_monitors < QEMU_MONITORS)
		command->monitors[command->n_monitors++] = path;
}

static void add_monitors(struct qemu_command *command, const json_t *parsed)
{
	const json_t *value, *chardev;
	size_t i, k;

	json_array_foreach (json_object_get(parsed, "monitors"), i, value) {
		if (!*text_of(value, "chardev"))
			add_monitor(command, value);
		else if (strcmp(text_of(value, "mode"), "control") == 0)
			json_array_foreach (json_object_get(parsed, "chardevs"), k, chardev)
				if (strcmp(text_of(chardev, "id"), text_of(value, "chardev")) == 0)
					add_monitor(command, chardev);
	}
}

/* ---- the command line ---- */

/* -drive file=json:{...} is a node as -blockdev has it. */
static int open_json_file(json_t *drive)
{
	static const char prefix[] = "json:";
	const char *text = text_of(drive, "file");
	json_t *file;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return 0;
	file = json_loads(text + strlen(prefix), JSON_REJECT_DUPLICATES, NULL);
	return file ? json_object_set_new(drive, "file", file) : 0;
}

/* What an option says, kept below its kind. VALUE is ours. 0 or -ENOMEM. */
static int keep(json_t *parsed, const char *option, json_t *value)
{
	json_t *list = NULL;
	int rc = 0;

	if (strcmp(option, "name") == 0)
		return json_object_set_new(parsed, option, value) ? -ENOMEM : 0;
	if (strcmp(option, "blockdev") == 0) {
		const char *node = text_of(value, "node-name");

		if (*node)
			return json_object_set_new_nocheck(json_object_get(parsed, "nodes"), node,
							   value)
				       ? -ENOMEM
				       : 0;
	} else if (strcmp(option, "device") == 0) {
		list = json_object_get(parsed, "devices");
	} else if (strcmp(option, "add-fd") == 0) {
		list = json_object_get(parsed, "descriptors");
	} else if (strcmp(option, "chardev") == 0) {
		list = json_object_get(parsed, "chardevs");
	} else if (strcmp(option, "mon") == 0 || strncmp(option, "qmp", 3) == 0) {
		list = json_object_get(parsed, "monitors");
	} else {
		rc = open_json_file(value);
		list = json_object_get(parsed, "drives");
	}
	if (!list || rc) {
		json_decref(value);
		return rc ? -ENOMEM : 0;
	}
	return json_array_append_new(list, value) ? -ENOMEM : 0;
}

/* Options that disks, name and monitors are in, with the key of a first value that has none. */
static const struct option {
	const char *name, *first;
} options[] = {
	{ "name", "guest" },	{ "drive", "file" }, { "blockdev", "driver" },
	{ "device", "driver" }, { "add-fd", "set" }, { "chardev", "backend" },
	{ "mon", "chardev" },	{ "qmp", "path" },   { "qmp-pretty", "path" },
};

/* -hda FILE and the like: the text is the name, commas and all. */
static int keep_image(json_t *parsed, const char *image, const char *type)
{
	json_t *drive = json_pack("{s:o, s:s}", "file", json_stringn_nocheck(image, strlen(image)),
				  "if", type);

	return drive ? json_array_append_new(json_object_get(parsed, "drives"), drive) : -ENOMEM;
}

static bool takes_no_value(const char *option)
{
	static const char *const without[] = {
		"nographic", "S",	   "s",		"snapshot",    "enable-kvm",
		"no-reboot", "nodefaults", "daemonize", "no-shutdown", "no-user-config",
		"no-acpi",   "no-hpet",	   "usb",	"full-screen", NULL
	};

	return is_one_of(option, without);
}

/* OPTION (without its dashes) and what follows it, NULL at the end; 1: that is its value. */
static int read_option(struct qemu_command *command, json_t *parsed, const char *option,
		       const char *value)
{
	static const char *const images[] = { "hda", "hdb", "hdc", "hdd", "cdrom", NULL };

	if (takes_no_value(option) || !value)
		return 0;
	if (strcmp(option, "icount") == 0)
		command->icount = true;
	if (is_one_of(option, images))
		return keep_image(parsed, value, "ide") ? -ENOMEM : 1;
	if (strcmp(option, "sd") == 0)
		return keep_image(parsed, value, "sd") ? -ENOMEM : 1;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		json_t *keys;
		int rc;

		if (strcmp(option, options[i].name) != 0)
			continue;
		rc = qemu_keys_read(value, options[i].first, &keys);
		if (rc == 0 && keys)
			rc = keep(parsed, option, keys);
		return rc ? rc : 1;
	}
	return *value != '-';
}

static int read_all(struct qemu_command *command, json_t *parsed, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	text += strnlen(text, bytes) + 1;
	while (text < end && memchr(text, '\0', (size_t)(end - text))) {
		const char *next = text + strlen(text) + 1;
		bool followed = next < end && memchr(next, '\0', (size_t)(end - next));
		int rc;

		if (*text == '-' && text[1]) {
			rc = read_option(command, parsed, text + 1 + (text[1] == '-'),
					 followed ? next : NULL);
			if (rc == 1)
				next += strlen(next) + 1;
		} else {
			/* what no option is followed by is the first disk */
			rc = *text ? keep_image(parsed, text, "ide") : 0;
		}
		if (rc < 0)
			return rc;
		text = next;
	}
	return 0;
}

int qemu_command_read(const char *text, size_t bytes, struct qemu_command *command)
{
	json_t *parsed = json_pack("{s:{}, s:[], s:[], s:[], s:[], s:[]}", "nodes", "drives",
				   "devices", "descriptors", "chardevs", "monitors");
	const json_t *name;
	int rc = parsed ? 0 : -ENOMEM;

	*command = (struct qemu_command){ .name = "", .parsed = parsed };
	if (rc == 0)
		rc = read_all(command, parsed, text, bytes);
	if (rc == 0)
		rc = add_disks(command, parsed);
	if (rc) {
		qemu_command_free(command);
		return rc;
	}
	add_monitors(command, parsed);
	name = json_object_get(parsed, "name");
	command->name = text_of(name, "guest");
	command->named_threads = flag_of(name, "debug-threads", false);
	return 0;
}

void qemu_command_free(struct qemu_command *command)
{
	free(command->disks);
	json_decref(command->parsed);
	*command = (struct qemu_command){ .name = "" };
}

int qemu_command_descriptor(const struct qemu_command *command, const char *image)
{
	static const char prefix[] = "/dev/fdset/";
	const json_t *one;
	size_t i;

	if (strncmp(image, prefix, strlen(prefix)) != 0)
		return -1;
	json_array_foreach (json_object_get(command->parsed, "descriptors"), i, one)
		if (strcmp(text_of(one, "set"), image + strlen(prefix)) == 0)
			return (int)strtoul(text_of(one, "fd"), NULL, 10);
	return -1;
}
