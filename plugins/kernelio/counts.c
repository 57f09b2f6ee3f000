/* The end of a run in words. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/eta.h"
#include "plugins/kernelio/kernelio.h"

void kernelio_counts_print(const struct kernelio_counts *counts)
{
	const struct kernelio_totals *t = &counts->totals;
	unsigned long long lost = counts->lost_all;

	eta_note("kernel: %llu operations (%llu open at the end), %llu bios (%llu open), %llu lost",
		 (unsigned long long)(counts->recorded[ETA_RECORD_KERNEL_OP] +
				      counts->recorded[ETA_RECORD_ASYNC_OP]),
		 (unsigned long long)counts->open_ops,
		 (unsigned long long)counts->recorded[ETA_RECORD_BIO],
		 (unsigned long long)counts->open_bios, lost);
	eta_note(
		"kernel: system calls read %llu and wrote %llu bytes; block: read %llu, written by "
		"the threads %llu, for them by others %llu, dirty at the end %llu bytes",
		(unsigned long long)t->read_bytes, (unsigned long long)t->written_bytes,
		(unsigned long long)t->bio_read_bytes, (unsigned long long)t->bio_written_bytes,
		(unsigned long long)t->writeback_bytes, (unsigned long long)counts->dirty_bytes);
	if (lost)
		eta_warn("kernel: %llu records lost, the rings were full or the disk was (larger "
			 "--ring): %s",
			 lost, counts->lost_where);
	if (t->filtered_calls)
		eta_note("kernel: %llu system calls left out by the filters",
			 (unsigned long long)t->filtered_calls);
	if (counts->paused_ns)
		eta_note("kernel: paused for %.3f s", (double)counts->paused_ns / 1e9);
	if (!counts->exact)
		eta_warn(
			"kernel: produced records differ from recorded + lost ones: counts are not "
			"to be trusted");
	if (t->spans_lost)
		eta_warn("kernel: %llu spans beyond what an operation keeps",
			 (unsigned long long)t->spans_lost);
	if (t->returns_missed)
		eta_warn("kernel: %llu functions not seen to return: their spans are missing",
			 (unsigned long long)t->returns_missed);
	if (t->switches_missed)
		eta_warn("kernel: %llu context switches not told of: the waits around them are "
			 "missing",
			 (unsigned long long)t->switches_missed);
	if (t->completions_missed)
		eta_warn("kernel: %llu bios without an end: their completion was not told of",
			 (unsigned long long)t->completions_missed);
	if (t->tasks_missed)
		eta_warn("kernel: %llu threads not followed: too many at once (larger --threads)",
			 (unsigned long long)t->tasks_missed);
	if (t->faults_failed)
		eta_note("kernel: %llu page faults that read a mapped file failed: no operations",
			 (unsigned long long)t->faults_failed);
	if (t->asyncs_missed)
		eta_warn("kernel: %llu asynchronous operations not followed: too many under way",
			 (unsigned long long)t->asyncs_missed);
	if (t->bios_missed)
		eta_warn("kernel: %llu bios not followed: too many in flight",
			 (unsigned long long)t->bios_missed);
	if (t->shares_missed)
		eta_warn("kernel: %llu bytes written for others than their owner: too many threads "
			 "in one "
			 "bio",
			 (unsigned long long)t->shares_missed);
	if (t->compat_calls)
		eta_warn("kernel: %llu I/O system calls of 32-bit programs not traced",
			 (unsigned long long)t->compat_calls);
}
