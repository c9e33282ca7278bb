/* SPDX-License-Identifier: MIT */
/* What goes into a .pug comes out of it, whatever it is; what happens to the file on the way gives
 * a true prefix and one error. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/result.h"
#include "trace/pug.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static uint64_t rnd64(void)
{
	uint64_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 16 | rnd(65536);
	return rnd(2) ? v : v >> rnd(64);
}

/* ---- an event as comparable text ------------------------------------------------------------ */

static void canon(struct pm_buf *to, const struct pm_batch *b, const struct pm_event *ev)
{
	bool record = ev->kind == PM_EV_UOP || ev->kind == PM_EV_BUS ||
		      (ev->kind >= PM_EV_KERNEL && ev->id != PM_NONE);
	bool bytes = (ev->kind == PM_EV_OPAQUE && pm_opaque_bytes(b, ev)) ||
		     ((ev->kind == PM_EV_REG_READ || ev->kind == PM_EV_REG_WRITE) &&
		      ev->size == 16);

	/* an index into the batch or an arena offset is no part of the event */
	pm_buf_printf(to, "%u k%u f%u s%u i%u a%" PRIx64 " v%" PRIx64, b->stream->index, ev->kind,
		      ev->flags, ev->size, record ? 0 : ev->id, bytes ? 0 : ev->addr, ev->value);
	if (b->stream->pid)
		pm_buf_printf(to, " pid%u", b->stream->pid);
	pm_dump_event(to, b, ev);
	if (ev->kind == PM_EV_UOP) {
		/* dump shows all of it; a name that fills its field has no zero behind it */
		assert_true(ev->id < b->nuop);
	}
	if (ev->kind >= PM_EV_KERNEL && ev->id != PM_NONE) {
		assert_true(ev->id < b->nrare);
		pm_buf_printf(to, "n%u %s\n", b->rare[ev->id].nargs,
			      b->rare[ev->id].name ? "named" : "-");
	}
}

/* ---- random traces -------------------------------------------------------------------------- */

struct world {
	struct pm_code code[2];
	struct pm_insn insn[2][400];
	struct pm_block block[2][60];
	struct pm_object object[2];
	struct pm_stream stream[3];
	struct pm_builder b;
	struct pm_buf text;		/* everything that was written, canonical */
	uint64_t events;
	uint32_t facts;
};

#define FACTS	0x12345			/* without blocks */

static void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->facts = FACTS;
	for (unsigned c = 0; c < 2; c++) {
		size_t n = 0;

		w->object[c] = (struct pm_object){ c ? "/lib/two.so" : "/bin/one",
						   c ? NULL : "00ff", 0x1000, 1, 2 };
		for (unsigned i = 0; i < 60; i++) {
			uint64_t pc = 0x400000 + i * 64;
			unsigned k = 1 + rnd(6);

			w->block[c][i] = (struct pm_block){ pc, (uint32_t)n, k };
			while (k--) {
				struct pm_insn *in = &w->insn[c][n++];

				in->pc = pc;
				in->len = (uint8_t)(1 + rnd(15));
				for (unsigned j = 0; j < in->len; j++)
					in->bytes[j] = (uint8_t)rnd(256);
				in->flow = (uint8_t)rnd(PM_CLASS_SYSCALL + 1);
				in->nref = (uint8_t)rnd(4);
				in->rep = (uint8_t)rnd(2);
				in->isa = (uint8_t)rnd(4);
				in->object = rnd(2) ? PM_NONE : 0;
				pc += in->len;
			}
		}
		w->code[c] = (struct pm_code){ w->insn[c], w->block[c], &w->object[c], n, 60, 1 };
	}
	w->stream[0] = (struct pm_stream){ 0, 100, 100, 0, "main" };
	w->stream[1] = (struct pm_stream){ 1, 100, 101, 0x1000, NULL };
	w->stream[2] = (struct pm_stream){ 7, 0, 0, 0, "" };
}

