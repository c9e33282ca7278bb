/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/memory.h"
#include "analyse/names.h"

#define HEAT_ROWS	48
#define HEAT_GAP	(64u << 20)

struct pm_memory {
	unsigned page_shift, line_shift, grain_shift;
	struct pm_map page_at, stride_at, line_at;
	struct pm_page_heat *page;
	size_t npage, cap_page;
	struct pm_stride *stride;
	size_t nstride, cap_stride;
	struct pm_shared_line *line;
	size_t nline, cap_line;
	uint64_t time, slice_len;
	uint64_t last_page, last_page_at;	/* + 1; 0: none */
	uint64_t *pc;			/* by stream: what its last batch ended in; 0: not known */
	size_t npc;
};

struct pm_memory *pm_memory_new(uint64_t page, uint64_t line)
{
	struct pm_memory *m = pm_alloc(sizeof *m);

	m->page_shift = __builtin_ctzll(page);
	m->line_shift = __builtin_ctzll(line);
	m->grain_shift = line > 64 ? m->line_shift - 6 : 0;
	m->slice_len = 1024;
	return m;
}

static struct pm_page_heat *page_of(struct pm_memory *m, uint64_t addr)
{
	uint64_t page = addr >> m->page_shift, *at;
	bool fresh;

	if (m->last_page_at && m->last_page == page)
		return m->page + m->last_page_at - 1;
	at = pm_map_put(&m->page_at, page, &fresh);
	if (fresh) {
		*at = m->npage;
		pm_grow(m->page, m->npage, m->cap_page);
		m->page[m->npage++] = (struct pm_page_heat){ .page = page << m->page_shift };
	}
	m->last_page = page;
	m->last_page_at = *at + 1;
	return m->page + *at;
}

static unsigned slice_now(struct pm_memory *m)
{
	while (m->time / m->slice_len >= PM_HEAT_SLICES) {	/* pairs of slices become one */
		for (size_t i = 0; i < m->npage; i++) {
			uint32_t *s = m->page[i].slice;

			for (unsigned k = 0; k < PM_HEAT_SLICES / 2; k++)
				s[k] = s[2 * k] + s[2 * k + 1];
			memset(s + PM_HEAT_SLICES / 2, 0, PM_HEAT_SLICES / 2 * sizeof *s);
		}
		m->slice_len *= 2;
	}
	return m->time / m->slice_len;
}

static void stride_of(struct pm_memory *m, uint64_t pc, uint64_t addr)
{
	bool fresh;
	uint64_t *at = pm_map_put(&m->stride_at, pc, &fresh);
	struct pm_stride *s;
	int64_t d;

	if (fresh) {
		*at = m->nstride;
		pm_grow(m->stride, m->nstride, m->cap_stride);
		m->stride[m->nstride++] = (struct pm_stride){ .pc = pc, .last = addr, .refs = 1 };
		return;
	}
	s = m->stride + *at;
	d = addr - s->last;
	s->last = addr;
	s->refs++;
	for (int k = 0; k < 4; k++)
		if (s->count[k] && s->stride[k] == d) {
			s->count[k]++;
			return;
		}
	for (int k = 0; k < 4; k++)
		if (!s->count[k]) {
			s->stride[k] = d;
			s->count[k] = 1;
			return;
		}
	for (int k = 0; k < 4; k++)
		s->count[k]--;
}

static uint64_t byte_mask(const struct pm_memory *m, uint64_t off, uint64_t size)
{
	unsigned first = off >> m->grain_shift, last = (off + size - 1) >> m->grain_shift;

	return (last >= 63 ? ~0ull : (2ull << last) - 1) & ~((1ull << first) - 1);
}

static void share(struct pm_memory *m, uint32_t stream, uint64_t addr, uint64_t size, bool read,
		  bool write)
{
	uint64_t len = 1ull << m->line_shift;

	while (size) {
		uint64_t off = addr & (len - 1), part = size < len - off ? size : len - off, *at;
		struct pm_shared_line *l;
		unsigned k = 0;
		bool fresh;

		at = pm_map_put(&m->line_at, addr >> m->line_shift, &fresh);
		if (fresh) {
			*at = m->nline;
			pm_grow(m->line, m->nline, m->cap_line);
			m->line[m->nline++] = (struct pm_shared_line){ .line = addr - off,
								       .last = stream };
		}
		l = m->line + *at;
		l->refs++;
		if (l->last != stream && (l->last_wrote || write))
			l->transfers++;
		l->last_wrote = l->last == stream ? l->last_wrote || write : write;
		l->last = stream;
		while (k < l->n && l->stream[k] != stream)
			k++;
		if (k == l->n && k < 4)
			l->stream[l->n++] = stream;
		if (k < 4) {
			if (read)
				l->read[k] |= byte_mask(m, off, part);
			if (write)
				l->written[k] |= byte_mask(m, off, part);
		} else {
			l->overflow = true;
		}
		addr += part;
		size -= part;
	}
}

