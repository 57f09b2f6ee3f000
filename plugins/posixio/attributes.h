/* What the compiler needs to know about functions, branches and variables. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_ATTRIBUTES_H
#define POSIXIO_ATTRIBUTES_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define HIDDEN_TLS __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))

#endif
