/* SPDX-License-Identifier: MIT */
/* counted_moves.c - what a profile with edges says of branches */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_work.h"
#include "analyse/counted_moves.h"
#include "analyse/coverage_work.h"
#include "base/radix.h"
#include "elf/symbols.h"
#include "isa/x86/form.h"
#include "pugmark/pugmark.h"

#define MOST_INSNS	256		/* of a piece */

struct piece_insn {
	uint32_t at;			/* in the piece */
	struct pm_form form;
};

struct piece_counts {			/* one piece, decoded */
	const struct pm_piece *x;
	uint64_t total, whole;		/* entries; those that came to its end */
	uint64_t goes_on;		/* ... and to what follows it in memory */
	uint64_t taken, target;		/* its direct branch; target 0: none */
	const struct pm_counts_target *to;	/* its indirect branch, nto of them */
	size_t nto;
	uint32_t n;
	struct piece_insn insn[MOST_INSNS];
};

/* What is known of each piece besides its code; all processes have one after the other. */
struct process_moves {
	const struct pm_counts_process *p;
	struct pm_forms *forms;
	uint64_t *total, *whole, *stopped;	/* stopped: at its end */
	uint64_t *edge;				/* + 1; 0: none was counted */
	bool *edge_falls;
	size_t *to;				/* targets[to[i] .. to[i + 1]) */
};

bool pm_counts_have_moves(const struct pm_counts *c, uint64_t *lost)
{
	bool all = c->nprocess > 0;

	*lost = 0;
	for (size_t i = 0; i < c->nprocess; i++) {
		all &= c->process[i].edges && c->process[i].isa == PM_ISA_X86_64;
		*lost += c->process[i].targets_lost;
	}
	return all;
}

static void open_process(struct process_moves *m, const struct pm_counts_process *p,
			 struct pm_forms *forms)
{
	const size_t n = p->npiece + 1;

	*m = (struct process_moves){ .p = p, .forms = forms };
	m->total = pm_alloc(n * sizeof *m->total);
	m->whole = pm_alloc(n * sizeof *m->whole);
	m->stopped = pm_alloc(n * sizeof *m->stopped);
	m->edge = pm_alloc(n * sizeof *m->edge);
	m->edge_falls = pm_alloc(n * sizeof *m->edge_falls);
	m->to = pm_alloc((n + 1) * sizeof *m->to);
	for (size_t k = 0; k < p->nthread; k++) {
		const struct pm_counts_thread *t = &p->thread[k];

		for (size_t i = 0; i < p->npiece; i++)
			m->total[i] += t->count[i];
		for (size_t i = 0; i < t->ncut; i++)
			*(t->cut[i].done < p->piece[t->cut[i].piece].n ?
			  &m->whole[t->cut[i].piece] : &m->stopped[t->cut[i].piece]) +=
				t->cut[i].times;
	}
	for (size_t i = 0; i < p->npiece; i++)	/* until now: those that did not */
		m->whole[i] = m->total[i] > m->whole[i] ? m->total[i] - m->whole[i] : 0;
	for (size_t i = 0; i < p->nedge; i++) {
		m->edge[p->edge[i].piece] = p->edge[i].count + 1;
		m->edge_falls[p->edge[i].piece] = p->edge[i].falls;
	}
	for (size_t i = 0, k = 0; i < n; i++) {
		m->to[i] = k;
		while (k < p->ntarget && p->target[k].piece == i)
			k++;
	}
	m->to[n] = p->ntarget;
}

