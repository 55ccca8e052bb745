/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <integrations/slurm/request.h>

Test(slurm_request, a_comment_is_read)
{
	struct slurm_request request;

	cr_assert_eq(slurm_request_parse("nomora:curve=memcached,root=2,move=no", 3, &request, NULL), 1);
	cr_assert_str_eq(request.curve, "memcached");
	cr_assert_eq(request.root, 2);
	cr_assert_not(request.move);
	cr_assert_eq(slurm_request_parse("nomora:curve=spark", 1, &request, NULL), 1);
	cr_assert_eq(request.root, 0);
	cr_assert(request.move);
	cr_assert_eq(slurm_request_parse("nomora:curve=spark,root=0,move=yes", 1, &request, NULL), 1);
	cr_assert(request.root == 0 && request.move);
}

Test(slurm_request, comments_of_others_are_none)
{
	struct slurm_request request;

	cr_assert_eq(slurm_request_parse(NULL, 3, &request, NULL), 0);
	cr_assert_eq(slurm_request_parse("", 3, &request, NULL), 0);
	cr_assert_eq(slurm_request_parse("curve=memcached", 3, &request, NULL), 0);
}

Test(slurm_request, a_bad_comment_is_refused_with_its_field)
{
	static const char comments[][64] = {"nomora:",
					    "nomora:root=1",
					    "nomora:curve=",
					    "nomora:curve=a b",
					    "nomora:curve=x,root=3",
					    "nomora:curve=x,root=-1",
					    "nomora:curve=x,root=1x",
					    "nomora:curve=x,move=maybe",
					    "nomora:curve=x,,",
					    "nomora:curv=x"};
	struct slurm_request request;

	for (size_t c = 0; c < sizeof comments / sizeof *comments; c++) {
		struct error err = {0};

		cr_assert_lt(slurm_request_parse(comments[c], 3, &request, &err), 0, "%s", comments[c]);
		cr_assert(strstr(err.text, "expected") || strstr(err.text, "missing"), "%s", err.text);
	}
}

Test(slurm_request, marks_are_read)
{
	static const struct {
		char text[64];
		enum slurm_mark_kind kind;
		char id[16];
	} rows[] = {{"nomora:slurm-12.1 moving", SLURM_MARK_MOVING, "slurm-12.1"},
		    {"nomora:pass schedd does not answer", SLURM_MARK_PASS, ""},
		    {"nomora:slurm-1 n1", SLURM_MARK_PLACED, "slurm-1"},
		    {"", SLURM_MARK_NONE, ""},
		    {"somebody's note", SLURM_MARK_NONE, ""},
		    {"nomora:slurm-1 n1*0", SLURM_MARK_NONE, ""},
		    {"nomora:slurm-1 n1*100001", SLURM_MARK_NONE, ""},
		    {"nomora:slurm-1 n1*2x", SLURM_MARK_NONE, ""},
		    {"nomora:slurm-1 n1,,n2", SLURM_MARK_NONE, ""},
		    {"nomora:slurm-1 ", SLURM_MARK_NONE, ""}};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct slurm_mark mark;

		cr_assert_eq(slurm_mark_parse(rows[r].text, &mark), 0);
		cr_assert_eq(mark.kind, rows[r].kind, "%s", rows[r].text);
		cr_assert_str_eq(mark.id, rows[r].id);
		slurm_mark_free(&mark);
	}
}

Test(slurm_request, a_placed_mark_reads_back)
{
	char first[] = "n3", second[] = "n1";
	char *hosts[] = {first, second, second, first};
	char *text = slurm_mark_placed("slurm-7.2", hosts, 4);
	struct slurm_mark mark;

	cr_assert_str_eq(text, "nomora:slurm-7.2 n3,n1*2,n3");
	cr_assert_eq(slurm_mark_parse(text, &mark), 0);
	cr_assert_eq(mark.host_count, 4);
	for (int t = 0; t < 4; t++)
		cr_assert_str_eq(mark.hosts[t], hosts[t]);
	slurm_mark_free(&mark);
	free(text);
}
