/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp/measure.h>

#include <errno.h>
#include <inttypes.h>

#include <base/json.h>

static const char *const quantity_names[PTP_QUANTITIES] = {"delay_us", "offset_us", "out_us", "back_us"};
static const char *const quantity_titles[PTP_QUANTITIES] = {
	"delay, one way", "our clock - theirs", "delay to them, both clocks", "delay from them, both clocks"};

static int print_figures(const struct ptp_samples *samples, const char *title, FILE *out, struct error *err)
{
	fprintf(out, "%-28s %12s %12s %12s %12s\n", title, "min us", "p50 us", "p99 us", "max us");
	for (int q = 0; q < PTP_QUANTITIES; q++) {
		struct ptp_figures figures;
		int code = ptp_figures(samples, (enum ptp_quantity)q, &figures);

		if (code == -ENOMEM)
			return error_set(err, ENOMEM, "out of memory");
		if (code)
			fprintf(out, "%-28s %12s %12s %12s %12s\n", quantity_titles[q], "-", "-", "-", "-");
		else
			fprintf(out, "%-28s %12.3f %12.3f %12.3f %12.3f\n", quantity_titles[q], figures.min_us,
				figures.p50_us, figures.p99_us, figures.max_us);
	}
	return 0;
}

int ptp_result_print(const struct ptp_result *result, FILE *out, struct error *err)
{
	const struct ptp_samples *software = &result->by[PTP_SOFTWARE], *hardware = &result->by[PTP_HARDWARE];
	char peer[PTP_IDENTITY_TEXT_BYTES];
	int code;

	fprintf(out, "%" PRIu64 " requests, %zu samples, %" PRIu64 " without an answer\n", result->requests,
		software->count, result->unanswered);
	if (result->unsynced)
		fprintf(out, "no Sync was received for %" PRIu64 " of them: no clock of this domain is master yet\n",
			result->unsynced);
	if (software->count == 0)
		return 0;
	ptp_identity_print(&result->peer, peer);
	fprintf(out, "clock %s%s\n", peer, result->one_step ? ", one-step" : "");
	code = print_figures(software, result->has_hardware ? "by software" : "", out, err);
	if (code || !result->has_hardware)
		return code;
	fprintf(out, "%zu samples by the NIC, %" PRIu64 " without NIC stamps, %" PRIu64 " dropped as outliers\n",
		hardware->count, result->unstamped, result->outliers);
	return hardware->count ? print_figures(hardware, "by the NIC", out, err) : 0;
}

/* Adds the quantities to the JSON object. Returns 0 or -ENOMEM. */
static int add_figures(const struct ptp_samples *samples, json_t *to)
{
	for (int q = 0; q < PTP_QUANTITIES; q++) {
		struct ptp_figures f = {0};
		int code = ptp_figures(samples, (enum ptp_quantity)q, &f);

		if (code == -ENOMEM)
			return code;
		json_object_set_new(to, quantity_names[q],
				    code == 0 ? json_pack("{s:f,s:f,s:f,s:f}", "min", f.min_us, "p50", f.p50_us, "p99",
							  f.p99_us, "max", f.max_us)
					      : json_null());
	}
	return 0;
}

int ptp_result_write_json(const struct ptp_result *result, const char *path, struct error *err)
{
	const struct ptp_samples *software = &result->by[PTP_SOFTWARE], *hardware = &result->by[PTP_HARDWARE];
	json_t *root, *nic = NULL;
	char peer[PTP_IDENTITY_TEXT_BYTES];

	ptp_identity_print(&result->peer, peer);
	root = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:o}", "schema", "nomora.ptp/1", "requests",
			 (json_int_t)result->requests, "samples", (json_int_t)software->count, "unanswered",
			 (json_int_t)result->unanswered, "unsynced", (json_int_t)result->unsynced, "one_step",
			 (json_int_t)result->one_step, "clock", software->count ? json_string(peer) : json_null());
	if (result->has_hardware)
		nic = json_pack("{s:I,s:I,s:I}", "samples", (json_int_t)hardware->count, "unstamped",
				(json_int_t)result->unstamped, "outliers", (json_int_t)result->outliers);
	if (add_figures(software, root) || (nic && add_figures(hardware, nic))) {
		json_decref(root);
		json_decref(nic);
		return error_set(err, ENOMEM, "out of memory");
	}
	json_object_set_new(root, "hardware", nic ? nic : json_null());
	return json_write_file_new(path, root, err);
}
