/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI all-reduce over all ranks for `seconds` with `count` doubles: prints operations per second and their mean time as
 * JSON. mpicc -O2 -o allreduce allreduce.c; mpirun -n 4 allreduce 1 64
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { WARM_UP_ROUNDS = 20, COUNT_MAXIMUM = 1 << 20 };

/* An extra element carries rank 0's decision to continue, so that all ranks leave the loop in the same round. */
static long run(double *values, double *sums, int count, int rank, double seconds, double *elapsed_s)
{
	double began = MPI_Wtime();
	long rounds = 0;

	do {
		values[count] = rank == 0 && MPI_Wtime() - began < seconds ? 1 : 0;
		MPI_Allreduce(values, sums, count + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		rounds++;
	} while (sums[count] > 0);
	*elapsed_s = MPI_Wtime() - began;
	return rounds;
}

/* Checks the sums: each rank added 1 to each element. */
static int is_right(const double *sums, int count, int ranks)
{
	for (int i = 0; i < count; i++)
		if (sums[i] != ranks)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1, elapsed_s, *values, *sums;
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 64, rounds;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (count < 1 || count > COUNT_MAXIMUM || !(seconds > 0)) {
		if (rank == 0)
			fprintf(stderr, "usage: mpirun -n RANKS allreduce SECONDS COUNT\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	values = calloc((size_t)count + 1, sizeof *values);
	sums = calloc((size_t)count + 1, sizeof *sums);
	if (!values || !sums)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (long i = 0; i < count; i++)
		values[i] = 1;
	for (int i = 0; i < WARM_UP_ROUNDS; i++)
		MPI_Allreduce(values, sums, (int)count + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	rounds = run(values, sums, (int)count, rank, seconds, &elapsed_s);
	if (!is_right(sums, (int)count, ranks))
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 0)
		printf("{\"rounds\": %ld, \"rounds_per_s\": %.3f, \"mean_us\": %.4f}\n", rounds,
		       (double)rounds / elapsed_s, 1e6 * elapsed_s / (double)rounds);
	free(values);
	free(sums);
	MPI_Finalize();
	return 0;
}
