/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Program of two MPI ranks that nomora trace --calibrate starts: measures messages between them, and prints lines of
 * CALIBRATION_MARK, a name and values (calibration.h). Times in us, lower quartiles of many rounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#include <predict/calibration/calibration.h>

enum { WARM_UP = 20, ROUNDS_LEAST = 20, ROUNDS_MOST = 2000, TRIES = 3 };
enum { TAG_ROUND, TAG_SIZE, TAG_NONE };

static const double seconds_a_size = 0.2;
static char *message; /* CALIBRATION_BYTES_MOST */
static double times_us[ROUNDS_MOST];

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void send(int64_t bytes, int to, int tag)
{
	MPI_Send(message, (int)bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

static void receive(int64_t bytes, int from, int tag)
{
	MPI_Recv(message, (int)bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

/* Others on the processors only make a time longer: the lower quartile is that of a message. */
static double quartile(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 4];
}

/* Returns the round trip; with *send_us, also that of the send. The first byte says that there is another. */
static double ask(int64_t bytes, double *send_us)
{
	static double sends_us[ROUNDS_MOST];
	double began = now_us();
	int rounds = 0;

	for (int i = -WARM_UP;
	     rounds < ROUNDS_MOST && (rounds < ROUNDS_LEAST || now_us() - began < 1e6 * seconds_a_size); i++) {
		double from = now_us(), sent;

		message[0] = 1;
		send(bytes, 1, TAG_ROUND);
		sent = now_us();
		receive(bytes, 1, TAG_ROUND);
		if (i < 0)
			continue;
		sends_us[rounds] = sent - from;
		times_us[rounds++] = now_us() - from;
	}
	message[0] = 0;
	send(bytes, 1, TAG_ROUND);
	receive(bytes, 1, TAG_ROUND);
	if (send_us)
		*send_us = quartile(sends_us, rounds);
	return quartile(times_us, rounds);
}

static void answer(int64_t bytes)
{
	do {
		receive(bytes, 0, TAG_ROUND);
		send(bytes, 0, TAG_ROUND);
	} while (message[0]);
}

/* Returns 1 if the send ends before the receiver asks for the message, wait_us later. Noise only makes it later. */
static int is_eager(int64_t bytes, int64_t wait_us)
{
	for (int i = 0; i < TRIES; i++) {
		int64_t order[] = {bytes, wait_us};
		double from;

		MPI_Send(order, 2, MPI_INT64_T, 1, TAG_SIZE, MPI_COMM_WORLD);
		from = now_us();
		send(bytes, 1, TAG_SIZE);
		if (now_us() - from < (double)wait_us / 2)
			return 1;
	}
	return 0;
}

static int64_t find_eager(double longest_rtt_us)
{
	int64_t low = 0, high = CALIBRATION_BYTES_MOST, wait_us = (int64_t)(20000 + 4 * longest_rtt_us);
	int64_t end[2] = {-1, 0};

	if (is_eager(high, wait_us))
		low = high;
	while (low + 1 < high) {
		int64_t middle = (low + high) / 2;

		if (is_eager(middle, wait_us))
			low = middle;
		else
			high = middle;
	}
	MPI_Send(end, 2, MPI_INT64_T, 1, TAG_SIZE, MPI_COMM_WORLD);
	return low;
}

/* MPI goes on, but asks for no message: an eager one may arrive, and even need that to leave the sender. */
static void wait_in_mpi(double us)
{
	double end = now_us() + us;
	int found;

	while (now_us() < end) {
		MPI_Iprobe(0, TAG_NONE, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

static void answer_eager(void)
{
	int64_t order[2];

	for (;;) {
		MPI_Recv(order, 2, MPI_INT64_T, 0, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (order[0] < 0)
			return;
		wait_in_mpi((double)order[1]);
		receive(order[0], 0, TAG_SIZE);
	}
}

static void print_names(void)
{
	char name[MPI_MAX_PROCESSOR_NAME] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length;

	MPI_Get_library_version(library, &length);
	library[strcspn(library, ",\n")] = '\0';
	MPI_Get_processor_name(name, &length);
	printf(CALIBRATION_MARK "library %s\n" CALIBRATION_MARK "host %s\n", library, name);
	MPI_Recv(name, sizeof name, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf(CALIBRATION_MARK "host %s\n", name);
}

static void measure(void)
{
	double send_us, rtt_us = ask(1, &send_us), longest_us = rtt_us;

	printf(CALIBRATION_MARK "round-trip 1 %.4f\n" CALIBRATION_MARK "send %.4f\n", rtt_us, send_us);
	for (int64_t bytes = 256; bytes <= CALIBRATION_ROUND_TRIP_MOST; bytes *= 2) {
		longest_us = ask(bytes, NULL);
		printf(CALIBRATION_MARK "round-trip %lld %.4f\n", (long long)bytes, longest_us);
	}
	printf(CALIBRATION_MARK "eager %lld\n", (long long)find_eager(longest_us));
}

static void serve(void)
{
	char name[MPI_MAX_PROCESSOR_NAME] = "";
	int length;

	MPI_Get_processor_name(name, &length);
	MPI_Send(name, sizeof name, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	answer(1);
	for (int64_t bytes = 256; bytes <= CALIBRATION_ROUND_TRIP_MOST; bytes *= 2)
		answer(bytes);
	answer_eager();
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	message = calloc(1, CALIBRATION_BYTES_MOST);
	if (ranks != 2 || !message) {
		if (rank == 0)
			fprintf(stderr, "nomora: error: a calibration has two ranks, found %d: mpirun -n 2\n", ranks);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (rank == 0) {
		print_names();
		measure();
	} else {
		serve();
	}
	free(message);
	MPI_Finalize();
	return 0;
}
