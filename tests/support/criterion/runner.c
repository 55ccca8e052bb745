/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the program's tests one after the other and prints TAP. Arguments: patterns of suite::name, as in fnmatch(3),
 * that choose tests; options are for Criterion's own runner. */
#include <criterion/criterion.h>

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cr_entry *first, **last = &first;
static jmp_buf end_of_test;
static bool failed;

void cr_register(struct cr_entry *entry)
{
	*last = entry;
	last = &entry->next;
}

void cr_fail(bool ends_test, const char *file, int line, const char *expression, const char *format, ...)
{
	va_list arguments;

	failed = true;
	printf("# %s:%d: false: %s:", file, line, expression);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	if (ends_test)
		longjmp(end_of_test, 1);
}

static void call(void (*function)(void))
{
	if (function)
		function();
}

static void run(const struct cr_entry *suite, const struct cr_entry *test, void *parameter)
{
	static const struct cr_options none;
	const struct cr_options *common = suite ? &suite->options : &none;

	alarm(test->options.timeout ? test->options.timeout : common->timeout);
	if (setjmp(end_of_test) == 0) {
		call(common->init);
		call(test->options.init);
		test->run(parameter);
	}
	if (setjmp(end_of_test) == 0) {
		call(test->options.fini);
		call(common->fini);
	}
	exit(failed);
}

static bool passes(const struct cr_entry *suite, const struct cr_entry *test, void *parameter)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		run(suite, test, parameter);
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		exit(2);
	}
	if (WIFSIGNALED(status))
		printf("# killed by signal %d: %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
	return status == 0;
}

static const struct cr_entry *suite_of(const struct cr_entry *test)
{
	const struct cr_entry *entry = first;

	while (entry && (entry->name || strcmp(entry->suite, test->suite) != 0))
		entry = entry->next;
	return entry;
}

static bool is_chosen(const struct cr_entry *entry, int count, char **arguments)
{
	bool is_filtered = false;
	char name[512];

	if (!entry->name)
		return false;
	snprintf(name, sizeof name, "%s::%s", entry->suite, entry->name);
	for (int i = 1; i < count; i++) {
		if (arguments[i][0] == '-')
			continue;
		is_filtered = true;
		if (fnmatch(arguments[i], name, 0) == 0)
			return true;
	}
	return !is_filtered;
}

int main(int count, char **arguments)
{
	size_t number = 0, bad = 0;

	for (const struct cr_entry *test = first; test; test = test->next) {
		struct cr_parameters parameters = {.count = 1};

		if (!is_chosen(test, count, arguments))
			continue;
		if (test->parameters)
			parameters = test->parameters();
		for (size_t i = 0; i < parameters.count; i++) {
			bool good = passes(suite_of(test), test, (char *)parameters.items + i * parameters.size);

			bad += !good;
			printf("%sok %zu - %s::%s", good ? "" : "not ", ++number, test->suite, test->name);
			if (test->parameters)
				printf(" (%zu)", i);
			printf("\n");
		}
	}
	printf("1..%zu\n", number);
	return bad > 0;
}
