/* SPDX-License-Identifier: MIT */
/* instrument.c - plan where everything will be mapped, translate all texts, put the files together
 *
 * All addresses are fixed when a program is instrumented, so that nothing has to be moved when it
 * starts: position-independent programs live where Linux puts them without randomisation, libraries
 * where the program's own dynamic linker does. The layout of the files is told in
 * runtime/image.h. */
#include "collect/instrument/instrument.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/instrument/job.h"

/* ---- hints ----------------------------------------------------------------------------------- */
static const uint8_t *at_address(const struct file *f, uint64_t addr, uint64_t n, bool exec)
{
	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		uint64_t off = addr - f->bias - p->p_vaddr;

		if (p->p_type == PT_LOAD && off < p->p_filesz && p->p_filesz - off >= n &&
		    (!exec || p->p_flags & PF_X))
			return f->p + p->p_offset + off;
	}
	return NULL;
}

static enum pm_status apply_hint(struct job *j, const struct idt_hint *h, struct pm_err *err)
{
	const struct file *f = &j->file[0];
	const bool code = h->kind != IDT_JTAB && h->kind != IDT_CURBRK;
	/* addresses in the file serve as well as those in memory */
	uint64_t addr = h->addr < f->base ? h->addr + f->bias : h->addr, to = 0;
	const unsigned word = j->i386 ? 4 : 8;
	const uint8_t *p = at_address(f, addr, h->kind == IDT_JTAB ? word * h->entries : 1, code);

	if (h->kind == IDT_TRACE_END && !p)
		p = at_address(f, addr - 1, 1, true);
	if (!p && h->kind == IDT_CURBRK)
		return PM_OK;			/* the heap begins where it always does */
	if (!p || h->entries > UINT32_MAX)
		return pm_fail_line(err, h->line, "0x%" PRIx64 " is not in the program's %s",
				    h->addr, code ? "text" : "data");
	if (h->kind == IDT_TRACE_BEG)
		j->beg = addr;
	if (h->kind == IDT_TRACE_END)
		j->end = addr;
	if ((h->kind == IDT_MAIN_CALL || h->kind == IDT_EXIT_CALL) && *p != 0xe8 && *p != 0xff)
		return pm_fail_line(err, h->line, "there is no call at 0x%" PRIx64, h->addr);
	for (uint64_t i = 0; h->kind == IDT_JTAB && i < h->entries; i++) {
		memcpy(&to, p + word * i, word);
		to = to < f->base ? to + f->bias : to;
		if (!at_address(f, to, 1, true))
			return pm_fail_line(err, h->line,
					    "entry %" PRIu64 " of the jump table at 0x%" PRIx64
					    " is no address in the text", i, h->addr);
		pm_buf_add(&j->seeds, &to, sizeof to);
	}
	return PM_OK;
}

static enum pm_status read_hints(struct job *j, struct pm_err *err)
{
	struct pm_buf raw;
	enum pm_status st;

	j->end = UINT64_MAX;
	if (!j->o->hints)
		return PM_OK;
	st = idt_slurp(j->o->hints, &raw, err);
	if (st != PM_OK)
		return st;
	err->file = j->o->hints;
	st = idt_hints_parse((const char *)raw.p, raw.n, &j->hints, err);
	for (size_t i = 0; i < j->hints.n && st == PM_OK; i++)
		st = apply_hint(j, &j->hints.v[i], err);
	if (st == PM_OK && j->beg >= j->end)
		st = pm_fail_file(err, "tracing would end before it begins");
	pm_buf_release(&raw);
	if (st == PM_OK)
		err->file = NULL;
	return st;
}

const enum xl_kind xl_kinds[] = {
	[IMG_PROFILE] = XL_PROFILE, [IMG_BRANCH] = XL_BRANCH, [IMG_CACHE] = XL_EXEC,
	[IMG_EXEC] = XL_EXEC,
};

/* ---- on two processors ---------------------------------------------------------------------
 * Texts are translated side by side, the first one that nobody works on first; then their plans are
 * made, a piece of a text at a time. */
struct work {
	struct job *j;
	size_t next;			/* text, or piece */
	size_t npiece;			/* 0: translate */
};
#define PIECE	16384			/* blocks */

static void translate(struct job *j, struct program_text *t)
{
	const struct file *f = &j->file[t->file];
	struct xl_image_input in = {
		.file = f->p, .size = f->n, .path = f->path, .i386 = j->i386, .bias = f->bias,
		.lo = t->lo, .hi = t->hi,
		.offset = t->offset, .bytes = t->bytes, .code = t->code,
		.kind = xl_kinds[j->o->kind],
		.seed = t->file ? NULL : (const uint64_t *)j->seeds.p,
		.nseed = t->file ? 0 : j->seeds.n / sizeof(uint64_t),
	};

	xl_image_make(&in, &t->image);
}

