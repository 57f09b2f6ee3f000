/* Inside of eta-ext: modules and stacks as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_ADDRESSES_H
#define ETA_ADDRESSES_H

#include "eta-ext/base/eta.h"

#define ETA_BUILD_ID_TEXT 130 /* of 64 bytes */
#define ETA_MAX_FRAMES 4096   /* more in one stack is damage */

/* "SINCE START END BIAS program|library BUILD-ID PATH"; the caller frees *TEXT. */
int eta_module_print(const struct eta_module *module, char **text);
/* The other way; path and build id point into TEXT and BUILD_ID. */
int eta_module_parse(const char *text, struct eta_module *module, char build_id[ETA_BUILD_ID_TEXT]);

/* "0x... 0x...", innermost first; the caller frees *TEXT. */
int eta_stack_print(const struct eta_stack *stack, char **text);
/* Number of frames; 0: TEXT is no stack. */
uint32_t eta_stack_parse(const char *text, uint64_t frames[ETA_MAX_FRAMES]);

/* Two digits a byte and a NUL. */
void eta_hex(const unsigned char *bytes, size_t n, char *text);

#endif
