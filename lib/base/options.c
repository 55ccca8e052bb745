/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/options.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>

enum { ROWS_MAXIMUM = 128, FIRST_LONG_CODE = 1000, CODE_HELP = 900, CODE_VERSION, CODE_CONFIG };

/* A string from a config file. The settings point to it, so it is kept until options_free(). */
struct option_strings {
	struct option_strings *next;
	long line; /* line of the config file that has this string */
	char text[];
};

static void *field_of(void *settings, const struct option_row *row)
{
	return (char *)settings + row->offset;
}

static int set_choice(const struct option_row *row, const char *text, int *value, const char *shown, struct error *err)
{
	char known[400] = "";

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], text) == 0) {
			*value = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", row->choices[i]);
	}
	return error_set(err, EINVAL, "%s: found '%s', expected one of: %s", shown, text, known);
}

static void print_range(const struct option_row *row, char *text, size_t bytes)
{
	char least[32], most[32];

	number_print_double(row->minimum, least, sizeof least);
	number_print_double(row->maximum, most, sizeof most);
	snprintf(text, bytes, "%s to %s", least, most);
}

static int bad_number(const struct option_row *row, const char *text, const char *shown, const char *kind,
		      struct error *err)
{
	char range[80];

	print_range(row, range, sizeof range);
	return error_set(err, EINVAL, "%s: found '%s', expected %s from %s", shown, text, kind, range);
}

static int set_flag(const char *text, bool *value, const char *shown, struct error *err)
{
	static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false", "off", "0"};

	if (!text) {
		*value = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*value = strcmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return error_set(err, EINVAL, "%s: '%s' is neither yes nor no", shown, text);
}

/* `shown` names the option in messages; text is NULL for a flag on the command line. */
static int set_field(const struct option_row *row, const char *text, void *settings, const char *shown,
		     struct error *err)
{
	void *field = field_of(settings, row);

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		return set_flag(text, field, shown, err);
	case OPTION_KIND_INTEGER: {
		int64_t value;

		if (number_parse_i64(text, &value) < 0 || (double)value < row->minimum || (double)value > row->maximum)
			return bad_number(row, text, shown, "a whole number", err);
		*(int64_t *)field = value;
		return 0;
	}
	case OPTION_KIND_DOUBLE: {
		double value;

		if (number_parse_double(text, &value) < 0 || value < row->minimum || value > row->maximum)
			return bad_number(row, text, shown, "a number", err);
		*(double *)field = value;
		return 0;
	}
	case OPTION_KIND_STRING:
		*(const char **)field = text;
		return 0;
	case OPTION_KIND_CHOICE:
		return set_choice(row, text, field, shown, err);
	case OPTION_KIND_LIST: {
		struct option_list *list = field;

		if (list->count == OPTION_LIST_MAXIMUM)
			return error_set(err, E2BIG, "%s: given more than %d times", shown, OPTION_LIST_MAXIMUM);
		list->items[list->count++] = text;
		return 0;
	}
	case OPTION_KIND_END:
	case OPTION_KIND_HEADING:
		break;
	}
	return error_set(err, EINVAL, "%s: not an option", shown);
}

static const struct option_row *find_row(const struct option_row *rows, const char *name)
{
	for (const struct option_row *row = rows; row->kind != OPTION_KIND_END; row++) {
		if (row->kind != OPTION_KIND_HEADING && strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}

static const char *keep_string(struct option_strings **strings, const char *text, long line)
{
	struct option_strings *node = malloc(sizeof *node + strlen(text) + 1);

	if (!node)
		return NULL;
	strcpy(node->text, text);
	node->line = line;
	node->next = *strings;
	*strings = node;
	return node->text;
}

/*
 * Reads a line of the config file. seen[row] is the line that last set the option, 0 = none: it is an error to set an
 * option twice, unless it is a list.
 */
static int read_line(const struct option_usage *usage, struct error_place place, char *line, void *settings, long *seen,
		     struct option_strings **strings, struct error *err)
{
	char *fields[2];
	const struct option_row *row;
	const char *kept;
	char *equals = strchr(line, '=');

	line += strspn(line, " \t");
	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (!equals)
		return error_at(err, place, EINVAL, "expected 'name = value', found '%.80s'", line);
	*equals = '\0';
	file_split(line, '\n', &fields[0], 1);
	file_split(equals + 1, '\n', &fields[1], 1);
	row = find_row(usage->rows, fields[0]);
	place.field = fields[0];
	if (!row)
		return error_at(err, place, EINVAL, "there is no such option; '%s --help' lists them", usage->command);
	if (row->kind != OPTION_KIND_LIST && seen[row - usage->rows] > 0)
		return error_at(err, place, EEXIST, "given in line %ld already; expected once",
				seen[row - usage->rows]);
	seen[row - usage->rows] = place.line;
	kept = keep_string(strings, fields[1], place.line);
	if (!kept)
		return error_set(err, ENOMEM, "out of memory");
	return set_field(row, kept, settings, fields[0], err) < 0 ? error_prefix(err, "%s:%ld", place.file, place.line)
								  : 0;
}

int option_assign(const struct option_row *rows, const char *text, void *settings, struct error *err)
{
	const char *equals = strchr(text, '=');
	char name[64];
	const struct option_row *row;

	snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - text : (ptrdiff_t)strlen(text)), text);
	row = find_row(rows, name);
	if (!row)
		return error_set(err, EINVAL, "'%.80s': there is no option --%s", text, name);
	if (!equals && row->kind != OPTION_KIND_FLAG)
		return error_set(err, EINVAL, "'%.80s': expected NAME=VALUE", text);
	return set_field(row, equals ? equals + 1 : NULL, settings, name, err);
}