static void random_uop(struct pm_builder *b)
{
	struct pm_uop *u = pm_builder_uop(b);
	struct pm_event *ev = b->ev + b->b.n - 1;

	u->pc = 0x400000 + rnd(16);
	u->imm = rnd(2) ? (int64_t)rnd64() : 0;
	u->mem = rnd(2) ? rnd64() : 0;
	u->fall = u->pc + rnd(16);
	u->target = rnd(2) ? rnd64() : 0;
	u->src1 = (int16_t)(rnd(60) - 1);
	u->dest = (int16_t)rnd64();
	u->access = (uint8_t)rnd(3);
	u->outcome = (uint8_t)rnd(3);
	u->index = (int32_t)rnd64();
	u->msize = (uint8_t)rnd(65);
	snprintf(u->macro, sizeof u->macro, "MACRO%u", rnd(5));
	snprintf(u->micro, sizeof u->micro, "MICRO_OP_OF_22_CHARS%u", rnd(99));
	ev->addr = rnd(8) ? u->pc : rnd64();
	ev->value = rnd(8) ? 0 : rnd64();
}

static void random_bus(struct pm_builder *b)
{
	struct pm_bus *u = pm_builder_bus(b);
	struct pm_event *ev = b->ev + b->b.n - 1;

	u->time = rnd(4) ? rnd(100) : rnd(2) ? UINT64_MAX : rnd64();
	u->type = (uint8_t)rnd(10);
	u->lanes = (uint8_t)rnd(256);
	u->raw[rnd(4)] = (uint8_t)rnd(256);
	u->data = rnd(2) ? rnd64() : 0;
	ev->addr = rnd64();
	ev->size = (uint16_t)rnd(33);
}

static void random_event(struct world *w, const struct pm_code *code)
{
	struct pm_builder *b = &w->b;
	unsigned kind = 1 + rnd(PM_EV_COUNT - 1);
	struct pm_event *ev;

	if (rnd(3))			/* mostly what is frequent */
		kind = rnd(3) ? PM_EV_READ + rnd(3) : PM_EV_BLOCK;
	if (kind == PM_EV_BLOCK && !code)
		kind = PM_EV_INSN;
	switch (kind) {
	case PM_EV_BLOCK:
		ev = pm_builder_event(b, kind);
		ev->id = rnd(rnd(2) ? 4 : (uint32_t)code->nblock);
		ev->addr = code->block[ev->id].pc;
		ev->value = rnd(10) ? code->block[ev->id].n : rnd(code->block[ev->id].n + 1);
		break;
	case PM_EV_UOP:
		random_uop(b);
		break;
	case PM_EV_BUS:
		random_bus(b);
		break;
	case PM_EV_REG_READ: case PM_EV_REG_WRITE: {
		uint8_t wide[16];
		uint64_t at = 0;
		bool is_wide = rnd(2);

		for (unsigned i = 0; i < 16; i++)
			wide[i] = (uint8_t)rnd(256);
		if (is_wide)
			at = pm_builder_bytes(b, wide, 16);
		ev = pm_builder_event(b, kind);
		ev->size = is_wide ? 16 : 8;
		ev->id = rnd(100);
		ev->addr = is_wide ? at : 0;
		ev->value = rnd64();
		break;
	}
	case PM_EV_OPAQUE: {
		static uint8_t some[70000];
		size_t n = rnd(500) ? rnd(40) : 65500 + rnd(70);
		uint64_t at;

		memset(some, (int)rnd(256), sizeof some);
		at = pm_builder_bytes(b, some, n);
		ev = pm_builder_event(b, kind);
		ev->value = rnd(2) || n > UINT16_MAX ? n : 0;
		ev->size = pm_opaque_size(n);
		ev->addr = n ? at : rnd64();	/* without bytes it is any number */
		break;
	}
	default:
		if (kind >= PM_EV_KERNEL && rnd(2)) {
			static const char *const names[] = { NULL, "", "x",
				"/usr/lib/\"quoted\"\n" };
			struct pm_rare *r = pm_builder_rare(b, kind, names[rnd(4)]);

			r->code = rnd(2) ? rnd(256) : (uint32_t)rnd64();
			r->nargs = rnd(9);
			for (unsigned i = 0; i < r->nargs; i++)
				r->arg[i] = rnd64();
			ev = b->ev + b->b.n - 1;
		} else {
			ev = pm_builder_event(b, kind);
			if (kind < PM_EV_KERNEL && rnd(3))
				ev->id = rnd(code ? 4 : 100000);
		}
		ev->addr = rnd(4) ? 0x7fff0000 + 8 * rnd(100) : rnd64();
		ev->value = rnd(3) ? 0 : rnd64();
		ev->size = rnd(4) ? 8 : (uint16_t)rnd(65536);
		ev->flags = rnd(4) ? 0 : (uint8_t)rnd(256);
		break;
	}
}

