/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI ping-pong between ranks 0 and 1 for `seconds` with messages of `bytes`: prints round trips per second and the
 * mean round trip as JSON. mpicc -O2 -o pingpong pingpong.c; mpirun -n 2 pingpong 1 8
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { WARM_UP_ROUNDS = 50, BYTES_MAXIMUM = 1 << 20 };

/* Answers messages up to the last one, whose first byte is 0. */
static void answer(char *message, int bytes)
{
	do {
		MPI_Recv(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	} while (message[0]);
}

static void ask(char *message, int bytes)
{
	MPI_Send(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
	MPI_Recv(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure(char *message, int bytes, double seconds)
{
	double began, now;
	long rounds = 0;

	message[0] = 1;
	for (int i = 0; i < WARM_UP_ROUNDS; i++)
		ask(message, bytes);
	began = MPI_Wtime();
	do {
		ask(message, bytes);
		rounds++;
		now = MPI_Wtime();
	} while (now - began < seconds);
	message[0] = 0;
	ask(message, bytes);
	printf("{\"rounds\": %ld, \"rounds_per_s\": %.3f, \"mean_us\": %.4f}\n", rounds, (double)rounds / (now - began),
	       1e6 * (now - began) / (double)rounds);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	long bytes = argc > 2 ? strtol(argv[2], NULL, 10) : 8;
	char *message;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2 || bytes < 1 || bytes > BYTES_MAXIMUM || !(seconds > 0)) {
		if (rank == 0)
			fprintf(stderr, "usage: mpirun -n 2 pingpong SECONDS BYTES\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	message = calloc(1, (size_t)bytes);
	if (!message)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 0)
		measure(message, (int)bytes, seconds);
	else
		answer(message, (int)bytes);
	free(message);
	MPI_Finalize();
	return 0;
}
