/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads DIMACS files chunk by chunk. A fast path parses valid lines; a slow path reports what is wrong with invalid
 * ones.
 */
#include <sched/mcf/dimacs.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include <base/file.h>

#include "mcf_priv.h"

enum { CHUNK_BYTES = 1 << 18, ARC_ROOM_FIRST = 1 << 20 };

struct reader {
	const char *name;
	struct mcf_network *network;
	struct error *err;
	long line; /* number of the current line, from 1 */
	bool has_problem;
	int32_t node_count, arc_count; /* as the p line states them */
	int64_t cost_limit;            /* |cost| */
	uint8_t *has_supply;           /* a bit per node: it has an n line */
};

void mcf_network_free(struct mcf_network *network)
{
	free(network->tail);
	free(network->head);
	free(network->lower);
	free(network->capacity);
	free(network->cost);
	free(network->supply);
	*network = (struct mcf_network){0};
}

static bool grow(void **array, size_t bytes)
{
	void *grown = realloc(*array, bytes);

	if (grown)
		*array = grown;
	return grown != NULL;
}

static bool reserve_arcs(struct mcf_network *network, int32_t room)
{
	size_t count = (size_t)room + 1;

	if (!grow((void **)&network->tail, count * sizeof *network->tail) ||
	    !grow((void **)&network->head, count * sizeof *network->head) ||
	    !grow((void **)&network->capacity, count * sizeof *network->capacity) ||
	    !grow((void **)&network->cost, count * sizeof *network->cost) ||
	    (network->lower && !grow((void **)&network->lower, count * sizeof *network->lower)))
		return false;
	network->arc_room = room;
	return true;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *reader, const char *field, const char *format,
							...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return error_at(reader->err, (struct error_place){reader->name, reader->line, field}, EINVAL, "%s", text);
}

static int refuse_memory(struct reader *reader)
{
	return error_at(reader->err, (struct error_place){reader->name, reader->line, NULL}, ENOMEM,
			"not enough memory for %d nodes and %d arcs", reader->node_count, reader->arc_count);
}