static const struct pm_batch *random_batch(struct world *w, unsigned most)
{
	unsigned s = rnd(3), n = 1 + rnd(most);
	const struct pm_code *code = s == 2 ? NULL : &w->code[s];
	const struct pm_batch *b;

	pm_builder_reset(&w->b, &w->stream[s], code);
	while (n--)
		random_event(w, code);
	b = pm_builder_batch(&w->b);
	for (size_t i = 0; i < b->n; i++)
		canon(&w->text, b, b->ev + i);
	w->events += b->n;
	return b;
}

static void world_release(struct world *w)
{
	pm_builder_release(&w->b);
	pm_buf_release(&w->text);
}

/* A file of @batches random batches; the caller frees *@file. */
static void write_random(struct world *w, const char *level, unsigned batches, unsigned most,
			 bool finish, struct pm_buf *file)
{
	struct pm_output *out = pm_output_memory();
	struct pm_write_opts o = { .options = level, .facts = w->facts };
	static const char *const info[] = { "program", "/bin/true", "args", "a b", NULL };
	struct pm_err err = { 0 };
	void *pug;
	const uint8_t *p;
	size_t n;

	o.info = info;
	pug = pug_write_open(out, &o, &err);
	assert_non_null(pug);
	while (batches--)
		if (pug_write(pug, random_batch(w, most), &err) != PM_OK)
			fail_msg("%s", err.msg);
	if (finish)
		assert_int_equal(pug_write_finish(pug, &err), PM_OK);
	pug_write_close(pug);
	p = pm_output_bytes(out, &n);
	pm_buf_add(file, p, n);
	pm_output_close(out);
}

/* Read as far as it goes; the events as text. */
static enum pm_status read_all(const void *p, size_t n, struct pm_buf *text, struct pm_err *err)
{
	struct pm_input *in = pm_input_memory(p, n, "test");
	struct pm_read_opts o = { 0 };
	const struct pm_batch *b;
	enum pm_status s = PM_ERR;
	uint32_t facts = 0;
	void *r = pug_read_open(in, &o, &facts, err);

	if (r) {
		while ((s = pug_read_next(r, &b, err)) == PM_OK)
			for (size_t i = 0; text && i < b->n; i++)
				canon(text, b, b->ev + i);
		if (s == PM_END && text) {
			assert_int_equal(facts, FACTS);
			assert_non_null(strstr(pug_read_info(r), "tool=pugmark"));
			assert_int_equal(pug_read_next(r, &b, err), PM_END);
		}
		pug_read_close(r);
	}
	pm_input_close(in);
	assert_int_equal(s == PM_ERR, pm_failed(err));
	return s;
}