static void close_process(struct process_moves *m)
{
	free(m->total);
	free(m->whole);
	free(m->stopped);
	free(m->edge);
	free(m->edge_falls);
	free(m->to);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Which way a conditional branch went. */
static void split(const struct process_moves *m, size_t i, struct piece_counts *c)
{
	const uint64_t seen = m->edge[i] ? m->edge[i] - 1 : 0,
		       some = seen < c->whole ? seen : c->whole;

	c->taken = m->edge_falls[i] ? c->whole - some : some;
	c->goes_on = c->whole - c->taken;
}

static void decode_piece(const struct process_moves *m, size_t i, struct piece_counts *c)
{
	const struct pm_piece *x = &m->p->piece[i];
	const struct pm_form *last;
	uint32_t at = 0;

	c->x = x;
	c->total = m->total[i];
	c->whole = m->whole[i];
	c->to = m->p->target + m->to[i];
	c->nto = m->to[i + 1] - m->to[i];
	c->taken = c->target = 0;
	c->goes_on = less(c->whole, m->stopped[i]);
	for (c->n = 0; c->n < x->n && c->n < MOST_INSNS && at < x->size; c->n++) {
		c->insn[c->n].at = at;
		c->insn[c->n].form = *pm_form_at(m->forms, x->bytes + at, x->size - at);
		at += c->insn[c->n].form.len;
	}
	if (!c->n)
		return;
	last = &c->insn[c->n - 1].form;
	switch (last->flow) {
	case PM_CLASS_NONE:
	case PM_CLASS_SYSCALL:
		return;
	case PM_CLASS_COND:
		split(m, i, c);
		break;
	default:
		c->goes_on = 0;
		c->taken = c->whole;
		break;
	}
	c->target = pm_form_target(last, x->bytes + c->insn[c->n - 1].at,
				   x->pc + c->insn[c->n - 1].at);
}

static uint64_t end_of(const struct pm_piece *x)
{
	return x->pc + x->size;
}

static uint32_t object_at(const struct pm_counts_process *p, uint64_t pc)
{
	for (uint32_t i = 0; i < p->nobject; i++)
		if (p->object[i].lo <= pc && pc < p->object[i].hi)
			return i;
	return PM_NONE;
}

static char *build_id_of(const char *path)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = *path == '/' ? pm_elf_open(path, NULL, &err) : NULL;
	char *id = e && pm_elf_build_id(e) ? pm_strdup(pm_elf_build_id(e)) : NULL;

	pm_elf_close(e);
	return id;
}

/* The build id is that of the file as it is now: a path that is there already needs no look at its
 * file again. */
static uint32_t branch_object(struct pm_branches *to, const char *path)
{
	uint32_t at = 0;
	char *id;

	while (at < to->n && strcmp(to->object[at].path, path))
		at++;
	if (at < to->n)
		return at;
	id = build_id_of(path);
	at = pm_branches_object(to, path, id);
	free(id);
	return at;
}

/* SIZE_MAX: no file. */
static size_t cover_object(struct pm_cover *to, const struct pm_counts_object *o)
{
	size_t at = 0;
	char *id;

	if (*o->path != '/')
		return SIZE_MAX;
	while (at < to->n && strcmp(to->object[at].path, o->path))
		at++;
	if (at < to->n)
		return at;
	id = build_id_of(o->path);
	at = pm_cover_object_of(to, o->path, id, o->bias, o->lo, o->hi);
	free(id);
	return at;
}

/* ---- branches and ranges --------------------------------------------------------------------- */
struct times {
	struct times_at {
		uint64_t addr, count;
	} *v;
	size_t n, cap;
};

struct summing {
	struct pm_branches *out;
	struct branch_work w;
	struct process_moves m;
	uint32_t *object;		/* of the process's: the profile's */
	/* in any order, an address more than once: */
	struct times came;		/* how often something counted led there */
	struct times returns;		/* addresses behind calls, 0 */
};

static void add_times(struct times *t, uint64_t addr, uint64_t count)
{
	pm_grow(t->v, t->n, t->cap);
	t->v[t->n++] = (struct times_at){ addr, count };
}

static void add_move(struct summing *s, uint32_t from_object, uint64_t from, uint64_t to,
		     uint64_t n, bool returns)
{
	const struct pm_counts_process *p = s->m.p;
	const uint32_t to_object = object_at(p, to);
	struct branch_move m = { PM_NONE, PM_NONE, { from, to, n, 0, returns } };

	if (!n)
		return;
	if (!returns)
		add_times(&s->came, to, n);
	if (from_object != PM_NONE) {
		m.from_object = s->object[from_object];
		m.b.from -= p->object[from_object].bias;
	}
	if (to_object != PM_NONE) {
		m.to_object = s->object[to_object];
		m.b.to -= p->object[to_object].bias;
	}
	pm_grow(s->w.move, s->w.nmove, s->w.cap_move);
	s->w.move[s->w.nmove++] = m;
}

static void keep_code(struct pm_branch_object *o, const struct piece_counts *c, uint64_t bias)
{
	struct pm_branch_code code = { .addr = c->x->pc - bias, .len = c->insn[0].form.len };

	if (o->ncode == PM_BRANCH_CODE || code.len > sizeof code.bytes)
		return;
	memcpy(code.bytes, c->x->bytes, code.len);
	pm_grow(o->code, o->ncode, o->cap_code);
	o->code[o->ncode++] = code;
}

