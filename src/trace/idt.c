/* SPDX-License-Identifier: MIT */
/* idt.c - layouts
 *
 *   .blk    i32 count, i32 oldt_offset, u32 orig_magic, u32 idt_magic; then records:
 *           u32 address, i8 n, u8 0, n x { i16 idt_id, i8 size, i8 entries }, two zero bytes
 *   .blk64  u64 count, i64 oldt_offset, u32 orig_magic, u32 idt_magic, "IDT64\0\0\0"; records:
 *           u64 address, u8 n, u8 0, n x {...}, zeros up to a multiple of 8
 *   .cnt    u32 orig_magic, u32 idt_magic, then sets of u32 counters, one per block
 *   .cnt64  the last 16 bytes of .blk64's header, then one set of u64 counters
 *
 * Readers of .blk also accept the layouts that the original's documentation leaves possible:
 * records without the trailing padding, packed ones, fixed stride. The one that ends exactly at the
 * end of the file is right. */
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "isa/x86/zydis_regs.h"
#include "trace/idt.h"
#include "trace/text.h"

static const char tag64[8] = "IDT64";

unsigned idt_code_bytes(unsigned code, bool wide)
{
	static const uint8_t bytes[9] = { 0, 1, 2, 4, 8, 10, 16, 32, 64 };

	return code <= (wide ? 8u : 5u) ? bytes[code] : 0;
}

unsigned idt_bytes_code(unsigned n, bool wide)
{
	if (n == 10)
		return 5;
	if (wide && n >= 16)
		return n >= 64 ? 8 : n >= 32 ? 7 : 6;
	return n >= 8 ? 4 : n >= 4 ? 3 : n >= 2 ? 2 : 1;
}

