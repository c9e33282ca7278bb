/* SPDX-License-Identifier: MIT */
/* core_ops.c - what instructions and micro-ops are to the core, and the sink around it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/conf.h"
#include "analyse/calls.h"
#include "analyse/core.h"
#include "analyse/costs.h"
#include "analyse/names.h"
#include "base/number.h"
#include "isa/x86/decode.h"
#include "isa/x86/form.h"
#include "isa/x86/regs.h"

/* ---- decoding ------------------------------------------------------------------------------- */

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* The class by mnemonic. A leading v (AVX) makes no difference. Order matters: first match wins. */
static unsigned class_of(const char *m)
{
	static const struct { const char *start; uint8_t class; } exact[] = {
		{ "cpuid", PM_CORE_SYSTEM }, { "syscall", PM_CORE_SYSTEM },
		{ "sysenter", PM_CORE_SYSTEM }, { "int", PM_CORE_SYSTEM },
		{ "mfence", PM_CORE_SYSTEM }, { "lfence", PM_CORE_SYSTEM },
		{ "rdtsc", PM_CORE_SYSTEM }, { "xsave", PM_CORE_SYSTEM },
		{ "xrstor", PM_CORE_SYSTEM }, { "xgetbv", PM_CORE_SYSTEM },
		{ "fxsave", PM_CORE_SYSTEM }, { "fxrstor", PM_CORE_SYSTEM },
		{ "cmpxchg", PM_CORE_SLOW }, { "xadd", PM_CORE_SLOW }, { "pause", PM_CORE_SLOW },
		{ "enter", PM_CORE_SLOW }, { "loop", PM_CORE_BRANCH }, { "idiv", PM_CORE_DIV },
		{ "imul", PM_CORE_MUL }, { "mulx", PM_CORE_MUL }, { "popcnt", PM_CORE_BIT },
		{ "lzcnt", PM_CORE_BIT }, { "tzcnt", PM_CORE_BIT }, { "bsf", PM_CORE_BIT },
		{ "bsr", PM_CORE_BIT }, { "crc32", PM_CORE_BIT }, { "pext", PM_CORE_BIT },
		{ "pdep", PM_CORE_BIT }, { "nop", PM_CORE_MOVE }, { "endbr", PM_CORE_MOVE },
		{ "prefetch", PM_CORE_MOVE },
		{ "fmadd", PM_CORE_FMA }, { "fmsub", PM_CORE_FMA }, { "fnmadd", PM_CORE_FMA },
		{ "fnmsub", PM_CORE_FMA }, { "dpps", PM_CORE_FMA }, { "dppd", PM_CORE_FMA },
		{ "sqrts", PM_CORE_FSQRT }, { "sqrtp", PM_CORE_FSQRT }, { "fsqrt", PM_CORE_FSQRT },
		{ "divs", PM_CORE_FDIV }, { "divp", PM_CORE_FDIV }, { "fdiv", PM_CORE_FDIV },
		{ "fidiv", PM_CORE_FDIV },
		{ "muls", PM_CORE_FMUL }, { "mulp", PM_CORE_FMUL },
		{ "adds", PM_CORE_FADD }, { "addp", PM_CORE_FADD }, { "subs", PM_CORE_FADD },
		{ "subp", PM_CORE_FADD }, { "mins", PM_CORE_FADD }, { "minp", PM_CORE_FADD },
		{ "maxs", PM_CORE_FADD }, { "maxp", PM_CORE_FADD }, { "cmpps", PM_CORE_FADD },
		{ "cmppd", PM_CORE_FADD }, { "cmpss", PM_CORE_FADD }, { "haddp", PM_CORE_FADD },
		{ "comis", PM_CORE_CROSS }, { "ucomis", PM_CORE_CROSS }, { "round", PM_CORE_FADD },
		{ "cvt", PM_CORE_FADD }, { "pmovmskb", PM_CORE_CROSS }, { "movmsk", PM_CORE_CROSS },
		{ "pextr", PM_CORE_CROSS }, { "pinsr", PM_CORE_CROSS }, { "ptest", PM_CORE_CROSS },
		{ "pmul", PM_CORE_VMUL }, { "pmadd", PM_CORE_VMUL }, { "psadbw", PM_CORE_VMUL },
		{ "aes", PM_CORE_VMUL }, { "sha", PM_CORE_VMUL }, { "pclmul", PM_CORE_VMUL },
		{ "perm", PM_CORE_CROSS }, { "broadcast", PM_CORE_VEC }, { "mul", PM_CORE_MUL },
		{ "div", PM_CORE_DIV }, { "jmp", PM_CORE_BRANCH }, { "call", PM_CORE_BRANCH },
		{ "ret", PM_CORE_BRANCH },
	};

	if (m[0] == 'v' && strcmp(m, "verr") && strcmp(m, "verw"))
		m++;
	/* the prefixes of integer instructions that look like vector ones */
	if (!strcmp(m, "add") || !strcmp(m, "sub") || !strcmp(m, "push") || !strcmp(m, "pop"))
		return PM_CORE_ALU;
	for (size_t i = 0; i < NR(exact); i++)
		if (starts(m, exact[i].start))
			return exact[i].class;
	if (m[0] == 'j')
		return PM_CORE_BRANCH;
	if (m[0] == 'f')
		return !strcmp(m, "fld") || !strcmp(m, "fst") || !strcmp(m, "fstp") ||
				       !strcmp(m, "fxch")
			       ? PM_CORE_MOVE
			       : PM_CORE_X87;
	return PM_CORE_ALU;
}

