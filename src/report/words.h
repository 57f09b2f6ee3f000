/* What reports call things, and what they called them before. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_WORDS_H
#define SCI_REPORT_WORDS_H

/* Of json; 1 is written on request, for a release. */
#define JSON_VERSION 2

/* WORD, a key or a reason as reports have it now, as VERSION of json has it. */
const char *word_in_version(const char *word, unsigned version);
/* REASON as traces have it, as reports have it now. */
const char *word_of_reason(const char *reason);

#endif