static void test_round_trip(void **state)
{
	static const char *const level[] = { "fast", "default,chunk=40", "level=dense", "" };

	for (unsigned k = 0; k < 24; k++) {
		struct world w;
		struct pm_buf file = { 0 }, text = { 0 };
		struct pm_err err = { 0 };

		seed = k;
		world_init(&w);
		write_random(&w, level[k % 4], 1 + k * k, 1 + k * 20, true, &file);
		if (read_all(file.p, file.n, &text, &err) != PM_END)
			fail_msg("trace %u: 0x%" PRIx64 ": %s", k, err.off, err.msg);
		assert_int_equal(text.n, w.text.n);
		assert_memory_equal(text.p, w.text.p, text.n);
		pm_buf_release(&file);
		pm_buf_release(&text);
		world_release(&w);
	}
}

/* A loop that walks memory, long enough for many chunks. */
static void test_many_chunks(void **state)
{
	static const char *const level[] = { "fast", "default" };
	struct pm_insn insn[3] = { { .pc = 0x1000, .len = 4 }, { .pc = 0x1004, .len = 4 },
				   { .pc = 0x1008, .len = 2, .flow = PM_CLASS_COND } };
	struct pm_block block = { 0x1000, 0, 3 };
	struct pm_code code = { insn, &block, NULL, 3, 1, 0 };
	struct pm_stream stream = { 0, 1, 1, 0, NULL };
	enum { N = 1500000 };

	for (unsigned k = 0; k < 2; k++) {
		struct pm_output *out = pm_output_memory();
		struct pm_write_opts o = { .options = level[k] };
		struct pm_read_opts ro = { 0 };
		struct pm_err err = { 0 };
		void *pug = pug_write_open(out, &o, &err);
		struct pm_builder b = { 0 };
		struct pug_totals t;
		struct pm_input *in;
		const struct pm_batch *got;
		uint32_t facts;
		const uint8_t *p;
		uint64_t i = 0, insns = 0, first;
		size_t n;

		while (i < N) {
			pm_builder_reset(&b, &stream, &code);
			for (unsigned j = 0; j < 2000 && i < N; j++, i++) {
				struct pm_event *ev = pm_builder_event(&b, PM_EV_BLOCK);

				*ev = (struct pm_event){ PM_EV_BLOCK, .id = 0, .addr = 0x1000,
							 .value = 3 };
				ev = pm_builder_event(&b, PM_EV_READ);
				*ev = (struct pm_event){ PM_EV_READ, .size = 8, .id = 0,
							 .addr = 0x10000 + 8 * i };
			}
			assert_int_equal(pug_write(pug, pm_builder_batch(&b), &err), PM_OK);
		}
		assert_int_equal(pug_write_finish(pug, &err), PM_OK);
		pug_write_close(pug);
		p = pm_output_bytes(out, &n);
		assert_true(n < 4000);		/* predictable means free */
		in = pm_input_memory(p, n, "test");
		pug = pug_read_open(in, &ro, &facts, &err);
		assert_int_equal(pug_read_totals(pug, &t, &err), PM_OK);
		assert_true(t.whole);
		assert_int_equal(t.tally.insns, 3 * N);
		assert_int_equal(t.events, 2 * N);
		assert_true(t.chunks >= 2);
		for (i = 0; pug_read_next(pug, &got, &err) == PM_OK; ) {
			assert_int_equal(got->first_insn, insns);
			for (size_t j = 0; j < got->n; j++) {
				if (got->ev[j].kind == PM_EV_BLOCK) {
					insns += 3;
				} else {
					assert_int_equal(got->ev[j].addr, 0x10000 + 8 * i);
					i++;
				}
			}
		}
		if (pm_failed(&err))
			fail_msg("0x%" PRIx64 ": %s", err.off, err.msg);
		assert_int_equal(i, N);
		pug_read_close(pug);
		pm_input_close(in);
		/* a seek lands at most a chunk before its goal and goes on as if it had read
		 * everything */
		for (uint64_t to = 0; to < 3 * N + 10; to += 917311) {
			in = pm_input_memory(p, n, "test");
			pug = pug_read_open(in, &ro, &facts, &err);
			assert_int_equal(pug_read_seek(pug, to, &first, &err), PM_OK);
			assert_true(first <= to && (first + 4300000 > to || to >= 3 * N));
			for (i = first / 3; pug_read_next(pug, &got, &err) == PM_OK; )
				for (size_t j = 0; j < got->n; j++)
					if (got->ev[j].kind == PM_EV_READ)
						assert_int_equal(got->ev[j].addr,
								 0x10000 + 8 * i++);
			assert_int_equal(i, N);
			assert_false(pm_failed(&err));
			pug_read_close(pug);
			pm_input_close(in);
		}
		pm_builder_release(&b);
		pm_output_close(out);
	}
}

