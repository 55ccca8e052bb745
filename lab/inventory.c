/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab as the files that the prober and the scheduler read. */
#include <lab/lab.h>

#include <errno.h>

#include <base/file.h>
#include <base/json.h>

int lab_write_cluster(const struct lab *lab, const char *path, struct error *err)
{
	json_t *machines = json_array(), *root;
	int code;

	for (int i = 0; i < lab->host_count; i++) {
		char rack[16];

		snprintf(rack, sizeof rack, "rack%d", lab->hosts[i].rack);
		json_array_append_new(machines, json_pack("{s:s,s:s,s:s,s:i}", "name", lab->hosts[i].name, "rack", rack,
							  "pod", "pod1", "slots", lab->slots));
	}
	root = json_pack("{s:s,s:o}", "schema", "nomora.cluster/1", "machines", machines);
	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	code = json_write_file(path, root, err);
	json_decref(root);
	return code;
}

int lab_write_peers(const struct lab *lab, const char *path, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return error_code(err, ENOMEM);
	out = file_writer_stream(writer);
	fputs("# name address mac rack\n", out);
	for (int i = 0; i < lab->host_count; i++)
		fprintf(out, "%s %s %s rack%d\n", lab->hosts[i].name, lab->hosts[i].probe_address, lab->hosts[i].mac,
			lab->hosts[i].rack);
	return file_writer_commit(writer, err);
}

int lab_write_inventory(const struct lab *lab, const char *cluster_path, const char *peers_path, struct error *err)
{
	int code = cluster_path ? lab_write_cluster(lab, cluster_path, err) : 0;

	return !code && peers_path ? lab_write_peers(lab, peers_path, err) : code;
}
