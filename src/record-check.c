/* What this machine can record, and why not more: sci-record --check. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "record-check.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/printable.h"
#include "plugins/kernelio/kernelio.h"
#include "preload.h"

#define BTF "/sys/kernel/btf/vmlinux"
#define LOCKDOWN "/sys/kernel/security/lockdown"

/* "kernel levels  no   why" */
static void put(const char *what, const char *answer, const char *text)
{
	printf("%-14s %-4s ", what, answer);
	printable_put(stdout, text);
	putchar('\n');
}

static bool can_read(const char *folder, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return access(path, R_OK) == 0;
}

static bool check_library(const char *plugins)
{
	char path[PATH_MAX], text[PATH_MAX + 128];
	bool library = can_read(plugins, "libsci-posixio.so", path), unwinder;

	if (library)
		snprintf(text, sizeof(text), "%s is preloaded into dynamically linked programs",
			 path);
	else
		snprintf(text, sizeof(text), "%s: %s (SCI_PLUGIN_DIR names its folder)", path,
			 strerror(errno));
	put("library calls", library ? "yes" : "no", text);
	unwinder = can_read(plugins, "libsci-unwind.so", path);
	put("call stacks", unwinder ? "yes" : "no",
	    unwinder ? "--callstack" : "built without libunwind: return addresses only");
	return library;
}

/* ---- the kernel ---- */

/* What was said, in place of printing it. */
static void keep(void *to, enum eta_severity severity, const char *text)
{
	char *kept = to;

	(void)severity;
	if (!kept[0])
		snprintf(kept, BUFSIZ, "%s", text);
}

static bool check_kernel(void)
{
	struct kernelio_options options = { .name = "check", .skip = -1, .optional = true };
	struct kernelio *k = NULL;
	char said[BUFSIZ] = "";
	const char *lacks = "", *why;
	int rc;

	eta_set_message_fn(keep, said);
	rc = kernelio_new(&options, &k);
	eta_set_message_fn(NULL, NULL);
	if (rc == 0)
		lacks = kernelio_missing(k);
	why = strstr(said, "missing: ");
	why = why ? why + strlen("missing: ") : said[0] ? said : strerror(-rc);
	if (rc)
		put("kernel levels", "no", why);
	else
		put("kernel levels", lacks[0] ? "part" : "yes",
		    lacks[0] ? lacks : "vfs, pagecache, fs, block, cpu");
	rc = rc || lacks[0];
	kernelio_free(k);
	return !rc;
}

/* The capabilities in effect, bit by bit. */
static unsigned long long capabilities(void)
{
	unsigned long long bits = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &bits) == 1)
			break;
	if (file)
		fclose(file);
	return bits;
}

static void check_rights(void)
{
	const unsigned long long have = capabilities(), admin = 1ULL << CAP_SYS_ADMIN;
	const unsigned long long need = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	char self[PATH_MAX / 2] = "sci-record", text[PATH_MAX];
	ssize_t n;

	if (have & admin || (have & need) == need) {
		put("rights", "yes", have & admin ? "CAP_SYS_ADMIN" : "CAP_BPF and CAP_PERFMON");
		return;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0)
		self[n] = '\0';
	snprintf(text, sizeof(text),
		 "neither CAP_BPF nor root: sudo sci-record (the program still runs as you), or "
		 "once: sudo setcap cap_bpf,cap_perfmon=ep %s",
		 self);
	put("rights", "no", text);
}

static void check_system(void)
{
	struct utsname name;
	char text[sizeof(name) + 128], locked[128] = "";
	bool btf = access(BTF, R_OK) == 0;
	FILE *file = fopen(LOCKDOWN, "re");

	if (file) {
		if (!fgets(locked, sizeof(locked), file))
			locked[0] = '\0';
		fclose(file);
	}
	if (uname(&name))
		memset(&name, 0, sizeof(name));
	snprintf(text, sizeof(text), "Linux %s, %s; %s%s", name.release, name.machine,
		 btf ? "BTF in " BTF : "no BTF (" BTF "), which the kernel's levels need",
		 strstr(locked, "[confidentiality]")
			 ? "; locked down (confidentiality): no probe may read its memory"
			 : "");
	put("kernel", btf ? "yes" : "no", text);
}