/* @n places, in order, most of them inside of chunks. */
static void random_places(const struct pm_buf *file, struct pug_place *at, unsigned n)
{
	struct pm_input *in = pm_input_memory(file->p, file->n, "test");
	struct pm_read_opts o = { 0 };
	struct pm_err err = { 0 };
	struct pug_place *chunk;
	uint32_t facts;
	void *r = pug_read_open(in, &o, &facts, &err);
	size_t chunks, c = 0;

	assert_int_equal(pug_read_places(r, &chunk, &chunks, &err), PM_OK);
	at[0] = chunk[0];
	for (unsigned k = 1; k < n; k++) {
		at[k] = at[k - 1];
		if (c + 1 < chunks && rnd(2))
			at[k] = chunk[c += 1 + rnd((uint32_t)(chunks - c - 1))];
		if (rnd(4))
			at[k].insn += 1 + rnd(3000);
	}
	free(chunk);
	pug_read_close(r);
	pm_input_close(in);
}

/* The part from @from to @to, behind @text. */
static void read_part(void *r, const struct pug_place *from, const struct pug_place *to,
		      struct pm_buf *text)
{
	const struct pm_batch *b;
	struct pm_err err = { 0 };

	pug_read_part(r, from, to);
	while (pug_read_next(r, &b, &err) == PM_OK)
		for (size_t j = 0; j < b->n; j++)
			canon(text, b, b->ev + j);
	if (pm_failed(&err))
		fail_msg("0x%" PRIx64 ": %s", err.off, err.msg);
	assert_int_equal(pug_read_next(r, &b, &err), PM_END);
}

/* Parts of a file are the whole, wherever they begin, by readers in turn. */
static void test_parts(void **state)
{
	enum { PARTS = 9 };
	static const char *const level[] = { "fast", "default,chunk=40", "dense" };
	static const unsigned nreader[] = { 1, 2, PARTS };

	for (unsigned k = 0; k < 60; k++) {
		struct world w;
		struct pm_buf file = { 0 }, text = { 0 };
		struct pug_place at[PARTS];
		struct pm_input *in[PARTS];
		void *r[PARTS];
		struct pm_read_opts o = { 0 };
		struct pm_err err = { 0 };
		const unsigned n = nreader[k / 3 % 3];

		seed = k;
		world_init(&w);
		w.facts |= k & 1 ? PM_HAS_BLOCKS : 0;
		write_random(&w, level[k % 3], 80, 600, true, &file);
		random_places(&file, at, PARTS);
		for (unsigned j = 0; j < n; j++) {
			uint32_t facts;

			in[j] = pm_input_memory(file.p, file.n, "test");
			r[j] = pug_read_open(in[j], &o, &facts, &err);
		}
		for (unsigned i = 0; i < PARTS; i++)
			read_part(r[i % n], at + i, i + 1 < PARTS ? at + i + 1 : NULL, &text);
		assert_int_equal(text.n, w.text.n);
		assert_memory_equal(text.p, w.text.p, text.n);
		for (unsigned j = 0; j < n; j++) {
			pug_read_close(r[j]);
			pm_input_close(in[j]);
		}
		pm_buf_release(&file);
		pm_buf_release(&text);
		world_release(&w);
	}
}

