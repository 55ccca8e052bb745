/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network as a picture: boxes (switches) and dots (hosts) at the caller's coordinates, and for each link two lines
 * side by side, one per direction, whose colour and width show a value from 0 to 1. A colour bar in per cent.
 * Everything is borrowed for the call. One thread.
 */
#ifndef PLOT_NETWORK_H
#define PLOT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

struct network_picture_node {
	double x, y;       /* 0..1 of the picture, from the top left */
	const char *label; /* NULL: none */
	bool box;
};

struct network_picture_link {
	uint32_t a, b;              /* nodes */
	double forwards, backwards; /* from a to b and from b to a, 0..1; 0: not in use */
	bool down;                  /* dashed */
};

struct network_picture {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* along the colour bar */
	const struct network_picture_node *nodes;
	const struct network_picture_link *links;
	size_t node_count, link_count;
	int width, height; /* pixels */
};

/* .svg or .png by the name's ending, whole or not at all; 0 or -errno with err set. */
int network_picture_save(const struct network_picture *picture, const char *path, struct error *err);

#endif
