/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_priv.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>

enum { PICTURE_BYTES_MAXIMUM = 32 << 20 };

static void print_base64(FILE *out, const unsigned char *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;
		size_t left = count - i;

		if (left > 1)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (left > 2)
			group |= bytes[i + 2];
		fputc(digits[group >> 18], out);
		fputc(digits[group >> 12 & 63], out);
		fputc(left > 1 ? digits[group >> 6 & 63] : '=', out);
		fputc(left > 2 ? digits[group & 63] : '=', out);
	}
}

int report_picture(FILE *out, const char *path, const char *alt, struct error *err)
{
	static const char png[] = "\x89PNG";
	size_t bytes;
	char *data = file_read_all(path, PICTURE_BYTES_MAXIMUM, &bytes, err);

	if (!data)
		return error_code(err, EIO);
	/* as an <img>: inlined SVGs of one page would share their ids and draw each other's glyphs */
	fprintf(out, "<img class=\"plot\" alt=\"");
	xml_print(out, alt);
	fprintf(out, "\" src=\"data:image/%s;base64,", bytes > 4 && memcmp(data, png, 4) == 0 ? "png" : "svg+xml");
	print_base64(out, (const unsigned char *)data, bytes);
	fputs("\">\n", out);
	free(data);
	return 0;
}

static const char style[] =
	"body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1c2430;background:#f5f6f8;margin:0}\n"
	"main{max-width:1160px;margin:0 auto;padding:24px}\n"
	"header{background:#12304a;color:#fff;padding:22px 0}header div{max-width:1160px;margin:0 auto;padding:0 "
	"24px}\n"
	"h1{margin:0;font-size:26px}h2{font-size:20px;margin:0 0 8px}h3{font-size:16px;margin:18px 0 6px}\n"
	"section{background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:18px 22px;margin:18px 0}\n"
	"p{margin:6px 0 10px}table{border-collapse:collapse;margin:8px 0;font-size:14px}\n"
	"th{text-align:left;font-weight:600;color:#55606e;border-bottom:2px solid #dfe3e8;padding:4px 14px 4px 0}\n"
	"td{border-bottom:1px solid #eceff2;padding:4px 14px 4px 0;vertical-align:top}\n"
	"td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font:13px 'DejaVu Sans Mono',monospace;"
	"background:#f0f2f5;padding:1px 4px;border-radius:3px}\n"
	".plot{max-width:100%;height:auto;display:block;margin:8px auto;background:#fff;border-radius:6px}"
	".plot svg{max-width:100%;height:auto;display:block;margin:auto}.muted{color:#6a7482}\n"
	"pre{font:13px/1.6 'DejaVu Sans Mono',monospace;background:#f0f2f5;padding:10px 12px;border-radius:6px;"
	"overflow-x:auto}summary{cursor:pointer}\n"
	".verdict{color:#fff;border-radius:8px;padding:12px 22px;margin:0 0 18px}.verdict "
	"b{font-size:18px;display:block}"
	".verdict.ok{background:#1a7f4b;color:#fff}.verdict.fail{background:#b3261e;color:#fff}\n"
	".ok{color:#1a7f4b}.warn{color:#a05a00}.fail{color:#b3261e}.tag{font-weight:600}\n"
	".cards{display:flex;gap:14px;flex-wrap:wrap}.card{flex:1;min-width:200px;background:#fff;border:1px solid "
	"#dfe3e8;"
	"border-radius:8px;padding:14px 18px}.card b{display:block;font-size:24px}\n"
	".racks{display:flex;gap:12px;flex-wrap:wrap}.rack{border:1px solid #cdd4dc;border-radius:6px;padding:8px;"
	"background:#fafbfc}.rack>b{font-size:13px;color:#55606e}\n"
	".machine{display:flex;gap:4px;align-items:center;margin:4px 0;font-size:13px}.machine "
	"span.name{min-width:38px}\n"
	".slot{width:54px;height:22px;border-radius:4px;border:1px dashed #cdd4dc;font-size:11px;line-height:22px;"
	"text-align:center;overflow:hidden;white-space:nowrap}\n"
	".slot.used{border:0;color:#fff}.slot.root{outline:2px solid #1c2430}\n"
	".side{display:flex;gap:28px;flex-wrap:wrap}\n"
	"@media(max-width:700px){main{padding:12px}section{padding:14px}table{display:block;overflow-x:auto}"
	"td.tag{white-space:nowrap}"
	/* Shadows at the edges show that a table scrolls; they scroll away at its ends. */
	"table{background:linear-gradient(90deg,var(--card) 30%,transparent) left/30px 100% no-repeat local,"
	"linear-gradient(270deg,var(--card) 30%,transparent) right/30px 100% no-repeat local,"
	"linear-gradient(90deg,#0005,transparent) left/12px 100% no-repeat scroll,"
	"linear-gradient(270deg,#0005,transparent) right/12px 100% no-repeat scroll}"
	"table::before{content:'scroll sideways for all "
	"columns';font-size:12px;color:#6a7482;position:sticky;left:0}}\n"
	":root{--card:#fff}\n"
	"@media(prefers-color-scheme:dark){:root{--card:#1c232b;color-scheme:dark}"
	"body{color:#dde3ea;background:#12171c}section,.card{background:#1c232b;border-color:#313b46}"
	"header{background:#0b2032}th{color:#a9b4c0;border-color:#3a4652}td{border-color:#2a333d}"
	"code,pre{background:#28313b}.muted,table::before{color:#98a4b1}.rack{background:#222b34;border-color:#3a4652}"
	/* charts are drawn on white */
	".plot{filter:invert(.88) hue-rotate(180deg)}"
	".rack>b{color:#a9b4c0}.slot{border-color:#4a5764}.slot.root{outline-color:#dde3ea}"
	".ok{color:#5fc98f}.warn{color:#e6a23c}.fail{color:#f2837b}"
	".verdict.ok,.verdict.fail{color:#fff}}\n";

void report_begin(FILE *out, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta name=\"viewport\" content=\"width=device-width\"><title>",
	      out);
	xml_print(out, title);
	fprintf(out, "</title>\n<style>\n%s</style></head><body>\n<header><div><h1>", style);
	xml_print(out, title);
	fputs("</h1></div></header>\n<main>\n", out);
}

void report_end(FILE *out)
{
	fprintf(out, "<p class=\"muted\">nomora %s</p>\n</main></body></html>\n", NOMORA_VERSION);
}