/* Base and index of the memory operand, and rsp, rsi, rdi where they are implied. */
static uint64_t address_regs(const uint8_t *b, unsigned len, const struct x86_insn *in,
			     const struct x86_regs *r)
{
	uint64_t regs = 0;
	unsigned x = 0, bb = 0, p = 0;

	for (unsigned i = 0; i < r->nmem; i++)
		if (r->mem[i].stack)
			regs |= 1u << X86_REG_RSP;
	/* string instructions: their memory operands have no modrm */
	if (!in->modrm)
		return r->nmem ? regs | (r->mem[0].stack ? 0 : r->reads & 0xc0) : 0;
	if (in->modrm >= len || b[in->modrm] >> 6 == 3)
		return regs;
	while (p < in->op && (b[p] == 0x66 || b[p] == 0x67 || b[p] == 0xf2 || b[p] == 0xf3 ||
			      b[p] == 0xf0 || b[p] == 0x2e || b[p] == 0x36 || b[p] == 0x3e ||
			      b[p] == 0x26 || b[p] == 0x64 || b[p] == 0x65))
		p++;
	if ((b[p] & 0xf0) == 0x40 && p < in->op) { /* REX (there is none in 32-bit code here) */
		x = b[p] >> 1 & 1;
		bb = b[p] & 1;
	} else if ((b[p] == 0xc4 || b[p] == 0x62) && p + 1 < in->op) {	/* VEX, EVEX: inverted */
		x = ~b[p + 1] >> 6 & 1;
		bb = ~b[p + 1] >> 5 & 1;
	}
	if ((b[in->modrm] & 7) == 4) {				/* SIB */
		unsigned sib = in->modrm + 1u < len ? b[in->modrm + 1] : 0,
			 idx = (sib >> 3 & 7) | x << 3;

		if (idx != 4)
			regs |= 1u << idx;
		if ((sib & 7) != 5 || b[in->modrm] >> 6)
			regs |= 1u << ((sib & 7) | bb << 3);
	} else if ((b[in->modrm] & 7) != 5 || b[in->modrm] >> 6) {
		regs |= 1u << ((b[in->modrm] & 7) | bb << 3);
	}
	return regs & r->reads;
}

struct decoders { struct x86_decoder *d[2]; struct pm_forms *f[2]; };

static void decode_with(struct decoders *ds, const uint8_t *bytes, unsigned len, unsigned isa,
			struct pm_core_static *s)
{
	const bool wide = isa == PM_ISA_X86_64;
	const struct pm_form *f;
	struct x86_insn in;
	struct x86_regs r;
	const char *m;
	bool reads = false, writes = false, only_move;

