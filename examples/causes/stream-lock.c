/* Cause: threads write through one stdio stream, and each fwrite holds the stream's lock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static FILE *stream;

static void begin(struct cause *c)
{
	stream = fopen(c->path, "w");
	if (!stream)
		err(1, "%s", c->path);
}

static void end(struct cause *c)
{
	if (fclose(stream))
		err(1, "%s", c->path);
}

static void writer(struct cause_thread *t)
{
	for (unsigned i = 0; i < t->cause->operations; i++)
		if (fwrite(t->block, t->cause->bytes, 1, stream) != 1)
			err(1, "%s", t->cause->path);
}

int main(int argc, char **argv)
{
	struct cause stream_lock = {
		.name = "stream-lock",
		.what = "Each thread calls fwrite on the one stream of PATH.",
		.threads = 8,
		.operations = 250,
		.bytes = 1 << 18,
		.begin = begin,
		.end = end,
		.thread = writer,
	};

	return cause_run(&stream_lock, argc, argv);
}