bool pm_line_shared(const struct pm_shared_line *l)
{
	uint64_t written = 0;

	for (unsigned k = 0; k < l->n; k++)
		written |= l->written[k];
	return l->n > 1 && written;
}

bool pm_line_falsely(const struct pm_shared_line *l)
{
	if (!pm_line_shared(l) || l->overflow)
		return false;
	for (unsigned i = 0; i < l->n; i++)
		for (unsigned k = 0; k < l->n; k++)
			if (i != k && l->written[i] & (l->read[k] | l->written[k]))
				return false;
	return true;
}

void pm_memory_batch(struct pm_memory *m, const struct pm_batch *b)
{
	const uint32_t stream = b->stream ? b->stream->index : 0;
	uint64_t pc;

	if (stream >= m->npc) {
		const size_t n = (size_t)stream * 2 + 16;

		m->pc = pm_realloc(m->pc, n * sizeof *m->pc);
		memset(m->pc + m->npc, 0, (n - m->npc) * sizeof *m->pc);
		m->npc = n;
	}
	pc = m->pc[stream];
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		struct pm_page_heat *p;
		bool read = e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY;
		bool write = e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY;

		if (e->kind == PM_EV_INSN)
			pc = e->addr;
		else if (!read && !write && e->kind != PM_EV_LINE)
			continue;
		p = page_of(m, e->addr);
		p->fetches += !read && !write;
		p->reads += read;
		p->writes += write;
		p->slice[slice_now(m)]++;
		m->time++;
		if (!read && !write)
			continue;
		if (pc)
			stride_of(m, pc, e->addr);
		share(m, stream, e->addr, e->size ? e->size : 1, read, write);
	}
	m->pc[stream] = pc;
}

const struct pm_page_heat *pm_memory_pages(const struct pm_memory *m, size_t *n)
{
	*n = m->npage;
	return m->page;
}

const struct pm_stride *pm_memory_strides(const struct pm_memory *m, size_t *n)
{
	*n = m->nstride;
	return m->stride;
}

const struct pm_shared_line *pm_memory_lines(const struct pm_memory *m, size_t *n)
{
	*n = m->nline;
	return m->line;
}

uint64_t pm_memory_slice(const struct pm_memory *m)
{
	return m->slice_len;
}

void pm_memory_free(struct pm_memory *m)
{
	if (!m)
		return;
	pm_map_release(&m->page_at);
	pm_map_release(&m->stride_at);
	pm_map_release(&m->line_at);
	free(m->page);
	free(m->stride);
	free(m->pc);
	free(m->line);
	free(m);
}

/* ---- the sink ------------------------------------------------------------------------------- */

struct memory_sink { struct pm_memory *m; struct pm_names names; uint64_t page, line, top; };

static void *create(const char *config, struct pm_err *err)
{
	struct memory_sink *s = pm_alloc(sizeof *s);
	const struct pm_conf_key keys[] = {
		{ "page", &s->page, 64, 1u << 30, true, "bytes of a page" },
		{ "line", &s->line, 8, 4096, true, "bytes of a line" },
		{ "top", &s->top, 1, 1000000, false, "entries listed" },
		{ 0 }
	};

	s->page = 4096;
	s->line = 64;
	s->top = 20;
	if (pm_conf_keys("memory", config, keys, err)) {
		free(s);
		return NULL;
	}
	s->m = pm_memory_new(s->page, s->line);
	return s;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct memory_sink *s = self;

	pm_names_learn(&s->names, b->code);
	pm_memory_batch(s->m, b);
	return PM_OK;
}

static int by_heat(const void *a, const void *b)
{
	const struct pm_page_heat *x = a, *y = b;
	uint64_t i = x->fetches + x->reads + x->writes, j = y->fetches + y->reads + y->writes;

	return i != j ? (i < j ? 1 : -1) : x->page < y->page ? -1 : x->page > y->page;
}

static int by_refs(const void *a, const void *b)
{
	const struct pm_stride *x = a, *y = b;

	return x->refs != y->refs ? (x->refs < y->refs ? 1 : -1)
	       : x->pc < y->pc	  ? -1
				  : x->pc > y->pc;
}

static int by_transfers(const void *a, const void *b)
{
	const struct pm_shared_line *x = a, *y = b;

	return x->transfers != y->transfers ? (x->transfers < y->transfers ? 1 : -1)
		: x->line < y->line ? -1 : x->line > y->line;
}

