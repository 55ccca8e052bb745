/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LogGPS parameters of the messages between two hosts, as measured by a ping-pong of two MPI ranks, and their file
 * (docs/formats.md, nomora.loggps/1). One thread.
 *
 * The ping-pong prints a line for each value, which begins with CALIBRATION_MARK: "library NAME", "host NAME" (twice),
 * "round-trip BYTES US", "send US" (of one byte), "eager BYTES" (the longest message whose send ends before its receive
 * begins).
 */
#ifndef PREDICT_CALIBRATION_H
#define PREDICT_CALIBRATION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <predict/graph/graph.h>

#define CALIBRATION_MARK "nomora-calibration: "
enum { CALIBRATION_SIZES = 32, CALIBRATION_BYTES_MOST = 4 << 20, CALIBRATION_ROUND_TRIP_MOST = 1 << 20 };

struct calibration {
	struct loggps model;
	char library[80], hosts[2][80];
	double send_us;
	struct calibration_size {
		uint64_t bytes;
		double rtt_us;
	} sizes[CALIBRATION_SIZES];
	size_t count;
};

/*
 * Starts the ping-pong with a launcher (NULL-terminated words, such as mpirun -n 2 --host a,b) and computes the model.
 * Returns 0, or -errno with err set.
 */
int calibration_run(char *const *launcher, struct calibration *calibration, struct error *err);

/*
 * Reads the lines of the ping-pong among others in `text`, which is changed, and computes the model: 2o + L is half of
 * the round trip of a byte, o the time of its send; G fits the longer ones, with 3L above S.
 */
int calibration_parse(char *text, struct calibration *calibration, struct error *err);

/* The model's half round trip of a message, us. */
double calibration_half_us(const struct loggps *model, uint64_t bytes);

void calibration_print(const struct calibration *calibration, FILE *out);
int calibration_save(const struct calibration *calibration, const char *path, struct error *err);

/*
 * Takes what calibration_save() wrote to the file `name`; NULL: it could not be read, as err says. Fills only the
 * model, which has no hosts. Returns 0, or -errno with err set.
 */
int calibration_model(const char *name, json_t *root, struct loggps *model, struct error *err);

#endif
