/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/error.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return -code;
	err->code = code;
	va_start(arguments, format);
	vsnprintf(err->text, sizeof err->text, format, arguments);
	va_end(arguments);
	return -code;
}

int error_at(struct error *err, struct error_place place, int code, const char *format, ...)
{
	va_list arguments;
	int used = 0;

	if (!err)
		return -code;
	err->code = code;
	err->text[0] = '\0';
	if (place.file)
		used = snprintf(err->text, sizeof err->text, "%.400s:", place.file);
	if (place.line > 0)
		used += snprintf(err->text + used, sizeof err->text - (size_t)used, "%ld:", place.line);
	if (used > 0)
		used += snprintf(err->text + used, sizeof err->text - (size_t)used, " ");
	if (place.field && place.field[0])
		used += snprintf(err->text + used, sizeof err->text - (size_t)used, "%.200s: ", place.field);
	va_start(arguments, format);
	vsnprintf(err->text + used, sizeof err->text - (size_t)used, format, arguments);
	va_end(arguments);
	return -code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char prefix[ERROR_TEXT_BYTES], old[ERROR_TEXT_BYTES];
	va_list arguments;

	if (!err)
		return -EINVAL; /* the caller reports a failure but gave no struct for its code and text */
	va_start(arguments, format);
	vsnprintf(prefix, sizeof prefix, format, arguments);
	va_end(arguments);
	memcpy(old, err->text, sizeof old);
	snprintf(err->text, sizeof err->text, "%.400s: %.600s", prefix, old);
	return -err->code;
}

int error_code(const struct error *err, int fallback)
{
	return -(err && err->code ? err->code : fallback);
}