static void work_on(struct work *w)
{
	const size_t n = w->npiece ? w->npiece : w->j->ntext;
	struct planner *planner = planner_new();
	size_t i;

	while ((i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < n)
		if (w->npiece)
			plan_piece(planner, w->j, &w->j->piece[i]);
		else
			translate(w->j, &w->j->text[i]);
	planner_free(planner);
}

static void *other_thread(void *arg)
{
	work_on(arg);
	xl_thread_done();
	return NULL;
}

static void work_all(struct job *j, size_t npiece)
{
	struct work w = { j, 0, npiece };
	pthread_t other;
	bool two = !pthread_create(&other, NULL, other_thread, &w);

	work_on(&w);
	if (two)
		pthread_join(other, NULL);
}

#define HEAP		64		/* bytes that are needed for a byte of text */

static enum pm_status translate_all(struct job *j, struct pm_err *err)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < j->ntext; i++)
		n += j->text[i].bytes;
	pm_heap_ahead(HEAP * n);
	n = 0;

	work_all(j, 0);
	j->blk.wide = !j->i386;
	for (size_t i = 0; i < j->ntext; i++) {
		struct program_text *t = &j->text[i];

		if (t->image.code.n > t->room) {
			err->file = j->file[t->file].path;
			return pm_fail_file(err, "its translated code has %zu bytes, more than the "
					    "%" PRIu64 " that there is room for", t->image.code.n,
					    t->room);
		}
		xl_image_number(&t->image, j->nblock, j->nlink);
		j->nblock += (uint32_t)t->image.nblock;
		j->nlink += (uint32_t)t->image.nlink;
		n += t->image.nblock / PIECE + 1;
	}
	if (j->o->max_blocks && j->nblock > j->o->max_blocks) {
		err->file = j->file[0].path;
		return pm_fail_file(err, "it has %u blocks, more than the %" PRIu64 " allowed: "
				    "-B %u is needed", j->nblock, j->o->max_blocks, j->nblock);
	}
	j->piece = pm_alloc((n + 1) * sizeof *j->piece);
	for (size_t i = 0; i < j->ntext; i++) {
		struct program_text *t = &j->text[i];
		const uint32_t all = (uint32_t)t->image.nblock;

		plan_begin(j, t);
		for (uint32_t at = 0; at == 0 || at < all; at += PIECE)
			j->piece[k++] = (struct text_piece){ t, at,
				all - at < PIECE ? all : at + PIECE };
	}
	work_all(j, k);
	for (size_t i = 0; i < k; i++)
		plan_join(j, &j->piece[i]);
	for (size_t i = 0; i < j->ntext; i++) {
		table_of(j, &j->text[i]);
		if (i == 0)
			j->blk.oldt_offset = (int64_t)(j->text[i].lo - j->text[i].offset);
	}
	for (size_t i = 0; i < j->ntext; i++)
		table_lanes(j, &j->text[i]);
	return PM_OK;
}

void text_release(struct program_text *t)
{
	xl_image_release(&t->image);
	pm_buf_release(&t->plan);
	pm_buf_release(&t->plan_at);
	pm_buf_release(&t->record_at);
	pm_buf_release(&t->back);
	pm_buf_release(&t->lanes);
	free(t->insn);
	free(t->insn_at);
	free(t->next);
}

enum pm_status pm_instrument(const struct pm_instrument_opts *o, struct pm_err *err)
{
	struct job *j = pm_alloc(sizeof *j);
	enum pm_status st;

	j->o = o;
	st = place_all(j, read_hints, err);
	if (st == PM_OK)
		st = translate_all(j, err);
	if (st == PM_OK)
		st = write_all(j, err);
	if (st != PM_OK && err->file) {		/* it may lie in what is released here */
		err->file = strcmp(err->file, o->path) ? pm_strdup(err->file) : o->path;
		pm_keep(err->file);
	}
	for (size_t i = 0; i < j->ntext; i++)
		text_release(&j->text[i]);
	for (size_t i = 0; i < j->nfile; i++)
		munmap((void *)(uintptr_t)j->file[i].p, j->file[i].n);
	idt_blk_release(&j->blk);
	idt_hints_release(&j->hints);
	pm_buf_release(&j->seeds);
	free(j->text);
	free(j->busy);
	free(j->piece);
	pm_arena_release(&j->mem);
	free(j);
	return st;
}
