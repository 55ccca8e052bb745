/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves by name: NAME is DIR/NAME.json, loaded once, when it is first asked for. Numbers are dense from 0 in the
 * order of loading and stay valid. One thread.
 */
#ifndef MODEL_CURVE_LIBRARY_H
#define MODEL_CURVE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <model/curve.h>

struct curve_library;

/* `folder` NULL: curves come only from curve_library_define(). NULL = out of memory. */
struct curve_library *curve_library_create(const char *folder);
void curve_library_destroy(struct curve_library *library); /* NULL is legal */

/* Number of the curve, or -errno with err set: -EINVAL (not a valid name), -ENOENT, -ENOMEM or the file's error. */
int64_t curve_library_find(struct curve_library *library, const char *name, struct error *err);
/*
 * Defines the curve of this name by `text` (nomora.curve/1), which overrides the folder's file; an earlier curve of
 * this name is freed. 0 or -errno with err set.
 */
int curve_library_define(struct curve_library *library, const char *name, const char *text, struct error *err);
size_t curve_library_count(const struct curve_library *library);
const struct curve *curve_library_at(const struct curve_library *library, size_t number);
const char *curve_library_name(const struct curve_library *library, size_t number);

#endif
