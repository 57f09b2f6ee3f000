/* The spool sink where it is the only one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink.h"

const struct sink *core_sink = &spool_sink;
const char tracer_name[] = "libsci-posixio";
const size_t sink_thread_bytes = sizeof(struct spool_sink_thread);
