/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a scenario from its source to the printed answer. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recover/recover.h>

static struct recover_settings settings = {
	.eta = 1, .runs = 3, .seed = 1, .generate = "servers=6,apps=2,tasks=4,failed=2,seed=3"};

static struct recovery_scenario *load(void)
{
	struct error err = {0};
	struct recovery_scenario *s = recover_load(&settings, &err);

	cr_assert_not_null(s, "%s", err.text);
	return s;
}

Test(recover, the_worst_server_comes_first)
{
	struct recovery_scenario *s = load();
	struct error err = {0};
	char *text = NULL, *line, *rest = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	double last = 1e300, p;
	uint32_t lines = 0;

	cr_assert_eq(recover_each_server(s, &settings, out, &err), 0, "%s", err.text);
	fclose(out);
	line = strtok_r(text, "\n", &rest);
	cr_assert_eq(sscanf(line, "before any failure p %lf s", &p), 1, "%s", line);
	strtok_r(NULL, "\n", &rest);
	while ((line = strtok_r(NULL, "\n", &rest))) {
		cr_assert_eq(sscanf(line, "%*s %*u %lf optimal", &p), 1, "%s", line);
		cr_expect_leq(p, last, "%s", line);
		last = p;
		lines++;
	}
	cr_expect_eq(lines, s->server_count);
	free(text);
	recovery_destroy(s);
}

Test(recover, a_proof_is_printed_apart_from_the_answer)
{
	struct recovery_scenario *s = load();
	struct error err = {0};
	char *answer = NULL, *proof = NULL;
	size_t answer_bytes, proof_bytes;
	FILE *out = open_memstream(&answer, &answer_bytes), *proof_out = open_memstream(&proof, &proof_bytes);
	bool infeasible = false;

	for (uint32_t n = 0; n < s->server_count; n++)
		s->servers[n].cpu = 0.5;
	cr_assert_eq(recover_run(s, &settings, out, proof_out, &infeasible, &err), 0, "%s", err.text);
	fclose(out);
	fclose(proof_out);
	cr_expect(infeasible);
	cr_expect_eq(strncmp(answer, "infeasible: 2 failed tasks", 26), 0, "%s", answer);
	cr_expect_not_null(strstr(proof, "no surviving server has enough CPU"), "%s", proof);
	free(answer);
	free(proof);
	recovery_destroy(s);
}

Test(recover, a_server_that_must_not_fail_is_named)
{
	struct error err = {0};

	settings.fail = "s99";
	cr_expect_null(recover_load(&settings, &err));
	cr_expect_eq(err.code, ENOENT);
	cr_expect_not_null(strstr(err.text, "unknown server 's99'"), "%s", err.text);
}
