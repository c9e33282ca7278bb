/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "report/html.h"
#include "report/out.h"
#include "base/sha256.h"
#include "base/whole_file.h"

/* The style and the script of every page are files in page/. */
#define FILE_INTO(path) ".incbin \"src/report/page/" path "\"\n"
__asm__(".section .rodata\n"
	"page_css:\n"
	FILE_INTO("page.css")
	FILE_INTO("code.css")
	".byte 0\n"
	"page_js:\n"
	FILE_INTO("start.js")
	FILE_INTO("tables.js")
	FILE_INTO("views.js")
	FILE_INTO("overview.js")
	FILE_INTO("charts.js")
	FILE_INTO("code.js")
	FILE_INTO("flame.js")
	FILE_INTO("search.js")
	FILE_INTO("keys.js")
	".byte 0\n"
	".previous\n");
extern const char page_css[], page_js[];

void pm_html_markup(struct pm_html *h, const char *s)
{
	pm_buf_add(&h->b, s, strlen(s));
}

void pm_html_text(struct pm_html *h, const char *s)
{
	pm_report_html_text(&h->b, s);
}

void pm_html_text_cut(struct pm_html *h, const char *s, size_t max)
{
	size_t n = strlen(s);
	char *cut;

	if (n <= max) {
		pm_html_text(h, s);
		return;
	}
	while (max > 1 && ((uint8_t)s[max] & 0xc0) == 0x80)	/* not inside of a character */
		max--;
	cut = pm_strndup(s, max);
	pm_html_text(h, cut);
	pm_html_markup(h, "\u2026");
	free(cut);
}

/* No "</script" and no comment may arise. */
void pm_html_json(struct pm_html *h, const char *s)
{
	struct pm_buf b = { 0 }, shown = { 0 };

	pm_report_shown_text(&shown, s);
	pm_buf_add(&shown, "", 1);
	pm_json_string(&b, (const char *)shown.p);
	pm_buf_release(&shown);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == '<')
			pm_html_markup(h, "\\u003c");
		else
			pm_buf_add(&h->b, &b.p[i], 1);
	pm_buf_release(&b);
}

void pm_html_begin(struct pm_html *h, const char *title, const char *about)
{
	char js[45], css[45];

	*h = (struct pm_html){ 0 };
	pm_sha256_base64(page_js, strlen(page_js), js);
	pm_sha256_base64(page_css, strlen(page_css), css);
	pm_buf_printf(&h->b,
		      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; "
		      "form-action 'none'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
		      js, css);
	pm_html_text_cut(h, title, 200);
	pm_html_markup(h, "</title>\n<style>");
	pm_html_markup(h, page_css);
	pm_html_markup(h, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
		"results</a>\n"
	       "<header class=\"bar\"><a class=\"brand\" href=\"#overview\">pugmark</a>"
	       "<span class=\"about\">");
	pm_html_text_cut(h, about ? about : "", 300);
	pm_html_markup(h, "</span></header>\n<main id=\"main\" tabindex=\"-1\">\n");
}

/* Ends what is open; without content it never was. */
static void end_part(struct pm_html *h, struct pm_html_part *part)
{
	if (part->open && h->b.n == part->content)
		h->b.n = part->from;
	else if (part->open)
		pm_html_markup(h, "</section>\n");
	part->open = false;
}

void pm_html_view(struct pm_html *h, const char *id, const char *name, const char *group)
{
	end_part(h, &h->section);
	end_part(h, &h->view);
	h->view = (struct pm_html_part){ .open = true, .from = h->b.n };
	pm_buf_printf(&h->b, "<section class=\"view\" id=\"%s\" data-group=\"%s\"><h2>", id,
		      group);
	pm_html_text(h, name);
	pm_html_markup(h, "</h2>\n");
	h->view.content = h->b.n;
}

void pm_html_section(struct pm_html *h, const char *title, const char *hint)
{
	if (!h->details) {
		end_part(h, &h->section);
		h->section = (struct pm_html_part){ .open = true, .from = h->b.n };
		pm_html_markup(h, "<section>");
	}
	pm_buf_printf(&h->b, "<h3 id=\"s%u\">", ++h->ids);
	pm_html_text(h, title);
	if (hint && *hint) {
		pm_html_markup(h, " <small>");
		pm_html_text(h, hint);
		pm_html_markup(h, "</small>");
	}
	pm_html_markup(h, "</h3>\n");
	if (!h->details)
		h->section.content = h->b.n;
}

