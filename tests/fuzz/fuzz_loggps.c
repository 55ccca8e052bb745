/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of nomora trace --calibrate, and the lines of its ping-pong: what is accepted is in range. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <predict/calibration/calibration.h>

static void check(const struct loggps *model)
{
	if (!(model->latency_ns >= 0) || !(model->overhead_ns >= 0) || !(model->gap_ns >= 0) ||
	    !isfinite(calibration_half_us(model, 1 << 20)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calibration calibration;
	struct loggps model;
	struct error err = {0};
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (calibration_model("fuzz", json_read_text("fuzz", 0, text, size, &err), &model, &err) == 0)
		check(&model);
	else if (err.code == 0 || err.text[0] == '\0')
		abort(); /* a refusal says why */
	if (calibration_parse(text, &calibration, &err) == 0)
		check(&calibration.model);
	free(text);
	return 0;
}
