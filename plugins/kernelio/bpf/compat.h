/* What differs between kernels and architectures, one accessor each. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_COMPAT_H
#define KERNELIO_COMPAT_H

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NR(regs) ((regs)->orig_ax)
#define SYSCALL_ARG0(regs) ((regs)->di)
#define SYSCALL_ARG1(regs) ((regs)->si)
#define SYSCALL_ARG2(regs) ((regs)->dx)
#define SYSCALL_ARG3(regs) ((regs)->r10)
#define SYSCALL_ARG4(regs) ((regs)->r8)
#define SYSCALL_ARG5(regs) ((regs)->r9)
#define PROGRAM_AT(regs) ((regs)->ip)
#define STACK_AT(regs) ((regs)->sp)
#define CALL_RETURNED(regs) ((long)(regs)->ax != -38) /* -ENOSYS until then */
#define PROGRAM_REGISTERS(regs, X)                                                                 \
	X((regs)->di)                                                                              \
	X((regs)->si)                                                                              \
	X((regs)->dx)                                                                              \
	X((regs)->r10)                                                                             \
	X((regs)->r8)                                                                              \
	X((regs)->r9)                                                                              \
	X((regs)->bx)                                                                              \
	X((regs)->bp)                                                                              \
	X((regs)->r12)                                                                             \
	X((regs)->r13)                                                                             \
	X((regs)->r14)                                                                             \
	X((regs)->r15)
/* what a call does not keep, but an exception does */
#define SCRATCH_REGISTERS(regs, X)                                                                 \
	X((regs)->ax)                                                                              \
	X((regs)->cx)                                                                              \
	X((regs)->r11)
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL_NR(regs) ((regs)->syscallno)
#define SYSCALL_ARG0(regs) ((regs)->regs[0]) /* sys_enter only: the result overwrites it */
#define SYSCALL_ARG1(regs) ((regs)->regs[1])
#define SYSCALL_ARG2(regs) ((regs)->regs[2])
#define SYSCALL_ARG3(regs) ((regs)->regs[3])
#define SYSCALL_ARG4(regs) ((regs)->regs[4])
#define SYSCALL_ARG5(regs) ((regs)->regs[5])
#define PROGRAM_AT(regs) ((regs)->pc)
#define STACK_AT(regs) ((regs)->sp)
#define CALL_RETURNED(regs) 0 /* cannot be known here */
#define PROGRAM_REGISTERS(regs, X)                                                                 \
	X((regs)->regs[1])                                                                         \
	X((regs)->regs[2])                                                                         \
	X((regs)->regs[3])                                                                         \
	X((regs)->regs[4])                                                                         \
	X((regs)->regs[5])                                                                         \
	X((regs)->regs[19])                                                                        \
	X((regs)->regs[20])                                                                        \
	X((regs)->regs[21])                                                                        \
	X((regs)->regs[22])                                                                        \
	X((regs)->regs[23])                                                                        \
	X((regs)->regs[24])                                                                        \
	X((regs)->regs[25])                                                                        \
	X((regs)->regs[26])                                                                        \
	X((regs)->regs[27])                                                                        \
	X((regs)->regs[28])                                                                        \
	X((regs)->regs[29])
#define SCRATCH_REGISTERS(regs, X)                                                                 \
	X((regs)->regs[0])                                                                         \
	X((regs)->regs[6])                                                                         \
	X((regs)->regs[7])                                                                         \
	X((regs)->regs[8])                                                                         \
	X((regs)->regs[9])                                                                         \
	X((regs)->regs[10])                                                                        \
	X((regs)->regs[11])                                                                        \
	X((regs)->regs[12])                                                                        \
	X((regs)->regs[13])                                                                        \
	X((regs)->regs[14])                                                                        \
	X((regs)->regs[15])                                                                        \
	X((regs)->regs[16])                                                                        \
	X((regs)->regs[17])                                                                        \
	X((regs)->regs[18])
#endif