/* A part begins inside of a chunk if it shall, with blocks at one. */
static void test_part_inside(void **state)
{
	unsigned inside = 0;

	for (unsigned k = 0; k < 40; k++) {
		struct world w;
		struct pm_buf file = { 0 };
		struct pug_place at[2];
		struct pm_read_opts o = { 0 };
		struct pm_err err = { 0 };
		const struct pm_batch *b;
		struct pm_input *in;
		uint32_t facts;
		uint64_t insns;
		void *r;

		seed = k;
		world_init(&w);
		w.facts |= k & 1 ? PM_HAS_BLOCKS : 0;
		write_random(&w, "fast", 80, 600, true, &file);
		random_places(&file, at, 2);
		in = pm_input_memory(file.p, file.n, "test");
		r = pug_read_open(in, &o, &facts, &err);
		pug_read_part(r, at + 1, NULL);
		if (pug_read_next(r, &b, &err) == PM_OK && at[1].insn > 0) {
			pug_read_chunks(r, &insns);
			assert_true(insns >= at[1].insn);
			if (k & 1)
				assert_int_equal(b->ev->kind, PM_EV_BLOCK);
			inside++;
		}
		assert_false(pm_failed(&err));
		pug_read_close(r);
		pm_input_close(in);
		pm_buf_release(&file);
		world_release(&w);
	}
	assert_true(inside > 20);
}

static void is_prefix(const struct pm_buf *part, const struct pm_buf *whole)
{
	assert_true(part->n <= whole->n);
	if (part->n)
		assert_memory_equal(part->p, whole->p, part->n);
}

/* A small file of several chunks: whatever is left of it gives all chunks that are whole. */
static void test_cut_everywhere(void **state)
{
	struct world w;
	struct pm_buf file = { 0 };
	unsigned steps = 0;
	size_t had = 0;

	seed = 99;
	world_init(&w);
	write_random(&w, "default,chunk=16", 16, 10, true, &file);
	for (size_t cut = 0; cut < file.n; cut++) {
		struct pm_buf text = { 0 };
		struct pm_err err = { 0 };

		assert_int_equal(read_all(file.p, cut, &text, &err), PM_ERR);
		is_prefix(&text, &w.text);
		assert_true(err.place == PM_AT_BYTE && err.off <= cut);
		assert_true(strstr(err.msg, "cut here") || !cut);
		assert_true(text.n >= had);
		steps += text.n > had;
		had = text.n;
		pm_buf_release(&text);
	}
	assert_int_equal(had, w.text.n);	/* only the index was missing at last */
	assert_true(steps >= 3);
	pm_buf_release(&file);
	world_release(&w);
}

static void test_flip_every_bit(void **state)
{
	struct world w;
	struct pm_buf file = { 0 };

	seed = 7;
	world_init(&w);
	write_random(&w, "fast,chunk=16", 8, 8, true, &file);
	for (size_t bit = 0; bit < file.n * 8; bit++) {
		struct pm_buf text = { 0 };
		struct pm_err err = { 0 };
		enum pm_status s;

		file.p[bit / 8] ^= 1 << bit % 8;
		s = read_all(file.p, file.n, &text, &err);
		/* every byte is under some checksum, but for the padding that is checked by
		 * nobody */
		if (s != PM_ERR)
			fail_msg("bit %zu flipped and nobody noticed", bit);
		is_prefix(&text, &w.text);
		file.p[bit / 8] ^= 1 << bit % 8;
		pm_buf_release(&text);
	}
	pm_buf_release(&file);
	world_release(&w);
}

