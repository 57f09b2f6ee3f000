/* Cause: memory that a program uses again was swapped out, by a limit or by others. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <sys/mman.h>

#define MEMORY_BYTES (40 << 20)
#define STEP 67 /* pages from one visit to the next: no readahead helps */

static void visitor(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	size_t pages = MEMORY_BYTES / c->bytes;
	char *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%d bytes of memory", MEMORY_BYTES);
	madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < c->operations; i++)
		for (size_t page = 0; page < pages; page++)
			memory[page * STEP % pages * c->bytes] = (char)i;
	munmap(memory, MEMORY_BYTES);
}

int main(int argc, char **argv)
{
	struct cause swapped = {
		.name = "swapped",
		.what = "Each thread writes to every page of 40 MiB of memory, OPERATIONS times. "
			"PATH is not used.",
		.threads = 1,
		.operations = 8,
		.bytes = 4096,
		.thread = visitor,
	};

	return cause_run(&swapped, argc, argv);
}
