/* What seccomp filters say of the tracer's own system calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/posixio/filter.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* the lower or higher half of argument N */
#define BIG_ENDIAN_HERE (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define LOW(n) LOAD_WORD(4 + 2 * (n) + BIG_ENDIAN_HERE)
#define HIGH(n) LOAD_WORD(5 + 2 * (n)-BIG_ENDIAN_HERE)
#define LOAD_WORD(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * (n))
#define IF(op, k, yes, no) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, yes, no)
#define DO(op, k) BPF_STMT(BPF_ALU | (op) | BPF_K, k)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##action)
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0u
#endif
#define FIRST 7u
#define SECOND UINT64_C(0x1122334455667788)

struct row {
	const char *name;
	struct sock_filter code[12];
	bool allows;
};

/* Asked of getpid, of whose arguments the first is FIRST, the second SECOND, no other
 * known. */
static const struct row rows[] = {
	{ "all", { RETURN(ALLOW) }, true },
	{ "log", { RETURN(LOG) }, true },
	{ "kill", { RETURN(KILL_PROCESS) }, false },
	{ "errno", { RETURN(ERRNO) }, false },
	{ "trap", { RETURN(TRAP) }, false },
	{ "trace", { RETURN(TRACE) }, false },
	{ "listener", { RETURN(USER_NOTIF) }, false },
	{ "data of an action", { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW | 5) }, true },
	{ "number",
	  { LOAD(nr), IF(BPF_JEQ, SYS_getpid, 0, 1), RETURN(ALLOW), RETURN(KILL_PROCESS) },
	  true },
	{ "other number",
	  { LOAD(nr), IF(BPF_JEQ, SYS_getpid + 1, 0, 1), RETURN(ALLOW), RETURN(KILL_PROCESS) },
	  false },
	{ "architecture",
	  { LOAD(arch), IF(BPF_JEQ, ARCH, 1, 0), RETURN(KILL_PROCESS), RETURN(ALLOW) },
	  true },
	{ "range",
	  { LOAD(nr), IF(BPF_JGE, SYS_getpid + 1, 2, 0), IF(BPF_JGT, SYS_getpid - 1, 0, 1),
	    RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "argument", { LOW(0), IF(BPF_JEQ, FIRST, 0, 1), RETURN(ALLOW), RETURN(ERRNO) }, true },
	{ "bits of it", { LOW(0), IF(BPF_JSET, 8, 1, 0), RETURN(ALLOW), RETURN(ERRNO) }, true },
	{ "high half",
	  { HIGH(1), IF(BPF_JEQ, (uint32_t)(SECOND >> 32), 0, 1), RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "unknown, either way", { LOW(2), IF(BPF_JEQ, 1, 0, 0), RETURN(ALLOW) }, true },
	{ "unknown, one way",
	  { LOW(2), IF(BPF_JEQ, 1, 0, 1), RETURN(ALLOW), RETURN(ERRNO) },
	  false },
	{ "unknown, other way",
	  { LOW(2), IF(BPF_JEQ, 1, 1, 0), RETURN(ALLOW), RETURN(ERRNO) },
	  false },
	{ "place of the call",
	  { LOAD(instruction_pointer), IF(BPF_JGT, 0, 0, 1), RETURN(ERRNO), RETURN(ALLOW) },
	  false },
	{ "calculated",
	  { LOW(0), DO(BPF_LSH, 4), DO(BPF_SUB, 12), DO(BPF_AND, 0x7c), DO(BPF_DIV, 4),
	    DO(BPF_XOR, 1), IF(BPF_JEQ, 24, 0, 1), RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "negated",
	  { LOW(0), BPF_STMT(BPF_ALU | BPF_NEG, 0), IF(BPF_JEQ, -FIRST, 0, 1), RETURN(ALLOW),
	    RETURN(ERRNO) },
	  true },
	{ "kept",
	  { LOW(0), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 0),
	    BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_MISC | BPF_TXA, 0),
	    IF(BPF_JEQ, FIRST, 0, 1), RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "compared with another",
	  { BPF_STMT(BPF_LDX | BPF_IMM, FIRST), LOW(0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1), RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "length",
	  { BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), IF(BPF_JEQ, sizeof(struct seccomp_data), 0, 1),
	    RETURN(ALLOW), RETURN(ERRNO) },
	  true },
	{ "jumps", { BPF_STMT(BPF_JMP | BPF_JA, 1), RETURN(ERRNO), RETURN(ALLOW) }, true },
	{ "unknown verdict", { LOW(2), BPF_STMT(BPF_RET | BPF_A, 0) }, false },
	{ "known verdict",
	  { BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0) },
	  true },
};

static unsigned length(const struct row *row)
{
	unsigned n = sizeof(row->code) / sizeof(*row->code);

	while (n > 0 && row->code[n - 1].code == 0 && row->code[n - 1].k == 0)
		n--;
	return n;
}

static struct filter_call asked(void)
{
	struct filter_call call = { .words = { SYS_getpid, ARCH }, .known = 3 };

	filter_argument(&call, 0, FIRST);
	filter_argument(&call, 1, SECOND);
	return call;
}

static void test_rows(void **state)
{
	struct filter_room *room = malloc(filter_room_bytes);
	const struct filter_call call = asked();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (filter_allows(rows[i].code, length(&rows[i]), &call, room) != rows[i].allows)
			fail_msg("%s", rows[i].name);
	free(room);
}

/* In a child: how often getpid gets through the filter of ROW, with one, two, three as arguments.
 */
static void ask_kernel(const struct row *row, volatile int *passed)
{
	struct sock_fprog program = { (unsigned short)length(row),
				      (struct sock_filter *)row->code };

	signal(SIGILL, SIG_DFL); /* cmocka has a handler */
	signal(SIGSYS, SIG_DFL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(1);
	for (long third = 1; third <= 3; third++)
		*passed += syscall(SYS_getpid, (long)FIRST, (long)SECOND, third) > 0;
	__builtin_trap(); /* no system call may be left to end by */
}

/* The kernel's own word: what is said to be allowed is, whatever is not known. */
static void test_kernel(void **state)
{
	volatile int *passed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* an emulator of programs (qemu-user) has none */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		skip();
	assert_true(passed != MAP_FAILED);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		pid_t child;
		int status;

		*passed = 0;
		child = fork();
		if (child == 0)
			ask_kernel(&rows[i], passed);
		waitpid(child, &status, 0);
		if (!WIFSIGNALED(status))
			fail_msg("%s: the kernel has another idea of this filter", rows[i].name);
		if (rows[i].allows && *passed != 3)
			fail_msg("%s: %d calls passed", rows[i].name, *passed);
	}
	munmap((void *)passed, 4096);
}

/* Branches without end are given up, and then nothing is allowed. */
static void test_endless(void **state)
{
	enum { BRANCHES = 2000 };
	struct filter_room *room = malloc(filter_room_bytes);
	struct sock_filter *code = calloc(2 * BRANCHES + 1, sizeof(*code));
	const struct filter_call call = asked();

	(void)state;
	for (int i = 0; i < BRANCHES; i++) {
		code[2 * i] = (struct sock_filter)LOW(2);
		code[2 * i + 1] = (struct sock_filter)IF(BPF_JEQ, (uint32_t)i, 0, 0);
	}
	code[2 * BRANCHES] = (struct sock_filter)RETURN(ALLOW);
	assert_false(filter_allows(code, 2 * BRANCHES + 1, &call, room));
	/* and behind the last instruction there is nothing */
	assert_false(filter_allows(code, 2, &call, room));
	free(code);
	free(room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
