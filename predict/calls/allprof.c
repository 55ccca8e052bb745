/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of liballprof ("collprof 0.9"): a line is NAME:begin:arguments:end, times in us, of which the arguments are
 * those of the C function: a pointer as a number, a type as number,size,extent, a communicator as number,rank,size.
 */
#include "calls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/number.h>

enum { FIELDS_MAXIMUM = 24, WAITS_MAXIMUM = 1 << 20 };

/*
 * arguments: a letter each. n: count, t: type, p: other rank, r: root, g: tag, c: communicator, q: request, Q: the
 * first of n requests, '|': a second call begins, '.': not used.
 */
struct form {
	const char *name;
	enum call_kind kind;
	const char *arguments;
};

static const struct form forms[] = {
	{"MPI_Send", CALL_SEND, ".ntpgc"},
	{"MPI_Bsend", CALL_SEND, ".ntpgc"},
	{"MPI_Rsend", CALL_SEND, ".ntpgc"},
	{"MPI_Ssend", CALL_SSEND, ".ntpgc"},
	{"MPI_Isend", CALL_SEND, ".ntpgcq"},
	{"MPI_Ibsend", CALL_SEND, ".ntpgcq"},
	{"MPI_Irsend", CALL_SEND, ".ntpgcq"},
	{"MPI_Issend", CALL_SSEND, ".ntpgcq"},
	{"MPI_Recv", CALL_RECEIVE, ".ntpgc."},
	{"MPI_Irecv", CALL_RECEIVE, ".ntpgcq"},
	{"MPI_Sendrecv", CALL_SEND, ".ntpg|.ntpgc."},
	{"MPI_Wait", CALL_WAIT, "q."},
	{"MPI_Waitall", CALL_WAIT, "nQ."},
	{"MPI_Barrier", CALL_BARRIER, "c"},
	{"MPI_Bcast", CALL_BROADCAST, ".ntrc"},
	{"MPI_Reduce", CALL_REDUCE, "..nt.rc"},
	{"MPI_Allreduce", CALL_ALLREDUCE, "..nt.c"},
	{"MPI_Iallreduce", CALL_ALLREDUCE, "..nt.cq"},
	{"MPI_Gather", CALL_GATHER, ".nt...rc"},
	{"MPI_Scatter", CALL_SCATTER, ".nt...rc"},
	{"MPI_Allgather", CALL_ALLGATHER, ".nt...c"},
	{"MPI_Alltoall", CALL_ALLTOALL, ".nt...c"},
	{"MPI_Scan", CALL_SCAN, "..nt.c"},
	{"MPI_Exscan", CALL_SCAN, "..nt.c"},
};

/* Calls that do not communicate; their time is computation. */
static const char *const local_calls[] = {"MPI_Comm_rank",   "MPI_Comm_size",          "MPI_Get_count", "MPI_Wtime",
					  "MPI_Initialized", "MPI_Get_processor_name", "MPI_Type_size", "MPI_Pcontrol"};

struct reader {
	struct mpi_run *run;
	struct mpi_rank *rank;
	uint32_t number; /* of the rank */
	struct file_lines *lines;
	struct error *err;
};

static int fail(const struct reader *reader, const char *field, const char *expected, const char *found)
{
	return error_at(reader->err, (struct error_place){reader->rank->file, file_lines_number(reader->lines), field},
			EINVAL, "found '%.40s', expected %s", found, expected);
}

static int parse_time(const struct reader *reader, const char *field, const char *text, double *us)
{
	return number_parse_double(text, us) == 0 && *us >= 0 ? 0 : fail(reader, field, "a time in us", text);
}

static int parse_integer(const struct reader *reader, const char *field, const char *text, int64_t low, int64_t high,
			 int64_t *value)
{
	char expected[80];

	if (number_parse_i64(text, value) == 0 && *value >= low && *value <= high)
		return 0;
	snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low, (long long)high);
	return fail(reader, field, expected, text);
}

/* Reads "number,size,extent" of a type into its size. */
static int parse_type(const struct reader *reader, char *text, int64_t *size)
{
	char *parts[3];

	if (file_split(text, ',', parts, 3) != 3)
		return fail(reader, "type", "number,size,extent", text);
	return parse_integer(reader, "type's size", parts[1], 0, INT32_MAX, size);
}

