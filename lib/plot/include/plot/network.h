/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a network: boxes (switches) and dots (hosts) at the caller's coordinates, and for each link two lines side by
 * side, one per direction, whose colour and width show a value from 0 to 1. A colour bar shows the values in per cent.
 * network_picture_save() keeps nothing of its arguments; different threads may draw different pictures at the same
 * time.
 */
#ifndef PLOT_NETWORK_H
#define PLOT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

struct network_picture_node {
	double x, y;       /* position as a share of the picture's width and height, 0..1, from the top left */
	const char *label; /* NULL: none */
	bool box;
};

struct network_picture_link {
	uint32_t a, b;              /* nodes */
	double forwards, backwards; /* values of the directions from a to b and from b to a, 0..1; 0: not in use */
	bool down;                  /* dashed */
};

struct network_picture {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* text along the colour bar */
	const struct network_picture_node *nodes;
	const struct network_picture_link *links;
	size_t node_count, link_count;
	int width, height; /* pixels */
};

/*
 * Draws the picture to an SVG or PNG file, by the ending of `path` (.svg or .png). The file is written whole or not at
 * all. Returns 0, or -errno with err set.
 */
int network_picture_save(const struct network_picture *picture, const char *path, struct error *err);

#endif
