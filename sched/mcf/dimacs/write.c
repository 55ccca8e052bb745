/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes DIMACS problems and solutions. Formats numbers itself, because printf would take longer than solving. */
#include <sched/mcf/dimacs.h>

#include <errno.h>
#include <string.h>

enum { LINE_LONGEST = 128, BUFFER_BYTES = 1 << 16 };

struct writer {
	FILE *out;
	size_t used;
	char buffer[BUFFER_BYTES];
};

static void flush(struct writer *writer)
{
	fwrite(writer->buffer, 1, writer->used, writer->out);
	writer->used = 0;
}

static void put_number(struct writer *writer, int64_t value)
{
	char digits[24];
	int count = 0;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	writer->buffer[writer->used++] = ' ';
	if (value < 0)
		writer->buffer[writer->used++] = '-';
	do {
		digits[count++] = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	while (count > 0)
		writer->buffer[writer->used++] = digits[--count];
}

static void put_line(struct writer *writer, char letter, const int64_t *fields, int count)
{
	if (writer->used + LINE_LONGEST > BUFFER_BYTES)
		flush(writer);
	writer->buffer[writer->used++] = letter;
	for (int i = 0; i < count; i++)
		put_number(writer, fields[i]);
	writer->buffer[writer->used++] = '\n';
}

static void put_comment(const char *comment, FILE *out)
{
	while (comment && *comment) {
		size_t length = strcspn(comment, "\n");

		fprintf(out, "c %.*s\n", (int)length, comment);
		comment += length + (comment[length] == '\n');
	}
}

int mcf_dimacs_write(const struct mcf_problem *problem, const char *comment, FILE *out)
{
	struct writer writer;

	writer.out = out;
	writer.used = 0;
	put_comment(comment, out);
	fprintf(out, "p min %d %d\n", problem->node_count, problem->arc_count);
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (problem->supply[v] != 0)
			put_line(&writer, 'n', (int64_t[]){v + 1, problem->supply[v]}, 2);
	}
	for (int32_t a = 0; a < problem->arc_count; a++) {
		int64_t fields[] = {problem->tail[a] + 1, problem->head[a] + 1, problem->lower ? problem->lower[a] : 0,
				    problem->capacity[a], problem->cost[a]};

		put_line(&writer, 'a', fields, 5);
	}
	flush(&writer);
	return ferror(out) ? -EIO : 0;
}

int mcf_dimacs_write_solution(const struct mcf_problem *problem, const struct mcf_solution *solution, bool flows,
			      FILE *out)
{
	struct writer writer;

	writer.out = out;
	writer.used = 0;
	put_line(&writer, 's', &solution->cost, 1);
	for (int32_t a = 0; flows && a < problem->arc_count; a++) {
		if (solution->flow[a] != 0)
			put_line(&writer, 'f',
				 (int64_t[]){problem->tail[a] + 1, problem->head[a] + 1, solution->flow[a]}, 3);
	}
	flush(&writer);
	return ferror(out) ? -EIO : 0;
}
