/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/options.h>

struct settings {
	double delay_us;
	int64_t count;
	bool json;
	const char *control;
	int order;
	struct option_list hosts;
};

static const char *const orders[] = {"random", "ascending", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("Injection"),
	OPTION_DOUBLE(struct settings, delay_us, "delay-us", 'd', "US", 0, 10000, "delay per direction"),
	OPTION_INTEGER(struct settings, count, "count", 'c', "N", 1, 100, "how many"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print JSON"),
	OPTION_STRING(struct settings, control, "control", 0, "PATH", "control socket"),
	OPTION_CHOICE(struct settings, order, "order", 0, "ORDER", orders, "order of the delays"),
	OPTION_LIST(struct settings, hosts, "host", 0, "NAME", "a host; may be repeated"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora test",
	.operands = "A [B]",
	.summary = "A test.",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 2,
	.takes_rest = true,
};

static const struct settings defaults = {.delay_us = 5, .count = 3};

static enum option_outcome parse(const char **argv, struct settings *settings, struct option_operands *operands,
				 struct error *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	*settings = defaults;
	return options_parse(&usage, argc, (char **)argv, settings, operands, err);
}

Test(options, every_kind_is_read_and_operands_and_rest_are_kept_apart)
{
	const char *argv[] = {"x",  "--delay-us=12.5", "a",  "-c", "7",  "--json", "--order", "ascending", "--host",
			      "h1", "--host",          "h2", "b",  "--", "-l",     "0",       NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert_eq(settings.delay_us, 12.5);
	cr_assert_eq(settings.count, 7);
	cr_assert(settings.json);
	cr_assert_null(settings.control);
	cr_assert_eq(settings.order, 1);
	cr_assert_eq(settings.hosts.count, 2);
	cr_assert_str_eq(settings.hosts.items[1], "h2");
	cr_assert_eq(operands.count, 2);
	cr_assert_str_eq(operands.items[0], "a");
	cr_assert_str_eq(operands.items[1], "b");
	cr_assert_eq(operands.rest_count, 2);
	cr_assert_str_eq(operands.rest[0], "-l");
	options_free(&operands);
}

Test(options, words_after_the_two_dashes_are_operands_unless_another_parser_takes_them)
{
	const char *argv[] = {"x", "a", "--json", "--", "-b", "c", NULL};
	struct option_usage alone = usage;
	struct option_operands operands;
	struct settings settings = defaults;
	struct error err = {0};

	alone.takes_rest = false;
	cr_assert_eq(options_parse(&alone, 5, (char **)argv, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert(settings.json && operands.count == 2 && operands.rest_count == 0);
	cr_assert_str_eq(operands.items[0], "a");
	cr_assert_str_eq(operands.items[1], "-b");
	options_free(&operands);
	cr_assert_eq(options_parse(&alone, 6, (char **)argv, &settings, &operands, &err), OPTIONS_BAD);
	cr_assert_not_null(strstr(err.text, "unexpected argument 'c'"), "%s", err.text);
}

Test(options, an_assignment_sets_one_option_by_name)
{
	const struct {
		const char *text, *error;
	} bad[] = {
		{"count=0", "count: found '0', expected a whole number from 1 to 100"},
		{"count", "'count': expected NAME=VALUE"},
		{"counts=1", "'counts=1': there is no option --counts"},
		{"Injection=1", "'Injection=1': there is no option --Injection"},
		{"json=maybe", "json: 'maybe' is neither yes nor no"},
	};
	struct settings settings = defaults;
	struct error err = {0};

	cr_assert_eq(option_assign(rows, "count=7", &settings, &err), 0, "%s", err.text);
	cr_assert_eq(option_assign(rows, "json", &settings, &err), 0, "%s", err.text);
	cr_assert_eq(option_assign(rows, "control=a=b", &settings, &err), 0, "%s", err.text);
	cr_assert_eq(settings.count, 7);
	cr_assert(settings.json);
	cr_assert_str_eq(settings.control, "a=b");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		err = (struct error){0};
		cr_assert_eq(option_assign(rows, bad[i].text, &settings, &err), -EINVAL, "%s", bad[i].text);
		cr_assert_str_eq(err.text, bad[i].error);
	}
}

/* What --help prints with these settings as the defaults. The caller frees. */
static char *help_of(const struct option_usage *shown, struct settings settings)
{
	const char *argv[] = {"x", "--help", NULL};
	char *text;
	struct option_operands operands = {0};
	struct error err = {0};
	size_t bytes;
	FILE *terminal = stdout;

	stdout = open_memstream(&text, &bytes);
	cr_assert_eq(options_parse(shown, 2, (char **)argv, &settings, &operands, &err), OPTIONS_DONE);
	fclose(stdout);
	stdout = terminal;
	options_free(&operands);
	return text;
}

Test(options, help_shows_ranges_in_full_and_only_defaults_that_could_be_given)
{
	static const struct option_row numbers[] = {
		OPTION_INTEGER(struct settings, count, "seed", 0, "N", 1, (double)(INT64_C(1) << 53), "a seed"),
		OPTION_DOUBLE(struct settings, delay_us, "rtt-us", 0, "US", 0, 1000000, "a round trip"),
		OPTION_CHOICE(struct settings, order, "order", 0, "ORDER", orders, "an order"),
		OPTION_END,
	};
	const struct option_usage shown = {
		.command = "x", .operands = "", .summary = "A test.", .rows = numbers, .teach = "End."};
	const struct settings unset = {.delay_us = __builtin_nan(""), .order = -1}, set = {.delay_us = 5, .count = 3};
	char *text = help_of(&shown, unset);

	cr_assert(strstr(text, "Usage: x [OPTION...]\nA test.\n"), "%s", text);
	cr_assert(strstr(text, "a seed (1 to 9007199254740992)\n"), "%s", text);
	cr_assert(strstr(text, "a round trip (0 to 1000000)\n"), "%s", text);
	cr_assert(strstr(text, "an order: random, ascending\n"), "%s", text);
	cr_assert(strstr(text, "\nEnd.\n"), "%s", text);
	free(text);
	text = help_of(&shown, set);
	cr_assert(strstr(text, "a seed (1 to 9007199254740992, default 3)\n"), "%s", text);
	cr_assert(strstr(text, "a round trip (0 to 1000000, default 5)\n"), "%s", text);
	cr_assert(strstr(text, "an order: random, ascending (default random)\n"), "%s", text);
	free(text);
}

Test(options, bounds_belong_to_the_range)
{
	const char *most[] = {"x", "--delay-us", "10000", "--count", "100", "a", NULL};
	const char *least[] = {"x", "--delay-us", "0", "--count", "1", "a", NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(most, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert(settings.delay_us == 10000 && settings.count == 100);
	cr_assert_eq(parse(least, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert(settings.delay_us == 0 && settings.count == 1);
}

static const char bad_words[][3][24] = {
	{"--delay-us", "-1", "a"}, {"--delay-us", "1e9", "a"},   {"--delay-us", "nan", "a"},
	{"--delay-us", "", "a"},   {"--count", "1.5", "a"},      {"--count", "0", "a"},
	{"--count", "101", "a"},   {"--order", "sideways", "a"}, {"--nonsense", "1", "a"},
	{"a", "b", "c"},           {"a", "b", "--control"},
};

Test(options, bad_words_are_refused_with_a_reason)
{
	for (size_t i = 0; i < sizeof bad_words / sizeof bad_words[0]; i++) {
		const char *argv[] = {"x", bad_words[i][0], bad_words[i][1], bad_words[i][2], NULL};
		struct option_operands operands;
		struct settings settings;
		struct error err = {0};

		cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_BAD, "%s %s", argv[1], argv[2]);
		cr_assert_gt(strlen(err.text), 10);
	}
	const char *none[] = {"x", NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(none, &settings, &operands, &err), OPTIONS_BAD);
	cr_assert(strstr(err.text, "A [B]"));
}

Test(options, a_list_is_full_at_its_maximum)
{
	static const char *argv[2 * OPTION_LIST_MAXIMUM + 5] = {"x", "a"};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	for (int i = 0; i < OPTION_LIST_MAXIMUM; i++) {
		argv[2 + 2 * i] = "--host";
		argv[3 + 2 * i] = "h";
	}
	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert_eq(settings.hosts.count, OPTION_LIST_MAXIMUM);
	options_free(&operands);
	argv[2 + 2 * OPTION_LIST_MAXIMUM] = "--host=h";
	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_BAD);
	cr_assert(strstr(err.text, "--host: given more than 256 times"), "%s", err.text);
}

static const char complaints[][2][24] = {
	{"--help=x", "option '--help=x'"},
	{"-jq", "option '-q'"},
	{"-jd", "option '-d' needs"},
	{"--json=no", "'--json' takes no value"},
	{"--delay-us", "'--delay-us'"},
	{"--nonsense", "'--nonsense'"},
	{"--co=1", "'--co=1'"},
};

Test(options, the_word_that_is_wrong_is_named)
{
	for (size_t i = 0; i < sizeof complaints / sizeof complaints[0]; i++) {
		const char *argv[] = {"x", "a", complaints[i][0], NULL};
		struct option_operands operands;
		struct settings settings;
		struct error err = {0};

		cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_BAD);
		cr_assert(strstr(err.text, complaints[i][1]), "%s: %s", complaints[i][0], err.text);
	}
}

static const char *write_config(const char *text)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/nomora-options-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

Test(options, the_command_line_wins_over_the_config_file)
{
	const char *path = write_config("# comment\n\ndelay-us = 50\ncontrol = /run/x y\njson = yes\nhost = h9\n");
	const char *argv[] = {"x", "--delay-us", "20", "a", "--config", path, NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_assert_eq(settings.delay_us, 20);
	cr_assert_str_eq(settings.control, "/run/x y");
	cr_assert(settings.json);
	cr_assert_str_eq(settings.hosts.items[0], "h9");
	options_free(&operands);
	unlink(path);
}

Test(options, config_errors_name_file_and_line)
{
	static const char bad[][40] = {"json = yes\ncount = many\n", "\nnonsense = 1\n", "\njust words\n",
				       "json = yes\njson = no\n"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const char *path = write_config(bad[i]);
		const char *argv[] = {"x", "--config", path, "a", NULL};
		char place[80];
		struct option_operands operands;
		struct settings settings;
		struct error err = {0};

		snprintf(place, sizeof place, "%s:2", path);
		cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_FAILED);
		cr_assert(strstr(err.text, place), "%s", err.text);
		unlink(path);
	}
}

Test(options, help_names_every_option_with_range_and_default)
{
	char *text = help_of(&usage, defaults);

	cr_assert(strstr(text, "--delay-us US"));
	cr_assert(strstr(text, "(0 to 10000, default 5)"));
	cr_assert(strstr(text, "random, ascending (default random)"));
	cr_assert(strstr(text, "Injection:"));
	free(text);
}

static const char help[] = "Usage: nomora test [OPTION...] A [B]\n"
			   "A test.\n"
			   "\n"
			   "Injection:\n"
			   "  -d, --delay-us US            delay per direction (0 to 10000, default 5)\n"
			   "  -c, --count N                how many (1 to 100, default 3)\n"
			   "  -j, --json                   print JSON\n"
			   "      --control PATH           control socket\n"
			   "      --order ORDER            order of the delays: random, ascending (default random)\n"
			   "      --host NAME              a host; may be repeated\n"
			   "\n"
			   "      --config FILE            take defaults from FILE: one 'long-name = value' per line\n"
			   "  -h, --help                   this text\n"
			   "      --version                the version\n";

Test(options, help_is_laid_out_in_two_columns)
{
	char *text = help_of(&usage, defaults);

	cr_assert_str_eq(text, help);
	free(text);
}

Test(options, completion_has_a_line_for_each_option)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	options_complete(&usage, out);
	fclose(out);
	cr_assert_str_eq(text,
			 "--delay-us\tUS\t\tdelay per direction\n--count\tN\t\thow many\n--json\t\t\tprint JSON\n"
			 "--control\tPATH\t\tcontrol socket\n--order\tORDER\trandom ascending\torder of the delays\n"
			 "--host\tNAME\t\ta host; may be repeated\n"
			 "--config\tFILE\t\ttake defaults from FILE: one 'long-name = value' per line\n"
			 "--help\t\t\tprint the help text\n--version\t\t\tprint the version\n");
	free(text);
}

Test(options, an_option_is_set_if_it_differs_from_its_default)
{
	struct settings settings = defaults;

	for (const struct option_row *row = rows; row->kind != OPTION_KIND_END; row++)
		cr_expect_not(option_is_set(row, &settings, &defaults), "%s", row->name);
	settings = (struct settings){
		.delay_us = 6, .count = 4, .json = true, .control = "x", .order = 1, .hosts = {.count = 1}};
	for (const struct option_row *row = rows; row->kind != OPTION_KIND_END; row++)
		cr_expect_eq(option_is_set(row, &settings, &defaults), row->kind != OPTION_KIND_HEADING, "%s",
			     row->name);
}

Test(options, lines_of_a_config_file_may_be_continued)
{
	const char *path =
		write_config("count = \\\n  7\n# a comment \\\ncontrol = a \\\n b\njson = off\norder = random\n");
	const char *argv[] = {"x", "--config", path, "--order=ascending", "a", NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_RUN, "%s", err.text);
	cr_expect_eq(settings.count, 7);
	cr_expect(settings.control && strstr(settings.control, "a") && strstr(settings.control, "b"), "%s",
		  settings.control);
	cr_expect_not(settings.json);
	cr_expect_eq(settings.order, 1);
	options_free(&operands);
	unlink(path);
	path = write_config("json = yes\ncount = \\\n");
	argv[2] = path;
	cr_assert_eq(parse(argv, &settings, &operands, &err), OPTIONS_FAILED);
	cr_expect(strstr(err.text, ": the last line ends with a backslash: expected another line"), "%s", err.text);
	unlink(path);
}

Test(options, version_and_the_list_of_choices_are_printed)
{
	const char *choice[] = {"x", "--order", "sideways", "a", NULL};
	struct option_operands operands;
	struct settings settings;
	struct error err = {0};

	cr_assert_eq(parse(choice, &settings, &operands, &err), OPTIONS_BAD);
	cr_assert_str_eq(err.text, "--order: found 'sideways', expected one of: random, ascending");
}
