/* Region names split into level, reason and function. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/levels.h"
#include "unit.h"

static const struct {
	const char *name, *rest;
	enum eta_level level;
	enum eta_reason reason;
} cases[] = {
	{ "write", "write", ETA_LEVEL_NONE, ETA_REASON_NONE },
	{ "vfs:sys_write", "sys_write", ETA_LEVEL_VFS, ETA_REASON_NONE },
	{ "fs:inode lock", "inode lock", ETA_LEVEL_FS, ETA_REASON_INODE_LOCK },
	{ "fs:other wait", "other wait", ETA_LEVEL_FS, ETA_REASON_OTHER_WAIT },
	{ "cpu:run queue", "run queue", ETA_LEVEL_CPU, ETA_REASON_RUN_QUEUE },
	{ "cpu:wake-up", "wake-up", ETA_LEVEL_CPU, ETA_REASON_WAKE_UP },
	{ "std::vector", "std::vector", ETA_LEVEL_NONE, ETA_REASON_NONE },
	{ "vf:x", "vf:x", ETA_LEVEL_NONE, ETA_REASON_NONE },
};

static void splits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum eta_level level;
		enum eta_reason reason;

		assert_string_equal(eta_region_name_split(cases[i].name, &level, &reason),
				    cases[i].rest);
		assert_int_equal(level, cases[i].level);
		assert_int_equal(reason, cases[i].reason);
	}
}

static void names_are_total(void **state)
{
	(void)state;
	assert_string_equal(eta_level_name(ETA_N_LEVELS), "?");
	assert_string_equal(eta_reason_name((enum eta_reason)999), "?");
	assert_string_equal(eta_level_name(ETA_LEVEL_PAGECACHE), "pagecache");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits),
		cmocka_unit_test(names_are_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
