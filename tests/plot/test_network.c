/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <plot/chart.h>

/* How often a picture of one link uses the grey of a direction that is not in use. */
static int idle_directions(double forwards, double backwards)
{
	static const struct network_picture_node nodes[] = {{.x = 0.2, .y = 0.5}, {.x = 0.8, .y = 0.5}};
	struct network_picture_link link = {.a = 0, .b = 1, .forwards = forwards, .backwards = backwards};
	struct network_picture picture = {.unit = "load",
					  .nodes = nodes,
					  .node_count = 2,
					  .links = &link,
					  .link_count = 1,
					  .width = 300,
					  .height = 200};
	char path[64], line[4096];
	struct error err = {0};
	int count = 0;
	FILE *file;

	snprintf(path, sizeof path, "/tmp/nomora-network-%ld.svg", (long)getpid());
	cr_assert_eq(network_picture_save(&picture, path, &err), 0, "%s", err.text);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	while (fgets(line, sizeof line, file))
		count += strstr(line, "rgb(84") && strstr(line, "<path");
	fclose(file);
	unlink(path);
	return count;
}

Test(network_picture, a_direction_in_use_is_coloured_and_an_idle_one_grey)
{
	int both = idle_directions(0, 0);

	cr_expect_eq(idle_directions(0.5, 0), both - 1);
	cr_expect_eq(idle_directions(0, 0.5), both - 1);
	cr_expect_eq(idle_directions(0.5, 1), both - 2);
}