static inline const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static inline bool at_end(const char *at)
{
	at = skip_blanks(at);
	return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/*
 * Skips blanks and parses a decimal integer of at most 18 digits, which cannot overflow. Returns its end; NULL if there
 * is no such integer, or if neither a blank nor the end of the line follows.
 */
static inline const char *scan_short(const char *at, int64_t *value)
{
	const char *first;
	int64_t sum = 0;
	bool negative;

	at = skip_blanks(at);
	negative = *at == '-';
	at += negative;
	for (first = at; (unsigned char)(*at - '0') < 10 && at - first < 18; at++)
		sum = sum * 10 + (*at - '0');
	*value = negative ? -sum : sum;
	/* There must be digits, and no dot, letter or further digit after them. */
	return at > first && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ? at : NULL;
}

/* Parses the word at `*at` as an integer in low..high, or reports why that is impossible. */
static int scan_field(struct reader *reader, const char **at, const char *field, int64_t low, int64_t high,
		      int64_t *value)
{
	const char *begin = skip_blanks(*at), *end = begin;
	bool digits;
	char word[32], *stop;

	while (*end != ' ' && *end != '\t' && *end != '\n' && !(*end == '\r' && end[1] == '\n'))
		end++;
	if (end == begin)
		return refuse(reader, field, "the line ends here; expected an integer %" PRId64 "..%" PRId64, low,
			      high);
	snprintf(word, sizeof word, "%.*s", (int)(end - begin < 31 ? end - begin : 31), begin);
	digits = strspn(word + (*word == '-'), "0123456789") == strlen(word) - (*word == '-') && word[*word == '-'];
	if (!digits)
		return refuse(reader, field, "found '%s', expected an integer %" PRId64 "..%" PRId64, word, low, high);
	errno = 0;
	*value = strtoll(word, &stop, 10);
	if (errno == ERANGE || end - begin > 31 || *value < low || *value > high)
		return refuse(reader, field, "found %s%s, expected %" PRId64 "..%" PRId64, word,
			      end - begin > 31 ? "..." : "", low, high);
	*at = end;
	return 0;
}

static int expect_end(struct reader *reader, const char *at)
{
	if (at_end(at))
		return 0;
	at = skip_blanks(at);
	return refuse(reader, NULL, "found '%.*s' behind the last field, expected the end of the line",
		      (int)strcspn(at, " \t\r\n") > 31 ? 31 : (int)strcspn(at, " \t\r\n"), at);
}

static int read_problem_line(struct reader *reader, const char *at)
{
	int64_t nodes, arcs;
	int code;

	if (reader->has_problem)
		return refuse(reader, NULL, "a second p line; expected one");
	at = skip_blanks(at);
	if (strncmp(at, "min", 3) != 0 || (at[3] != ' ' && at[3] != '\t'))
		return refuse(reader, "p", "expected 'p min NODES ARCS' (other kinds of problem are not supported)");
	at += 3;
	if ((code = scan_field(reader, &at, "NODES", 0, MCF_DIMACS_NODES, &nodes)) < 0 ||
	    (code = scan_field(reader, &at, "ARCS", 0, MCF_DIMACS_ARCS, &arcs)) < 0 ||
	    (code = expect_end(reader, at)) < 0)
		return code;
	reader->has_problem = true;
	reader->node_count = (int32_t)nodes;
	reader->arc_count = (int32_t)arcs;
	reader->cost_limit = MCF_COST_LIMIT / (nodes + 1) - 1;
	reader->network->supply = calloc((size_t)nodes + 1, sizeof *reader->network->supply);
	reader->has_supply = calloc((size_t)nodes / 8 + 1, 1);
	if (!reader->network->supply || !reader->has_supply ||
	    !reserve_arcs(reader->network, arcs < ARC_ROOM_FIRST ? (int32_t)arcs : ARC_ROOM_FIRST))
		return refuse_memory(reader);
	return 0;
}

static int read_node_line(struct reader *reader, const char *at)
{
	int64_t node, supply;
	int code;

	if (!reader->has_problem)
		return refuse(reader, NULL, "an n line before the p line; expected 'p min NODES ARCS' first");
	if ((code = scan_field(reader, &at, "NODE", 1, reader->node_count, &node)) < 0 ||
	    (code = scan_field(reader, &at, "SUPPLY", -(INT64_C(1) << 61), INT64_C(1) << 61, &supply)) < 0 ||
	    (code = expect_end(reader, at)) < 0)
		return code;
	node--;
	if (reader->has_supply[node / 8] >> node % 8 & 1)
		return refuse(reader, "NODE", "a second n line for node %" PRId64 "; expected one", node + 1);
	reader->has_supply[node / 8] |= (uint8_t)(1 << node % 8);
	reader->network->supply[node] = supply;
	return 0;
}

/* Reports why the fast path rejected an arc line. Returns 0 if the line is valid after all. */
static int explain_arc_line(struct reader *reader, const char *at, int64_t field[5])
{
	int code;

	if (strcspn(at, "\n") != (size_t)((const char *)rawmemchr(at, '\n') - at))
		return refuse(reader, NULL, "found a NUL byte, expected text");
	if (!reader->has_problem)
		return refuse(reader, NULL, "an a line before the p line; expected 'p min NODES ARCS' first");
	if (reader->network->problem.arc_count == reader->arc_count)
		return refuse(reader, NULL, "one arc more than the %d that the p line states", reader->arc_count);
	if ((code = scan_field(reader, &at, "TAIL", 1, reader->node_count, &field[0])) < 0 ||
	    (code = scan_field(reader, &at, "HEAD", 1, reader->node_count, &field[1])) < 0 ||
	    (code = scan_field(reader, &at, "LOWER", 0, INT32_MAX, &field[2])) < 0 ||
	    (code = scan_field(reader, &at, "CAPACITY", 0, INT32_MAX, &field[3])) < 0 ||
	    (code = scan_field(reader, &at, "COST", -reader->cost_limit, reader->cost_limit, &field[4])) < 0 ||
	    (code = expect_end(reader, at)) < 0)
		return code;
	if (field[2] > field[3])
		return refuse(reader, "LOWER", "lower bound %" PRId64 " is over the capacity %" PRId64, field[2],
			      field[3]);
	return 0;
}

static bool store_lower(struct mcf_network *network, int32_t arc, int64_t lower)
{
	if (!network->lower && lower > 0) {
		network->lower = calloc((size_t)network->arc_room + 1, sizeof *network->lower);
		if (!network->lower)
			return false;
	}
	if (network->lower)
		network->lower[arc] = (int32_t)lower;
	return true;
}

static inline int read_arc_line(struct reader *reader, const char *line)
{
	struct mcf_network *network = reader->network;
	int32_t arc = network->problem.arc_count;
	const char *at = line;
	int64_t field[5];

	for (int i = 0; i < 5 && at; i++)
		at = scan_short(at, &field[i]);
	if (!at || !at_end(at) || arc == reader->arc_count ||
	    (uint64_t)(field[0] - 1) >= (uint64_t)reader->node_count ||
	    (uint64_t)(field[1] - 1) >= (uint64_t)reader->node_count || (uint64_t)field[3] > INT32_MAX ||
	    (uint64_t)field[2] > (uint64_t)field[3] || field[4] > reader->cost_limit ||
	    field[4] < -reader->cost_limit) {
		int code = explain_arc_line(reader, line, field);

		if (code < 0)
			return code;
	}
	if (arc == network->arc_room) {
		int32_t room = arc > reader->arc_count / 2 ? reader->arc_count : arc * 2;

		if (!reserve_arcs(network, room))
			return refuse_memory(reader);
	}
	if ((field[2] > 0 || network->lower) && !store_lower(network, arc, field[2]))
		return refuse_memory(reader);
	network->tail[arc] = (int32_t)field[0] - 1;
	network->head[arc] = (int32_t)field[1] - 1;
	network->capacity[arc] = (int32_t)field[3];
	network->cost[arc] = field[4];
	network->problem.arc_count = arc + 1;
	return 0;
}

static bool is_letter_alone(const char *line)
{
	return line[1] == ' ' || line[1] == '\t' || line[1] == '\n' || line[1] == '\r';
}

static int read_line(struct reader *reader, const char *line)
{
	line = skip_blanks(line);
	if (*line == 'c' || at_end(line))
		return 0;
	if (is_letter_alone(line)) {
		switch (*line) {
		case 'n':
			return read_node_line(reader, line + 1);
		case 'p':
			return read_problem_line(reader, line + 1);
		case 'a':
			return read_arc_line(reader, line + 1);
		default:
			break;
		}
	}
	return refuse(reader, NULL, "found a line that starts with '%.*s', expected c, p, n or a",
		      (int)strcspn(line, " \t\r\n") > 15 ? 15 : (int)strcspn(line, " \t\r\n"), line);
}

/* Reads complete lines. text[bytes - 1] must be a newline, which ends every scan. */
static int read_lines(struct reader *reader, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	if (reader->line == 0)
		text += file_mark_bytes(text, bytes);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		int code;

		reader->line++;
		if (memchr(text, '\0', *text == 'a' ? 0 : (size_t)(newline - text)))
			return refuse(reader, NULL, "found a NUL byte, expected text");
		code = *text == 'a' && (text[1] == ' ' || text[1] == '\t') ? read_arc_line(reader, text + 1)
									   : read_line(reader, text);
		if (code < 0)
			return code;
		text = newline + 1;
	}
	return 0;
}

