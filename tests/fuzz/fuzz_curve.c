/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a curve.json; an accepted curve evaluates within its bounds everywhere and survives a round trip. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/curve.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const double places_us[] = {-1, 0, 5, 13.7, 333, 1e4, 1e300, NAN, INFINITY};
	struct error err = {0};
	struct curve *curve = curve_from_memory("fuzz", (const char *)data, size, &err), *again;
	char *text;

	if (!curve) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < sizeof places_us / sizeof *places_us; i++) {
		double p = curve_eval(curve, places_us[i]), between = curve_interpolate(curve, places_us[i]);
		long cost = curve_cost(curve, places_us[i]);

		if (!(p >= CURVE_FLOOR && p <= 1) || cost < 100 || cost > 1000)
			abort();
		if (!(between >= CURVE_FLOOR && between <= 1))
			abort();
	}
	text = curve_to_text(curve, &err);
	again = text ? curve_from_memory("again", text, strlen(text), &err) : NULL;
	if (!again || again->table_count != curve->table_count)
		abort();
	free(text);
	curve_destroy(curve);
	curve_destroy(again);
	return 0;
}
