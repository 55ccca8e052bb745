/* SPDX-License-Identifier: BSD-3-Clause */
/* CBC on an MPS file: MODEL.mps SECONDS; prints "STATUS OBJECTIVE SECONDS". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coin/Cbc_C_Interface.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	Cbc_Model *model = Cbc_newModel();
	double begin;

	if (argc != 3 || Cbc_readMps(model, argv[1]) != 0)
		return 1;
	Cbc_setParameter(model, "log", "0");
	Cbc_setParameter(model, "sec", argv[2]);
	Cbc_setParameter(model, "timeMode", "elapsed");
	Cbc_setParameter(model, "ratio", "1e-7");
	begin = now_s();
	Cbc_solve(model);
	printf("%s %.9g %.6f\n",
	       Cbc_isProvenOptimal(model) && Cbc_status(model) == 0 && Cbc_secondaryStatus(model) == 0 ? "optimal"
												       : "open",
	       Cbc_getObjValue(model), now_s() - begin);
	Cbc_deleteModel(model);
	return 0;
}