static bool is_group(const ZydisDecodedInstruction *in)
{
	if (!(in->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return false;
	if (in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		switch (in->opcode) {
		case 0x80 ... 0x83: case 0x8f: case 0xc0: case 0xc1: case 0xc6: case 0xc7:
		case 0xd0 ... 0xd3: case 0xd8 ... 0xdf: case 0xf6: case 0xf7: case 0xfe: case 0xff:
			return true;
		}
	if (in->opcode_map == ZYDIS_OPCODE_MAP_0F)
		switch (in->opcode) {
		case 0x00:
		case 0x01:
		case 0x0d:
		case 0x18:
		case 0x71 ... 0x73:
		case 0xae:
		case 0xba:
		case 0xb9: case 0xc7:
			return true;
		}
	return false;
}

uint16_t idt_insn_id(const uint8_t *bytes, unsigned len, bool wide)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	unsigned id, map = 0, prefix = 0;

	if (!x86_zydis(bytes, len, wide, &in, op))
		return 0xffff;
	id = in.opcode;
	if (is_group(&in))
		id |= (unsigned)in.raw.modrm.reg << 8;
	switch (in.opcode_map) {
	case ZYDIS_OPCODE_MAP_0F: map = 1; break;
	case ZYDIS_OPCODE_MAP_0F38: map = 2; break;
	case ZYDIS_OPCODE_MAP_0F3A: map = 3; break;
	default: break;
	}
	id |= map << 11;
	for (unsigned i = 0; i < in.raw.prefix_count; i++)
		if (in.raw.prefixes[i].type == ZYDIS_PREFIX_TYPE_MANDATORY)
			prefix = in.raw.prefixes[i].value == 0x66   ? 1
				 : in.raw.prefixes[i].value == 0xf3 ? 2
				 : in.raw.prefixes[i].value == 0xf2 ? 3
								    : prefix;
	/* the prefix of a repeated string instruction repeats, it does not select */
	if (in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return (uint16_t)(id | 1u << 15);
	return (uint16_t)(id | prefix << 13);
}

enum pm_insn_class idt_id_class(uint16_t id)
{
	unsigned op = id & 0xff, reg = id >> 8 & 7, map = id >> 11 & 3;

	if (map == 1)
		return (op & 0xf0) == 0x80	  ? PM_CLASS_COND
		       : op == 0x05 || op == 0x34 ? PM_CLASS_SYSCALL
						  : PM_CLASS_NONE;
	if (map)
		return PM_CLASS_NONE;
	switch (op) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: return PM_CLASS_COND;
	case 0xe9: case 0xea: case 0xeb: return PM_CLASS_JUMP;
	case 0xe8: case 0x9a: return PM_CLASS_CALL;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: return PM_CLASS_RET;
	case 0xcf: return PM_CLASS_JUMP_IND;
	case 0xcc: case 0xcd: case 0xce: return PM_CLASS_SYSCALL;
	case 0xff: return reg == 2 || reg == 3 ? PM_CLASS_CALL_IND : reg == 4 || reg == 5 ?
			  PM_CLASS_JUMP_IND : PM_CLASS_NONE;
	}
	return PM_CLASS_NONE;
}

unsigned idt_opcode(const uint8_t *bytes, unsigned len, bool wide, uint8_t op[2])
{
	unsigned i = 0;

	for (; i < len; i++) {
		uint8_t b = bytes[i];

		if (!(b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 ||
		      b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65 || b == 0xf0 ||
		      (wide && (b & 0xf0) == 0x40)))
			break;
	}
	if (i == len)
		return 0;
	op[0] = bytes[i];
	op[1] = 0;
	if (op[0] != 0x0f)
		return 1;
	if (i + 1 == len)
		return 0;
	op[1] = bytes[i + 1];
	return 2;
}

/* ---- .blk ----------------------------------------------------------------------------------- */

static size_t record_size(unsigned n, bool wide)
{
	return wide ? (10 + 4 * (size_t)n + 7) & ~(size_t)7 : 8 + 4 * (size_t)n;
}

uint32_t idt_blk_add(struct idt_blk *b, uint64_t address, const struct idt_insn *insn, unsigned n)
{
	struct idt_block *k, *last;

	pm_grow(b->block, b->nblock, b->cap_block);
	last = b->nblock ? &b->block[b->nblock - 1] : NULL;
	k = &b->block[b->nblock];
	k->address = address;
	k->offset = last ? last->offset + record_size(last->n, b->wide) : idt_blk_head(b->wide);
	k->insn = (uint32_t)b->ninsn;
	k->n = n;
	for (unsigned i = 0; i < n; i++) {
		pm_grow(b->insn, b->ninsn, b->cap_insn);
		b->insn[b->ninsn++] = insn[i];
	}
	return (uint32_t)b->nblock++;
}

/* Walk the records with one of the layouts: @extra bytes of padding behind the count, @tail behind
 * the list, or a fixed @stride. False if they do not end exactly at the end of the file. */
static bool walk(const uint8_t *p, size_t n, uint64_t count, unsigned extra, unsigned tail,
		 size_t stride, struct idt_blk *to, uint64_t *bad)
{
	size_t at = idt_blk_head(to->wide);
	unsigned addr = to->wide ? 8 : 4, lead = addr + 1 + extra;

	to->nblock = to->ninsn = 0;
	for (uint64_t i = 0; i < count; i++) {
		size_t size;
		unsigned k;

		*bad = at;
		if (n - at < lead)
			return false;
		k = p[at + addr];
		if (!k || (!to->wide && k > IDT_MAX_INSNS))
			return false;
		size = stride	  ? stride
		       : to->wide ? record_size(k, true)
				  : lead + 4 * (size_t)k + tail;
		if (size < lead + 4 * (size_t)k || n - at < size || (extra && p[at + addr + 1]))
			return false;
		pm_grow(to->block, to->nblock, to->cap_block);
		to->block[to->nblock++] = (struct idt_block){
			to->wide ? pm_get64(p + at) : pm_get32(p + at), at, (uint32_t)to->ninsn, k
		};
		for (unsigned j = 0; j < k; j++) {
			const uint8_t *e = p + at + lead + 4 * j;

			if (!e[2] || e[2] > 15 || (int8_t)e[3] < -2) {
				*bad = at + lead + 4 * j;
				return false;
			}
			pm_grow(to->insn, to->ninsn, to->cap_insn);
			to->insn[to->ninsn++] = (struct idt_insn){ pm_get16(e), e[2],
								   (int8_t)e[3] };
		}
		at += size;
	}
	*bad = at;
	return at == n;
}

enum pm_status idt_blk_parse(const uint8_t *p, size_t n, bool wide, struct idt_blk *to,
			     struct pm_err *err)
{
	unsigned head = idt_blk_head(wide);
	uint64_t count, first = 0, bad;

	*to = (struct idt_blk){ .wide = wide };
	if (n < head)
		return pm_fail(err, n, "expected %u bytes of block table header, found %zu", head,
			       n);
	if (wide) {
		if (memcmp(p + 24, tag64, 8))
			return pm_fail(err, 24, "expected \"IDT64\": not a 64-bit block table");
		count = pm_get64(p);
		to->oldt_offset = (int64_t)pm_get64(p + 8);
		to->orig_magic = pm_get32(p + 16);
		to->idt_magic = pm_get32(p + 20);
	} else {
		count = pm_get32(p);
		to->oldt_offset = (int32_t)pm_get32(p + 4);
		to->orig_magic = pm_get32(p + 8);
		to->idt_magic = pm_get32(p + 12);
	}
	if (count > (n - head) / 9)
		return pm_fail(err, 0, "%llu blocks do not fit into %zu bytes",
			       (unsigned long long)count, n);
	if (walk(p, n, count, 1, 2, 0, to, &first))
		return PM_OK;
	if (!wide &&
	    (walk(p, n, count, 1, 0, 0, to, &bad) || walk(p, n, count, 0, 0, 0, to, &bad) ||
	     (count && (n - head) % (4 * count) == 0 &&
	      walk(p, n, count, 1, 0, (n - head) / count, to, &bad))))
		return PM_OK;
	idt_blk_release(to);
	return pm_fail(err, first, "block records in no known layout end at the end of the file");
}

void idt_blk_magic(const struct idt_blk *b, uint8_t *p)
{
	pm_put32(p + (b->wide ? 16 : 8), b->orig_magic);
	pm_put32(p + (b->wide ? 20 : 12), b->idt_magic);
}

void idt_blk_write(const struct idt_blk *b, struct pm_buf *to)
{
	uint8_t head[32] = { 0 };

	if (b->wide) {
		pm_put64(head, b->nblock);
		pm_put64(head + 8, (uint64_t)b->oldt_offset);
		memcpy(head + 24, tag64, 8);
	} else {
		pm_put32(head, (uint32_t)b->nblock);
		pm_put32(head + 4, (uint32_t)b->oldt_offset);
	}
	idt_blk_magic(b, head);
	pm_buf_add(to, head, idt_blk_head(b->wide));
	for (size_t i = 0; i < b->nblock; i++) {
		const struct idt_block *k = &b->block[i];
		const size_t n = record_size(k->n, b->wide);
		uint8_t *q = pm_buf_room(to, n), *const end = q + n;

		to->n += n;
		q = b->wide ? pm_put64(q, k->address) : pm_put32(q, (uint32_t)k->address);
		*q++ = (uint8_t)k->n;
		*q++ = 0;
		for (uint32_t j = 0; j < k->n; j++) {
			const struct idt_insn *in = &b->insn[k->insn + j];

			q = pm_put16(q, in->id);
			*q++ = in->size;
			*q++ = (uint8_t)in->entries;
		}
		memset(q, 0, (size_t)(end - q));
	}
}

uint32_t idt_blk_at(const struct idt_blk *b, uint64_t offset)
{
	const size_t i = pm_lower_bound(b->block, b->nblock, .offset, offset);

	return i < b->nblock && b->block[i].offset == offset ? (uint32_t)i : PM_NONE;
}

void idt_blk_release(struct idt_blk *b)
{
	free(b->block);
	free(b->insn);
	*b = (struct idt_blk){ 0 };
}

/* ---- .cnt ----------------------------------------------------------------------------------- */

/* Are these @n 32-bit counters @sets sets? Then only what is full has more in the next set, and
 * something is full in all but the last. */
static bool are_sets(const uint8_t *p, size_t n, size_t sets)
{
	const size_t each = n / sets;

	if (n % sets)
		return false;
	for (size_t s = 0; s + 1 < sets; s++) {
		bool full = false;

		for (size_t i = 0; i < each; i++) {
			const uint8_t *q = p + 4 * (s * each + i);

			full |= pm_get32(q) == UINT32_MAX;
			if (pm_get32(q) != UINT32_MAX && pm_get32(q + 4 * each))
				return false;
		}
		if (!full)
			return false;
	}
	return true;
}

#define MOST_SETS	4096u

/* How many of @blocks are the @n counters about? A process that ended early knows less of them than
 * others have added meanwhile. */
static size_t blocks_counted(const uint8_t *p, size_t n, size_t blocks, bool wide)
{
	const size_t least = blocks ? (n + blocks - 1) / blocks : 1;

	for (size_t sets = n < MOST_SETS ? n : MOST_SETS; !wide && sets >= least; sets--)
		if (are_sets(p, n, sets))
			return n / sets;
	return n < blocks ? n : blocks;
}

enum pm_status idt_cnt_parse(const uint8_t *p, size_t n, size_t blocks, bool wide,
			     struct idt_cnt *to, struct pm_err *err)
{
	size_t head = wide ? 16 : 8, each = wide ? 8 : 4, set = blocks * each, sets;

	*to = (struct idt_cnt){ 0 };
	if (n < head)
		return pm_fail(err, n, "expected %zu bytes of counter header, found %zu", head, n);
	if (wide && memcmp(p + 8, tag64, 8))
		return pm_fail(err, 8, "expected \"IDT64\": not a 64-bit counter file");
	to->orig_magic = pm_get32(p);
	to->idt_magic = pm_get32(p + 4);
	if (n > head && (n - head) % each == 0)
		set = each * blocks_counted(p + head, (n - head) / each, blocks, wide);
	if (set ? (n - head) % set : n != head)
		return pm_fail(err, n,
			       "%zu bytes of counters are no whole number of sets of %zu blocks",
			       n - head, blocks);
	sets = set ? (n - head) / set : 0;
	if (wide && sets > 1)
		return pm_fail(err, head + set, "expected one set of 64-bit counters, found %zu",
			       sets);
	to->n = blocks;
	to->given = set / each;
	to->count = pm_alloc(blocks * sizeof *to->count);
	for (size_t s = 0; s < sets; s++)
		for (size_t i = 0; i < set / each; i++) {
			const uint8_t *q = p + head + s * set + i * each;

			to->count[i] += wide ? pm_get64(q) : pm_get32(q);
		}
	return PM_OK;
}

void idt_cnt_write(const struct idt_cnt *c, bool wide, struct pm_buf *to)
{
	uint8_t head[16];
	uint64_t sets = 1;

	pm_put32(head, c->orig_magic);
	pm_put32(head + 4, c->idt_magic);
	memcpy(head + 8, tag64, 8);
	pm_buf_add(to, head, wide ? 16 : 8);
	for (size_t i = 0; !wide && i < c->n; i++) {
		uint64_t k = c->count[i] / UINT32_MAX + (c->count[i] % UINT32_MAX != 0);

		if (k > sets)
			sets = k;
	}
	for (uint64_t s = 0; s < sets; s++)
		for (size_t i = 0; i < c->n; i++) {
			uint8_t word[8];
			uint64_t done, v = c->count[i];

			if (!wide) {
				/* a full set's worth in each set until nothing is left */
				done = v / UINT32_MAX < s ? v : s * UINT32_MAX;
				v -= done;
				pm_put32(word, v > UINT32_MAX ? UINT32_MAX : (uint32_t)v);
			} else {
				pm_put64(word, v);
			}
			pm_buf_add(to, word, wide ? 8 : 4);
		}
}

void idt_cnt_release(struct idt_cnt *c)
{
	free(c->count);
	*c = (struct idt_cnt){ 0 };
}

/* ---- hints ---------------------------------------------------------------------------------- */

static const struct {
	const char *name, *old;
	enum idt_hint_kind kind;
} hint_names[] = {
	{ "trace_beg", "TRACE_BEG_TAG", IDT_TRACE_BEG },
	{ "trace_end", "TRACE_END_TAG", IDT_TRACE_END },
	{ "main_call", "MAIN_CALL_TAG", IDT_MAIN_CALL },
	{ "exit_call", "EXIT_CALL_TAG", IDT_EXIT_CALL },
	{ "jtab", "JTAB_TAG", IDT_JTAB }, { "curbrk_addr", "CUR_BRK_TAG", IDT_CURBRK },
};

enum pm_status idt_hints_parse(const char *text, size_t n, struct idt_hints *to, struct pm_err *err)
{
	const char *s = text, *end = text + n;
	uint64_t line = 0;

	*to = (struct idt_hints){ 0 };
	while (s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *stop = nl ? nl : end, *tok,
			   *hash;
		struct idt_hint h = { 0 };
		struct pm_tok t;
		size_t len, i;

		line++;
		hash = memchr(s, '#', (size_t)(stop - s));
		t = (struct pm_tok){ s, hash ? hash : stop };
		s = nl ? nl + 1 : end;
		tok = pm_tok_next(&t, &len);
		if (!len)
			continue;
		for (i = 0; i < NR(hint_names); i++)
			if ((strlen(hint_names[i].name) == len &&
			     !memcmp(hint_names[i].name, tok, len)) ||
			    (strlen(hint_names[i].old) == len &&
			     !memcmp(hint_names[i].old, tok, len)))
				break;
		if (i == NR(hint_names)) {
			idt_hints_release(to);
			return pm_fail_text(err, line, "a hint like 'trace_beg ADDRESS'", tok, len);
		}
		h.kind = hint_names[i].kind;
		h.line = line;
		tok = pm_tok_next(&t, &len);
		if (!pm_num(tok, len, &h.addr)) {
			idt_hints_release(to);
			return pm_fail_text(err, line, "an address", tok, len);
		}
		if (h.kind == IDT_JTAB) {
			tok = pm_tok_next(&t, &len);
			if (!pm_num(tok, len, &h.entries)) {
				idt_hints_release(to);
				return pm_fail_text(err, line, "the jump table's number of entries",
						    tok, len);
			}
		}
		tok = pm_tok_next(&t, &len);
		if (len) {
			idt_hints_release(to);
			return pm_fail_text(err, line, "nothing more on the line", tok, len);
		}
		pm_grow(to->v, to->n, to->cap);
		to->v[to->n++] = h;
	}
	return PM_OK;
}

void idt_hints_write(const struct idt_hints *h, struct pm_buf *to)
{
	for (size_t i = 0; i < h->n; i++) {
		pm_buf_printf(to, "%s 0x%llx", hint_names[h->v[i].kind].name,
			      (unsigned long long)h->v[i].addr);
		if (h->v[i].kind == IDT_JTAB)
			pm_buf_printf(to, " %llu", (unsigned long long)h->v[i].entries);
		pm_buf_add(to, "\n", 1);
	}
}

void idt_hints_release(struct idt_hints *h)
{
	free(h->v);
	*h = (struct idt_hints){ 0 };
}
