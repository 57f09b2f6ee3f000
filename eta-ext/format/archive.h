/* Names and numbers in OTF2 archives that their reader and their writer share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_ARCHIVE_H
#define ETA_ARCHIVE_H

#include <otf2/otf2.h>

#include "otf2-flags.h"

/* X(ID, name, OTF2 type, description): attributes of events, in the order of their ids. */
#define ARCHIVE_ATTRIBUTES(X)                                                                      \
	X(SIZE, "size", UINT64, "bytes requested")                                                 \
	X(OFFSET, "offset", INT64,                                                                 \
	  "bytes from the start of the file; of a block request, of the "                          \
	  "device")                                                                                \
	X(INODE, "inode", UINT64, "inode number of the file")                                      \
	X(DEV, "dev", UINT32, "device of the file system, major << 20 | minor")                    \
	X(RET, "ret", INT64,                                                                       \
	  "value returned, where it is not the size asked for; the least "                         \
	  "number: unknown")                                                                       \
	X(ERRNO, "errno", UINT32, "error number of a failed call")                                 \
	X(CALLER, "caller", UINT64, "return address of the call")                                  \
	X(STACK, "stack", UINT64, "call stack: N of STACK::N of the location group")               \
	X(WHO, "who", UINT64,                                                                      \
	  "thread id of the lock's holder, of the task that had the CPU, or of "                   \
	  "who had a request ahead")                                                               \
	X(END, "end", UINT64, "timestamp of the block request's completion")                       \
	X(OWNER, "owner", UINT32, "thread id of who dirtied the pages of the block request")       \
	X(DIRECT, "direct", UINT8, "1: O_DIRECT")                                                  \
	X(TRUNCATED, "truncated", UINT8, "1: the trace ended inside the region")                   \
	X(PAUSE, "pause", UINT64, "ns that dirty throttling made the thread pause")                \
	X(LOWER, "lower", UINT8,                                                                   \
	  "1: part of a block request to a stacked device, which is in the trace, too")            \
	X(SERVES, "serves", UINT8, "1: done by a host for a guest, and part of what that did")     \
	X(OF_HOST, "of_host", UINT8, "1: in a guest's wait, what its host did meanwhile")          \
	X(WHO_LOCATION, "who_location", UINT64, "who, as a location: of another machine")          \
	X(DEVICE_LOCATION, "device_location", UINT64, "the block device that was waited for")      \
	X(OWNER_LOCATION, "owner_location", UINT64, "owner, as a location: of another machine")    \
	X(RUN, "run", UINT64, "the region stands for so many equal ones, one after the other")     \
	X(RUN_PLACE, "run_place", UINT64, "where in the location's file of runs they are")         \
	X(RUN_NS, "run_ns", UINT64, "the sum of their durations")                                  \
	X(RUN_MIN_NS, "run_min_ns", UINT64, "the shortest of them")                                \
	X(RUN_MAX_NS, "run_max_ns", UINT64, "the longest of them")                                 \
	X(RUN_BYTES, "run_bytes", UINT64, "the bytes that they transferred together")

enum archive_attribute {
#define X(id, name, type, description) ARCHIVE_##id,
	ARCHIVE_ATTRIBUTES(X)
#undef X
		ARCHIVE_N_ATTRIBUTES,
};

/* From here on: in archives with guests only. */
#define ARCHIVE_FIRST_OF_GUESTS ARCHIVE_SERVES
/* From here on: in archives with runs only. */
#define ARCHIVE_FIRST_OF_RUNS ARCHIVE_RUN

/* Stands in `ret` where the size is known and the returned value is not. */
#define ARCHIVE_RET_UNKNOWN INT64_MIN

/*
 * A Leave without `ret` returned the `size` of its Enter. Both sides keep the sizes of this many
 * nested regions; deeper ones always carry their `ret`.
 */
#define ARCHIVE_DEPTH 256
#define ARCHIVE_NO_SIZE UINT64_MAX

#define ARCHIVE_CREATOR "eztrace-sci"
/*
 * Trace property: counts the changes of what is in an archive that a reader of before would
 * misread. Archives of 0.1 have none, and are of version 1, too.
 */
#define ARCHIVE_VERSION_PROPERTY "SCI::ARCHIVE_VERSION"
#define ARCHIVE_VERSION 2	/* with links (ARCHIVE_INPUT) or runs (ARCHIVE_RUN) */
#define ARCHIVE_WHOLE_VERSION 1 /* all others */
#define ARCHIVE_LEVEL_GROUP "level:"
#define ARCHIVE_KERNEL_GROUP "kernel"
#define ARCHIVE_DEVICE_CLASS "block device"
#define ARCHIVE_HOST_CLASS "node"
#define ARCHIVE_GUEST_CLASS "virtual machine"

