/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>

#include <base/number.h>

#include "mode_priv.h"

int mode_parse_percent(const char *mode, const char *text, uint64_t *threshold, struct error *err)
{
	double percent;

	if (number_parse_double(text, &percent) != 0 || !(percent >= 0 && percent <= 100))
		return error_set(err, EINVAL, "--%s: \"%s\" is not a percentage: expected 0 to 100", mode, text);
	*threshold = percent >= 100 ? UINT64_MAX : (uint64_t)ldexp(percent / 100, 64);
	return 0;
}

int mode_blame_file(int status, struct error *err)
{
	if (status != -EINVAL)
		return status;
	if (err)
		err->code = EBADMSG;
	return -EBADMSG;
}