	*s = (struct pm_core_static){ .class = PM_CORE_ALU, .uops = 1 };
	if (!len || isa > PM_ISA_X86_32)
		return;
	if (!ds->d[wide]) {
		ds->d[wide] = x86_decoder_new(wide ? X86_MODE_64 : X86_MODE_32);
		ds->f[wide] = pm_forms_new(!wide);
	}
	if (!x86_decode(ds->d[wide], bytes, len, &in) || !x86_regs(bytes, len, wide, &r))
		return;
	f = pm_form_at(ds->f[wide], bytes, len);
	m = pm_form_mnemonic(f->mnemonic);
	s->class = class_of(m);
	s->addr_regs = address_regs(bytes, len, &in, &r);
	s->data_regs = r.reads & ~s->addr_regs;
	s->writes = r.writes;
	for (unsigned i = 0; i < r.nmem; i++) {
		reads |= r.mem[i].read;
		writes |= r.mem[i].write;
		s->stack |= r.mem[i].stack;
	}
	/* vector destinations make an ALU-looking class a vector one, the other way round it
	 * crosses */
	if (s->class == PM_CORE_ALU && (r.writes | s->data_regs) >> 16 & 0xffff) {
		bool to_vec = (r.writes >> 16 & 0xffff) != 0,
		     from_int = (s->data_regs & 0xffff) != 0;

		s->class = to_vec && !from_int		     ? PM_CORE_VEC
			   : !to_vec && !(r.writes & 0xffff) ? PM_CORE_VEC
							     : PM_CORE_CROSS;
	}
	only_move = starts(m, "mov") || starts(m, "vmov") || starts(m, "lddqu") ||
		    !strcmp(m, "push") || !strcmp(m, "pop") || !strcmp(m, "leave");
	if (only_move && !(r.writes >> X86_REG_FLAGS & 1) &&
	    (reads || writes || s->class == PM_CORE_ALU || s->class == PM_CORE_VEC) &&
	    !starts(m, "movs") && !starts(m, "movz") && !starts(m, "movmsk"))
		s->class = PM_CORE_MOVE;
	if ((starts(m, "movsx") || starts(m, "movzx")) && reads)
		s->class = PM_CORE_MOVE;	/* done by the load unit */
	/* zeroing idioms depend on nothing */
	if ((!strcmp(m, "xor") || !strcmp(m, "pxor") || !strcmp(m, "vpxor") ||
	     !strcmp(m, "xorps") || !strcmp(m, "vxorps") || !strcmp(m, "sub")) &&
	    !reads && !writes && in.modrm && in.modrm < len && bytes[in.modrm] >> 6 == 3 &&
	    (bytes[in.modrm] >> 3 & 7) == (bytes[in.modrm] & 7) &&
	    __builtin_popcountll(r.writes & 0xffffffff) == 1 &&
	    !(r.reads & ~r.writes & 0xffffffff) &&
	    __builtin_popcountll(r.reads & 0xffffffff) <= 1) {
		s->class = PM_CORE_MOVE;
		s->data_regs = s->addr_regs = 0;
	}
	if (bytes[0] == 0xf0)
		s->class = PM_CORE_SLOW;
	if (!strcmp(m, "xchg"))
		s->class = reads ? PM_CORE_SLOW : PM_CORE_MOVE;
	s->serial = s->class == PM_CORE_SYSTEM;
	s->uops = 1 + (reads && writes);
	if (s->class == PM_CORE_DIV || s->class == PM_CORE_CROSS)
		s->uops++;
	if (s->class == PM_CORE_SLOW || s->class == PM_CORE_SYSTEM)
		s->uops = 4;
	if (s->stack && s->class == PM_CORE_BRANCH)
		s->uops = 2;
}

static void decoders_free(struct decoders *ds)
{
	for (int i = 0; i < 2; i++) {
		x86_decoder_free(ds->d[i]);
		pm_forms_free(ds->f[i]);
	}
}

void pm_core_decode(const uint8_t *bytes, unsigned len, unsigned isa, struct pm_core_static *s)
{
	struct decoders ds = { 0 };

	decode_with(&ds, bytes, len, isa, s);
	decoders_free(&ds);
}

static void uop_static(const struct pm_uop *u, struct pm_core_static *s)
{
	uint64_t a = u->src1 >= 0 && u->src1 < 64 ? 1ull << u->src1 : 0;
	uint64_t b = u->src2 >= 0 && u->src2 < 64 ? 1ull << u->src2 : 0;

	*s = (struct pm_core_static){ .class = PM_CORE_ALU, .uops = 1, .data_regs = a | b };
	if (u->dest >= 0 && u->dest < 64)
		s->writes = 1ull << u->dest;
	if (u->flag_use == PM_UOP_WRITES_FLAGS)
		s->writes |= 1ull << X86_REG_FLAGS;
	if (u->flag_use == PM_UOP_READS_FLAGS)
		s->data_regs |= 1ull << X86_REG_FLAGS;
	if (u->access == PM_UOP_LOAD) {
		s->addr_regs = a | b;
		s->data_regs = 0;
		s->class = PM_CORE_MOVE;
	} else if (u->access == PM_UOP_STORE) {	/* src1 is the data */
		s->addr_regs = b;
		s->data_regs = a;
		s->class = PM_CORE_MOVE;
	} else if (u->outcome != PM_UOP_NO_BRANCH) {
		s->class = PM_CORE_BRANCH;
	} else if (!strcmp(u->micro, "FP_MUL")) {
		s->class = PM_CORE_FMUL;
	} else if (!strcmp(u->micro, "FP_DIV")) {
		s->class = PM_CORE_FDIV;
	} else if (starts(u->micro, "FP")) {
		s->class = PM_CORE_FADD;
	} else if (starts(u->micro, "MUL") || starts(u->micro, "IMUL")) {
		s->class = PM_CORE_MUL;
	}
}