/* Appends a continuation line, without its leading blanks. */
static char *join_lines(char *text, const char *line)
{
	size_t length = text ? strlen(text) : 0;
	char *joined;

	if (text)
		line += strspn(line, " \t");
	joined = realloc(text, length + strlen(line) + 1);
	if (!joined) {
		free(text);
		return NULL;
	}
	strcpy(joined + length, line);
	return joined;
}

/* True if a line that is not a comment ends with a backslash, which is then removed. */
static bool take_continuation(char *text)
{
	size_t length = strlen(text);

	if (length == 0 || text[length - 1] != '\\' || text[strspn(text, " \t")] == '#')
		return false;
	text[length - 1] = '\0';
	return true;
}

int options_read_file(const struct option_usage *usage, const char *path, void *settings,
		      struct option_strings **strings, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	long seen[2 * ROWS_MAXIMUM] = {0}; /* headings are rows as well */
	struct error_place place = {.file = path};
	char *line, *text = NULL;
	int status;

	if (!lines)
		return error_code(err, EIO);
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		if (!text)
			place.line = file_lines_number(lines);
		text = join_lines(text, line);
		if (!text) {
			status = error_set(err, ENOMEM, "out of memory");
			break;
		}
		if (take_continuation(text))
			continue;
		status = read_line(usage, place, text, settings, seen, strings, err);
		free(text);
		text = NULL;
		if (status < 0)
			break;
	}
	if (status == 0 && text)
		status = error_at(err, place, EINVAL, "the last line ends with a backslash: expected another line");
	free(text);
	file_lines_close(lines);
	return status;
}

long options_line_of(const struct option_strings *strings, const char *text)
{
	while (strings && strings->text != text)
		strings = strings->next;
	return strings ? strings->line : 0;
}

/*
 * Returns true if the default is in the option's range. A default outside it means "not set", and is not shown in the
 * help.
 */
static bool in_range(const struct option_row *row, double value)
{
	return value >= row->minimum && value <= row->maximum;
}

/* Prints the range and the default of a number. `field` is the settings' field with the default; NULL: no default. */
static void print_limits(const struct option_row *row, const void *field, FILE *out)
{
	double value = 0;
	char range[80], number[32];

	print_range(row, range, sizeof range);
	if (field)
		value = row->kind == OPTION_KIND_INTEGER ? (double)*(const int64_t *)field : *(const double *)field;
	number_print_double(value, number, sizeof number);
	if (field && in_range(row, value))
		fprintf(out, " (%s, default %s)", range, number);
	else
		fprintf(out, " (%s)", range);
}

static void print_default(const struct option_row *row, const void *defaults, FILE *out)
{
	const void *field = defaults ? (const char *)defaults + row->offset : NULL;

	if (row->kind == OPTION_KIND_INTEGER || row->kind == OPTION_KIND_DOUBLE)
		print_limits(row, field, out);
	if (!field)
		return;
	switch (row->kind) {
	case OPTION_KIND_STRING:
		if (*(const char *const *)field)
			fprintf(out, " (default %s)", *(const char *const *)field);
		break;
	case OPTION_KIND_CHOICE:
		if (*(const int *)field >= 0) /* negative: no default */
			fprintf(out, " (default %s)", row->choices[*(const int *)field]);
		break;
	default:
		break;
	}
}