/* Reads "number,rank,size" of a communicator, which must be of all ranks. */
static int parse_communicator(const struct reader *reader, char *text, uint64_t *communicator)
{
	char *parts[3];
	int64_t number, rank, size;
	int code;

	if (file_split(text, ',', parts, 3) != 3)
		return fail(reader, "communicator", "number,rank,size", text);
	code = parse_integer(reader, "communicator", parts[0], INT64_MIN, INT64_MAX, &number);
	if (code == 0)
		code = parse_integer(reader, "communicator's rank", parts[1], 0, INT32_MAX, &rank);
	if (code == 0)
		code = parse_integer(reader, "communicator's size", parts[2], 1, INT32_MAX, &size);
	if (code == 0 && ((uint64_t)size != reader->run->rank_count || (uint64_t)rank != reader->number))
		return error_at(
			reader->err,
			(struct error_place){reader->rank->file, file_lines_number(reader->lines), "communicator"},
			EINVAL,
			"rank %lld of %lld, expected rank %u of %u: give one file for each rank, in the order of "
			"the ranks; a communicator of some ranks is not supported, since the trace does not list them",
			(long long)rank, (long long)size, reader->number, reader->run->rank_count);
	*communicator = (uint64_t)number;
	return code;
}

/* Reads one argument into the call. */
static int parse_argument(const struct reader *reader, char letter, char *text, struct mpi_call *call, int64_t *count)
{
	int64_t value = 0, ranks = reader->run->rank_count;
	int code = 0;

	switch (letter) {
	case 'n':
		code = parse_integer(reader, "count", text, 0, call->kind == CALL_WAIT ? WAITS_MAXIMUM : INT32_MAX,
				     count);
		break;
	case 't':
		code = parse_type(reader, text, &value);
		call->bytes = (uint64_t)(*count * value);
		break;
	case 'p':
		if (strcmp(text, "-1") == 0 || strcmp(text, "-2") == 0)
			return fail(reader, "rank",
				    "a rank: MPI_ANY_SOURCE and MPI_PROC_NULL cannot be told apart in this format",
				    text);
		code = parse_integer(reader, "rank", text, 0, ranks - 1, &value);
		call->peer = (int32_t)value;
		break;
	case 'r':
		code = parse_integer(reader, "root", text, 0, ranks - 1, &value);
		call->peer = (int32_t)value;
		break;
	case 'g':
		code = parse_integer(reader, "tag", text, 0, INT32_MAX, &value);
		call->tag = (int32_t)value;
		break;
	case 'c':
		return parse_communicator(reader, text, &call->communicator);
	case 'q':
	case 'Q':
		code = parse_integer(reader, "request", text, 1, INT64_MAX / 2, &value);
		call->request = (uint64_t)value;
		break;
	default:
		break;
	}
	return code;
}

