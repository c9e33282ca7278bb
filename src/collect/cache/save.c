/* SPDX-License-Identifier: MIT */
/* save.c - files of translations are written: units, blocks, entries, and when
 *
 * Every section is what it was in the file that was loaded, but for a few places, and then what
 * is new: so little is looked at, and the numbers of blocks and links stay. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kept.h"
#include "base/ledger.h"
#include "base/mix.h"
#include "base/temp.h"
#include "collect/cache/save.h"

/* bytes of code that get other numbers than before: copied and changed */
#define WORTH_MOVING (128u << 10)
/* What a process has had to do beyond its file is written down once that, over all runs since
 * the file was written, has taken as long as writing takes: together never more than twice of
 * what could have been. In bytes of code: a unit costs as much as UNIT_COST beyond its own, for
 * the process waits for it, a page of a shadow that was not foreseen LATE_COST, a unit from the
 * journal 1/TAKING_SHARE; to write one byte of a file takes 1/WRITE_SHARE of that. (cc1, growing
 * by 3 %: 130 ms each.) */
#define UNIT_COST 256u
#define LATE_COST 256u
#define TAKING_SHARE 4u
#define WRITE_SHARE 16u
#define LIBRARIES (1ull << 30)		/* bytes of them that are in front of one at most */
#define LATE_SAVE 16u			/* pages, fewer do not count */

struct target {
	uint32_t pc, no;		/* pc: from lo */
};

/* Numbers the blocks and counts what will be there. */
static void number_units(struct saving *v)
{
	struct cache_file *f = v->f;
	const struct unit *u;

	v->unit0 = pm_alloc((v->sp->nunit + 1) * sizeof *v->unit0);
	memset(v->unit0, 255, v->sp->nunit * sizeof *v->unit0);
	f->nunit = v->was->nunit;
	f->nblock = v->was->nblock;
	f->nmap = v->was->nmap;
	for (size_t i = 0; i < save_new_units(v); i++)
		if ((u = save_new_unit(v, i))) {
			v->unit0[u - v->sp->unit] = f->nblock;
			f->nunit++;
			f->nblock += u->nblock;
			for (uint32_t k = 0; k < u->nblock; k++)
				f->nmap += v->sp->block[u->block + k].nmap;
		}
}

static void write_units(struct saving *v)
{
	const struct unit *u;

	v->f->units = out_begin(&v->out, 8);
	save_copy_old(v, v->was->units, v->was->nunit * sizeof(struct saved_unit));
	for (size_t i = 0; i < save_new_units(v); i++)
		if ((u = save_new_unit(v, i)))
			out_write(&v->out,
				&(struct saved_unit){ u->code, u->ncode, v->unit0[u - v->sp->unit],
						      u->nblock },
				sizeof(struct saved_unit));
}

/* Block @b is number @i of the file and number @at of the space. */
static void add_target(struct saving *v, const struct blk *b, uint32_t i, uint32_t at)
{
	const struct target x = { (uint32_t)(b->pc - v->m->text.lo), i };

	if (!block_continues(v->s, v->sp, at) && !(b->flags & XL_COUNTS) && i < MAX_TARGETS &&
	    x.pc < v->f->text_len)
		pm_buf_add(&v->targets, &x, sizeof x);
}

/* The list is the old one, and in each line what is new behind that. Of an old one that is
 * damaged nothing is kept: it will be translated again. */
static void write_targets(struct saving *v)
{
	const struct target *new = (const struct target *)v->targets.p;
	const size_t nnew = v->targets.n / sizeof *new;
	const uint64_t nline = lines_of(v->f->text_len);
	uint32_t *line = pm_alloc(nline * 4), *next = pm_alloc(nline * 4), nold = v->was->ntarget,
		 n = 0;
	uint32_t *old = pm_alloc(nold * 4ull), *all;

	save_read_old(v, v->was->targets, old, nold * 4ull);
	if (nold)
		save_read_old(v, v->was->lines, next, nline * 4);
	for (uint64_t i = 0; i < nline; i++)
		if (next[i] > nold || (i && next[i] < next[i - 1]))
			nold = 0;
	all = pm_alloc((nold + nnew) * 4);
	for (size_t k = 0; k < nnew; k++)
		line[new[k].pc / TARGET_LINE]++;
	for (uint64_t i = 0; i < nline; i++) {
		const uint32_t more = line[i],
			       had = nold && i + 1 < nline ? next[i + 1] - next[i] : 0;

		memcpy(all + n, old + (nold ? next[i] : 0), had * 4ull);
		line[i] = n;
		next[i] = n + had;
		n += had + more;
	}
	for (size_t k = 0; k < nnew; k++)
		all[next[new[k].pc / TARGET_LINE]++] = target_entry(new[k].pc, new[k].no);
	v->f->lines = out_begin(&v->out, 8);
	out_write(&v->out, line, nline * 4);
	v->f->targets = out_begin(&v->out, 8);
	out_write(&v->out, all, n * 4ull);
	v->f->ntarget = n;
	free(line);
	free(next);
	free(old);
	free(all);
}