static void print_row(const struct option_row *row, const void *defaults, FILE *out)
{
	char left[80], choices[300] = "";
	int width;

	if (row->kind == OPTION_KIND_HEADING) {
		fprintf(out, "\n%s:\n", row->name);
		return;
	}
	width = row->letter ? snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name)
			    : snprintf(left, sizeof left, "      --%s", row->name);
	if (row->argument)
		width += snprintf(left + width, sizeof left - (size_t)width, " %s", row->argument);
	fprintf(out, width < 30 ? "%-30s " : "%s\n                               ", left);
	fputs(row->help, out);
	for (int i = 0; row->kind == OPTION_KIND_CHOICE && row->choices[i]; i++)
		snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", i ? ", " : "",
			 row->choices[i]);
	if (choices[0])
		fprintf(out, ": %s", choices);
	print_default(row, defaults, out);
	fputc('\n', out);
}

static void print_help(const struct option_usage *usage, const void *defaults, FILE *out)
{
	bool has_operands = usage->operands && usage->operands[0];

	fprintf(out, "Usage: %s [OPTION...]%s%s\n%s\n%s", usage->command, has_operands ? " " : "",
		has_operands ? usage->operands : "", usage->summary,
		usage->rows[0].kind == OPTION_KIND_HEADING ? "" : "\nOptions:\n");
	for (const struct option_row *row = usage->rows; row->kind != OPTION_KIND_END; row++)
		print_row(row, defaults, out);
	fprintf(out, "%s", usage->rows[0].kind == OPTION_KIND_END ? "" : "\n");
	fprintf(out, "%-30s take defaults from FILE: one 'long-name = value' per line\n", "      --config FILE");
	fprintf(out, "%-30s this text\n", "  -h, --help");
	fprintf(out, "%-30s the version\n", "      --version");
	if (usage->teach)
		fprintf(out, "\n%s%s", usage->teach, usage->teach[strlen(usage->teach) - 1] == '\n' ? "" : "\n");
}

void options_complete(const struct option_usage *usage, FILE *out)
{
	for (const struct option_row *row = usage->rows; row->kind != OPTION_KIND_END; row++) {
		if (row->kind == OPTION_KIND_HEADING)
			continue;
		fprintf(out, "--%s\t%s\t", row->name, row->argument ? row->argument : "");
		for (size_t i = 0; row->kind == OPTION_KIND_CHOICE && row->choices[i]; i++)
			fprintf(out, "%s%s", i ? " " : "", row->choices[i]);
		fprintf(out, "\t%s\n", row->help);
	}
	fputs("--config\tFILE\t\ttake defaults from FILE: one 'long-name = value' per line\n"
	      "--help\t\t\tprint the help text\n"
	      "--version\t\t\tprint the version\n",
	      out);
}

struct parse {
	struct option longs[ROWS_MAXIMUM + 4];
	char shorts[2 * ROWS_MAXIMUM + 8];
	const struct option_row *rows[ROWS_MAXIMUM];
	int count;
};

static void build_tables(const struct option_usage *usage, struct parse *parse)
{
	char *s = parse->shorts;
	int n = 0;

	*s++ = ':'; /* makes getopt_long() return ':' if an option's value is missing */
	for (const struct option_row *row = usage->rows; row->kind != OPTION_KIND_END && n < ROWS_MAXIMUM; row++) {
		bool has_value = row->kind != OPTION_KIND_FLAG;

		if (row->kind == OPTION_KIND_HEADING)
			continue;
		parse->rows[n] = row;
		parse->longs[n] = (struct option){row->name, has_value ? required_argument : no_argument, NULL,
						  FIRST_LONG_CODE + n};
		if (row->letter) {
			*s++ = row->letter;
			if (has_value)
				*s++ = ':';
		}
		n++;
	}
	*s++ = 'h';
	*s = '\0';
	parse->count = n;
	parse->longs[n++] = (struct option){"help", no_argument, NULL, CODE_HELP};
	parse->longs[n++] = (struct option){"version", no_argument, NULL, CODE_VERSION};
	parse->longs[n++] = (struct option){"config", required_argument, NULL, CODE_CONFIG};
	parse->longs[n] = (struct option){0};
}

static const struct option_row *row_of_code(const struct parse *parse, int code)
{
	if (code >= FIRST_LONG_CODE && code < FIRST_LONG_CODE + parse->count)
		return parse->rows[code - FIRST_LONG_CODE];
	for (int i = 0; i < parse->count; i++) {
		if (parse->rows[i]->letter && parse->rows[i]->letter == code)
			return parse->rows[i];
	}
	return NULL;
}

/*
 * Sets operands->rest to the words after "--", which another parser will read. Returns the number of words before
 * "--".
 */
static int cut_rest(int argc, char **argv, struct option_operands *operands)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			operands->rest = argv + i + 1;
			operands->rest_count = argc - i - 1;
			return i;
		}
	}
	return argc;
}

/*
 * Sets err after getopt_long() returned '?' or ':'. A short option is in optopt, a long one in the word before optind.
 */
