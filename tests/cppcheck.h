/* For cppcheck, which does not read others' headers: macros of theirs that it has to understand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_ITER(hh, head, el, tmp)                                                               \
	for ((el) = (head); (el) && ((tmp) = (el)->hh.next, 1); (el) = (tmp))
#define LIBBPF_OPTS(type, name, ...) struct type name = { 0 }
#define PPTRACE_START_INTERCEPT_FUNCTIONS(module)
#define PPTRACE_END_INTERCEPT_FUNCTIONS(module)
