/* The end of a run in words. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/eta.h"
#include "eta-ext/base/plural.h"
#include "kernelio.h"

/* One in so many leaves the sums as they are. */
#define GAPS_PER_OPERATIONS 1000

static const struct {
	size_t at;
	enum { NONE, NOTE, WARN, GAP } said;
	const char *end;
} sums[] = {
#define X(name, what, said, end) { offsetof(struct kernelio_totals, name), said, end },
	KERNELIO_TOTALS(X)
#undef X
};

/* What the kernel does not report (sci-kernel(1), LOSS) cannot be avoided; a few do not matter. */
static void print_gap(unsigned long long n, const char *end, unsigned long long operations,
		      bool all)
{
	if (n * GAPS_PER_OPERATIONS >= operations)
		eta_warn("kernel: %llu %s; a run on a less busy machine has fewer", n, end);
	else if (all)
		eta_note("kernel: %llu %s; too few to matter", n, end);
}

static void print_totals(const struct kernelio_counts *counts, unsigned long long operations)
{
	const struct kernelio_totals *t = &counts->totals;

	eta_note("kernel: %llu operation%s (%llu open at the end), %llu bio%s (%llu open), %llu "
		 "lost",
		 operations, plural(operations), (unsigned long long)counts->open_ops,
		 (unsigned long long)counts->recorded[ETA_RECORD_BIO],
		 plural(counts->recorded[ETA_RECORD_BIO]), (unsigned long long)counts->open_bios,
		 (unsigned long long)counts->lost_all);
	eta_note(
		"kernel: system calls read %llu and wrote %llu bytes; block: read %llu, written by "
		"the threads %llu, for them by others %llu, dirty at the end %llu bytes",
		(unsigned long long)t->read_bytes, (unsigned long long)t->written_bytes,
		(unsigned long long)t->bio_read_bytes, (unsigned long long)t->bio_written_bytes,
		(unsigned long long)t->writeback_bytes, (unsigned long long)counts->dirty_bytes);
}

void kernelio_counts_print(const struct kernelio_counts *counts, bool all)
{
	const struct kernelio_totals *t = &counts->totals;
	unsigned long long lost = counts->lost_all;
	unsigned long long operations =
		counts->recorded[ETA_RECORD_KERNEL_OP] + counts->recorded[ETA_RECORD_ASYNC_OP];

	all = all || lost || !counts->exact;
	if (all)
		print_totals(counts, operations);
	if (lost > counts->refused)
		eta_warn("kernel: %llu records lost, the rings were full or the disk was (larger "
			 "--ring): %s",
			 lost, counts->lost_where);
	else if (lost)
		eta_warn("kernel: %llu records were not stored, since the recording had the size "
			 "of --max-size: %s",
			 lost, counts->lost_where);
	if (all && counts->overwritten_all)
		eta_note("kernel: %llu records before the last part were overwritten (--last)",
			 (unsigned long long)counts->overwritten_all);
	if (all && counts->paused_ns)
		eta_note("kernel: paused for %.3f s", (double)counts->paused_ns / 1e9);
	/* what is missing for them is among the sums below: a bio without its end, a switch */
	if (all && counts->probes_missed)
		eta_note("kernel: %llu events came in the middle of the probe for them, and were "
			 "not recorded",
			 (unsigned long long)counts->probes_missed);
	if (!counts->exact)
		eta_warn(
			"kernel: produced records differ from recorded + lost ones: counts are not "
			"to be trusted");
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		const unsigned long long n = *(const uint64_t *)((const char *)t + sums[i].at);

		if (n && sums[i].said == WARN)
			eta_warn("kernel: %llu %s", n, sums[i].end);
		else if (n && all && sums[i].said == NOTE)
			eta_note("kernel: %llu %s", n, sums[i].end);
		else if (n && sums[i].said == GAP)
			print_gap(n, sums[i].end, operations, all);
	}
}