static void paragraph(struct pm_html *h, const char *class, const char *text)
{
	pm_buf_printf(&h->b, "<p class=\"%s\">", class);
	pm_html_text(h, text);
	pm_html_markup(h, "</p>\n");
}

void pm_html_warning(struct pm_html *h, const char *text)
{
	paragraph(h, "warn", text);
}

void pm_html_note(struct pm_html *h, const char *text)
{
	paragraph(h, "dim", text);
}

void pm_html_cards_begin(struct pm_html *h)
{
	pm_html_markup(h, "<dl class=\"cards\">\n");
}

void pm_html_card(struct pm_html *h, const char *label, const char *value, const char *hint)
{
	pm_html_markup(h, "<div><dt>");
	pm_html_text(h, label);
	pm_html_markup(h, "</dt><dd>");
	pm_html_text_cut(h, value, 400);
	if (hint) {
		pm_html_markup(h, " <small>");
		pm_html_text(h, hint);
		pm_html_markup(h, "</small>");
	}
	pm_html_markup(h, "</dd></div>\n");
}

void pm_html_cards_end(struct pm_html *h)
{
	pm_html_markup(h, "</dl>\n");
}

void pm_html_details_begin(struct pm_html *h, const char *summary)
{
	pm_html_markup(h, "<details><summary>");
	pm_html_text(h, summary);
	pm_html_markup(h, "</summary>\n");
	h->details = true;
}

void pm_html_details_end(struct pm_html *h)
{
	pm_html_markup(h, "</details>\n");
	h->details = false;
}

/* ---- tables --------------------------------------------------------------------------------- */

void pm_html_table_begin(struct pm_html *h, const char *name, const char *columns, int sorted,
			 enum pm_html_order order)
{
	static const char *const aria[] = { "descending", "ascending" };

	pm_html_markup(h, "<div class=\"tablebox\">"
	       "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	       "aria-label=\"");
	pm_html_text(h, name);
	pm_buf_printf(&h->b, "\"><table id=\"t%u\">\n<thead><tr>", ++h->ids);
	h->columns = h->column = 0;
	h->numeric = 0;
	while (*columns) {
		size_t n = strcspn(columns, "|");
		bool numeric = *columns == '#';
		char *text = pm_strndup(columns + numeric, n - numeric);

		h->numeric |= (uint64_t)numeric << (h->columns & 63);
		pm_buf_printf(&h->b, "<th scope=\"col\"%s", numeric ? " class=\"n\"" : "");
		if (sorted == (int)h->columns)
			pm_buf_printf(&h->b, " aria-sort=\"%s\"", aria[order]);
		pm_html_markup(h, ">");
		pm_html_text(h, text);
		pm_html_markup(h, "</th>");
		free(text);
		h->columns++;
		columns += n + (columns[n] == '|');
	}
	pm_html_markup(h, "</tr></thead>\n<tbody>\n");
}

/* The first column names the row. */
static void begin_cell(struct pm_html *h)
{
	pm_html_markup(h, h->column ? "<td" : "<tr><th scope=\"row\"");
}

static void end_cell(struct pm_html *h)
{
	pm_html_markup(h, h->column ? "</td>" : "</th>");
	if (++h->column == h->columns) {
		pm_html_markup(h, "</tr>\n");
		h->column = 0;
	}
}

void pm_html_cell_link(struct pm_html *h, const char *text, const char *link)
{
	begin_cell(h);
	pm_html_markup(h, h->numeric >> (h->column & 63) & 1 ? " class=\"n\">" : ">");
	if (link) {
		pm_html_markup(h, "<a href=\"");
		pm_html_text(h, link);
		pm_html_markup(h, "\">");
	}
	pm_html_text_cut(h, text, 400);
	if (link)
		pm_html_markup(h, "</a>");
	end_cell(h);
}

void pm_html_cell(struct pm_html *h, const char *text)
{
	pm_html_cell_link(h, text, NULL);
}

void pm_html_cell_u64(struct pm_html *h, uint64_t v)
{
	char n[32];

	begin_cell(h);
	pm_buf_printf(&h->b, " class=\"n\">%s", pm_report_number(v, n));
	end_cell(h);
}

void pm_html_cell_number(struct pm_html *h, double v, const char *text)
{
	begin_cell(h);
	pm_buf_printf(&h->b, " class=\"n\" data-v=\"%.6g\">", v);
	pm_html_text(h, text);
	end_cell(h);
}