/* ---- the sink ------------------------------------------------------------------------------- */

/* Per instruction: what it did, and what it is to blame for. */
#define BLAMES(B)								\
	B(Ir, "instructions executed", false)					\
	B(Fm, "fetches that missed the first level", true)			\
	B(Lm, "loads that missed the first level", true)			\
	B(Llm, "loads that went to memory", true)				\
	B(Bm, "mispredictions", true)						\
	B(Cbr, "cycles that commit waited after a misprediction", true)		\
	B(Cfe, "cycles that commit waited for instructions", true)		\
	B(Cme, "cycles that commit waited for missing loads", true)		\
	B(Cst, "cycles that commit waited for the store queue", true)		\
	B(Cco, "cycles that commit waited for latencies and ports", true)
enum {
#define B(name, about, trouble) BLAME_##name,
	BLAMES(B)
#undef B
	BLAME_COUNT
};

struct blamed_row { uint64_t pc, v[BLAME_COUNT]; };

struct blamed {
	struct pm_map at;
	struct blamed_row *row;
	size_t n, cap;
	struct pm_names names;
};

struct core_sink {
	struct pm_core *k;
	struct pm_core_conf c;
	struct pm_cache *cache;
	struct pm_cache_conf cache_conf;
	const struct pm_bp_ops *bp;
	struct pm_bp_args bp_args;
	void *dir, *btb, *ras, *ittage;
	struct decoders ds;
	struct pm_core_static *known;	/* by pm_code.insn; uops 0: not decoded yet */
	size_t cap_known;
	/* the instruction that is being gathered */
	struct pm_core_op op;
	bool open, uops;
	uint64_t pc, fetch_line;
	uint64_t branches, top;
	struct blamed *by;		/* NULL: not asked for */
	/* as a meter: where costs go, and what belongs to the piece before */
	uint64_t *sum, *late, *misled;	/* misled: of @late and @sum, where the last instruction
					 * is */
	bool any_late;
};

static void destroy(void *self)
{
	struct core_sink *s = self;

	if (!s)
		return;
	pm_core_free(s->k);
	pm_cache_free(s->cache);
	if (s->dir)
		s->bp->destroy(s->dir);
	if (s->btb) {
		pm_bp_btb.destroy(s->btb);
		pm_bp_ras.destroy(s->ras);
		pm_bp_ittage.destroy(s->ittage);
	}
	decoders_free(&s->ds);
	free(s->known);
	if (s->by) {
		pm_map_release(&s->by->at);
		pm_names_release(&s->by->names);
		free(s->by->row);
		free(s->by);
	}
	free(s);
}

static uint64_t *blamed(struct core_sink *s, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->by->at, pc, &fresh);

	if (fresh) {
		*at = s->by->n;
		pm_grow(s->by->row, s->by->n, s->by->cap);
		memset(s->by->row + s->by->n, 0, sizeof *s->by->row);
		s->by->row[s->by->n++].pc = pc;
	}
	return s->by->row[*at].v;
}

