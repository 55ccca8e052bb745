/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a NIST .dat file and, if it is small, fits it. */
#include <stdint.h>

#include <fitting/nist/nist.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nist_set set;
	struct nist_fit fit;
	struct error err = {0};

	if (nist_read_memory("fuzz.dat", (const char *)data, size, &set, &err) == 0 && set.observations <= 32 &&
	    set.parameter_count <= 4)
		nist_solve(&set, 0, 2, &fit, &err);
	nist_free(&set);
	return 0;
}