static void write_blocks(struct saving *v)
{
	const uint32_t *got = (const uint32_t *)v->m->stored.new_indirect.p,
		       ngot = (uint32_t)(v->m->stored.new_indirect.n / 4);
	const uint32_t first = v->m->stored.first_block, most = CACHE_PIECE / sizeof(struct blk);
	struct blk *b = (struct blk *)v->out.piece;
	uint32_t map = v->was->nmap, c = 0, n;
	const struct unit *u;

	v->f->blocks = out_begin(&v->out, 4096);
	for (uint32_t i = 0; i < v->was->nblock; i += n) {
		n = v->was->nblock - i < most ? v->was->nblock - i : most;
		save_read_old(v, v->was->blocks + (uint64_t)i * sizeof *b, b, n * sizeof *b);
		for (; c < ngot && got[c] - first < i + n; c++)
			b[got[c] - first - i].indirect = v->sp->block[got[c]].indirect;
		for (uint32_t k = 0; k < n; k++) {
			b[k].pc += v->f->lo - v->was->lo;
			b[k].module = (uint16_t)v->f->module;
		}
		v->out.n = n * sizeof *b;
		if (n == most) {
			out_piece(&v->out, b, v->out.n);
			v->out.n = 0;
		}
	}
	for (size_t i = 0; i < save_new_units(v); i++) {
		if (!(u = save_new_unit(v, i)))
			continue;
		for (uint32_t k = 0; k < u->nblock; k++) {
			struct blk x = v->sp->block[u->block + k];

			add_target(v, &x, v->unit0[u - v->sp->unit] + k, u->block + k);
			x.pc += v->f->lo - v->m->text.lo;
			x.module = (uint16_t)v->f->module;
			x.map = map;
			map += x.nmap;
			out_write(&v->out, &x, sizeof x);
		}
	}
}

static void write_flows(struct saving *v)
{
	const struct unit *u;

	v->f->flows = out_begin(&v->out, 4096);
	save_copy_old(v, v->was->flows, v->was->nblock * sizeof *v->sp->flow);
	for (size_t i = 0; i < save_new_units(v); i++)
		if ((u = save_new_unit(v, i)))
			out_write(&v->out, v->sp->flow + u->block, u->nblock * sizeof *v->sp->flow);
}

static void write_map(struct saving *v)
{
	const struct unit *u;

	v->f->map = out_begin(&v->out, 8);
	save_copy_old(v, v->was->map, v->was->nmap * sizeof(struct xl_map));
	for (size_t i = 0; i < save_new_units(v); i++)
		for (uint32_t k = 0; (u = save_new_unit(v, i)) && k < u->nblock; k++) {
			const struct blk *b = &v->sp->block[u->block + k];

			if (b->nmap)
				out_write(&v->out, module_map(v->m, b->map),
					b->nmap * sizeof(struct xl_map));
		}
}

/* Entries by address: those of the file, and of blocks that are new or have got one since. */
static struct pm_buf all_entries(const struct saving *v)
{
	const struct shadow_entry *old = v->was->nentry ? AT(v->was, entries) : NULL, *add;
	const uint32_t *got = (const uint32_t *)v->m->stored.new_indirect.p;
	struct pm_buf all = { 0 }, new = { 0 };
	const struct unit *u;
	size_t i = 0, k = 0, n;

