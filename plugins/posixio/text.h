/* Texts made without stdio, whose functions take more of a program's stack than it may have. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_TEXT_H
#define POSIXIO_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * As snprintf, for %s, %.*s, %c, %d, %u, %llu and %% alone; what does not fit is cut. Always gives
 * the length of what is in OUT.
 */
size_t text_format(char *out, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t text_format_list(char *out, size_t room, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
