/* Two guests and their host, in one score: layers, and blame that crosses machines. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "guest-trace.h"
#include "score-trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/machines.h"

static const struct thread_score *reader_of(const struct analysis *a, const char *host)
{
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (strcmp(location_host(a->defs, a->threads[i].location), host) == 0 &&
		    a->threads[i].operations)
			return &a->threads[i];
	return NULL;
}

/* What is the same whatever the order of the inputs, as a text. */
static void result_of(struct eta_trace *t, char *text, size_t size)
{
	struct analysis *a = analyse(t, &score_by_default);

	text[0] = '\0';
	for (const char *host = "AB"; *host; host++) {
		const char name[] = { *host, '\0' };
		const struct thread_score *r = reader_of(a, name);

		if (!r)
			continue;
		snprintf(text + strlen(text), size - strlen(text), "%s %lu in I/O, lost %ld:", name,
			 (unsigned long)r->io_ns, (long)r->slowdown.interference_ns);
		for (uint32_t i = 0; i < r->n_blame; i++)
			snprintf(text + strlen(text), size - strlen(text), " %s tid %u %ld",
				 r->blame[i].location == ETA_NONE
					 ? "?"
					 : location_host(a->defs, r->blame[i].location),
				 r->blame[i].tid, (long)r->blame[i].ns);
		for (int l = 0; l < ETA_N_LEVELS; l++)
			snprintf(text + strlen(text), size - strlen(text), " %lu",
				 (unsigned long)r->host_ns[l]);
		snprintf(text + strlen(text), size - strlen(text), "\n");
	}
	analysis_free(a);
}

static void blame_crosses_machines(void **state)
{
	struct eta_trace *t = guests_merged("hAB");
	struct analysis *a = analyse(t, &score_by_default);
	const struct thread_score *victim = reader_of(a, "A");
	uint64_t host_ns = 0, sum_ns = 0;

	(void)state;
	assert_non_null(victim);
	/* half of its reads took 1.8 ms more, behind the other guest's */
	assert_true(victim->slowdown.interference_ns > 40000000);
	assert_string_equal(victim->verdict.level, "block");
	assert_true(victim->n_blame > 0);
	assert_string_equal(location_host(a->defs, victim->blame[0].location), "B");
	assert_string_equal(a->defs->locations[victim->blame[0].location].name, "reader tid 8");
	assert_true(victim->blame[0].ns * 10 > (int64_t)victim->slowed_ns * 9);
	/* QEMU's calls are parts of the guests', not rows beside them */
	assert_null(reader_of(a, "host"));
	for (int c = 0; c < N_CELLS; c++)
		sum_ns += victim->time_ns[c];
	assert_int_equal(sum_ns, victim->io_ns);
	for (int l = 0; l < ETA_N_LEVELS; l++)
		host_ns += victim->host_ns[l];
	/* its waits are the host's and virtio: all from 20 us after the request's begin to its end
	 */
	for (unsigned i = 0; i < GUEST_READS; i++)
		host_ns -= 180000 + guest_device_ns(i, 0);
	assert_in_range(host_ns + GUEST_READS * 1000, 0, 2 * GUEST_READS * 1000);
	/* of it 20 us in each call are the host's own */
	assert_in_range(victim->host_ns[ETA_LEVEL_VFS], GUEST_READS * 9000, GUEST_READS * 11000);
	assert_true(victim->host_ns[ETA_LEVEL_BLOCK] > victim->host_ns[ETA_LEVEL_VFS]);
	finish(t, a);
}

/* One that is not traced inside is its QEMU. */
static void a_guest_that_is_not_traced(void **state)
{
	struct eta_trace *t = guests_merged("hA");
	struct analysis *a = analyse(t, &score_by_default);
	const struct thread_score *victim = reader_of(a, "A");
	uint32_t process;

	(void)state;
	assert_non_null(victim);
	assert_true(victim->n_blame > 0);
	process = a->defs->locations[victim->blame[0].location].process;
	assert_int_equal(a->defs->processes[process].pid, 60);
	assert_string_equal(location_host(a->defs, victim->blame[0].location), "host");
	finish(t, a);
}

/* While the host runs B's CPU, A's reader has none, inside of its calls and behind a request. */
static void a_cpu_that_others_have(void **state)
{
	static const struct {
		const char *order;
		bool known;
	} cases[] = { { "cA", true },  { "Ac", true },	{ "cAB", true }, { "eA", true },
		      { "dA", false }, { "nA", false }, { "pA", true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eta_trace *t = guests_merged(cases[i].order);
		struct analysis *a = analyse(t, &score_by_default);
		const struct thread_score *victim = reader_of(a, "A");
		uint64_t taken = victim->time_ns[CELL_CPU_STEAL], sum_ns = 0;
		uint32_t process;

		/* 20 us in each second call, and 70 us behind its request's */
		if (cases[i].known)
			assert_in_range(taken + 30 * 2000, 30 * 88000, 30 * 92000 + 60 * 2000);
		else
			assert_int_equal(taken, 0);
		for (int c = 0; c < N_CELLS; c++)
			sum_ns += victim->time_ns[c];
		assert_int_equal(sum_ns, victim->io_ns);
		if (cases[i].known) {
			assert_int_equal(victim->host_ns[ETA_LEVEL_CPU], taken);
			assert_true(victim->slowdown.interference_cell_ns[CELL_CPU_STEAL] * 10 >
				    victim->slowdown.interference_ns * 9);
			process = a->defs->locations[victim->blame[0].location].process;
			assert_int_equal(a->defs->processes[process].pid, 60);
			assert_int_equal(victim->blame[0].tid, 65);
		}
		finish(t, a);
	}
}

static void any_order_and_an_archive(void **state)
{
	static const char *const orders[] = { "hAB", "hBA", "AhB", "ABh", "BhA", "BAh",
					      "cAB", "cBA", "AcB", "ABc", "BcA", "BAc" };
	char folder[] = "guest-XXXXXX", anchor[64], command[64], first[4096], other[4096];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(anchor, sizeof(anchor), "%s/all.otf2", folder);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		struct eta_trace *t = guests_merged(orders[i]), *read;

		result_of(t, i % 6 ? other : first, sizeof(first));
		assert_string_equal(i % 6 ? other : first, first);
		assert_int_equal(eta_write_otf2(t, anchor, NULL, NULL), 0);
		eta_close(t);
		assert_int_equal(eta_open(anchor, NULL, &read), 0);
		result_of(read, other, sizeof(other));
		assert_string_equal(other, first);
		eta_close(read);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blame_crosses_machines),
		cmocka_unit_test(a_guest_that_is_not_traced),
		cmocka_unit_test(a_cpu_that_others_have),
		cmocka_unit_test(any_order_and_an_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