	for (size_t j = 0; j < v->m->stored.new_indirect.n / 4; j++) {
		const struct blk *b = &v->sp->block[got[j]];

		if (b->flags & XL_COUNTS)
			continue;
		pm_buf_add(&new,
			   &(struct shadow_entry){ (uint32_t)(b->pc - v->m->text.lo), b->indirect },
			   sizeof *add);
	}
	for (size_t j = 0; j < save_new_units(v); j++)
		for (uint32_t c = 0; (u = save_new_unit(v, j)) && c < u->nblock; c++) {
			const struct blk *b = &v->sp->block[u->block + c];

			if (b->indirect != XL_NONE && !(b->flags & XL_COUNTS) && space_guests(b))
				pm_buf_add(&new,
					   &(struct shadow_entry){(uint32_t)(b->pc - v->m->text.lo),
								  b->indirect},
					   sizeof *add);
		}
	add = (const struct shadow_entry *)new.p;
	n = new.n / sizeof *add;
	save_sort(new.p, n, sizeof *add / 4);
	while (i < v->was->nentry || k < n)
		pm_buf_add(&all,
			   k == n || (i < v->was->nentry && old[i].pc <= add[k].pc) ? &old[i++] :
										      &add[k++],
			   sizeof *add);
	pm_buf_release(&new);
	return all;
}

static void write_outsides(struct saving *v)
{
	uint64_t block, code;

	v->f->outsides = out_begin(&v->out, 8);
	v->f->noutside = v->was->noutside;
	save_copy_old(v, v->was->outsides, v->was->noutside * sizeof(struct saved_outside));
	for (size_t j = 0; pm_map_next(&v->sp->outside_entry, &j, &block, &code); ) {
		const struct saved_outside e = { save_file_block(v, (uint32_t)block),
						 (uint32_t)code - 1 };

		if (v->sp->block[block].module != v->mi || e.code < v->was->ncode ||
		    e.block == XL_NONE)
			continue;
		out_write(&v->out, &e, sizeof e);
		v->f->noutside++;
	}
}

/* ---- files ------------------------------------------------------------------------------- */
/* Somebody else has written @m's file meanwhile, and knows more. */
static bool superseded(const struct module *m, const struct cache_file *f)
{
	struct stat st;
	const int fd = pm_kept_open(m->stored.key, O_RDONLY, &st);
	struct cache_file now;
	const bool whole = fd >= 0 && pread(fd, &now, sizeof now, 0) == sizeof now;

	if (fd >= 0)
		close(fd);
	return whole && !memcmp(now.magic, f->magic, sizeof now.magic) &&
	       now.version == f->version && now.abi == f->abi && now.build == f->build &&
	       now.text_hash == f->text_hash && now.text_len == f->text_len &&
	       now.sum != m->stored.saved_sum && now.nblock >= f->nblock;
}

static void write_module(struct saving *v)
{
	struct cache_file *f = v->f;
	const struct cache_file *was = v->was;
	struct module *m = v->m;
	struct out *o = &v->out;
	struct pm_buf entries = all_entries(v), counters = { 0 }, stubs = { 0 };

	write_units(v);
	write_blocks(v);
	write_flows(v);
	save_links(v);
	counters = save_new_counters(v);
	stubs = save_new_stubs(v);
	for (unsigned k = 0; k < SETS; k++)
		save_sort(v->sets[k].p, v->sets[k].n / sizeof(struct set), sizeof(struct set) / 4);
	f->rel_pc = save_places(v, was->rel_pc, was->nrel_pc, &m->code.rel_pc, &f->nrel_pc);
	f->rel_counter = save_places(v, was->rel_counter, was->nrel_counter, &counters,
				     &f->nrel_counter);
	f->rel_link = save_places(v, was->rel_link, was->nrel_link, &stubs, &f->nrel_link);
	f->rel_place = save_places(v, was->rel_place, was->nrel_place, &m->code.rel_place,
				   &f->nrel_place);
	pm_buf_release(&counters);
	pm_buf_release(&stubs);
	f->entries = out_section(o, &entries);
	f->nentry = (uint32_t)(entries.n / sizeof(struct shadow_entry));
	write_outsides(v);
	save_counters(v);
	save_code(v);
	f->used = out_begin(o, 8);
	out_write(o, m->stored.needed, f->nused);
	write_map(v);
	write_targets(v);
	out_shadow(o, m, (const struct shadow_entry *)entries.p, f);
	pm_buf_release(&entries);
	f->sum = cache_file_sum(f, o->sum);
	out_bytes(o, f, sizeof *f, 0);
}

/* Where @m's blocks say that they are. It need not be where they are, but if it is, they are
 * mapped and not copied: that is for small programs, whose few libraries lie highest. Who lies
 * anywhere has no say. */
