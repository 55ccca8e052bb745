/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix's CSV form. The reader is strict: it refuses a bad row, and names its file, line and field. */
#include <model/latency_live.h>
#include <model/latency_matrix.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/number.h>

static const char version_line[] = "# nomora.latency/4";
#define FIRST_HEADER "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
static const char first_header[] = FIRST_HEADER;
#define SECOND_HEADER FIRST_HEADER ",state,paths,paths_covered,disturbed,error_us"
static const char second_header[] = SECOND_HEADER;
#define THIRD_HEADER SECOND_HEADER ",answered_at"
static const char third_header[] = THIRD_HEADER;
static const char header_line[] = THIRD_HEADER ",peer_stalled,peer_stall_us,hop,next_hop,hop_us,hop_loss";

enum { ROWS_BETWEEN_LOOKS = 1 << 16 };

enum column {
	COLUMN_SOURCE,
	COLUMN_DESTINATION,
	COLUMN_RTT_P50,
	COLUMN_RTT_P99,
	COLUMN_RTT_MAX,
	COLUMN_LOSS,
	COLUMN_SAMPLES,
	COLUMN_UPDATED_AT,
	COLUMN_FIRST_COUNT, /* number of columns of the first version */
	COLUMN_STATE = COLUMN_FIRST_COUNT,
	COLUMN_PATHS,
	COLUMN_PATHS_COVERED,
	COLUMN_DISTURBED,
	COLUMN_ERROR,
	COLUMN_SECOND_COUNT, /* number of columns of the second version */
	COLUMN_ANSWERED_AT = COLUMN_SECOND_COUNT,
	COLUMN_THIRD_COUNT,
	COLUMN_PEER_STALLED = COLUMN_THIRD_COUNT,
	COLUMN_PEER_STALL,
	COLUMN_HOP,
	COLUMN_NEXT_HOP,
	COLUMN_HOP_US,
	COLUMN_HOP_LOSS,
	COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = {
	"src",          "dst",           "rtt_p50_us", "rtt_p99_us",    "rtt_max_us", "loss",     "samples",
	"updated_at",   "state",         "paths",      "paths_covered", "disturbed",  "error_us", "answered_at",
	"peer_stalled", "peer_stall_us", "hop",        "next_hop",      "hop_us",     "hop_loss",
};

/* The largest value of each figure; RTTs up to an hour, dates up to the year 2262 (64-bit ns). */
static const double column_maximum[COLUMN_COUNT] = {
	[COLUMN_RTT_P50] = 3.6e9,    [COLUMN_RTT_P99] = 3.6e9,       [COLUMN_RTT_MAX] = 3.6e9,
	[COLUMN_LOSS] = 1,           [COLUMN_SAMPLES] = 0x1p53,      [COLUMN_UPDATED_AT] = 9.2e9,
	[COLUMN_PATHS] = 65535,      [COLUMN_PATHS_COVERED] = 65535, [COLUMN_DISTURBED] = 1,
	[COLUMN_ERROR] = 3.6e9,      [COLUMN_ANSWERED_AT] = 9.2e9,   [COLUMN_PEER_STALLED] = 1,
	[COLUMN_PEER_STALL] = 3.6e9, [COLUMN_HOP_US] = 3.6e9,        [COLUMN_HOP_LOSS] = 1,
};

struct row_place {
	struct file_lines *lines;
	size_t columns; /* number of columns in the file's version */
	struct error *err;
};

static struct error_place place_of(const struct row_place *row, enum column column)
{
	return (struct error_place){file_lines_name(row->lines), file_lines_number(row->lines), column_names[column]};
}

static int read_figure(const struct row_place *row, char **fields, enum column column, double *value)
{
	int code = number_parse_double(fields[column], value);

	if (code || !(*value >= 0 && *value <= column_maximum[column]))
		return error_at(row->err, place_of(row, column), EINVAL, "expected a number 0..%.10g, found '%s'",
				column_maximum[column], fields[column]);
	*value = fabs(*value); /* -0 is 0 */
	return 0;
}

static int read_whole(const struct row_place *row, char **fields, enum column column, uint64_t *whole)
{
	int64_t value;

	if (number_parse_i64(fields[column], &value) || value < 0 || (double)value > column_maximum[column])
		return error_at(row->err, place_of(row, column), EINVAL, "expected a whole number 0..%.0f, found '%s'",
				column_maximum[column], fields[column]);
	*whole = (uint64_t)value;
	return 0;
}

/*
 * "stale" means a measured or unreachable pair that was old when the file was written. The entry gets the state
 * measured or unreachable; readers compute the age from updated_at.
 */
static int read_state(const struct row_place *row, char **fields, struct latency_entry *entry)
{
	const char *state = fields[COLUMN_STATE];
	bool silent = entry->samples == 0;

	for (uint8_t i = 0; latency_state_names[i]; i++) {
		if (strcmp(latency_state_names[i], state) != 0)
			continue;
		if (i == LATENCY_STATE_STALE)
			i = silent ? LATENCY_STATE_UNREACHABLE : LATENCY_STATE_MEASURED;
		if (silent == (i == LATENCY_STATE_MEASURED))
			break;
		entry->state = i;
		return 0;
	}
	return error_at(row->err, place_of(row, COLUMN_STATE), EINVAL,
			"expected %s in a row with %llu samples, found '%s'",
			silent ? "unreachable, never or stale" : "measured or stale",
			(unsigned long long)entry->samples, state);
}

/* Reads the columns that the second version of the file form added. */
static int read_quality(const struct row_place *row, char **fields, struct latency_entry *entry)
{
	uint64_t paths = 0, covered = 0;
	double disturbed, error_us;
	int code;

	if (row->columns == COLUMN_FIRST_COUNT)
		return 0;
	if ((code = read_state(row, fields, entry)) || (code = read_whole(row, fields, COLUMN_PATHS, &paths)) ||
	    (code = read_whole(row, fields, COLUMN_PATHS_COVERED, &covered)) ||
	    (code = read_figure(row, fields, COLUMN_DISTURBED, &disturbed)) ||
	    (code = read_figure(row, fields, COLUMN_ERROR, &error_us)))
		return code;
	entry->paths = (uint16_t)paths;
	entry->paths_covered = (uint16_t)covered;
	entry->disturbed = (float)disturbed;
	entry->error_us = (float)error_us;
	return 0;
}

static int read_host(const struct row_place *row, struct latency_matrix *matrix, char **fields, enum column column,
		     uint32_t *host)
{
	int64_t found = latency_matrix_add_host(matrix, fields[column]);

	if (found == -EINVAL)
		return error_at(row->err, place_of(row, column), EINVAL,
				"expected a host name of 1..%d bytes of UTF-8 without blanks, commas or quotes, found "
				"'%.80s'",
				LATENCY_NAME_BYTES - 1, fields[column]);
	if (found < 0)
		return error_set(row->err, (int)-found, "out of memory");
	*host = (uint32_t)found;
	return 0;
}

/* Reads the RTTs: all three, in ascending order; or none, in a row without samples. */
static int read_times(const struct row_place *row, char **fields, struct latency_entry *entry)
{
	double *const times[] = {&entry->rtt_p50_us, &entry->rtt_p99_us, &entry->rtt_max_us};

	for (size_t i = 0; i < 3; i++) {
		enum column column = (enum column)(COLUMN_RTT_P50 + i);

		*times[i] = NAN;
		if (entry->samples == 0 && fields[column][0] == '\0')
			continue;
		if (entry->samples == 0)
			return error_at(row->err, place_of(row, column), EINVAL,
					"expected an empty field in a row with 0 samples, found '%s'", fields[column]);
		if (read_figure(row, fields, column, times[i]))
			return -row->err->code;
		if (i > 0 && *times[i] < *times[i - 1])
			return error_at(row->err, place_of(row, column), EINVAL,
					"expected at least %s (%.10g), found '%s'", column_names[column - 1],
					*times[i - 1], fields[column]);
	}
	return 0;
}

/* Reads a date, and rounds it to microseconds: a double of seconds since 1970 is not more precise. */
static int read_time(const struct row_place *row, char **fields, enum column column, struct ns *time)
{
	double seconds, whole;

	if (read_figure(row, fields, column, &seconds))
		return -row->err->code;
	whole = floor(seconds);
	time->v = (int64_t)whole * NS_PER_S + llround((seconds - whole) * 1e6) * NS_PER_US;
	return 0;
}

/* Earlier versions have one date for both times: in a row with samples, it is that of the last answer. */
static int read_answered(const struct row_place *row, char **fields, struct latency_entry *entry)
{
	if (row->columns < COLUMN_THIRD_COUNT) {
		entry->answered_at.v = entry->samples ? entry->updated_at.v : 0;
		return 0;
	}
	return fields[COLUMN_ANSWERED_AT][0] ? read_time(row, fields, COLUMN_ANSWERED_AT, &entry->answered_at) : 0;
}

/* An empty field is no address. */
static int read_hop(const struct row_place *row, char **fields, enum column column, latency_hop *hop)
{
	ip_address address = 0;

	if (fields[column][0] && address_parse(fields[column], &address))
		return error_at(row->err, place_of(row, column), EINVAL, "expected an IP address, found '%.80s'",
				fields[column]);
	*hop = address;
	return 0;
}

/* Reads the columns that the fourth version added. */
static int read_culprit(const struct row_place *row, char **fields, struct latency_entry *entry)
{
	float *const figures[] = {&entry->peer_stalled, &entry->peer_stall_us, &entry->hop_us, &entry->hop_loss};
	static const enum column columns[] = {COLUMN_PEER_STALLED, COLUMN_PEER_STALL, COLUMN_HOP_US, COLUMN_HOP_LOSS};
	int code;

	if (row->columns < COLUMN_COUNT)
		return 0;
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		double value;

		if ((code = read_figure(row, fields, columns[i], &value)))
			return code;
		*figures[i] = (float)value;
	}
	code = read_hop(row, fields, COLUMN_HOP, &entry->hop);
	return code ? code : read_hop(row, fields, COLUMN_NEXT_HOP, &entry->next_hop);
}

