/* SPDX-License-Identifier: MIT */
/* place.c - where code and shadows lie in a process */
#include <string.h>
#include <sys/mman.h>

#include "collect/space/space_internal.h"
#include "collect/translate/reach.h"

struct taken {
	const struct space *sp;
	const struct maps *maps;
};

/* What Linux leaves at least between the highest mapping and the end of the stack (MIN_GAP of its
 * mmap.c). */
#define STACK_ROOM (128ull << 20)

static uint64_t lowest(const struct mapping *x)
{
	const bool grows = x->path && !strcmp(x->path, "[stack]") && x->hi > STACK_ROOM;
	const uint64_t lo = grows ? x->hi - STACK_ROOM : x->lo;

	return lo < x->lo ? lo : x->lo;
}

/* Nothing of the program's is there, nor anything that we have mapped or are about to. */
static bool is_free(const void *ctx, uint64_t lo, uint64_t hi)
{
	const struct taken *t = ctx;
	const struct space *sp = t->sp;
	const struct maps *m = t->maps;

	if (lo < 0x10000 || hi > 0x7ffffffff000ull)
		return false;
	if ((lo < RT_SHADOW + RT_SHADOW_SIZE && hi > RT_SHADOW) ||
	    (lo < RT_DATA_VAULT + RT_DATA_SIZE && hi > RT_IMAGE))
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (lowest(&m->v[i]) < hi && lo < m->v[i].hi)
			return false;
	for (size_t i = 0; i < sp->nmodule; i++)
		if (sp->module[i].code.at < hi &&
		    lo < sp->module[i].code.at + sp->module[i].code.cap)
			return false;
	return true;
}

/* Generators of code reserve a region and change the protection of its parts as they go: one module
 * serves the whole region. */
void whole_region(const struct maps *m, uint64_t *lo, uint64_t *hi)
{
#define ANONYMOUS(x) (!(x)->ino && (x)->path[0] != '[')
	for (const struct mapping *x = m->v; x < m->v + m->n; x++)
		if (ANONYMOUS(x) && x->lo <= *hi && x->hi > *hi && x->hi - *lo <= REGION)
			*hi = x->hi;
	for (const struct mapping *x = m->v + m->n; x-- > m->v; )
		if (ANONYMOUS(x) && x->hi >= *lo && x->lo < *lo && *hi - x->lo <= REGION)
			*lo = x->lo;
#undef ANONYMOUS
}

/* A file (@id) is to be at the same distance in all programs, whatever else they map: cached code
 * is as it was there. */
uint64_t choose_place(const struct space *sp, const struct maps *m, uint64_t lo, uint64_t hi,
		      uint64_t size, uint64_t id)
{
	const struct taken taken = { sp, m };
	const uint64_t slot = 24ull << 20, slots = 40;
	const uint64_t own = (512ull << 20) + (id * 0x9e3779b97f4a7c15u >> 32) % slots * slot;
	const uint64_t at = lo - own - size;

	if (id && lo >= RT_SHADOW && size <= slot && xl_reaches(lo, hi, at, size) &&
	    is_free(&taken, at, at + size))
		return at;
	return xl_find_place(lo, hi, size, is_free, &taken);
}

static void place_file(struct rt_mail *mail, const struct module *m, uint64_t off, uint64_t len,
		       uint64_t at, uint32_t prot)
{
	mail_cmd(mail, CMD_PLACE_FILE, off, len, at, (uint64_t)m->stored.fd << 16 | prot);
	mail->cmd[mail->ncmd - 1].a[4] = m->stored.id;
}

/* Small pieces are faulted in whole: most of them is used by whoever uses them at all. */
#define SMALL_CODE (512u << 10)
#define SMALL_SHADOW (1u << 20)
#define SMALL_COUNTERS (128u << 10)

static uint32_t at_once(uint64_t len, uint64_t most)
{
	return len <= most ? RT_POPULATE : 0;
}

/* A module's code and shadow become visible in @p's address space: once the thread that asked has
 * run the commands. @over: those of another space are there. */
void place(const struct spaces *s, struct space_user *p, uint32_t mi, bool over,
	   struct rt_mail *mail)
{
	const struct module *m = &p->space->module[mi];
	const int want = PLACED | (m->stored.code_from_file ? 0 : OWN_CODE) |
			 (m->stored.shadow_from_file ? 0 : OWN_SHADOW);
	struct piece piece[MAX_PIECES];
	int fresh;