void pm_html_cell_share(struct pm_html *h, double percent)
{
	char text[16];

	begin_cell(h);
	pm_buf_printf(&h->b, " class=\"n p\" data-v=\"%.6g\">", percent);
	pm_html_text(h, pm_report_share(percent, text));
	end_cell(h);
}

void pm_html_table_end(struct pm_html *h, const char *total)
{
	pm_html_markup(h, "</tbody>\n</table></div>");
	if (total && *total) {
		pm_html_markup(h, "<p class=\"total\">");
		pm_html_text(h, total);
		pm_html_markup(h, "</p>");
	}
	pm_html_markup(h, "</div>\n");
}

/* ---- charts --------------------------------------------------------------------------------- */

static void begin_chart(struct pm_html *h, const char *title)
{
	pm_html_markup(h, "<figure><figcaption>");
	pm_html_text(h, title);
	pm_html_markup(h, "</figcaption><script type=\"application/json\" class=\"chart-data\">");
}

static void put_number(struct pm_html *h, double v)
{
	pm_buf_printf(&h->b, "%.10g", isfinite(v) ? v : 0);
}

void pm_html_line(struct pm_html *h, const char *title, const char *x_name, const char *y_name,
		  const double *x, const double *y, size_t n, unsigned flags)
{
	if (n < 2)
		return;
	begin_chart(h, title);
	pm_buf_printf(&h->b, "{\"kind\":\"line\",\"log\":%s,\"step\":%s,\"percent\":%s,\"x\":",
		      flags & PM_HTML_LOG ? "true" : "false",
		      flags & PM_HTML_STEP ? "true" : "false",
		      flags & PM_HTML_PERCENT ? "true" : "false");
	pm_html_json(h, x_name);
	pm_html_markup(h, ",\"y\":");
	pm_html_json(h, y_name);
	pm_html_markup(h, ",\"points\":[");
	for (size_t i = 0; i < n; i++) {
		pm_html_markup(h, i ? ",[" : "[");
		put_number(h, x[i]);
		pm_html_markup(h, ",");
		put_number(h, y[i]);
		pm_html_markup(h, "]");
	}
	pm_html_markup(h, "]}</script></figure>\n");
}

void pm_html_heat(struct pm_html *h, const char *title, const char *x_name, const char *unit,
		  const char *const *row, const double *v, size_t rows, size_t columns)
{
	if (!rows || !columns)
		return;
	begin_chart(h, title);
	pm_html_markup(h, "{\"kind\":\"heat\",\"x\":");
	pm_html_json(h, x_name);
	pm_html_markup(h, ",\"unit\":");
	pm_html_json(h, unit);
	pm_html_markup(h, ",\"rows\":[");
	for (size_t i = 0; i < rows; i++) {
		pm_html_markup(h, i ? "," : "");
		pm_html_json(h, row[i]);
	}
	pm_html_markup(h, "],\"values\":[");
	for (size_t i = 0; i < rows; i++) {
		pm_html_markup(h, i ? ",[" : "[");
		for (size_t k = 0; k < columns; k++) {
			pm_html_markup(h, k ? "," : "");
			put_number(h, v[i * columns + k]);
		}
		pm_html_markup(h, "]");
	}
	pm_html_markup(h, "]}</script></figure>\n");
}

void pm_html_strip(struct pm_html *h, const char *title, const char *x_name, const double *from,
		   const unsigned *kind, size_t n, double end)
{
	if (n < 2)
		return;
	begin_chart(h, title);
	pm_html_markup(h, "{\"kind\":\"strip\",\"x\":");
	pm_html_json(h, x_name);
	pm_html_markup(h, ",\"end\":");
	put_number(h, end);
	pm_html_markup(h, ",\"parts\":[");
	for (size_t i = 0; i < n; i++) {
		pm_html_markup(h, i ? ",[" : "[");
		put_number(h, from[i]);
		pm_buf_printf(&h->b, ",%u]", kind[i]);
	}
	pm_html_markup(h, "]}</script></figure>\n");
}

enum pm_status pm_html_finish(struct pm_html *h, const char *path, struct pm_err *err)
{
	end_part(h, &h->section);
	end_part(h, &h->view);
	pm_html_markup(h, "</main>\n<footer>pugmark " PM_VERSION "</footer>\n<script>");
	pm_html_markup(h, page_js);
	pm_html_markup(h, "</script>\n</body>\n</html>\n");
	return pm_file_save(path, &h->b, err);
}

void pm_html_release(struct pm_html *h)
{
	pm_buf_release(&h->b);
}
