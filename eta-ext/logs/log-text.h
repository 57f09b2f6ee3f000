/* Text of logs: fields, numbers, times, errors. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_TEXT_H
#define ETA_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Splits TEXT in place at each SEPARATOR (' ': at runs of blanks and tabs), fields trimmed of
 * blanks; how many, at most MAX: the last one then holds the rest. */
size_t log_split(char *text, char separator, char **fields, size_t max);
char *log_trim(char *text);
/* Numbers that are the whole of TEXT, decimal or 0x; false otherwise. */
bool log_u64(const char *text, uint64_t *number);
bool log_u32(const char *text, uint32_t *number);
bool log_i64(const char *text, int64_t *number);
/* "12.345" seconds at *TEXT, which moves behind them, as ns; false: no such number. */
bool log_seconds(const char **text, uint64_t *ns);
/* The whole of TEXT is seconds. */
bool log_time(const char *text, uint64_t *ns);
/* The whole of TEXT is a date as of ISO 8601, in UTC: as ns since 1970. */
bool log_date(const char *text, uint64_t *ns);
/* The error of which TEXT_OF (strerrorname_np, strerrordesc_np) gives the N bytes at TEXT; else
 * EIO. */
int log_error_number(const char *text, size_t n, const char *(*text_of)(int error));
/*
 * Does KNOWS say yes to one of the first lines in HEAD? For probes: gives it copies of up to LINES
 * whole lines that have anything in them.
 */
bool log_probe_lines(const unsigned char *head, size_t head_bytes, unsigned lines,
		     bool (*knows)(char *line));

#endif
