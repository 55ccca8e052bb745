/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of hosts and racks, which every file form can carry as they are. Pure. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* One word of UTF-8 that fits `capacity` bytes with its NUL: not empty, no blanks, control characters, commas, quotes.
 */
bool name_is_valid(const char *name, size_t capacity);

#endif