static const char *row_header(const struct row_place *row)
{
	return row->columns == COLUMN_COUNT          ? header_line
	       : row->columns == COLUMN_THIRD_COUNT  ? third_header
	       : row->columns == COLUMN_SECOND_COUNT ? second_header
						     : first_header;
}

static int read_row(const struct row_place *row, struct latency_matrix *matrix, char *line)
{
	struct latency_entry entry = {0};
	char *fields[COLUMN_COUNT];
	size_t count = file_split(line, ',', fields, COLUMN_COUNT), known;
	int code;

	if (count != row->columns)
		return error_at(row->err,
				(struct error_place){file_lines_name(row->lines), file_lines_number(row->lines), NULL},
				EINVAL, "expected %zu fields (%s), found %zu", row->columns, row_header(row), count);
	if ((code = read_host(row, matrix, fields, COLUMN_SOURCE, &entry.source)) ||
	    (code = read_host(row, matrix, fields, COLUMN_DESTINATION, &entry.destination)) ||
	    (code = read_whole(row, fields, COLUMN_SAMPLES, &entry.samples)) ||
	    (code = read_times(row, fields, &entry)) || (code = read_figure(row, fields, COLUMN_LOSS, &entry.loss)) ||
	    (code = read_time(row, fields, COLUMN_UPDATED_AT, &entry.updated_at)) ||
	    (code = read_quality(row, fields, &entry)) || (code = read_answered(row, fields, &entry)) ||
	    (code = read_culprit(row, fields, &entry)))
		return code;
	known = latency_matrix_count(matrix);
	code = latency_matrix_set(matrix, &entry);
	if (code)
		return error_at(row->err, place_of(row, COLUMN_SOURCE), -code, "cannot add the row: %s",
				strerror(-code));
	if (latency_matrix_count(matrix) == known)
		return error_at(row->err, place_of(row, COLUMN_DESTINATION), EEXIST, "duplicate pair %s -> %s",
				latency_matrix_host(matrix, entry.source),
				latency_matrix_host(matrix, entry.destination));
	return 0;
}