static int finish(struct reader *reader)
{
	struct mcf_network *network = reader->network;
	mcf_wide sum = 0, total = 0;

	if (!reader->has_problem)
		return refuse(reader, NULL, "the file ends without a p line; expected 'p min NODES ARCS'");
	if (network->problem.arc_count < reader->arc_count)
		return refuse(reader, NULL,
			      "the file ends after %d arcs of the %d that the p line states; was it cut off?",
			      network->problem.arc_count, reader->arc_count);
	for (int32_t v = 0; v < reader->node_count; v++) {
		sum += network->supply[v];
		total += network->supply[v] < 0 ? -network->supply[v] : network->supply[v];
	}
	if (sum != 0)
		return refuse(reader, "SUPPLY", "the supplies sum to %.17g, expected 0", (double)sum);
	if (total > INT64_C(1) << 62)
		return refuse(reader, "SUPPLY", "the absolute supplies sum to %.17g, expected 2^62 at most",
			      (double)total);
	network->problem = (struct mcf_problem){.node_count = reader->node_count,
						.arc_count = reader->arc_count,
						.tail = network->tail,
						.head = network->head,
						.lower = network->lower,
						.capacity = network->capacity,
						.cost = network->cost,
						.supply = network->supply};
	return 0;
}

static int close_reader(struct reader *reader, int code)
{
	if (code == 0)
		code = finish(reader);
	free(reader->has_supply);
	if (code < 0)
		mcf_network_free(reader->network);
	return code;
}