static uint64_t place_of(const struct spaces *s, const struct space *sp, const struct module *m)
{
	if (!m->stored.file || m->absolute || sp->i386 ||
	    (!s->cache->opts.aslr && m->stored.file->lo - m->text.lo > LIBRARIES))
		return m->text.lo;
	return m->stored.file->lo;
}

/* @f says at which numbers its blocks and links shall begin, and is completed. */
static void save_module(struct spaces *s, struct space *sp, uint32_t mi, struct cache_file *f)
{
	static const struct cache_file none;
	struct module *m = &sp->module[mi];
	struct saving v = {.s = s,
			   .sp = sp,
			   .m = m,
			   .mi = mi,
			   .f = f,
			   .was = m->stored.file ? m->stored.file : &none};
	bool unnamed, placed;
	char tmp[160];

	*f = (struct cache_file){
		.magic = CACHE_MAGIC,
		.version = CACHE_VERSION,
		.abi = RT_ABI,
		.kind = cache_kind(s, sp),
		.absolute = m->absolute,
		.i386 = sp->i386,
		.build = cache_build(),
		.text_len = m->text.len,
		.file_off = m->text.file_off,
		.lo = place_of(s, sp, m),
		.text_hash = m->stored.file ? m->stored.file->text_hash
					    : pm_mix(m->text.bytes, m->text.len, 0),
		.distance = (int64_t)(sp->i386 ? m->code.at : m->code.at - m->text.lo),
		.ncode = (uint32_t)m->code.len,
		.block0 = s->records ? 0 : f->block0,
		.link0 = f->link0,
		.nused = shadow_bits(m),
		/* that of small programs */
		.module =
			m->stored.file && m->stored.file->module < mi ? m->stored.file->module : mi,
	};
	cache_identify(&m->text.st, &f->id);
	save_sort(m->stored.new_indirect.p, m->stored.new_indirect.n / 4, 1);
	number_units(&v);
	save_number_counters(&v);
	if (superseded(m, f))
		goto out;
	snprintf(tmp, sizeof tmp, ".%s.%d", m->stored.key, getpid());
	v.out.at = sizeof *f;
	v.out.sum = CACHE_SUM_SEED;
	/* without a name, where that can be had, it goes with us whatever happens */
	v.out.fd = pm_temp_unnamed(s->cache->fd, ".", PM_KEPT_MODE);
	unnamed = v.out.fd >= 0;
	if (!unnamed) {
		unlinkat(s->cache->fd, tmp, 0);
		v.out.fd = openat(s->cache->fd, tmp,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				  PM_KEPT_MODE);
	}
	write_module(&v);
	/* over a file, ext4 waits until everything has a place on the disk; checksums tell what
	 * has not */
	if (v.out.fd >= 0)
		unlinkat(s->cache->fd, m->stored.key, 0);
	placed = v.out.fd >= 0 &&
		 (unnamed ? pm_temp_link(v.out.fd, s->cache->fd, m->stored.key) :
			    !renameat(s->cache->fd, tmp, s->cache->fd, m->stored.key));
	if (placed) {
		s->cache->wrote = true;
		m->stored.saved_sum = f->sum;
		if (f->ncode >= SMALL_FILE)
			journal_remove(s, m);
	} else {
		if (v.out.fd < 0 || errno != EEXIST)		/* another one has just come */
			cache_complain(s);
		if (!unnamed)
			unlinkat(s->cache->fd, tmp, 0);
	}
	if (v.out.fd >= 0)
		close(v.out.fd);
out:
	for (unsigned k = 0; k < SETS; k++)
		pm_buf_release(&v.sets[k]);
	pm_buf_release(&v.targets);
	free(v.unit0);
	free(v.link0);
	free(v.counter);
}

/* Pages of @m's shadow that were needed, and of which the file does not know. */
static unsigned late_pages(const struct module *m)
{
	unsigned n = 0;

	for (size_t i = 0; i < shadow_bits(m); i++)
		n += (unsigned)__builtin_popcount(m->stored.needed[i] & ~m->stored.saved_needed[i]);
	return n;
}

/* Has more been spent beside @m's file, with what this process did since it asked last, than
 * writing takes? If not, it is noted. */