static int skips(const char *line)
{
	return line[strspn(line, " \t")] == '\0' || line[0] == '#';
}

static void show_progress(struct progress *bar, const struct latency_matrix *matrix)
{
	char note[64];

	if (!bar || latency_matrix_count(matrix) % ROWS_BETWEEN_LOOKS)
		return;
	snprintf(note, sizeof note, "reading, %zu pairs", latency_matrix_count(matrix));
	progress_update(bar, 0, note);
}

/* Accepts the header line of any version; *columns is its number of columns. */
static int read_header(const char *line, const struct row_place *row, size_t *columns)
{
	if (strcmp(line, header_line) == 0)
		*columns = COLUMN_COUNT;
	else if (strcmp(line, third_header) == 0)
		*columns = COLUMN_THIRD_COUNT;
	else if (strcmp(line, second_header) == 0)
		*columns = COLUMN_SECOND_COUNT;
	else if (strcmp(line, first_header) == 0)
		*columns = COLUMN_FIRST_COUNT;
	else
		return error_at(row->err,
				(struct error_place){file_lines_name(row->lines), file_lines_number(row->lines), NULL},
				EINVAL, "expected the header line '%s', found '%.120s'", header_line, line);
	return 0;
}

static int read_rows(struct latency_matrix *matrix, struct file_lines *lines, struct progress *bar, struct error *err)
{
	struct row_place row = {lines, 0, err};
	char *line;
	int code;

	while ((code = file_lines_next(lines, &line, err)) > 0) {
		if (skips(line))
			continue;
		code = row.columns ? read_row(&row, matrix, line) : read_header(line, &row, &row.columns);
		if (code)
			return code;
		show_progress(bar, matrix);
	}
	if (code < 0)
		return code;
	if (!row.columns)
		return error_at(err, (struct error_place){file_lines_name(lines), 1, NULL}, EINVAL,
				"expected the header line '%s', found an empty file", header_line);
	return 0;
}

