/* Source: QEMU's log of -trace 'virtio_blk_*', the requests of a guest as the hypervisor sees them.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "log.h"

/* "TID@SECONDS.MICROSECONDS:EVENT NAME VALUE NAME VALUE..." */
struct record {
	uint32_t tid;
	uint64_t time_ns;
	char *event, *arguments;
};

static bool split(char *line, struct record *r)
{
	char *at = strchr(line, '@'), *colon = at ? strchr(at, ':') : NULL;

	if (!colon)
		return false;
	*at++ = '\0';
	*colon++ = '\0';
	r->event = colon;
	r->arguments = colon + strcspn(colon, " ");
	if (*r->arguments)
		*r->arguments++ = '\0';
	return *r->event && log_u32(line, &r->tid) && log_time(at, &r->time_ns);
}

static bool qemu_line(char *line)
{
	struct record r;

	return split(line, &r);
}

static bool qemu_probe(const char *path, bool directory, const unsigned char *head,
		       size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, qemu_line);
}

/* The number behind each of N NAMES; false where one is missing. */
static bool values(char *arguments, const char *const *names, uint64_t *numbers, size_t n)
{
	char *f[16];
	size_t n_fields = log_split(arguments, ' ', f, 16), found = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i + 1 < n_fields; i += 2)
			if (strcmp(f[i], names[k]) == 0 && log_u64(f[i + 1], &numbers[k])) {
				found++;
				break;
			}
	return found == n;
}

static int device_of(struct log *log, uint64_t vdev, struct log_device *device)
{
	char name[64];

	snprintf(name, sizeof(name), "virtio-blk 0x%llx", (unsigned long long)vdev);
	return log_device(log, 0, name, device);
}

static int begin(struct log *log, const struct record *r, enum eta_io_mode mode)
{
	static const char *const names[] = { "vdev", "req", "sector", "nsectors" };
	uint64_t v[4];
	struct log_block block = { .time_ns = r->time_ns, .mode = mode };
	int rc;

	if (!values(r->arguments, names, v, 4) || v[3] > UINT32_MAX || v[2] > INT64_MAX / 512)
		return log_bad(log, "%s without vdev, req, sector and nsectors", r->event);
	block.key = v[1];
	block.sector = v[2];
	block.sectors = (uint32_t)v[3];
	block.location = log_thread(log, 0, r->tid, "qemu");
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
		return log_bad(log, "%s without vdev, req and status", r->event);
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
	if (!split(line, &r))
		return log_bad(log, "not TID@SECONDS:EVENT");
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