static bool worth_saving(const struct module *m, unsigned late)
{
	const uint64_t cost =
		m->stored.journal ? (m->stored.from_journal + m->stored.nfrom_journal * UNIT_COST) /
					    TAKING_SHARE
				  : m->code.len - m->stored.saved_code +
					    (m->nunit - m->stored.saved_nunit) * UNIT_COST +
					    (uint64_t)late * LATE_COST;
	struct cache_file now;
	struct stat st;
	bool worth;
	int fd;

	if (m->code.len < SMALL_FILE)
		return true;
	if (!cost)
		return false;
	fd = pm_kept_open(m->stored.key, O_RDONLY, &st);
	if (fd < 0)
		return true;
	/* another one is superseded, or not */
	worth = pread(fd, &now, sizeof now, 0) != sizeof now || now.sum != m->stored.saved_sum ||
		pm_ledger_spent(&st) + cost >= now.ncode / WRITE_SHARE;
	if (!worth)
		pm_ledger_spend(&st, (uint32_t)cost);
	close(fd);
	return worth;
}

/* What is new goes, or has gone, to the journal, and that is enough. It is not where code goes
 * from the file to what is new so often that all of it has been copied. */
static bool add_only(struct spaces *s, const struct module *m, bool more, unsigned late)
{
	const bool own_code = m->stored.fd >= 0 && !m->stored.code_from_file;

	if (!m->stored.journal || own_code || (!more && worth_saving(m, late)))
		return false;
	if (late >= LATE_SAVE)
		journal_used(s, m->stored.journal, m);
	return journal_flush(s, m->stored.journal);
}

/* What spaces have from the file that was @st is of no use to anybody any more. */
static void note_changed(const struct spaces *s, const struct stat *st)
{
	for (struct space *o = s->all; o; o = o->next_space)
		for (size_t k = 0; k < o->nmodule; k++)
			if (o->module[k].stored.file &&
			    o->module[k].stored.st.st_dev == st->st_dev &&
			    o->module[k].stored.st.st_ino == st->st_ino)
				o->module[k].stored.changed = true;
}

void cache_save(struct spaces *s, struct space *sp, bool anything)
{
	struct cache_file f;
	/* where the next one begins when all are loaded again */
	uint32_t block = 0, link = 0;

	for (uint32_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];
		const struct cache_file *was = m->stored.file;
		unsigned late;
		bool moves;

		if (m->dead || !m->stored.needed)
			continue;
		if (!cache_unchanged(s, m)) {
			note_changed(s, &m->stored.st);
			pm_kept_drop(m->stored.key, &m->stored.st,
				     "it was changed while it was in use");
			m->stored.changed = true;
			continue;
		}
		block = cache_number_from(was ? was->block0 : 0, block, BLOCK_STEP);
		link = cache_number_from(was ? was->link0 : 0, link, LINK_STEP);
		/* Numbers that it can have in programs of all sizes are neither lower than those
		 * of whoever has more in front of it nor so high that they would be left out
		 * elsewhere; they are written down at once. In a very large program it does
		 * without. */
		moves = was && !s->records && !sp->i386 &&
			(block != was->block0 || link != was->link0) &&
			was->ncode >= WORTH_MOVING &&
			(block == was->block0 || block <= BLOCK_STEP * MAX_GAP / 2) &&
			(link == was->link0 || link <= LINK_STEP * MAX_GAP / 2);
		f.block0 = was && was->block0 < block && !moves ? was->block0 : block;
		f.link0 = was && was->link0 < link && !moves ? was->link0 : link;
		f.nblock = was ? was->nblock : 0;
		f.nlink = was ? was->nlink : 0;
		late = late_pages(m);
		if (m->nunit > m->stored.saved_nunit || late >= LATE_SAVE || moves) {
			if (!moves && add_only(s, m, anything, late)) {
				m->stored.from_journal = m->stored.nfrom_journal = 0;
			} else if (moves || anything || !was || m->stored.journal ||
				   worth_saving(m, late)) {
				if (m->stored.journal)
					space_units_from_store(s, sp, i);
				save_module(s, sp, i, &f);
			}
			m->stored.saved_nunit = m->nunit;
			m->stored.saved_code = m->code.len;
			memcpy(m->stored.saved_needed, m->stored.needed, shadow_bits(m));
		}
		/* ... and stay what they are when the one in front grows */
		block += f.nblock;
		link += f.nlink;
		if (!sp->i386 && !s->records) {
			block += f.nblock / 4 + BLOCK_STEP / 2;
			link += f.nlink / 4 + LINK_STEP / 4;
		}
	}
}
