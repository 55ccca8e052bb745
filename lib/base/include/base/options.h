/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line options. Each command has one table, which describes its settings struct by rows of option name, kind
 * and offset; getopt_long, the range checks, the config file and --help all use this table. options_parse() fills the
 * struct. Every command has --help, --version and --config FILE without rows for them. A config file has lines `name =
 * value` and `#` comments; a backslash at the end continues a line. Options on the command line replace those of the
 * file; for OPTION_KIND_LIST they are added to those of the file. Strings point into argv, or into memory that
 * options_free() releases. Not thread-safe (getopt).
 *
 *   struct settings { double delay_us; bool json; const char *control; };
 *   static const struct option_row rows[] = {
 *       OPTION_DOUBLE(struct settings, delay_us, "delay-us", 'd', "US", 0, 10000, "delay per direction"),
 *       OPTION_FLAG(struct settings, json, "json", 0, "print JSON"),
 *       OPTION_END,
 *   };
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>

enum option_kind {
	OPTION_KIND_END,
	OPTION_KIND_HEADING, /* help text only: a section title */
	OPTION_KIND_FLAG,    /* bool */
	OPTION_KIND_INTEGER, /* int64_t within minimum..maximum */
	OPTION_KIND_DOUBLE,  /* double within minimum..maximum, finite */
	OPTION_KIND_STRING,  /* const char * */
	OPTION_KIND_CHOICE,  /* int: index into `choices`; negative = no default */
	OPTION_KIND_LIST,    /* struct option_list: may be given several times */
};

enum { OPTION_LIST_MAXIMUM = 256 };

struct option_list {
	size_t count;
	const char *items[OPTION_LIST_MAXIMUM];
};

struct option_row {
	const char *name; /* long name without dashes; for a heading its text */
	char letter;      /* short option, 0 = none */
	enum option_kind kind;
	size_t offset;        /* of the field in the settings struct */
	const char *argument; /* name of the value in help, unit included: "US", "FILE" */
	double minimum, maximum;
	const char *const *choices; /* NULL-terminated, for OPTION_KIND_CHOICE */
	const char *help;
};

#define OPTION_HEADING(text)                                                                                           \
	{                                                                                                              \
		.name = (text), .kind = OPTION_KIND_HEADING                                                            \
	}
#define OPTION_FLAG(type, field, long_name, short_letter, text)                                                        \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_FLAG,                               \
		.offset = offsetof(type, field), .help = (text)                                                        \
	}
#define OPTION_INTEGER(type, field, long_name, short_letter, value, low, high, text)                                   \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_INTEGER,                            \
		.offset = offsetof(type, field), .argument = (value), .minimum = (low), .maximum = (high),             \
		.help = (text)                                                                                         \
	}
#define OPTION_DOUBLE(type, field, long_name, short_letter, value, low, high, text)                                    \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_DOUBLE,                             \
		.offset = offsetof(type, field), .argument = (value), .minimum = (low), .maximum = (high),             \
		.help = (text)                                                                                         \
	}
#define OPTION_STRING(type, field, long_name, short_letter, value, text)                                               \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_STRING,                             \
		.offset = offsetof(type, field), .argument = (value), .help = (text)                                   \
	}
#define OPTION_CHOICE(type, field, long_name, short_letter, value, names, text)                                        \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_CHOICE,                             \
		.offset = offsetof(type, field), .argument = (value), .choices = (names), .help = (text)               \
	}
#define OPTION_LIST(type, field, long_name, short_letter, value, text)                                                 \
	{                                                                                                              \
		.name = (long_name), .letter = (short_letter), .kind = OPTION_KIND_LIST,                               \
		.offset = offsetof(type, field), .argument = (value), .help = (text)                                   \
	}
#define OPTION_END                                                                                                     \
	{                                                                                                              \
		.kind = OPTION_KIND_END                                                                                \
	}

struct option_usage {
	const char *command;  /* "nomora fit" */
	const char *operands; /* "SWEEP.csv -o CURVE.json", after the command in the usage line */
	const char *summary;  /* one sentence */
	const char *teach;    /* paragraphs and examples printed below the options; NULL = none */
	const struct option_row *rows;
	int operands_minimum, operands_maximum; /* -1 = any number */
	bool takes_rest; /* the words after "--" are for another parser, not operands: see option_operands.rest */
};

enum option_outcome {
	OPTIONS_RUN,    /* parsed: go on */
	OPTIONS_DONE,   /* --help or --version was printed: exit 0 */
	OPTIONS_BAD,    /* the command line is wrong, err says why: print it, exit 2 */
	OPTIONS_FAILED, /* the config file is bad: print err, exit 1 */
};

/* The operands, i.e. the arguments that are no options. `strings` is for options_free() and options_line_of(). */
struct option_operands {
	int count;
	char **items; /* pointers into argv, which getopt permutes */
	int rest_count;
	char **rest; /* with takes_rest: the words after "--" (such as EAL's arguments); NULL if there was none */
	struct option_strings *strings; /* memory of values read from a config file */
};

/*
 * Parses argv[1..]. Before the call, the fields must have the default values, which the help shows. A number outside
 * the row's range means "no default", and is not shown. Prints only for --help and --version (to stdout).
 */
enum option_outcome options_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
				  struct option_operands *operands, struct error *err);

void options_free(struct option_operands *operands);

/* True if the row's field differs from its default. */
bool option_is_set(const struct option_row *row, const void *settings, const void *defaults);

/*
 * Sets one option by "name=value", a flag also by "name". String settings then point into `text`, which must outlive
 * them. 0 or -EINVAL with err set.
 */
int option_assign(const struct option_row *rows, const char *text, void *settings, struct error *err);

/*
 * For the shells' completion: prints a line per option, with tabs between its name, argument, values (of a choice,
 * separated by blanks) and help.
 */
void options_complete(const struct option_usage *usage, FILE *out);

/*
 * Reads "name = value" lines into settings; names are the rows' long names. 0 or -errno with err set. String settings
 * point into *strings; options_parse() passes operands->strings.
 */
int options_read_file(const struct option_usage *usage, const char *path, void *settings,
		      struct option_strings **strings, struct error *err);

/*
 * Returns the line of the config file from which `text` was read (the pointer is compared), or 0 if it comes from
 * elsewhere, such as the command line or a default.
 */
long options_line_of(const struct option_strings *strings, const char *text);

#endif
