/* The values of QEMU's options: "key=value,key.key=value" or JSON, as JSON. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_QEMU_KEYS_H
#define SCI_QEMU_KEYS_H

#include <jansson.h>

/*
 * Reads TEXT, what follows an option: "a=b,c.d=e" becomes {"a": "b", "c": {"d": "e"}}, ",," in a
 * value is a comma, and a first value without "=" has the key FIRST. Text that begins with "{" is
 * JSON. 0 with an object in OUT, to be given up by json_decref (NULL: TEXT is none), or -ENOMEM.
 */
int qemu_keys_read(const char *text, const char *first, json_t **out);

#endif