/* The second half of MPI_Sendrecv has its own communicator field for both. */
static int add_halves(const struct reader *reader, struct mpi_call send, struct mpi_call receive)
{
	/* These requests are no pointers. */
	static const uint64_t receiving = UINT64_MAX - 1, sending = UINT64_MAX;

	receive.kind = CALL_RECEIVE;
	send.communicator = receive.communicator;
	for (int i = 0; i < 4; i++) {
		struct mpi_call call = i % 2 == 0 ? receive : send;

		call.request = i % 2 == 0 ? receiving : sending;
		call.kind = i < 2 ? call.kind : CALL_WAIT;
		call.count = 1;
		call.begin_us = i == 0 ? call.begin_us : call.end_us;
		if (mpi_add_call(reader->rank, call) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_modelled(const struct reader *reader, const struct form *form, char **fields, size_t count)
{
	struct mpi_call call = {.kind = (uint8_t)form->kind, .line = (uint32_t)file_lines_number(reader->lines)},
			first = {0};
	const char *letter = form->arguments;
	int64_t items = 0;
	int code = parse_time(reader, "begin", fields[1], &call.begin_us);
	bool two = strchr(letter, '|') != NULL;

	if (strlen(letter) - two + 3 != count)
		return fail(reader, form->name, "as many arguments as the C function has",
			    count < 4 ? "fewer" : "another number");
	if (code == 0)
		code = parse_time(reader, "end", fields[count - 1], &call.end_us);
	for (char **field = &fields[2]; *letter && code == 0; letter++) {
		if (*letter == '|') {
			first = call;
			continue;
		}
		code = parse_argument(reader, *letter, *field++, &call, &items);
	}
	if (code < 0)
		return code;
	if (call.end_us < call.begin_us)
		return fail(reader, "end", "a time after the begin", fields[count - 1]);
	if (two)
		return add_halves(reader, first, call);
	call.count = strchr(form->arguments, 'Q') ? (uint32_t)items : 1;
	return mpi_add_call(reader->rank, call);
}

static bool is_local(const char *name)
{
	for (size_t i = 0; i < sizeof local_calls / sizeof local_calls[0]; i++)
		if (strcmp(name, local_calls[i]) == 0)
			return true;
	return false;
}

static int read_line(const struct reader *reader, char *line)
{
	char *fields[FIELDS_MAXIMUM];
	size_t count = file_split(line, ':', fields, FIELDS_MAXIMUM);
	struct mpi_rank *rank = reader->rank;
	double begin_us, end_us;
	int code;

	if (count < 3 || count > FIELDS_MAXIMUM || strncmp(fields[0], "MPI_", 4) != 0)
		return fail(reader, NULL, "MPI_NAME:begin:arguments:end", line);
	if (strcmp(fields[0], "MPI_Init") == 0 || strcmp(fields[0], "MPI_Init_thread") == 0)
		return parse_time(reader, "end", fields[count - 1], &rank->start_us);
	if (strcmp(fields[0], "MPI_Finalize") == 0)
		return parse_time(reader, "begin", fields[1], &rank->end_us);
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (strcmp(fields[0], forms[i].name) == 0)
			return read_modelled(reader, &forms[i], fields, count);
	if (is_local(fields[0]))
		return 0;
	code = parse_time(reader, "begin", fields[1], &begin_us);
	if (code == 0)
		code = parse_time(reader, "end", fields[count - 1], &end_us);
	return code < 0 ? code : mpi_count_other(reader->run, fields[0], 1, end_us - begin_us);
}

static int read_rank(struct reader *reader)
{
	struct mpi_rank *rank = reader->rank;
	char *line;
	int code;

	rank->file = strdup(file_lines_name(reader->lines));
	rank->start_us = rank->end_us = -1;
	if (!rank->file)
		return -ENOMEM;
	while ((code = file_lines_next(reader->lines, &line, reader->err)) == 1) {
		if (line[0] == '#' || line[0] == '\0')
			continue;
		code = read_line(reader, line);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return code;
	if (rank->count == 0)
		return error_set(reader->err, EINVAL, "%s: no MPI calls that communicate", rank->file);
	if (rank->start_us < 0)
		rank->start_us = rank->calls[0].begin_us;
	if (rank->end_us < 0)
		rank->end_us = rank->calls[rank->count - 1].end_us;
	return 0;
}

static int read_lines(struct mpi_run *run, uint32_t number, struct file_lines *lines, struct error *err)
{
	struct reader reader = {
		.run = run,
		.rank = &run->ranks[number],
		.number = number,
		.lines = lines,
		.err = err,
	};
	int code = read_rank(&reader);

	if (code == -ENOMEM)
		error_set(err, ENOMEM, "out of memory");
	return code;
}

int mpi_parse_allprof(struct mpi_run *run, uint32_t rank, const char *name, const char *text, size_t bytes,
		      struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(name, text, bytes, err);
	int code = lines ? read_lines(run, rank, lines, err) : -ENOMEM;

	file_lines_close(lines);
	return code;
}

int mpi_read_allprof(char *const *paths, uint32_t count, struct mpi_run *run, struct error *err)
{
	int code = mpi_run_init(run, count);

	if (code < 0)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t rank = 0; rank < count && code == 0; rank++) {
		struct file_lines *lines = file_lines_open(paths[rank], err);

		code = lines ? read_lines(run, rank, lines, err) : error_code(err, ENOMEM);
		file_lines_close(lines);
	}
	return code;
}
