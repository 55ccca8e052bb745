/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cairo-svg.h>

#include <base/file.h>
#include <base/name.h>
#include <base/text_stream.h>
#include <plot/chart.h>

#include "chart_priv.h"

/* Pixels of a PNG file per pixel of the drawing: sharp in print and on dense screens. */
static const double png_scale = 2;

static cairo_status_t write_stream(void *closure, const unsigned char *data, unsigned int bytes)
{
	return fwrite(data, 1, bytes, closure) == bytes ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static int cairo_error(cairo_status_t status, struct error *err)
{
	if (status == CAIRO_STATUS_SUCCESS)
		return 0;
	return error_set(err, status == CAIRO_STATUS_NO_MEMORY ? ENOMEM : EIO, "cannot draw: %s",
			 cairo_status_to_string(status));
}

static cairo_status_t draw_on(cairo_surface_t *surface, const struct drawing *drawing, double scale)
{
	cairo_t *cr = cairo_create(surface);
	cairo_status_t status;

	cairo_scale(cr, scale, scale);
	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_paint(cr);
	drawing->draw(cr, drawing);
	status = cairo_status(cr);
	cairo_destroy(cr);
	return status;
}

static int write_png(const struct drawing *drawing, FILE *out, struct error *err)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(drawing->width * png_scale),
							      (int)(drawing->height * png_scale));
	cairo_status_t status = draw_on(surface, drawing, png_scale);

	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png_stream(surface, write_stream, out);
	cairo_surface_destroy(surface);
	return cairo_error(status, err);
}

/*
 * Prints the SVG that cairo made, with the title and description inserted after its <svg ...>, and `texts` before its
 * </svg>.
 */
static int splice(const struct drawing *drawing, const char *svg, const char *texts, FILE *out, struct error *err)
{
	const char *open = strstr(svg, "<svg"), *body = open ? strchr(open, '>') : NULL;
	const char *end = body ? strstr(body, "</svg>") : NULL;

	if (!end)
		return error_set(err, EIO, "cannot draw: cairo wrote no SVG");
	fwrite(svg, 1, (size_t)(body - svg), out);
	fputs(" role=\"img\" font-family=\"DejaVu Sans, sans-serif\">\n", out);
	if (drawing->title) {
		fputs("<title>", out);
		xml_print(out, drawing->title);
		fputs("</title>\n", out);
	}
	if (drawing->description) {
		fputs("<desc>", out);
		xml_print(out, drawing->description);
		fputs("</desc>\n", out);
	}
	fwrite(body + 1, 1, (size_t)(end - body - 1), out);
	fputs(texts, out);
	fputs(end, out);
	return 0;
}

static int write_svg(const struct drawing *drawing, FILE *out, struct error *err)
{
	char *svg = NULL, *texts = NULL;
	size_t svg_bytes, text_bytes;
	FILE *picture = text_stream_open(&svg, &svg_bytes), *sink = text_stream_open(&texts, &text_bytes);
	cairo_surface_t *surface;
	cairo_status_t status;
	bool complete;
	int rc;

	if (!picture || !sink) {
		rc = error_set(err, ENOMEM, "out of memory");
		goto out;
	}
	surface = cairo_svg_surface_create_for_stream(write_stream, picture, drawing->width, drawing->height);
	text_sink_attach(surface, sink);
	status = draw_on(surface, drawing, 1);
	cairo_surface_finish(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	complete = fclose(picture) == 0;
	complete = fclose(sink) == 0 && complete;
	picture = sink = NULL;
	rc = complete ? cairo_error(status, err) : error_set(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = splice(drawing, svg, texts, out, err);
out:
	if (picture)
		fclose(picture);
	if (sink)
		fclose(sink);
	free(svg);
	free(texts);
	return rc;
}

static bool ends_in(const char *path, const char *ending)
{
	size_t bytes = strlen(path), tail = strlen(ending);

	return bytes > tail && strcasecmp(path + bytes - tail, ending) == 0;
}

int chart_check_name(const char *path, struct error *err)
{
	if (ends_in(path, ".svg") || ends_in(path, ".png"))
		return 0;
	return error_set(err, EINVAL, "%s: a picture's name must end in .svg or .png", path);
}

int drawing_save(const struct drawing *drawing, const char *path, struct error *err)
{
	struct file_writer *writer;
	FILE *out;
	int rc = chart_check_name(path, err);

	if (rc)
		return rc;
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	rc = ends_in(path, ".png") ? write_png(drawing, out, err) : write_svg(drawing, out, err);
	if (rc == 0 || ferror(out)) /* committing reports the error of the stream */
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return rc;
}

/*
 * Prints the SVG with a prefix before each id. cairo gives every picture the same ids (glyph-0-1, clip-2), which would
 * clash in one page.
 */
static int print_with_prefix(FILE *out, const char *svg, const char *prefix)
{
	static const char *const before_id[] = {" id=\"", "href=\"#", "url(#"};

	while (*svg) {
		size_t skip = 1;

		for (size_t i = 0; i < sizeof before_id / sizeof *before_id; i++)
			if (strncmp(svg, before_id[i], strlen(before_id[i])) == 0)
				skip = strlen(before_id[i]);
		fwrite(svg, 1, skip, out);
		if (skip > 1)
			fputs(prefix, out);
		svg += skip;
	}
	return ferror(out) ? -ENOMEM : 0;
}

static char *to_text(int (*print)(FILE *out, const void *context, struct error *err), const void *context,
		     struct error *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = text_stream_open(&text, &bytes);
	int rc;

	if (!out) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	rc = print(out, context, err);
	if (fclose(out) != 0 && rc == 0)
		rc = error_set(err, ENOMEM, "out of memory");
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static int print_svg(FILE *out, const void *context, struct error *err)
{
	return write_svg(context, out, err);
}

struct prefixing {
	const char *svg, *prefix;
};

static int print_prefixed(FILE *out, const void *context, struct error *err)
{
	const struct prefixing *prefixing = context;
	const char *start = strstr(prefixing->svg, "<svg");

	/* Leaves out the XML declaration, which HTML does not allow. */
	if (print_with_prefix(out, start ? start : prefixing->svg, prefixing->prefix) != 0)
		return error_set(err, ENOMEM, "out of memory");
	return 0;
}

char *drawing_to_svg(const struct drawing *drawing, const char *prefix, struct error *err)
{
	char *svg = to_text(print_svg, drawing, err), *text;

	if (!svg)
		return NULL;
	text = to_text(print_prefixed, &(struct prefixing){svg, prefix}, err);
	free(svg);
	return text;
}