static enum pm_status numbers(struct pm_conf *c, const struct pm_conf_item *it, struct core_sink *s,
			      bool *known, struct pm_err *err)
{
	const struct {
		const char *name; uint32_t *to; uint64_t lo, hi; const char *about;
	} keys[] = {
		{ "fetch", &s->c.fetch, 1, 64, "instructions fetched per cycle" },
		{ "bytes", &s->c.bytes, 15, 256, "bytes fetched per cycle" },
		{ "queue", &s->c.queue, 1, 1024, "instructions between fetch and dispatch" },
		{ "front", &s->c.front, 1, 64, "cycles from fetch to dispatch" },
		{ "bubble", &s->c.bubble, 0, 64,
		  "cycles lost to a taken branch found by the decoder" },
		{ "width", &s->c.width, 1, 64, "micro-ops dispatched and committed per cycle" },
		{ "rob", &s->c.rob, 8, 4096, "micro-ops in the reorder buffer" },
		{ "iq", &s->c.iq, 8, 1024, "entries of the scheduler" },
		{ "lq", &s->c.lq, 4, 1024, "entries of the load queue" },
		{ "sq", &s->c.sq, 4, 1024, "entries of the store queue" },
		{ "mshr", &s->c.mshr, 1, 1024, "lines on their way" },
		{ "gap", &s->c.gap, 0, 1000, "cycles between lines from memory" },
		{ "forward", &s->c.forward, 1, 100, "cycles of store-to-load forwarding" },
		{ "alu", &s->c.alu, 1, 8, "integer ports" },
		{ "vec", &s->c.vec, 1, 8, "vector ports" },
		{ "loads", &s->c.loads, 1, 4, "load ports" },
		{ "stores", &s->c.stores, 1, 4, "store ports" },
	};
	uint64_t x;

	*known = true;
	for (size_t k = 0; k < NR(keys); k++)
		if (!strcmp(keys[k].name, it->name)) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "", keys[k].about,
					keys[k].lo, keys[k].hi, &x, err))
				return PM_ERR;
			*keys[k].to = x;
			return PM_OK;
		}
	if (!strcmp(it->name, "lat")) {
		static const char *const what[] = { "L1 latency", "L2 latency", "L3 latency",
			"memory latency" };

		if (it->n != 4)
			return pm_conf_fail(c, it, err,
					    "expected four numbers: lat=L1,L2,L3,MEMORY");
		for (int i = 0; i < 4; i++) {
			if (pm_conf_u64(c, it, it->field[i].key, what[i], 1, 10000, &x, err))
				return PM_ERR;
			s->c.lat[i] = x;
			if (i && x < s->c.lat[i - 1])
				return pm_conf_fail(c, it, err, "%s: less than the %s", what[i],
						    what[i - 1]);
		}
		return PM_OK;
	}
	*known = false;
	return PM_OK;
}

static enum pm_status parse(struct core_sink *s, struct pm_conf *c, struct pm_buf *caches,
			    struct pm_err *err)
{
	static const char *const presets[] = { "big", "mid", "small", NULL };
	static const struct pm_core_conf *const preset[] = { &pm_core_big, &pm_core_mid,
		&pm_core_small };

	s->c = pm_core_mid;
	s->top = 20;
	s->bp = &pm_bp_tagescl;
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->item[i].name, "preset")) {
			int w = c->item[i].n ? pm_conf_word(c->item[i].field[0].key, presets) : -1;

			if (w < 0)
				return pm_conf_unknown(c, c->item + i, err,
						       c->item[i].n ? c->item[i].field[0].key : "",
						       "is unknown", "big, mid, small");
			s->c = *preset[w];
		}
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		bool known;

		if (!strcmp(it->name, "preset"))
			continue;
		if (!strcmp(it->name, "byinsn")) {
			if (it->n)
				return pm_conf_fail(c, it, err, "stands alone, without a value");
			s->by = s->by ? s->by : pm_alloc(sizeof *s->by);
			continue;
		}
		if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "",
					"instructions listed", 1, 1000000, &s->top, err))
				return PM_ERR;
			continue;
		}
		if (it->name[0] == 'l' && it->name[1] >= '1' && it->name[1] <= '9') {
			pm_conf_put(it, caches);
			continue;
		}
		if (!strcmp(it->name, "bpred")) {
			s->bp = it->n ? pm_bp_find(it->field[0].key) : NULL;
			s->bp_args = (struct pm_bp_args){ .n = 0 };
			if (!s->bp || s->bp->mask != PM_BR_COND)
				return pm_conf_fail(c, it, err,
						    "expected a predictor of conditional branches, "
						    "as in bpred=gshare,14 or bpred=tagescl");
			for (size_t k = 1; k < it->n; k++) {
				if (k > 2 || !s->bp->args[k - 1])
					return pm_conf_fail(c, it, err,
							    "'%s' is one number too many",
							    it->field[k].key);
				if (pm_conf_u64(c, it, it->field[k].key, s->bp->args[k - 1],
						s->bp->lo[k - 1], s->bp->hi[k - 1],
						s->bp_args.v + k - 1, err))
					return PM_ERR;
				s->bp_args.n++;
			}
			continue;
		}
		if (numbers(c, it, s, &known, err))
			return PM_ERR;
		if (!known)
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"preset, fetch, bytes, queue, front, bubble, width, "
					"rob, iq, lq, sq, mshr, gap, forward, alu, vec, "
					"loads, stores, lat, bpred, byinsn, top, l1i, l1d, "
					"l2...");
	}
	return PM_OK;
}

