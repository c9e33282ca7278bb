/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/result.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/out.h"

/* The style and the script of every page are files beside this one. */
#define FILE_INTO(name, path)			\
	__asm__(".section .rodata\n"		\
		#name ":\n"			\
		".incbin \"" path "\"\n"	\
		".byte 0\n"			\
		".previous\n");			\
	extern const char name[]
FILE_INTO(pm_page_css, "src/report/page.css");
FILE_INTO(pm_page_js, "src/report/page.js");

static void put(struct pm_html *h, const char *s)
{
	pm_buf_add(&h->b, s, strlen(s));
}

/* JSON in a script element: no "</script" and no comment may arise in it. */
static void put_json(struct pm_html *h, const char *s)
{
	struct pm_buf b = { 0 };

	pm_json_string(&b, s);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == '<')
			put(h, "\\u003c");
		else
			pm_buf_add(&h->b, &b.p[i], 1);
	pm_buf_release(&b);
}

bool pm_html_has_charts(void)
{
	size_t n;

	return pm_chart_js(&n) != NULL;
}

void pm_html_begin(struct pm_html *h, const char *title, const char *subtitle)
{
	*h = (struct pm_html){ 0 };
	put(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	       "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n<title>");
	pm_report_html_text(&h->b, title);
	put(h, "</title>\n<style>\n");
	put(h, pm_page_css);
	put(h,
	    "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n"
	    "<header><h1>");
	pm_report_html_text(&h->b, title);
	put(h, "</h1>\n");
	if (subtitle) {
		put(h, "<p class=\"dim\">");
		pm_report_html_text(&h->b, subtitle);
		put(h, "</p>\n");
	}
	put(h, "</header>\n<main id=\"main\">\n");
}

void pm_html_warning(struct pm_html *h, const char *text)
{
	put(h, "<p class=\"warn\" role=\"note\">");
	pm_report_html_text(&h->b, text);
	put(h, "</p>\n");
}

void pm_html_cards_begin(struct pm_html *h)
{
	put(h, "<ul class=\"cards\">\n");
}

void pm_html_card(struct pm_html *h, const char *label, const char *value, const char *hint)
{
	put(h, "<li>");
	pm_report_html_text(&h->b, label);
	put(h, "<b>");
	pm_report_html_text(&h->b, value);
	put(h, "</b>");
	if (hint) {
		put(h, "<span class=\"dim\">");
		pm_report_html_text(&h->b, hint);
		put(h, "</span>");
	}
	put(h, "</li>\n");
}

void pm_html_cards_end(struct pm_html *h)
{
	put(h, "</ul>\n");
}

void pm_html_section(struct pm_html *h, const char *title, const char *hint)
{
	pm_buf_printf(&h->b, "<h2 id=\"s%u\">", ++h->sections);
	pm_report_html_text(&h->b, title);
	if (hint) {
		put(h, " <small>");
		pm_report_html_text(&h->b, hint);
		put(h, "</small>");
	}
	put(h, "</h2>\n");
}

void pm_html_command(struct pm_html *h, const char *command)
{
	put(h, "<p class=\"command\"><code>");
	pm_report_html_text(&h->b, command);
	put(h, "</code></p>\n");
}

void pm_html_details_begin(struct pm_html *h, const char *summary)
{
	put(h, "<details><summary>");
	pm_report_html_text(&h->b, summary);
	put(h, "</summary>\n");
}

void pm_html_details_end(struct pm_html *h)
{
	put(h, "</details>\n");
}

void pm_html_table_begin(struct pm_html *h, const char *columns, bool filterable)
{
	unsigned id = ++h->sections;

	if (filterable)
		pm_buf_printf(&h->b,
			      "<label>Filter: <input type=\"search\" "
			      "data-filters=\"t%u\"></label>\n",
			      id);
	pm_buf_printf(&h->b,
		      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">"
		      "<table id=\"t%u\">\n<thead><tr>",
		      id);
	h->columns = h->column = 0;
	h->numeric = 0;
	while (*columns) {
		size_t n = strcspn(columns, "|");
		bool numeric = *columns == '#';
		char name[64];

		snprintf(name, sizeof name, "%.*s", (int)(n - numeric), columns + numeric);
		h->numeric |= (uint32_t)numeric << (h->columns & 31);
		h->columns++;
		pm_buf_printf(&h->b, "<th scope=\"col\"%s><button>", numeric ? " class=\"n\"" : "");
		pm_report_html_text(&h->b, name);
		put(h, "</button></th>");
		columns += n + (columns[n] == '|');
	}
	put(h, "</tr></thead>\n<tbody>\n");
}

static void begin_cell(struct pm_html *h)
{
	if (!h->column)
		put(h, "<tr>");
}

static void end_cell(struct pm_html *h)
{
	put(h, "</td>");
	if (++h->column == h->columns) {
		put(h, "</tr>\n");
		h->column = 0;
	}
}

void pm_html_cell(struct pm_html *h, const char *text)
{
	begin_cell(h);
	put(h, h->numeric >> h->column & 1 ? "<td class=\"n\">" : "<td>");
	pm_report_html_text(&h->b, text);
	end_cell(h);
}