	while (p->placed.n <= mi)
		pm_buf_add(&p->placed, "", 1);
	fresh = want & ~p->placed.p[mi];
	p->placed.p[mi] = (uint8_t)want;
	if (!fresh || p->space->i386)
		return;			/* i386: mapped from the start, or by diverge() */
	if (fresh & (PLACED | OWN_CODE))
		mail_cmd(mail, CMD_PLACE, m->code.off, m->code.cap, m->code.at,
			 over || !(fresh & PLACED) ? 5 | RT_OVER : 5);
	for (unsigned i = 0, n = fresh & OWN_SHADOW && m->shadow.present && !m->dead
					 ? shadow_pieces(m, piece)
					 : 0;
	     i < n; i++)
		mail_cmd(mail, CMD_PLACE, m->shadow.off + 4 * (piece[i].lo - m->text.lo),
			 4 * (piece[i].hi - piece[i].lo), shadow_entry_at(piece[i].lo),
			 1 | RT_OVER);
	if (fresh & OWN_SHADOW && m->counting_copies && !m->dead)
		mail_cmd(mail, CMD_PLACE, m->shadow.counting_off, m->shadow.len,
			 counting_shadow_at(m), 1 | RT_OVER);
	if (fresh & PLACED && m->stored.code_from_file)
		place_file(mail, m, m->stored.code_at, m->stored.code_from_file, m->code.at,
			   5 | at_once(m->stored.code_from_file, SMALL_CODE));
	if (fresh & PLACED && m->stored.shadow_from_file)
		place_file(mail, m, m->stored.shadow_at, m->shadow.len, shadow_at(m),
			   1 | at_once(m->shadow.len, SMALL_SHADOW));
	if (fresh & PLACED && m->stored.code_from_file && !s->records &&
	    m->stored.nused_counter * 8 <= SMALL_COUNTERS) {
		const uint64_t at = RT_DATA_VAULT + s->asking * RT_BLOCK_SIZE + RT_COUNTERS +
				    8ull * m->stored.first_block;

		mail_cmd(mail, CMD_ADVISE, at & ~(PAGE - 1),
			 up((at & (PAGE - 1)) + 8ull * m->stored.nused_counter, PAGE),
			 MADV_POPULATE_WRITE, 0);
	}
}

void space_refresh(const struct spaces *s, struct space_user *p, struct rt_mail *mail)
{
	if (p->seen_made_own == p->space->nmade_own)
		return;
	for (uint32_t i = 0; i < p->placed.n; i++) {
		if (mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			return;			/* the rest when it asks again */
		if (p->placed.p[i])
			place(s, p, i, true, mail);
	}
	p->seen_made_own = p->space->nmade_own;
}

bool space_no_file(struct spaces *s, struct space_user *p, const struct rt_cmd *cmd, uint32_t n,
		   struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct rt_cmd undone[RT_MAX_CMDS];

	memcpy(undone, cmd, n * sizeof *cmd);	/* the mail's own */
	for (uint32_t i = 0; i < p->placed.n; i++)
		if (p->placed.p[i])
			p->placed.p[i] = PLACED;
	for (const struct rt_cmd *c = undone; c < undone + n; c++) {
		for (uint32_t i = 0; i < sp->nmodule; i++) {
			struct module *m = &sp->module[i];
			const bool code = m->code.at == c->a[2];

			if (c->op == CMD_PLACE_FILE && (code || shadow_at(m) == c->a[2]))
			{
				make_code_own(s, sp, m);
				make_shadow_own(s, sp, m);
			} else if (c->op == CMD_PLACE && code && !(c->a[3] & RT_OVER) &&
				   i < p->placed.n)
				p->placed.p[i] = 0;
		}
		if (c->op == CMD_UNPLACE || c->op == CMD_PROTECT)
			mail_cmd(mail, c->op, c->a[0], c->a[1], c->a[2], c->a[3]);
	}
	for (const struct rt_cmd *c = undone; c < undone + n; c++)
		for (uint32_t i = 0; i < sp->nmodule && c->op == CMD_PLACE; i++)
			if (sp->module[i].code.at == c->a[2] && i < p->placed.n && !p->placed.p[i])
				place(s, p, i, false, mail);
	p->seen_made_own = sp->nmade_own - 1;
	space_refresh(s, p, mail);
	return mail->ncmd > 0;
}