static struct latency_matrix *parse(struct file_lines *lines, struct progress *bar, struct error *err)
{
	struct latency_matrix *matrix = latency_matrix_create();
	struct error scratch = {0};

	if (!err)
		err = &scratch;
	if (!matrix) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	if (read_rows(matrix, lines, bar, err)) {
		latency_matrix_destroy(matrix);
		return NULL;
	}
	return matrix;
}

struct latency_matrix *latency_matrix_parse(struct file_lines *lines, struct error *err)
{
	return parse(lines, NULL, err);
}

static struct latency_matrix *read_live(const char *path, struct error *err)
{
	struct latency_matrix *live = latency_live_map(path, err), *copy;

	if (!live)
		return NULL;
	copy = latency_live_snapshot(live);
	latency_matrix_destroy(live);
	if (!copy)
		error_set(err, ENOMEM, "out of memory");
	return copy;
}

struct latency_matrix *latency_matrix_read(const char *path, struct progress *bar, struct error *err)
{
	struct latency_matrix *matrix;
	struct file_lines *lines;

	if (latency_live_is(path))
		return read_live(path, err);
	lines = file_lines_open(path, err);
	if (!lines)
		return NULL;
	matrix = parse(lines, bar, err);
	file_lines_close(lines);
	return matrix;
}

struct latency_matrix *latency_matrix_read_all(char *const *paths, size_t count, enum latency_merge how,
					       struct progress *bar, struct error *err)
{
	struct latency_matrix *all = latency_matrix_create();

	if (!all)
		error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; all && i < count; i++) {
		struct latency_matrix *one = latency_matrix_read(paths[i], bar, err);

		if (!one || latency_matrix_merge(all, one, how, err)) {
			if (one)
				error_prefix(err, "%s", paths[i]);
			latency_matrix_destroy(all);
			all = NULL;
		}
		latency_matrix_destroy(one);
	}
	return all;
}

static void write_hop(ip_address hop, FILE *out)
{
	char text[ADDRESS_TEXT_BYTES] = "";

	if (hop)
		address_print(hop, text);
	fprintf(out, "%s,", text);
}

/* Measurements have a resolution of a nanosecond, so that three decimals of the RTTs lose nothing. */
static void write_entry(const struct latency_matrix *matrix, const struct latency_entry *entry, FILE *out)
{
	char loss[32];

	number_print_double(entry->loss, loss, sizeof loss);
	fprintf(out, "%s,%s,", latency_matrix_host(matrix, entry->source),
		latency_matrix_host(matrix, entry->destination));
	if (entry->samples > 0)
		fprintf(out, "%.3f,%.3f,%.3f,", entry->rtt_p50_us, entry->rtt_p99_us, entry->rtt_max_us);
	else
		fputs(",,,", out);
	fprintf(out, "%s,%llu,%lld.%03lld,%s,%u,%u,%.9g,%.9g,", loss, (unsigned long long)entry->samples,
		(long long)(entry->updated_at.v / NS_PER_S), (long long)(entry->updated_at.v % NS_PER_S / NS_PER_MS),
		latency_state_names[entry->state], entry->paths, entry->paths_covered, (double)entry->disturbed,
		(double)entry->error_us);
	if (entry->answered_at.v)
		fprintf(out, "%lld.%03lld", (long long)(entry->answered_at.v / NS_PER_S),
			(long long)(entry->answered_at.v % NS_PER_S / NS_PER_MS));
	fprintf(out, ",%.9g,%.9g,", (double)entry->peer_stalled, (double)entry->peer_stall_us);
	write_hop(entry->hop, out);
	write_hop(entry->next_hop, out);
	fprintf(out, "%.9g,%.9g\n", (double)entry->hop_us, (double)entry->hop_loss);
}

int latency_matrix_write(const struct latency_matrix *matrix, const char *path, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fprintf(out, "%s\n%s\n", version_line, header_line);
	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		struct latency_entry entry;

		if (latency_matrix_load(matrix, i, &entry))
			write_entry(matrix, &entry, out);
	}
	return file_writer_commit(writer, err);
}