/* What the settings ask for. */
static void build(struct core_sink *s)
{
	struct pm_bp_args a = { .n = 0 };

	s->cache = pm_cache_from(&s->cache_conf);
	s->k = pm_core_from(&s->c);
	pm_bp_defaults(s->bp, &s->bp_args);
	s->dir = s->bp->create(&s->bp_args);
	pm_bp_defaults(&pm_bp_btb, &a);
	s->btb = pm_bp_btb.create(&a);
	a.n = 0;
	pm_bp_defaults(&pm_bp_ras, &a);
	s->ras = pm_bp_ras.create(&a);
	s->ittage = pm_bp_ittage.create(&a);
	s->fetch_line = UINT64_MAX;
}

static void *create(const char *config, struct pm_err *err)
{
	struct core_sink *s = pm_alloc(sizeof *s);
	struct pm_buf caches = { 0 };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "core", config, err);

	if (!st)
		st = parse(s, &c, &caches, err);
	pm_conf_release(&c);
	if (!caches.n)
		pm_buf_printf(&caches, "l1i=32k,8way,64,prefetch=next;l1d=32k,8way,64,prefetch="
				       "stride,degree=2;"
				       "l2=1m,8way,64,prefetch=stream,degree=4;l3=32m,16way,64");
	pm_buf_add(&caches, "", 1);
	if (!st)
		st = pm_cache_conf_parse(&s->cache_conf, "core", (const char *)caches.p, err);
	pm_buf_release(&caches);
	if (!st && s->cache_conf.level[s->cache_conf.n - 1].depth > 3)
		st = pm_fail_request(err, "core: at most three levels of caches");
	if (st) {
		destroy(s);
		return NULL;
	}
	build(s);
	return s;
}

/* How deep a reference went, as an index into `lat`: memory is 3 whatever the number of levels. */
static unsigned level_of(const struct core_sink *s, unsigned reach)
{
	unsigned levels = s->cache_conf.level[s->cache_conf.n - 1].depth;

	return reach >= levels ? 3 : reach;
}