void pm_html_cell_u64(struct pm_html *h, uint64_t v)
{
	char n[32];

	begin_cell(h);
	pm_buf_printf(&h->b, "<td class=\"n\" data-v=\"%llu\">%s", (unsigned long long)v,
		      pm_report_number(v, n));
	end_cell(h);
}

void pm_html_cell_percent(struct pm_html *h, double percent)
{
	begin_cell(h);
	pm_buf_printf(&h->b, "<td class=\"n p\" data-v=\"%.6g\" style=\"--w:%.1f%%\">%.2f&nbsp;%%",
		      percent, percent, percent);
	end_cell(h);
}

void pm_html_table_end(struct pm_html *h)
{
	put(h, "</tbody>\n</table></div>\n");
}

static bool begin_chart(struct pm_html *h, const char *title, double height)
{
	h->charts = true;
	if (!pm_html_has_charts())
		return false;
	put(h, "<figure><figcaption class=\"dim\">");
	pm_report_html_text(&h->b, title);
	pm_buf_printf(&h->b,
		      "</figcaption><div class=\"chart\" style=\"--h:%.0frem\"><canvas "
		      "role=\"img\" "
		      "aria-label=\"",
		      height);
	pm_report_html_text(&h->b, title);
	put(h, "; the table has the numbers\"></canvas>"
	       "<script type=\"application/json\" class=\"chart-data\">");
	return true;
}

static void put_number(struct pm_html *h, double v)
{
	pm_buf_printf(&h->b, "%.10g", isfinite(v) ? v : 0);
}

void pm_html_bars(struct pm_html *h, const char *title, const char *unit,
		  const struct pm_html_bar *bar, size_t n)
{
	if (!n || !begin_chart(h, title, 4 + 1.5 * (double)n))
		return;
	put(h, "{\"kind\":\"bars\",\"unit\":");
	put_json(h, unit);
	put(h, ",\"labels\":[");
	for (size_t i = 0; i < n; i++) {
		put(h, i ? "," : "");
		put_json(h, bar[i].label);
	}
	put(h, "],\"values\":[");
	for (size_t i = 0; i < n; i++) {
		put(h, i ? "," : "");
		put_number(h, bar[i].value);
	}
	put(h, "]}</script></div></figure>\n");
}

void pm_html_line(struct pm_html *h, const char *title, const char *x_name, const char *y_name,
		  const double *x, const double *y, size_t n, unsigned flags)
{
	if (!n || !begin_chart(h, title, 20))
		return;
	pm_buf_printf(&h->b, "{\"kind\":\"line\",\"log\":%s,\"step\":%s,\"x\":",
		      flags & PM_HTML_LOG ? "true" : "false",
		      flags & PM_HTML_STEP ? "true" : "false");
	put_json(h, x_name);
	put(h, ",\"y\":");
	put_json(h, y_name);
	put(h, ",\"points\":[");
	for (size_t i = 0; i < n; i++) {
		put(h, i ? ",[" : "[");
		put_number(h, x[i]);
		put(h, ",");
		put_number(h, y[i]);
		put(h, "]");
	}
	put(h, "]}</script></div></figure>\n");
}

void pm_html_heat(struct pm_html *h, const char *title, const char *x_name, const char *unit,
		  const char *const *row, const double *v, size_t rows, size_t columns)
{
	if (!rows || !columns || !begin_chart(h, title, 6 + 0.6 * (double)rows))
		return;
	put(h, "{\"kind\":\"heat\",\"x\":");
	put_json(h, x_name);
	put(h, ",\"unit\":");
	put_json(h, unit);
	put(h, ",\"rows\":[");
	for (size_t i = 0; i < rows; i++) {
		put(h, i ? "," : "");
		put_json(h, row[i]);
	}
	put(h, "],\"values\":[");
	for (size_t i = 0; i < rows; i++) {
		put(h, i ? ",[" : "[");
		for (size_t k = 0; k < columns; k++) {
			put(h, k ? "," : "");
			put_number(h, v[i * columns + k]);
		}
		put(h, "]");
	}
	put(h, "]}</script></div></figure>\n");
}

enum pm_status pm_html_finish(struct pm_html *h, const char *path, struct pm_err *err)
{
	size_t n;
	const char *js = pm_chart_js(&n);

	put(h, "</main>\n<footer>pugmark " PM_VERSION);
	if (h->charts && !js)
		put(h, " &middot; charts are left out: this pugmark was built without its chart "
		       "library");
	put(h, "</footer>\n");
	if (h->charts && js) {
		put(h, "<script>");
		pm_buf_add(&h->b, js, n);
		put(h, "</script>\n");
	}
	put(h, "<script>\n");
	put(h, pm_page_js);
	put(h, "</script>\n</body>\n</html>\n");
	return pm_report_save(path, &h->b, err);
}

void pm_html_release(struct pm_html *h)
{
	pm_buf_release(&h->b);
}