/* ---- what else ---- */

/* The first file NAME in PATH that can be run. */
static bool find_in_path(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");

	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n && n < PATH_MAX / 2) {
			snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, name);
			if (access(path, X_OK) == 0)
				return true;
		}
		list += n + (list[n] == ':');
	}
	return false;
}

static void check_eztrace(const char *plugins)
{
	char program[PATH_MAX], plugin[PATH_MAX], text[PATH_MAX + 128];

	if (!can_read(plugins, "libeztrace-posixio.so", plugin)) {
		put("EZTrace", "no", "built without it (libeztrace-dev); sci-record needs none");
	} else if (!find_in_path("eztrace", program)) {
		put("EZTrace", "no", "no eztrace in PATH; sci-record needs none");
	} else {
		snprintf(text, sizeof(text),
			 "%s: eval \"$(sci-record --env)\"; eztrace -t posixio ./app", program);
		put("EZTrace", "yes", text);
	}
}

/* The type of the file system that DEV is, by the mounts of this process; "": not found. */
static void find_type(dev_t dev, char type[64])
{
	char *line = NULL;
	size_t room = 0;
	FILE *file = fopen("/proc/self/mountinfo", "re");

	type[0] = '\0';
	while (file && !type[0] && getline(&line, &room, file) > 0) {
		unsigned major_number, minor_number;
		const char *end = strstr(line, " - ");

		if (!end || sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2 ||
		    makedev(major_number, minor_number) != dev)
			continue;
		if (sscanf(end + 3, "%63s", type) != 1)
			type[0] = '\0';
	}
	free(line);
	if (file)
		fclose(file);
}

static void check_folder(void)
{
	static const char *const own_level[] = { "ext4", "xfs", "btrfs", "f2fs", "nfs", "nfs4" };
	char type[64], text[256];
	struct stat st;
	struct statvfs fs;
	bool has_level = false;

	if (stat(".", &st) || statvfs(".", &fs)) {
		put("this folder", "no", strerror(errno));
		return;
	}
	find_type(st.st_dev, type);
	for (size_t i = 0; i < sizeof(own_level) / sizeof(*own_level); i++)
		has_level |= strcmp(type, own_level[i]) == 0;
	snprintf(text, sizeof(text), "%s%s; %.1f GiB free for recordings%s",
		 type[0] ? type : "unknown file system",
		 has_level ? ""
			   : ": no fs level of its own (system calls, page cache, block, waits)",
		 (double)fs.f_bavail * (double)fs.f_frsize / (1 << 30),
		 access(".", W_OK) ? ", but not yours to write to (-o names another folder)" : "");
	put("this folder", access(".", W_OK) ? "no" : "yes", text);
}

static void check_limits(void)
{
	char text[256];
	struct rlimit files, size;
	bool room;

	if (getrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_FSIZE, &size))
		return;
	room = files.rlim_cur >= 256 && size.rlim_cur == RLIM_INFINITY;
	snprintf(text, sizeof(text), "%llu open files%s; %s", (unsigned long long)files.rlim_cur,
		 files.rlim_cur < 256 ? " (ulimit -n 1024: a file for each thread)" : "",
		 size.rlim_cur == RLIM_INFINITY ? "files of any size"
						: "files of a limited size (ulimit -f unlimited)");
	put("limits", room ? "yes" : "part", text);
}

bool record_check(const char *plugins)
{
	bool library = check_library(plugins), kernel = check_kernel();

	check_rights();
	check_system();
	check_eztrace(plugins);
	check_folder();
	check_limits();
	return fflush(stdout) == 0 && library && kernel;
}