static void explain_bad_option(int code, char **argv, const struct parse *parse, struct error *err)
{
	const struct option_row *row = row_of_code(parse, optopt);
	char letter[] = {'-', (char)optopt, '\0'};
	bool is_short = optopt > 0 && optopt < CODE_HELP;
	const char *shown = is_short ? letter : argv[optind - 1];

	if (code == ':')
		error_set(err, EINVAL, "option '%s' needs a value", shown);
	else if (row && !is_short)
		error_set(err, EINVAL, "option '--%s' takes no value, found '%s'", row->name, shown);
	else
		error_set(err, EINVAL, "unknown or ambiguous option '%s'", shown);
}

enum pass { PASS_CONFIG, PASS_COMMAND_LINE };

/*
 * Parses the command line once. The first pass sets only the options of the config file; the second pass sets those of
 * the command line, which therefore replace those of the file wherever --config is.
 */
static enum option_outcome run_pass(const struct option_usage *usage, const struct parse *parse, enum pass pass,
				    int argc, char **argv, void *settings, struct option_operands *operands,
				    struct error *err)
{
	int code;

	optind = 0; /* glibc starts again at argv[1] */
	opterr = 0;
	while ((code = getopt_long(argc, argv, parse->shorts, parse->longs, NULL)) != -1) {
		const struct option_row *row = row_of_code(parse, code);
		char shown[80];

		if (code == CODE_CONFIG) {
			if (pass == PASS_CONFIG &&
			    options_read_file(usage, optarg, settings, &operands->strings, err) < 0)
				return OPTIONS_FAILED;
			continue;
		}
		if (code == CODE_HELP || code == 'h') {
			print_help(usage, settings, stdout);
			return OPTIONS_DONE;
		}
		if (code == CODE_VERSION) {
			fprintf(stdout, "%s %s\n", usage->command, NOMORA_VERSION);
			return OPTIONS_DONE;
		}
		if (!row) {
			explain_bad_option(code, argv, parse, err);
			return OPTIONS_BAD;
		}
		snprintf(shown, sizeof shown, "--%s", row->name);
		if (pass == PASS_COMMAND_LINE && set_field(row, optarg, settings, shown, err) < 0)
			return OPTIONS_BAD;
	}
	return OPTIONS_RUN;
}

enum option_outcome options_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
				  struct option_operands *operands, struct error *err)
{
	struct parse parse = {0};
	enum option_outcome outcome;

	*operands = (struct option_operands){0};
	if (usage->takes_rest)
		argc = cut_rest(argc, argv, operands);
	build_tables(usage, &parse);
	outcome = run_pass(usage, &parse, PASS_CONFIG, argc, argv, settings, operands, err);
	if (outcome == OPTIONS_RUN)
		outcome = run_pass(usage, &parse, PASS_COMMAND_LINE, argc, argv, settings, operands, err);
	if (outcome == OPTIONS_RUN) {
		operands->count = argc - optind;
		operands->items = argv + optind;
		if (operands->count < usage->operands_minimum) {
			error_set(err, EINVAL, "missing operand; usage: %s [OPTION...] %s", usage->command,
				  usage->operands ? usage->operands : "");
			outcome = OPTIONS_BAD;
		} else if (usage->operands_maximum >= 0 && operands->count > usage->operands_maximum) {
			error_set(err, EINVAL, "unexpected argument '%s'; usage: %s [OPTION...] %s",
				  operands->items[usage->operands_maximum], usage->command,
				  usage->operands ? usage->operands : "");
			outcome = OPTIONS_BAD;
		}
	}
	if (outcome != OPTIONS_RUN)
		options_free(operands);
	return outcome;
}

bool option_is_set(const struct option_row *row, const void *settings, const void *defaults)
{
	const char *field = (const char *)settings + row->offset, *unset = (const char *)defaults + row->offset;

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		return *(const bool *)field;
	case OPTION_KIND_INTEGER:
	case OPTION_KIND_DOUBLE: /* compared bit by bit, as NAN may be the default */
		return memcmp(field, unset, sizeof(int64_t)) != 0;
	case OPTION_KIND_STRING:
		return *(const char *const *)field != *(const char *const *)unset;
	case OPTION_KIND_CHOICE:
		return *(const int *)field != *(const int *)unset;
	case OPTION_KIND_LIST:
		return ((const struct option_list *)(const void *)field)->count > 0;
	case OPTION_KIND_END:
	case OPTION_KIND_HEADING:
		break;
	}
	return false;
}

void options_free(struct option_operands *operands)
{
	while (operands->strings) {
		struct option_strings *next = operands->strings->next;

		free(operands->strings);
		operands->strings = next;
	}
}
