/* Writes and reads files through libaio's calls, reading the ring of what is over itself; for the
 * tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* EVENTS: as QEMU asks for; the ring has more than twice that many, in 17 pages */
enum { BATCH = 4, BYTES = 4096, EVENTS = 1024 };

/* As the kernel lays it out where io_setup says that the context is. */
struct ring {
	uint32_t id, events, head, tail, magic, compat, incompat, header_bytes;
	struct io_event event[];
};

static aio_context_t context;
static struct iocb *requests; /* each is used once: none ends because its address is used again */

static void submit(int fd, uint16_t opcode, void *buffer, long long offset)
{
	struct iocb *list[BATCH];

	for (int i = 0; i < BATCH; i++) {
		list[i] = requests++;
		*list[i] = (struct iocb){ .aio_lio_opcode = opcode,
					  .aio_fildes = (uint32_t)fd,
					  .aio_buf = (uintptr_t)buffer,
					  .aio_nbytes = BYTES,
					  .aio_offset = offset + i * BYTES };
	}
	if (syscall(SYS_io_submit, context, (long)BATCH, list) != BATCH)
		err(1, "io_submit");
}

static void reap(void)
{
	struct ring *ring = (void *)context;

	for (int i = 0; i < BATCH; i++) {
		while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head)
			sched_yield();
		if (ring->event[ring->head].res != BYTES)
			errx(1, "a transfer has failed");
		__atomic_store_n(&ring->head, (ring->head + 1) % ring->events, __ATOMIC_RELEASE);
	}
}

/* own-ring FILE BATCHES [direct]: writes the file, then reads it. 77 where there is no such
 * interface. */
int main(int argc, char **argv)
{
	int batches = argc > 2 ? atoi(argv[2]) : 0, flags = argc > 3 ? O_DIRECT : 0, fd;
	void *buffer;

	if (batches < 1)
		errx(2, "usage: own-ring FILE BATCHES [direct]");
	if (syscall(SYS_io_setup, (long)EVENTS, &context) != 0)
		return 77;
	requests = calloc(2 * (size_t)batches * BATCH, sizeof(*requests));
	fd = open(argv[1], O_CREAT | O_TRUNC | O_RDWR | flags, 0644);
	if (fd < 0 || !requests || posix_memalign(&buffer, BYTES, BYTES) != 0)
		err(1, "%s", argv[1]);
	memset(buffer, 'x', BYTES);
	for (int i = 0; i < 2 * batches; i++) {
		submit(fd, i < batches ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD, buffer,
		       (long long)(i % batches) * BATCH * BYTES);
		reap();
	}
	close(fd);
	return 0;
}
