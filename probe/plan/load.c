/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/plan/plan.h>

void mesh_plan_load_print(const struct mesh_plan_load *load, const struct mesh_budget *budget, FILE *out)
{
	double rate = 1 / budget->interval_s;

	fprintf(out,
		"epoch %llu: %u hosts in %u rack%s, %u drained\n"
		"sessions of %g probes/s: %llu in racks, %llu between, %llu postponed by a cap\n"
		"at most: a host sends %.0f probes/s and answers %.0f, a rack's link carries %.0f\n",
		(unsigned long long)load->epoch, load->hosts, load->racks, load->racks == 1 ? "" : "s", load->drained,
		rate, (unsigned long long)load->in_racks, (unsigned long long)load->between,
		(unsigned long long)load->deferred, load->host_most * rate, load->reflector_most * rate,
		load->link_most * rate);
}

json_t *mesh_plan_load_to_json(const struct mesh_plan_load *load, const struct mesh_budget *budget)
{
	double rate = 1 / budget->interval_s;

	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "schema", "nomora.mesh_plan_load/1",
			 "epoch", (json_int_t)load->epoch, "hosts", (json_int_t)load->hosts, "drained",
			 (json_int_t)load->drained, "racks", (json_int_t)load->racks, "pods", (json_int_t)load->pods,
			 "sessions_in_racks", (json_int_t)load->in_racks, "sessions_between", (json_int_t)load->between,
			 "deferred", (json_int_t)load->deferred, "host_pps", load->host_most * rate, "reflector_pps",
			 load->reflector_most * rate, "link_pps", load->link_most * rate);
}
