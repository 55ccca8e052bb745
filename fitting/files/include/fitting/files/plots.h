/* SPDX-License-Identifier: BSD-3-Clause */
/* The pictures to draw of a fit. */
#ifndef FITTING_FILES_PLOTS_H
#define FITTING_FILES_PLOTS_H

#include <stdbool.h>

#include <base/options.h>

struct fit_plots {
	struct option_list files; /* .svg or .png */
	bool log_x, zoom_y;       /* logarithmic x axis; y axis around the data, not from 0 (figures/curves.h) */
};

#endif
