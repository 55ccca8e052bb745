/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lap ring|star LAPS A,B,...: the median time of a lap of the processes A, B, ... in microseconds. In a ring, a message
 * goes from A to B and so on, and back to A; in a star, A asks B and the others one after the other, and each answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { WARM_UP_LAPS = 3 };

static char message[8];
static MPI_Comm members;

static void send_to(int rank)
{
	MPI_Send(message, sizeof message, MPI_CHAR, rank, 0, members);
}

static void receive_from(int rank)
{
	MPI_Recv(message, sizeof message, MPI_CHAR, rank, 0, members, MPI_STATUS_IGNORE);
}

static void lap(int is_ring, int rank, int ranks)
{
	if (is_ring && rank == 0) {
		send_to(1);
		receive_from(ranks - 1);
	} else if (is_ring) {
		receive_from(rank - 1);
		send_to((rank + 1) % ranks);
	} else if (rank > 0) {
		receive_from(0);
		send_to(0);
	}
	for (int other = 1; !is_ring && rank == 0 && other < ranks; other++) {
		send_to(other);
		receive_from(other);
	}
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Returns the place of the process in the list, or -1. */
static int place_in(const char *list, int process)
{
	char *end;

	for (int place = 0; *list; place++, list = *end ? end + 1 : end)
		if (strtol(list, &end, 10) == process)
			return place;
	return -1;
}

static void measure(int is_ring, int laps)
{
	double *seconds = calloc((size_t)laps + 1, sizeof *seconds);
	int rank, ranks;

	MPI_Comm_rank(members, &rank);
	MPI_Comm_size(members, &ranks);
	for (int i = -WARM_UP_LAPS; i < laps; i++) {
		double began = MPI_Wtime();

		lap(is_ring, rank, ranks);
		if (i >= 0)
			seconds[i] = MPI_Wtime() - began;
	}
	qsort(seconds, (size_t)laps, sizeof *seconds, ascending);
	if (rank == 0)
		printf("lap_us %.1f\n", 1e6 * seconds[laps / 2]);
	free(seconds);
}

int main(int argc, char **argv)
{
	int process, place;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &process);
	place = place_in(argc == 4 ? argv[3] : "", process);
	MPI_Comm_split(MPI_COMM_WORLD, place < 0 ? MPI_UNDEFINED : 0, place, &members);
	if (place >= 0)
		measure(strcmp(argv[1], "ring") == 0, atoi(argv[2]));
	MPI_Finalize();
	return 0;
}