/* The first @n instructions of the piece ran @total times. */
static void add_run(struct summing *s, const struct piece_counts *c, uint32_t n, uint64_t total,
		    uint64_t goes_on)
{
	const uint64_t bias = s->m.p->object[c->x->object].bias, lo = c->x->pc - bias;
	const struct piece_insn *last = &c->insn[n - 1];
	const uint32_t object = s->object[c->x->object];

	if (!total)
		return;
	s->out->object[object].insns += n * total;
	keep_code(&s->out->object[object], c, bias);
	pm_grow(s->w.run, s->w.nrun, s->w.cap_run);
	s->w.run[s->w.nrun++] = (struct branch_run){ lo, lo + last->at,
		lo + last->at + last->form.len, total, goes_on, object };
}

static void add_piece(struct summing *s, const struct piece_counts *c)
{
	const struct pm_piece *x = c->x;
	uint64_t from;
	uint8_t flow;

	if (!c->n)
		return;
	from = x->pc + c->insn[c->n - 1].at;
	flow = c->insn[c->n - 1].form.flow;
	add_run(s, c, c->n, c->whole, c->goes_on);
	if (c->goes_on)
		add_times(&s->came, end_of(x), c->goes_on);
	if (flow == PM_CLASS_CALL || flow == PM_CLASS_CALL_IND)
		add_times(&s->returns, end_of(x), 0);
	if (c->target)
		add_move(s, x->object, from, c->target, c->taken, false);
	for (size_t i = 0; i < c->nto; i++)
		add_move(s, x->object, from, c->to[i].to, c->to[i].count, false);
}

/* What began to run, and did not come to its end. */
static void add_cuts(struct summing *s)
{
	const struct pm_counts_process *p = s->m.p;
	struct piece_counts c;

	for (size_t k = 0; k < p->nthread; k++)
		for (size_t i = 0; i < p->thread[k].ncut; i++) {
			const struct pm_cut *cut = &p->thread[k].cut[i];

			decode_piece(&s->m, cut->piece, &c);
			if (cut->done && cut->done < c.n)
				add_run(s, &c, cut->done, cut->times, 0);
		}
}

/* What ran at an address that a call returns to, and came from nowhere that is counted, did. */
static void add_returns(struct summing *s)
{
	const struct pm_counts_process *p = s->m.p;
	struct pm_map at = { 0 };		/* address -> place among the returns */
	const uint64_t *found;
	bool fresh;

	for (size_t i = 0; i < s->returns.n; i++) {
		uint64_t *place = pm_map_put(&at, s->returns.v[i].addr, &fresh);

		if (fresh)
			*place = i;
	}
	for (size_t i = 0; i < p->npiece; i++)
		if ((found = pm_map_get(&at, p->piece[i].pc)))
			s->returns.v[*found].count += s->m.total[i];
	for (size_t i = 0; i < s->came.n; i++)
		if ((found = pm_map_get(&at, s->came.v[i].addr)))
			s->returns.v[*found].count = less(s->returns.v[*found].count,
							  s->came.v[i].count);
	for (size_t i = 0; i < s->returns.n; i++)
		add_move(s, PM_NONE, 0, s->returns.v[i].addr, s->returns.v[i].count, true);
	pm_map_release(&at);
	free(s->returns.v);
	free(s->came.v);
	s->returns = s->came = (struct times){ 0 };
}

/* A piece's place: what is taken by ascending ones needs not be sorted afterwards. */
struct piece_place {
	uint64_t addr;			/* in the file */
	uint32_t object, piece;
};

/* Of the process that @s is at; free() it. */
static struct piece_place *sorted_places(const struct summing *s)
{
	static const struct pm_radix_key key[] = {
		{ offsetof(struct piece_place, object), 4 },
		{ offsetof(struct piece_place, addr), 8 },
	};
	const struct pm_counts_process *p = s->m.p;
	struct piece_place *v = pm_alloc_unset((p->npiece + 1) * sizeof *v);

	for (size_t i = 0; i < p->npiece; i++) {
		const struct pm_piece *x = &p->piece[i];

		v[i] = (struct piece_place){ x->pc - p->object[x->object].bias,
					     s->object[x->object], (uint32_t)i };
	}
	pm_radix_sort(v, p->npiece, sizeof *v, key, NR(key));
	return v;
}

