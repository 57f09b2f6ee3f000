/* What libotf2 itself takes of each call in an archive: the floor of the sink for EZTrace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <otf2/otf2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "eta-ext/format/otf2-memory.h"

/* As the sink has them: the least chunk there is, and a call's region, file and address. */
#define CHUNK_BYTES ((uint64_t)256 << 10)
#define REGION 41
#define HANDLE 1
#define CALLER 0x55d3a81c7e42

enum { IO = 1, OFFSET = 2, CALLERS = 4 };

static const struct {
	const char *name;
	unsigned parts;
} rows[] = {
	{ "Enter, Leave", 0 },
	{ "+ IoOperationBegin, Complete", IO },
	{ "+ attribute offset", IO | OFFSET },
	{ "+ attribute caller", IO | OFFSET | CALLERS },
};

static OTF2_FlushType before_flush(void *arg, OTF2_FileType type, OTF2_LocationRef location,
				   void *caller, bool final)
{
	(void)arg, (void)type, (void)location, (void)caller, (void) final;
	return OTF2_FLUSH;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add(OTF2_AttributeList *list, OTF2_AttributeRef id, OTF2_Type type, uint64_t value)
{
	OTF2_AttributeList_AddAttribute(list, id, type, (OTF2_AttributeValue){ .uint64 = value });
}

/* CPU time in ns of N calls on location LOCATION of ARCHIVE. */
static uint64_t run(OTF2_Archive *archive, OTF2_LocationRef location, unsigned parts, long n)
{
	OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location);
	OTF2_AttributeList *list = OTF2_AttributeList_New();
	OTF2_ErrorCode code = OTF2_SUCCESS;
	OTF2_TimeStamp time = 0;
	uint64_t start_ns;

	if (!writer || !list)
		errx(1, "libotf2 gives no writer");
	start_ns = cpu_ns();
	for (long i = 0; i < n; i++) {
		uint8_t match = (uint8_t)i;

		time += 100;
		if (parts & OFFSET)
			add(list, 1, OTF2_TYPE_INT64, 0);
		if (parts & CALLERS)
			add(list, 6, OTF2_TYPE_UINT64, CALLER);
		code |= OTF2_EvtWriter_Enter(writer, list, time, REGION);
		if (parts & IO)
			code |= OTF2_EvtWriter_IoOperationBegin(
				writer, NULL, time, HANDLE, OTF2_IO_OPERATION_MODE_WRITE,
				OTF2_IO_OPERATION_FLAG_NONE, 1, match);
		time += 500;
		if (parts & IO)
			code |= OTF2_EvtWriter_IoOperationComplete(writer, NULL, time, HANDLE, 1,
								   match);
		code |= OTF2_EvtWriter_Leave(writer, list, time, REGION);
	}
	start_ns = cpu_ns() - start_ns;
	if (code != OTF2_SUCCESS)
		errx(1, "libotf2 wrote no events");
	OTF2_AttributeList_Delete(list);
	OTF2_Archive_CloseEvtWriter(archive, writer);
	return start_ns;
}

/* otf2 DIR N: prints the CPU time of a call in ns, by how much of it is written. */
int main(int argc, char **argv)
{
	static const OTF2_FlushCallbacks callbacks = { .otf2_pre_flush = before_flush };
	const long n = argc == 3 ? atol(argv[2]) : 0;
	OTF2_Archive *archive;

	if (n < 1)
		errx(2, "usage: otf2 DIR N");
	archive = OTF2_Archive_Open(argv[1], "floor", OTF2_FILEMODE_WRITE, CHUNK_BYTES, CHUNK_BYTES,
				    OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!archive)
		errx(1, "%s: no archive can be made there", argv[1]);
	otf2_memory_bound(archive, 1);
	if (OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL) != OTF2_SUCCESS ||
	    OTF2_Archive_SetSerialCollectiveCallbacks(archive) != OTF2_SUCCESS ||
	    OTF2_Archive_OpenEvtFiles(archive) != OTF2_SUCCESS)
		errx(1, "%s: the archive takes no events", argv[1]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		printf("%s:%.1f\n", rows[i].name,
		       (double)run(archive, i, rows[i].parts, n) / (double)n);
	OTF2_Archive_CloseEvtFiles(archive);
	OTF2_Archive_Close(archive);
	return 0;
}