static void stride_result(struct memory_sink *s, const struct pm_stride *t, struct pm_result *r)
{
	char text[32];
	int best = 0;

	for (int k = 1; k < 4; k++)
		if (t->count[k] > t->count[best])
			best = k;
	pm_result_begin(r, NULL);
	pm_result_u64(r, "references", t->refs, "references");
	snprintf(text, sizeof text, "%lld", (long long)t->stride[best]);
	pm_result_str(r, "stride", t->count[best] ? text : "-");
	pm_result_f64(r, "share", t->refs > 1 ? (double)t->count[best] / (t->refs - 1) : 0,
		      "of its references");
	pm_names_result(&s->names, r, t->pc);
	pm_result_end(r);
}

struct pm_names *pm_memory_names(void *self)
{
	return &((struct memory_sink *)self)->names;
}

static int by_page(const void *a, const void *b)
{
	const struct pm_page_heat *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

static void heat_result(struct pm_memory *m, struct pm_result *r)
{
	size_t share = m->npage / HEAT_ROWS + 1;

	if (m->npage)
		qsort(m->page, m->npage, sizeof *m->page, by_page);
	pm_result_begin_list(r, "heat");
	for (size_t i = 0, upto; i < m->npage; i = upto) {
		uint64_t refs = 0, slice[PM_HEAT_SLICES] = { 0 };

		upto = i;
		do {
			for (unsigned k = 0; k < PM_HEAT_SLICES; k++) {
				slice[k] += m->page[upto].slice[k];
				refs += m->page[upto].slice[k];
			}
			upto++;
		} while (upto < m->npage && upto < i + share &&
			 m->page[upto].page - m->page[upto - 1].page < HEAT_GAP);
		pm_result_begin(r, NULL);
		pm_result_hex(r, "from", m->page[i].page);
		pm_result_hex(r, "to", m->page[upto - 1].page + (1ull << m->page_shift) - 1);
		pm_result_u64(r, "references", refs, "references");
		pm_result_begin_list(r, "slices");
		for (unsigned k = 0; k < PM_HEAT_SLICES && k * m->slice_len < m->time; k++)
			pm_result_u64(r, NULL, slice[k], NULL);
		pm_result_end(r);
		pm_result_end(r);
	}
	pm_result_end(r);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct memory_sink *s = self;
	struct pm_memory *m = s->m;
	uint64_t shared = 0, falsely = 0;

	if (!r)
		return PM_OK;
	if (m->nstride)
		qsort(m->stride, m->nstride, sizeof *m->stride, by_refs);
	if (m->nline)
		qsort(m->line, m->nline, sizeof *m->line, by_transfers);
	for (size_t i = 0; i < m->nline; i++) {
		shared += pm_line_shared(m->line + i);
		falsely += pm_line_falsely(m->line + i);
	}
	pm_result_begin(r, "memory");
	pm_result_u64(r, "pages", m->npage, "pages");
	pm_result_u64(r, "data_lines", m->nline, "lines");
	pm_result_u64(r, "shared_lines", shared, "lines that streams share and one writes");
	pm_result_u64(r, "falsely_shared_lines", falsely, "lines");
	pm_result_u64(r, "slice", m->slice_len, "references");
	heat_result(m, r);
	if (m->npage)
		qsort(m->page, m->npage, sizeof *m->page, by_heat);
	pm_result_begin_list(r, "hot_pages");
	for (size_t i = 0; i < m->npage && i < s->top; i++) {
		const struct pm_page_heat *p = m->page + i;

		pm_result_begin(r, NULL);
		pm_result_hex(r, "page", p->page);
		pm_result_u64(r, "fetches", p->fetches, "references");
		pm_result_u64(r, "reads", p->reads, "references");
		pm_result_u64(r, "writes", p->writes, "references");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "strides");
	for (size_t i = 0; i < m->nstride && i < s->top; i++)
		stride_result(s, m->stride + i, r);
	pm_result_end(r);
	pm_result_begin_list(r, "sharing");
	for (size_t i = 0; i < m->nline && i < s->top && m->line[i].transfers; i++) {
		pm_result_begin(r, NULL);
		pm_result_hex(r, "line", m->line[i].line);
		pm_result_u64(r, "transfers", m->line[i].transfers, "references");
		pm_result_u64(r, "references", m->line[i].refs, "references");
		pm_result_u64(r, "streams", m->line[i].n, "streams");
		pm_result_bool(r, "false_sharing", pm_line_falsely(m->line + i));
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static void destroy(void *self)
{
	struct memory_sink *s = self;

	if (!s)
		return;
	pm_memory_free(s->m);
	pm_names_release(&s->names);
	free(s);
}

const struct pm_sink_ops pm_sim_memory = {
	.abi = PM_ABI, .needs = PM_HAS_REFS, .name = "memory",
	.about = "heat of pages over time, strides of instructions, threads' sharing",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