int mcf_dimacs_parse(const char *name, const char *text, size_t bytes, struct mcf_network *network, struct error *err)
{
	struct reader reader = {.name = name, .network = network, .err = err};
	char *copy = malloc(bytes + 1);
	int code;

	*network = (struct mcf_network){0};
	if (!copy)
		return refuse_memory(&reader);
	memcpy(copy, text, bytes);
	copy[bytes] = '\n';
	code = read_lines(&reader, copy, bytes + (bytes > 0 && copy[bytes - 1] != '\n'));
	free(copy);
	return close_reader(&reader, code);
}

/*
 * True if the gzip stream ends early. Call it before the last line is parsed: a truncated file ends within a line,
 * which would be reported instead.
 */
static bool is_cut_off(gzFile file)
{
	int zlib_code;

	gzerror(file, &zlib_code);
	return zlib_code == Z_BUF_ERROR;
}

static int refuse_read(struct reader *reader, gzFile file)
{
	int system_code = errno, zlib_code;
	const char *text = gzerror(file, &zlib_code);
	const char *reason = strrchr(text, ':'); /* zlib's message begins with the file's name or number */

	if (zlib_code == Z_DATA_ERROR)
		return refuse(reader, NULL, "the gzip stream is damaged: %s", reason ? reason + 2 : text);
	if (zlib_code == Z_ERRNO)
		text = system_code == EISDIR ? "it is a folder, expected a file" : strerror(system_code);
	return refuse(reader, NULL, "read error: %s", text);
}

/* Reads chunk by chunk; text after the last newline of a chunk is moved to the front of the next chunk. */
static int read_chunks(struct reader *reader, gzFile file)
{
	char *buffer = malloc(CHUNK_BYTES + 1);
	size_t kept = 0;
	int code = 0;

	if (!buffer)
		return refuse_memory(reader);
	for (;;) {
		int got = gzread(file, buffer + kept, (unsigned)(CHUNK_BYTES - kept));
		size_t bytes, whole;

		if (got < 0) {
			code = refuse_read(reader, file);
			break;
		}
		if (got == 0)
			break;
		bytes = kept + (size_t)got;
		for (whole = bytes; whole > 0 && buffer[whole - 1] != '\n'; whole--)
			;
		if (whole == 0 && bytes == CHUNK_BYTES) {
			reader->line++;
			code = refuse(reader, NULL, "a line of over %d bytes; is this a DIMACS file?", CHUNK_BYTES);
			break;
		}
		code = read_lines(reader, buffer, whole);
		if (code < 0)
			break;
		kept = bytes - whole;
		memmove(buffer, buffer + whole, kept);
	}
	if (code == 0 && is_cut_off(file))
		code = refuse(reader, NULL, "the gzip stream ends early; was the file cut off?");
	if (code == 0 && kept > 0) {
		buffer[kept] = '\n';
		code = read_lines(reader, buffer, kept + 1);
	}
	free(buffer);
	return code;
}

int mcf_dimacs_read(const char *path, struct mcf_network *network, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct reader reader = {.name = is_stdin ? "standard input" : path, .network = network, .err = err};
	gzFile file;
	int code;

	*network = (struct mcf_network){0};
	errno = 0;
	/* dup(): closing `file` must not close the caller's stdin. */
	file = is_stdin ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
	if (!file)
		return error_at(err, (struct error_place){path, 0, NULL}, errno ? errno : ENOMEM, "cannot open: %s",
				errno ? strerror(errno) : "out of memory");
	gzbuffer(file, CHUNK_BYTES);
	code = read_chunks(&reader, file);
	gzclose_r(file);
	return close_reader(&reader, code);
}