void pm_branches_of_counts(const struct pm_counts *c, struct pm_branches *to)
{
	struct pm_forms *const forms[] = { pm_forms_new(false), pm_forms_new(true) };
	struct summing s = { .out = to };
	struct piece_counts piece;
	struct piece_place *place;

	*to = (struct pm_branches){ 0 };
	for (size_t i = 0; i < c->nprocess; i++) {
		const struct pm_counts_process *p = &c->process[i];

		if (p->pid == c->process[0].pid) {
			free(to->program);
			to->program = pm_strdup(p->program);
		}
		open_process(&s.m, p, forms[p->isa == PM_ISA_X86_32]);
		s.object = pm_alloc((p->nobject + 1) * sizeof *s.object);
		for (size_t k = 0; k < p->nobject; k++)
			s.object[k] = branch_object(to, p->object[k].path);
		place = sorted_places(&s);
		for (size_t k = 0; k < p->npiece; k++) {
			decode_piece(&s.m, place[k].piece, &piece);
			add_piece(&s, &piece);
		}
		free(place);
		add_cuts(&s);
		add_returns(&s);
		free(s.object);
		close_process(&s.m);
	}
	pm_branch_sum(&s.w, to);
	pm_forms_free(forms[0]);
	pm_forms_free(forms[1]);
}

/* ---- coverage -------------------------------------------------------------------------------- */
static void cover_piece(struct pm_cover_object *o, const struct piece_counts *c, uint32_t n,
			uint64_t times, uint64_t bias)
{
	const uint64_t lo = c->x->pc - bias;
	const struct piece_insn *last = &c->insn[n - 1];

	if (!times)
		return;
	pm_grow(o->block, o->nblock, o->cap_block);
	o->block[o->nblock++] = (struct pm_cover_block){ lo, last->at + last->form.len };
	for (uint32_t i = 0; i < n; i++) {
		struct pm_cover_insn *x = pm_cover_insn_at(o, lo + c->insn[i].at);

		x->len = c->insn[i].form.len;
		x->flow = c->insn[i].form.flow;
		x->count += times;
		if (i + 1 == c->n && c->target)
			x->target = c->target - bias;
	}
}

static void cover_ends(struct pm_cover_object *o, const struct piece_counts *c, uint64_t bias)
{
	const struct piece_insn *last = &c->insn[c->n - 1];
	const uint64_t from = c->x->pc - bias + last->at;
	struct pm_cover_insn *x;

	if (last->form.flow == PM_CLASS_COND && c->whole) {
		x = pm_cover_insn_at(o, from);
		x->taken += c->taken;
		x->fell += c->goes_on;
	}
	for (size_t i = 0; i < c->nto && last->form.flow == PM_CLASS_JUMP_IND; i++) {
		pm_grow(o->jump, o->njump, o->cap_jump);
		o->jump[o->njump++] = (struct pm_cover_jump){ from, c->to[i].to - bias,
							       c->to[i].count };
	}
}

static void cover_process(struct pm_cover *to, const struct process_moves *m,
			  const size_t *object)
{
	const struct pm_counts_process *p = m->p;
	struct piece_counts c;

	for (size_t i = 0; i < p->npiece; i++) {
		const size_t k = object[p->piece[i].object];

		if (k == SIZE_MAX)
			continue;
		decode_piece(m, i, &c);
		if (!c.n)
			continue;
		cover_piece(&to->object[k], &c, c.n, c.whole, p->object[c.x->object].bias);
		cover_ends(&to->object[k], &c, p->object[c.x->object].bias);
	}
	for (size_t t = 0; t < p->nthread; t++)
		for (size_t i = 0; i < p->thread[t].ncut; i++) {
			const struct pm_cut *cut = &p->thread[t].cut[i];
			const size_t k = object[p->piece[cut->piece].object];

			if (k == SIZE_MAX)
				continue;
			decode_piece(m, cut->piece, &c);
			if (cut->done && cut->done < c.n)
				cover_piece(&to->object[k], &c, cut->done, cut->times,
					    p->object[c.x->object].bias);
		}
}

void pm_cover_of_counts(const struct pm_counts *c, struct pm_cover *to)
{
	struct pm_forms *const forms[] = { pm_forms_new(false), pm_forms_new(true) };
	struct process_moves m;

	*to = (struct pm_cover){ 0 };
	for (size_t i = 0; i < c->nprocess; i++) {
		const struct pm_counts_process *p = &c->process[i];
		size_t *object = pm_alloc((p->nobject + 1) * sizeof *object);

		for (size_t k = 0; k < p->nobject; k++)
			object[k] = cover_object(to, &p->object[k]);
		open_process(&m, p, forms[p->isa == PM_ISA_X86_32]);
		cover_process(to, &m, object);
		close_process(&m);
		free(object);
	}
	pm_cover_tidy(to);
	pm_forms_free(forms[0]);
	pm_forms_free(forms[1]);
}