/*
 * A global function: the verifier checks it once for any arguments, not again for each state it is
 * called in. Pointer arguments are to memory and may be NULL; kernel objects are passed as numbers.
 * Before 6.2 a map key may not be read through such a pointer: callers copy it to the stack.
 */
#define SEPARATE __weak __noinline

/*
 * The program's instruction pointer where TASK entered the kernel by an exception; 0: it is in a
 * system call.
 */
static __always_inline uint64_t exception_at(struct task_struct *task)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	return (int32_t)SYSCALL_NR(regs) == -1 ? PROGRAM_AT(regs) : 0;
}

#define ARM64_TIF_32BIT 22

/* A 32-bit program has other system call numbers, none of which is traced. */
static __always_inline bool task_is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & 2; /* TS_COMPAT */
#elif defined(__TARGET_ARCH_arm64)
	return task->thread_info.flags & 1UL << ARM64_TIF_32BIT;
#endif
}

/*
 * The CPU of the run queue TASK is on. On all architectures in thread_info since Linux 5.16
 * (bcf9033e5449).
 */
static __always_inline uint32_t task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return bpf_get_smp_processor_id();
}

/*
 * To the verifier a kernel pointer read from memory is a number, and reading a field through it
 * costs a call of bpf_probe_read_kernel (10 ns). Since 6.2 bpf_rdonly_cast makes it a pointer with
 * plain loads, which a fault handler guards.
 */
#ifndef KERNELIO_CAST /* libbpf's linker allows such an extern in one object only */
#define HAVE_CAST 0
#define CAST(type, pointer) ((type *)(pointer))
#else
extern void *bpf_rdonly_cast(const void *object, uint32_t btf_id) __ksym __weak;
#define HAVE_CAST (&bpf_rdonly_cast != NULL)
#define CAST(type, pointer)                                                                        \
	((type *)bpf_rdonly_cast((const void *)(pointer), bpf_core_type_id_kernel(type)))
#endif

/* Reads a field through POINTER, which may be a number, in the cheapest way. */
#define FIELD(type, pointer, field)                                                                \
	({                                                                                         \
		type *at_ = (void *)(pointer);                                                     \
		typeof(at_->field) field_;                                                         \
		if (HAVE_CAST)                                                                     \
			field_ = CAST(type, at_)->field;                                           \
		else                                                                               \
			field_ = BPF_CORE_READ(at_, field);                                        \
		field_;                                                                            \
	})

/* Linux 6.18 (53fbef56e07d) wrapped page and folio flags into memdesc_flags_t. */
typedef struct {
	unsigned long f;
} memdesc_flags_t___wrapped;

struct folio___wrapped {
	memdesc_flags_t___wrapped flags;
} __attribute__((preserve_access_index));

struct folio___plain {
	unsigned long flags;
} __attribute__((preserve_access_index));

/* PREEMPT_RT makes its locks of others, which do not name a reader: who holds one is not said. */
#define HAVE_LOCK_OWNER bpf_core_field_exists(((struct rw_semaphore *)0)->owner)

/* The number of pages of a large folio: order in _flags_1 since 6.6 (ebc1baf5c9b4), _folio_order
 * before. */
struct folio___order {
	unsigned long _flags_1;
	unsigned char _folio_order;
} __attribute__((preserve_access_index));

enum pageflags___head {
	PG_head___head = 6,
};

/* FOLIO is a probe's argument: its fields are plain loads. */
static __always_inline uint32_t folio_pages(const struct folio *folio)
{
	const struct folio___wrapped *wrapped = (const void *)folio;
	const struct folio___plain *plain = (const void *)folio;
	const struct folio___order *large = (const void *)folio;
	unsigned long flags, order;

	if (bpf_core_field_exists(wrapped->flags.f))
		flags = wrapped->flags.f;
	else
		flags = plain->flags;
	if (!(flags & (1UL << bpf_core_enum_value(enum pageflags___head, PG_head___head))))
		return 1;
	if (bpf_core_field_exists(large->_folio_order))
		order = large->_folio_order;
	else
		order = large->_flags_1 & 0xff;
	return order < 20 ? 1U << order : 1;
}

#endif