static void account(struct core_sink *s)
{
	const struct pm_core_blame *b = pm_core_blame(s->k);
	uint64_t *v = s->sum ? s->sum : blamed(s, s->pc);

	v[BLAME_Ir] += s->op.len > 0;	/* what goes on with a long one has no bytes of its own */
	v[BLAME_Fm] += s->op.fetch_level > 0;
	v[BLAME_Bm] += s->op.redirect == PM_CORE_WRONG;
	for (unsigned i = 0; i < s->op.nload; i++) {
		v[BLAME_Lm] += s->op.load_level[i] > 0;
		v[BLAME_Llm] += s->op.load_level[i] == 3;
	}
	if (b->why && s->sum) {
		/* the branch before is to blame, and it was in the piece before */
		v = b->misled ? s->misled : s->sum;
		s->any_late |= v == s->late;
		v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	} else if (b->why) {
		blamed(s, b->pc)[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	}
	s->misled = s->sum;
}

static void submit(struct core_sink *s)
{
	if (!s->open)
		return;
	s->open = false;
	s->op.pc = s->pc;
	pm_core_op(s->k, &s->op, NULL);
	if (s->by || s->sum)
		account(s);
}

static void begin(struct core_sink *s, uint64_t pc, unsigned len, const struct pm_core_static *st)
{
	uint64_t line = pc >> 6, last = (pc + (len ? len : 1) - 1) >> 6;

	submit(s);
	s->op = (struct pm_core_op){ .addr_regs = st->addr_regs, .data_regs = st->data_regs,
		.writes = st->writes, .class = st->class, .uops = st->uops, .len = len ? len : 1,
		.stack = st->stack,
		.serial = st->serial };
	for (; line <= last; line++)
		if (line != s->fetch_line) {
			unsigned l = level_of(s, pm_cache_access(s->cache, PM_OP_FETCH, line << 6,
								 1, false, pc));

			if (l > s->op.fetch_level)
				s->op.fetch_level = l;
			s->fetch_line = line;
		}
	s->pc = pc;
	s->open = true;
}

static void reference(struct core_sink *s, enum pm_cache_op op, uint64_t addr, unsigned size,
		      bool stack)
{
	struct pm_core_op *o = &s->op;
	unsigned l = level_of(s, pm_cache_access(s->cache, op, addr, size, stack, s->pc));

	if (!s->open)
		return;
	if (o->nload == 4 || o->nstore == 4) {	/* rep and its like: go on with a further
						 * operation */
		struct pm_core_op rest = *o;

		rest.nload = rest.nstore = 0;
		rest.fetch_level = 0;
		rest.len = 0;
		o->redirect = PM_CORE_STRAIGHT;
		submit(s);
		s->op = rest;
		s->open = true;
	}
	if (op == PM_OP_READ) {
		o->load[o->nload] = addr;
		o->load_size[o->nload] = size > 64 ? 64 : size;
		o->load_level[o->nload++] = l;
	} else {
		o->store[o->nstore] = addr;
		o->store_size[o->nstore] = size > 64 ? 64 : size;
		o->store_level[o->nstore++] = l;
	}
}

static void branch(struct core_sink *s, const struct pm_br *b)
{
	uint8_t dir = 0, btb, ras, ind;
	bool wrong;

	s->bp->run(s->dir, b, 1, &dir);
	pm_bp_btb.run(s->btb, b, 1, &btb);
	pm_bp_ras.run(s->ras, b, 1, &ras);
	pm_bp_ittage.run(s->ittage, b, 1, &ind);
	wrong = b->flags & PM_BR_COND	    ? dir
		: b->flags & PM_BR_RET	    ? ras
		: b->flags & PM_BR_INDIRECT ? ind
					    : false;
	s->branches += (b->flags & (PM_BR_COND | PM_BR_RET | PM_BR_INDIRECT)) != 0;
	s->op.taken = b->flags & PM_BR_TAKEN;
	/* a direct branch that the BTB does not know is found by the decoder */
	s->op.redirect = wrong						     ? PM_CORE_WRONG
			 : btb && !(b->flags & (PM_BR_INDIRECT | PM_BR_RET)) ? PM_CORE_BUBBLE
									     : PM_CORE_STRAIGHT;
}

static const struct pm_core_static *static_of(struct core_sink *s, const struct pm_batch *b,
					      const struct pm_event *e)
{
	static const struct pm_core_static plain = { .class = PM_CORE_ALU, .uops = 1 };

	if (!b->code || e->id >= b->code->ninsn)
		return &plain;
	if (e->id >= s->cap_known) {
		size_t cap = s->cap_known ? s->cap_known * 2 : 4096;

		while (cap <= e->id)
			cap *= 2;
		s->known = pm_realloc(s->known, cap * sizeof *s->known);
		memset(s->known + s->cap_known, 0, (cap - s->cap_known) * sizeof *s->known);
		s->cap_known = cap;
	}
	if (!s->known[e->id].uops) {
		const struct pm_insn *in = b->code->insn + e->id;

		decode_with(&s->ds, in->bytes, in->len, in->isa, s->known + e->id);
	}
	return s->known + e->id;
}

static void one_uop(struct core_sink *s, const struct pm_uop *u)
{
	struct pm_core_static st;

	uop_static(u, &st);
	begin(s, u->pc, u->index == 1 ? (unsigned)(u->fall - u->pc) & 15 : 0, &st);
	if (u->index != 1)
		s->op.len = 0;
	if (u->access == PM_UOP_LOAD || u->access == PM_UOP_STORE)
		reference(s, u->access == PM_UOP_LOAD ? PM_OP_READ : PM_OP_WRITE, u->mem,
			  u->msize ? u->msize : 8, false);
	if (u->target) {
		struct pm_br b = { u->pc, u->target,
			(u->outcome == PM_UOP_TAKEN ? PM_BR_TAKEN : 0) |
			(u->flag_use == PM_UOP_READS_FLAGS ? PM_BR_COND : 0) | (strcmp(u->macro,
				"CALL") ? 0 : PM_BR_CALL) |
			(strcmp(u->macro, "RET") ? 0 : PM_BR_RET) |
			(strcmp(u->micro, "JMP_REG") ? 0 : PM_BR_INDIRECT),
			(uint8_t)(u->fall - u->pc) };

		branch(s, &b);
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct core_sink *s = self;

	s->uops |= b->nuop > 0;
	if (s->by)
		pm_names_learn(&s->by->names, b->code);
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		if (e->kind == PM_EV_UOP && e->id < b->nuop) {
			one_uop(s, b->uop + e->id);
			continue;
		}
		if (s->uops)	/* micro-ops say it all; what stands beside them says it again */
			continue;
		switch (e->kind) {
		case PM_EV_INSN:
			begin(s, e->addr, e->size, static_of(s, b, e));
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
			reference(s, PM_OP_READ, e->addr, e->size, e->flags & PM_REF_STACK);
			if (e->kind == PM_EV_READ)
				break;
			/* fall through */
		case PM_EV_WRITE:
			reference(s, PM_OP_WRITE, e->addr, e->size, e->flags & PM_REF_STACK);
			break;
		case PM_EV_BRANCH: {
			struct pm_br br = { e->addr, e->value, e->flags, e->size };

			branch(s, &br);
			break;
		}
		default:
			break;
		}
	}
	return PM_OK;
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct core_sink *s = self;
	struct pm_err err;

	s->sum = sum;
	s->misled = s->late = late;
	s->any_late = false;
	consume(s, piece, &err);
	if (over)
		submit(s);
	return s->any_late;
}

void pm_core_meter(const void *self, struct pm_calls_meter *m)
{
	const struct core_sink *s = self;
	struct core_sink *t;

	*m = (struct pm_calls_meter){ 0 };
	if (!s->by)
		return;
	t = pm_alloc(sizeof *t);
	t->c = s->c;
	t->cache_conf = s->cache_conf;
	t->bp = s->bp;
	t->bp_args = s->bp_args;
	build(t);
	*m = (struct pm_calls_meter){ BLAME_COUNT, t, charge };
}

void pm_core_meter_free(void *self)
{
	destroy(self);
}

static const struct { const char *name, *about; bool trouble; } blames[] = {
#define B(name, about, trouble) { #name, about, trouble },
	BLAMES(B)
#undef B
};

void pm_core_costs(void *self, struct pm_costs *c)
{
	const struct core_sink *s = self;

	for (unsigned k = 0; s->by && k < BLAME_COUNT; k++) {
		int col = pm_costs_column(c, blames[k].name, blames[k].about, blames[k].trouble);

		for (size_t i = 0; col >= 0 && i < s->by->n; i++) {
			size_t row = pm_costs_row(c, s->by->row[i].pc);

			c->v[col][row] = s->by->row[i].v[k];
		}
	}
}

struct pm_names *pm_core_names(void *self)
{
	struct core_sink *s = self;

	return s->by ? &s->by->names : NULL;
}

static uint64_t stalls(const uint64_t *v)
{
	return v[BLAME_Cbr] + v[BLAME_Cfe] + v[BLAME_Cme] + v[BLAME_Cst] + v[BLAME_Cco];
}

static int by_stalls(const void *a, const void *b)
{
	const struct blamed_row *x = a, *y = b;
	uint64_t i = stalls(x->v), j = stalls(y->v);

	return i != j ? (i < j ? 1 : -1) : x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void blame_result(struct core_sink *s, struct pm_result *r)
{
	struct blamed *b = s->by;

	if (b->n)
		qsort(b->row, b->n, sizeof *b->row, by_stalls);
	pm_map_release(&b->at);		/* rows have moved: no more look-ups */
	pm_result_begin_list(r, "by_instruction");
	for (size_t i = 0; i < b->n && i < s->top && stalls(b->row[i].v); i++) {
		pm_result_begin(r, NULL);
		pm_names_result(&b->names, r, b->row[i].pc);
		for (unsigned k = 0; k < BLAME_COUNT; k++)
			pm_result_u64(r, blames[k].name, b->row[i].v[k],
				      k < BLAME_Cbr ? "times" : "cycles");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct core_sink *s = self;
	struct pm_core_stats st;

	submit(s);
	if (!r)
		return PM_OK;
	st = *pm_core_stats(s->k);
	st.branches = s->branches;
	pm_result_begin(r, "core");
	pm_result_u64(r, "width", s->c.width, "micro-ops/cycle");
	pm_result_u64(r, "rob", s->c.rob, "micro-ops");
#define S(field, unit, about) pm_result_u64(r, #field, st.field, unit);
	PM_CORE_STATS(S)
#undef S
	pm_result_f64(r, "ipc", st.cycles ? (double)st.instructions / st.cycles : 0,
		      "instructions/cycle");
	if (s->by)
		blame_result(s, r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_core = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES, .name = "core",
	.about = "a modern out-of-order core: cycles, IPC, where the time goes",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
