/* Source: QEMU's log of -trace 'virtio_blk_*': a guest's requests as the hypervisor sees them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "eta-ext/format/archive.h"
#include "log.h"
#include "log-block.h"
#include "log-defs.h"
#include "log-text.h"

/*
 * "TID@SECONDS.MICROSECONDS:EVENT NAME VALUE NAME VALUE...", since QEMU 10.2
 * "2026-11-21T10:15:00.123456Z EVENT ...", without a thread.
 */
struct record {
	uint32_t tid; /* 0: not reported */
	uint64_t time_ns;
	char *event, *arguments;
};

static bool split(char *line, struct record *r)
{
	char *at = strchr(line, '@'), *colon = at ? strchr(at, ':') : NULL;
	char *blank = line + strcspn(line, " ");
	bool known;

	if (*blank && blank[-(blank > line)] == 'Z') {
		*blank++ = '\0';
		r->tid = 0;
		r->event = blank;
		known = log_date(line, &r->time_ns);
	} else if (colon) {
		*at++ = '\0';
		*colon++ = '\0';
		r->event = colon;
		known = log_u32(line, &r->tid) && log_time(at, &r->time_ns);
	} else {
		return false;
	}
	r->arguments = r->event + strcspn(r->event, " ");
	if (*r->arguments)
		*r->arguments++ = '\0';
	return known && *r->event;
}

static bool is_request(const char *event)
{
	return strncmp(event, "virtio_blk_", strlen("virtio_blk_")) == 0;
}

static bool qemu_line(char *line)
{
	struct record r;

	/* many logs begin with a date */
	return is_request(line) || (split(line, &r) && (r.tid || is_request(r.event)));
}

static bool qemu_probe(const char *path, bool directory, const unsigned char *head,
		       size_t head_bytes)
{
	(void)path;
	/* QEMU's other messages may stand before the first event */
	return !directory && log_probe_lines(head, head_bytes, 16, qemu_line);
}

/*
 * The number behind each of N NAMES; false where one is missing, but for the first: before
 * QEMU 2.10 there is no "vdev", 0 then.
 */
static bool values(char *arguments, const char *const *names, uint64_t *numbers, size_t n)
{
	char *f[16];
	size_t n_fields = log_split(arguments, ' ', f, 16), found = 0;

	numbers[0] = 0;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i + 1 < n_fields; i += 2)
			if (strcmp(f[i], names[k]) == 0 && log_u64(f[i + 1], &numbers[k])) {
				found += k > 0;
				break;
			}
	return found == n - 1;
}

static uint32_t thread_of(struct log *log, const struct record *r)
{
	uint32_t location;

	if (r->tid)
		return log_thread(log, 0, r->tid, "qemu");
	location = log_known(log, 'x', "", 0);
	if (location != ETA_NONE)
		return location;
	location = log_named_thread(log, "qemu", "", "qemu");
	return location != ETA_NONE && log_remember(log, 'x', "", 0, location) ? location
									       : ETA_NONE;
}

static int device_of(struct log *log, uint64_t vdev, struct log_device *device)
{
	char name[64];

	if (vdev)
		snprintf(name, sizeof(name), ARCHIVE_QEMU_DISK " 0x%llx", (unsigned long long)vdev);
	else
		snprintf(name, sizeof(name), ARCHIVE_QEMU_DISK);
	return log_device(log, 0, name, device);
}

static int begin(struct log *log, const struct record *r, enum eta_io_mode mode)
{
	static const char *const names[] = { "vdev", "req", "sector", "nsectors" };
	uint64_t v[4];
	struct log_block block = { .time_ns = r->time_ns, .mode = mode };
	int rc;

	if (!values(r->arguments, names, v, 4) || v[3] > UINT32_MAX ||
	    !log_block_at(&block, v[2], v[3] * 512))
		return log_bad(log, "%s without req, sector and nsectors", r->event);
	block.key = v[1];
	block.location = thread_of(log, r);
	rc = block.location == ETA_NONE ? -ENOMEM : device_of(log, v[0], &block.device);
	return rc ? rc : log_block_queue(log, &block);
}

static int complete(struct log *log, const struct record *r)
{
	static const char *const names[] = { "vdev", "req", "status" };
	uint64_t v[3];
	struct log_device device;
	int rc;

	if (!values(r->arguments, names, v, 3))
		return log_bad(log, "%s without req and status", r->event);
	rc = device_of(log, v[0], &device);
	if (rc)
		return rc;
	rc = log_block_complete_key(log, &device, v[1], r->time_ns, v[2] == 0);
	/* nothing is logged where a guest's flush begins */
	return rc == 0 ? log_pass(log) : rc < 0 ? rc : 0;
}

static int parse(struct log *log, void *state, char *line)
{
	struct record r;

	(void)state;
	if (is_request(line))
		return log_bad(log, "no time (run QEMU with -msg timestamp=on)");
	/* what else QEMU and its -d options say goes to the same file */
	if (*line < '0' || *line > '9' || strncmp(line, "0x", 2) == 0)
		return log_pass(log);
	if (!split(line, &r))
		return log_bad(log, "neither TID@SECONDS:EVENT nor DATE EVENT");
	if (strcmp(r.event, "virtio_blk_handle_read") == 0)
		return begin(log, &r, ETA_IO_READ);
	if (strcmp(r.event, "virtio_blk_handle_write") == 0)
		return begin(log, &r, ETA_IO_WRITE);
	if (strcmp(r.event, "virtio_blk_req_complete") == 0)
		return complete(log, &r);
	return log_pass(log);
}

static int qemu_open(struct eta_trace *trace)
{
	return log_read_lines(trace, parse, NULL, "CLOCK_REALTIME");
}

LOG_SOURCE(qemu, "log of QEMU's -trace 'virtio_blk_*'");