#define ARCHIVE_PID "PID"		 /* of a location and of a location group */
#define ARCHIVE_PPID "PPID"		 /* of a location group */
#define ARCHIVE_PARENT_TID "PARENT_TID"	 /* the same: the thread that forked it */
#define ARCHIVE_CGROUP "CGROUP"		 /* the same: id of its control group */
#define ARCHIVE_NS_PID "NS_PID"		 /* the same: its number in its own pid namespace */
#define ARCHIVE_PID_NS "PID_NS"		 /* the same: the inode of that namespace */
#define ARCHIVE_BOOT "BOOT"		 /* of a host: its boot id */
#define ARCHIVE_MODULE "MODULE::"	 /* of a location group, a number behind it */
#define ARCHIVE_STACK_PROPERTY "STACK::" /* the same */
#define ARCHIVE_TID "TID"		 /* of a location */
#define ARCHIVE_NS_TID "NS_TID"		 /* the same: in its own pid namespace, where it differs */
#define ARCHIVE_TRACK "TRACK"		 /* of a location: see struct eta_location */
#define ARCHIVE_TRACK_BEFORE "LANE"	 /* the same in archives of earlier versions */
#define ARCHIVE_UNTRACED "UNTRACED"	 /* the same: 1, see enum eta_location_kind */
#define ARCHIVE_START "START"		 /* of a location and of a location group */
#define ARCHIVE_EXIT "EXIT"		 /* of a location */
#define ARCHIVE_DEV_PROPERTY "DEV" /* of a device's location, and of the file behind its handle */
/*
 * An archive of links has files of events of other archives. Of a location: which of them it is of,
 * from 1. Of the first node, that number behind it: what is added to the attribute `stack`, the id
 * of that archive, and its anchor below the folder of this one's, which none has whose files are
 * copies. What one of them has as `match` is here match * their number + its number - 1.
 */
#define ARCHIVE_INPUT "INPUT"
#define ARCHIVE_INPUT_PROPERTY "INPUT::"
#define ARCHIVE_FILE_DEV "dev"	   /* of a file */
#define ARCHIVE_FILE_INODE "inode" /* of a file */
#define ARCHIVE_FILE_SYSTEM "fs"   /* of a file */
#define ARCHIVE_FILE_MOUNT "mount" /* of a file on a network file system */
#define ARCHIVE_FILE_NAMES "names" /* of a file that had several, one of which it has here */

/* Trace properties: what the tracers lost; threads of one input without their like in another. */
#define ARCHIVE_LOST "SCI::LOST_EVENTS"
#define ARCHIVE_OVERWRITTEN "SCI::RECORDS_OVERWRITTEN" /* by --last; not lost */
#define ARCHIVE_UNMATCHED "SCI::THREADS_UNMATCHED"

/*
 * Trace property, a number of the guest's behind it: its host name, and the virtual machine that it
 * is the guest of (JSON).
 */
#define ARCHIVE_GUEST "SCI::GUEST_"

/* Trace property: CLOCK_REALTIME minus CLOCK_MONOTONIC in ns, decimal. */
#define ARCHIVE_REALTIME_OFFSET "SCI::REALTIME_OFFSET"
/* What the names of disks begin with that a log of QEMU's shows to its guest. */
#define ARCHIVE_QEMU_DISK "virtio-blk"

/*
 * Trace property of a node of a job: how its CLOCK_MONOTONIC goes beside that of another node.
 * "BOOT UNTIL; ASKED HEARD CAME WENT; ...": the boot id of that node (of the own one: it is that),
 * when the recording ended, and of each message from when to when it was under way by the own
 * clock, and at the other node by its clock, in ns.
 */
#define ARCHIVE_READINGS "SCI::MONOTONIC_READINGS"

/*
 * Trace property of several machines: by how much their clocks may differ, in ns, or "unknown". It
 * comes from the error of each machine's wall clock (SCI::REALTIME_ERROR).
 */
#define ARCHIVE_CLOCK_ERROR "SCI::CLOCK_ERROR"

/*
 * Trace property of the tracer under EZTrace: "changes" where an Enter of a call without `caller`
 * has that of the one of the same region before it on its location.
 */
#define ARCHIVE_CALLERS "SCI::CALLERS"
#define ARCHIVE_CALLERS_CHANGES "changes"

/*
 * libotf2 prints its errors itself. From the first call of this on they are kept per thread, for
 * the one message of ours that names the file.
 */
void archive_errors_catch(void);
/* What libotf2 said first in this thread since the last call; "" for nothing. */
const char *archive_error_take(OTF2_ErrorCode code);

#endif