/* With the checksums made right again the contents themselves are nonsense: never a crash. */
static void test_nonsense(void **state)
{
	struct world w;
	struct pm_buf file = { 0 };

	seed = 8;
	world_init(&w);
	write_random(&w, "default,chunk=16", 6, 12, true, &file);
	for (unsigned k = 0; k < 20000; k++) {
		struct pm_buf bad = { 0 };
		struct pm_err err = { 0 };

		pm_buf_add(&bad, file.p, file.n);
		for (unsigned j = 1 + rnd(3); j--; )
			bad.p[PUG_HEADER + rnd((uint32_t)file.n - PUG_HEADER)] ^=
				(uint8_t)(1 + rnd(255));
		for (size_t at = PUG_HEADER; at + PUG_RECORD <= bad.n; ) {
			uint32_t size = pug_get32(bad.p + at + 4);

			if (size > bad.n - at - PUG_RECORD)
				break;
			pug_put32(bad.p + at + 40, pug_crc(bad.p + at + PUG_RECORD, size));
			pug_put32(bad.p + at + 44, pug_crc(bad.p + at, 44));
			at += PUG_RECORD + size;
		}
		read_all(bad.p, bad.n, NULL, &err);
		pm_buf_release(&bad);
	}
	pm_buf_release(&file);
	world_release(&w);
}

static void test_other_versions(void **state)
{
	struct world w;
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };

	seed = 3;
	world_init(&w);
	write_random(&w, "", 1, 8, true, &file);
	file.p[8] = PUG_MAJOR + 1;
	pug_put32(file.p + 28, pug_crc(file.p, 28));
	assert_int_equal(read_all(file.p, file.n, NULL, &err), PM_ERR);
	assert_non_null(strstr(err.msg, "version 3"));
	assert_int_equal(err.off, 8);
	pm_buf_release(&file);
	world_release(&w);
	err = (struct pm_err){ 0 };
	assert_int_equal(read_all("something else entirely, and long enough", 40, NULL, &err),
			 PM_ERR);
	assert_non_null(strstr(err.msg, "not a .pug"));
}

/* A writer that is closed without an end leaves its chunks. */
static void test_killed(void **state)
{
	struct world w;
	struct pm_buf file = { 0 }, text = { 0 };
	struct pm_err err = { 0 };

	seed = 5;
	world_init(&w);
	write_random(&w, "", 30, 100, false, &file);
	assert_int_equal(read_all(file.p, file.n, &text, &err), PM_ERR);
	assert_non_null(strstr(err.msg, "cut here"));
	assert_int_equal(text.n, w.text.n);
	assert_memory_equal(text.p, w.text.p, text.n);
	pm_buf_release(&file);
	pm_buf_release(&text);
	world_release(&w);
}

static void test_refuses(void **state)
{
	struct pm_output *out = pm_output_memory();
	struct pm_write_opts o = { .options = "tight" };
	struct pm_err err = { 0 };
	struct pm_stream stream = { 0 };
	struct pm_event ev = { .kind = PM_EV_BLOCK, .id = 3 };
	struct pm_batch b = { .stream = &stream, .ev = &ev, .n = 1 };
	void *pug;

	assert_null(pug_write_open(out, &o, &err));
	assert_non_null(strstr(err.msg, "'tight'"));
	for (unsigned kind = 0; kind < 256; kind++) {
		err = (struct pm_err){ 0 };
		o.options = NULL;
		ev.kind = (uint8_t)kind;
		if (kind == PM_EV_OPAQUE)
			continue;	/* may be nothing but its fields */
		if (kind && kind != PM_EV_BLOCK && kind != PM_EV_UOP && kind != PM_EV_BUS &&
		    kind < PM_EV_COUNT && (kind < PM_EV_KERNEL || kind == PM_EV_OPAQUE))
			continue;	/* these need nothing else */
		pug = pug_write_open(out, &o, &err);
		assert_int_equal(pug_write(pug, &b, &err), PM_ERR);
		pug_write_close(pug);
	}
	pm_output_close(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_flip_every_bit),
		cmocka_unit_test(test_nonsense), cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_killed), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_part_inside), cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
