/* SPDX-License-Identifier: MIT */
/* fuzz_translate.c - the translator on any bytes: bounded, and whatever it emits is well formed */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/runtime/abi.h"
#include "collect/translate/translate.h"
#include "isa/x86/decode.h"
#include "fuzz/fuzz.h"

#define HEADER	8
#define LO64	0x7f0000400000ull
#define LO32	0x400000ull
#define LO	base_address

static uint64_t base_address;

const unsigned fuzz_inputs = 40000;

struct ctx {
	const uint8_t *p;
	size_t n;
	uint32_t salt;
};

static uint64_t mix(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ v >> 29;
}

/* Some inputs are readable in small pieces, some have holes. */
static const uint8_t *fuzz_read(void *ctx, uint64_t addr, size_t *avail)
{
	const struct ctx *c = ctx;
	uint64_t off = addr - LO;

	assert(addr >= LO && off < c->n);
	*avail = c->n - off;
	if (c->salt & 1) {
		size_t piece = 16 - (off & 15);

		if (mix(off / 16 + c->salt) % 37 == 0)
			return NULL;
		if (*avail > piece)
			*avail = piece;
	}
	return c->p + off;
}

/* What is taken for a jump table may be anywhere. */
static const uint8_t *fuzz_data(void *ctx, uint64_t addr, size_t *avail)
{
	const struct ctx *c = ctx;

	return addr >= LO && addr - LO < c->n ? fuzz_read(ctx, addr, avail) : NULL;
}

static bool fuzz_constant(void *ctx, uint64_t addr, uint64_t n)
{
	const struct ctx *c = ctx;

	return addr >= LO && addr - LO < c->n && n <= c->n - (addr - LO);
}

static bool fuzz_known(void *ctx, uint64_t addr, struct xl_known *out)
{
	const struct ctx *c = ctx;

	assert(addr >= LO && addr - LO < c->n);
	if (!(c->salt & 2) || mix(addr + c->salt) % 19)
		return false;
	out->code = LO + 0x10000000 + addr % 4096;
	out->live = mix(addr) & XL_LIVE_ALL;
	out->reads_flags = out->live & XL_LIVE_FLAGS && mix(addr) >> 20 & 1;
	return true;
}

static bool fuzz_function(void *ctx, uint64_t addr)
{
	const struct ctx *c = ctx;

	return c->salt & 4 && mix(addr ^ c->salt) % 23 == 0;
}

/* SAFEPOINTS: does what jumps back go through there? It counts down, or saves rcx to do so. */
static bool is_back(const struct xl_input *in, const struct xl_unit *u, uint32_t to)
{
	static const uint8_t save[] = { 0x65, 0x48, 0x89, 0x0c, 0x25, RT_S_TMP, 0, 0, 0 },
		dec[] = { 0x65, 0x48, 0xff, 0x0c, 0x25, RT_UNTIL, 0, 0, 0 },
		dec_r11[] = { 0x49, 0xff, 0xcb },
		save32[] = { 0x64, 0x89, 0x0d, RT_S_TMP, 0, 0, 0 },
		dec32[] = { 0x64, 0xff, 0x0d, RT_UNTIL, 0, 0, 0 };

	if (in->i386)
		return in->logged && to + sizeof save32 <= u->ncode &&
		       (!memcmp(u->code + to, save32, sizeof save32) ||
			!memcmp(u->code + to, dec32, sizeof dec32));
	return in->logged && to + sizeof save <= u->ncode &&
	       (!memcmp(u->code + to, save, sizeof save) ||
		!memcmp(u->code + to, dec, sizeof dec) ||
		!memcmp(u->code + to, dec_r11, sizeof dec_r11));
}

static bool is_landing(const struct xl_input *in, const struct xl_unit *u, const struct xl_block *b,
		       uint32_t to)
{
	/* within the block: over a long jump; or where a safepoint in front of its direct entry
	 * leaves (emit_clock.c) */
	if (to >= (b->indirect != XL_NONE ? b->indirect : b->code) && to < b->code_end)
		return true;
	for (size_t k = 0; k < u->nblock; k++)
		if (u->block[k].code == to)
			return true;
	if (is_back(in, u, to))
		return true;
	for (size_t k = 0; k < u->nlink; k++)
		if (u->link[k].stub == to)
			return true;
	return to >= u->map[u->nmap - 1].code && to < u->ncode;		/* a failed check */
}

/* Has the address on the stack been replaced before the return at @ret? */
static bool is_replaced(const struct xl_input *in, const uint8_t *ret, uint32_t room)
{
	if (in->abi_flags)
		/* add [rsp], rcx */
		return room >= 4 && !memcmp(ret - 4, "\x48\x01\x0c\x24", 4);
	if (in->i386)
		return room >= 3 && !memcmp(ret - 3, "\x89\x0c\x24", 3);	/* mov [esp], ecx */
	/* and rdx again */
	return room >= 13 && !memcmp(ret - 13, "\x48\x89\x0c\x24\x65\x48\x8b\x14\x25", 9);
}

static void check_block(const struct xl_input *in, const struct xl_unit *u, size_t index,
			struct x86_decoder *d)
{
	const struct xl_block *b = &u->block[index];
	uint32_t at = b->indirect != XL_NONE ? b->indirect : b->code, m = b->map,
		 done = b->map + b->nmap;
	const uint32_t cold = done;
	bool entry = false, again = false;

	if (b->flags & XL_EDGE) {
		assert(in->count_edges && b->n <= XL_FIRST_COUNT && !b->size &&
		       b->indirect == XL_NONE);
		assert(b->record < index && b->code == u->block[b->record].code);
		assert(!(u->block[b->record].flags & XL_EDGE));
		assert(b->n != XL_ENTRY || (b->pc >= in->lo && b->pc < in->hi));
		assert(b->n < XL_ENTRY || b->live <= u->nblock);
		assert(b->n < XL_ENTRY || u->block[u->nblock - 1].live ==
		       b->live + (uint32_t)(u->nblock - 1 - index));
		return;
	}
	assert(b->indirect == XL_NONE || b->indirect <= b->code);
	assert(b->code <= b->code_end && b->code_end <= u->ncode);
	assert(b->nmap && done <= u->nmap && u->map[m].code == at);
	while (done > m && u->map[done - 1].code >= b->code_end)
		done--;
	assert(b->n || b->flags & XL_UNKNOWN);
	assert(!in->max_insns || b->n <= in->max_insns);
	assert(!in->patchable || !((in->place + b->code) & 7));
	while (at < b->code_end) {
		struct x86_insn x;

		entry |= at == b->code;
		if (m < done && u->map[m].code == at) {
			assert(u->map[m].insn <= b->n && XL_BORROWED(u->map[m].tmp) != 4 &&
			       (xl_has_cursor(in) || !(u->map[m].tmp & XL_RESTORED)));
			/* what a table does not have is counted in a copy of the block's end */
			if (m != b->map && u->map[m].insn < u->map[m - 1].insn) {
				assert(in->count_edges && !again && u->map[m - 1].insn == b->n - 1);
				again = true;
			}
			m++;
		}
		assert(m == done || u->map[m].code > at);
		assert(x86_decode(d, u->code + at, u->ncode - at, &x));
		if (x.kind == X86_JMP || x.kind == X86_JCC || x.kind == X86_JCX ||
		    x.kind == X86_XBEGIN) {
			uint64_t to = x86_target(&x, u->code + at, in->place + at);

			if (to - in->place < u->ncode)
				assert(is_landing(in, u, b, to - in->place));
			else
				assert(to - LO - 0x10000000 < 4096);
		}
		/* a far transfer or a gs operand of the original must never be copied */
		assert(x.kind != X86_CALL_IND && x.kind != X86_SYSCALL && x.kind != X86_INT80 &&
		       x.kind != X86_UNKNOWN);
		/* calls go to a tail of this unit, returns to what was looked up */
		if (x.kind == X86_CALL)
			assert(x86_target(&x, u->code + at, in->place + at) - in->place < u->ncode);
		if (x.kind == X86_RET)
			assert(is_replaced(in, u->code + at, at - b->code));
		if (x.kind == X86_STEP) {
			/* ours: gs:[disp32], fs:[disp32] */
			const uint8_t *p = u->code + at;

			if (in->i386)
				assert(p[0] == 0x64 && x.ndisp == 4 && (p[x.disp - 1] & 0xc7) == 5);
			else
				/* ... or, in the table of targets, gs:[rdx + disp32]; or, of a
				 * jump table's index, gs:[index * 8 + disp32] */
				assert(p[0] == 0x65 && x.disp && (p[x.disp - 1] == 0x25 ||
					(in->count_edges && x.ndisp == 4 &&
					 ((p[x.disp - 1] & 0xc7) == 0x82 ||
					  (p[x.disp - 1] & 0xc7) == 0xc5))));
		}
		at += x.len;
	}
	for (; m < cold; m++)			/* its tail, the last block's cold part */
		assert(u->map[m].code >= b->code_end &&
		       (u->map[m].flags & XL_CALLED || cold == u->nmap));
	assert(at == b->code_end && m == cold && (entry || b->code == b->code_end));
}

static void check_unit(const struct xl_input *in, const struct xl_unit *u, struct x86_decoder *d)
{
	if (!u->nblock)
		return;
	assert(u->block[0].pc == in->entry);
	for (size_t k = 0, before = 0; k < u->nmap; k++)
		if (!(u->map[k].flags & XL_CALLED)) {
			assert(u->map[k].code >= u->map[before].code);
			before = k;
		}
	for (size_t k = 0; k < u->nblock; k++)
		check_block(in, u, k, d);
	for (size_t k = 0; k < u->nreloc; k++)
		assert(u->reloc[k].at + 4 <= u->ncode);
	for (size_t k = 0; k < u->nlink; k++) {
		uint32_t rel;

		memcpy(&rel, u->code + u->link[k].site, 4);
		assert(u->link[k].site + 4 + rel == u->link[k].stub);
		assert(((in->place + u->link[k].site) & 63) <= 60);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct x86_decoder *decs[2];
	bool i386;
	struct xl_unit a = { 0 }, b = { 0 };
	struct ctx c;

	if (!decs[0]) {
		decs[0] = x86_decoder_new(X86_MODE_64);
		decs[1] = x86_decoder_new(X86_MODE_32);
	}
	if (size <= HEADER)
		return 0;
	i386 = data[3] & 8;
	base_address = i386 ? LO32 : LO64;
	c = (struct ctx){ data + HEADER, size - HEADER, data[0] };

	struct xl_input in = {
		.i386 = i386, .entry = LO + data[1] % c.n, .lo = LO, .hi = LO + c.n,
		.place = LO + 0x8000000 + (data[2] & 0x3f) * 64,
		.absolute = data[3] & 1, .patchable = data[3] & 2, .check_bytes = data[3] & 4,
		.abi_flags = !i386 && data[3] & 16, .count_edges = data[6] & 1,
		.kind = data[6] & 32 ? XL_EXEC : data[6] & 64 ? XL_BRANCH : XL_PROFILE,
		.logged = data[6] & 2, .bare = data[6] & 4,
		.max_insns = data[4] & 1 ? data[4] >> 1 : 0,
		.max_blocks = data[5] & 1 ? 1 + (data[5] >> 1) : 0,
		.read = fuzz_read, .data = fuzz_data,
		.constant = data[6] & 8 ? fuzz_constant : NULL, .known = fuzz_known,
		.function = fuzz_function, .ctx = &c,
	};

	xl_translate(&in, &a);
	check_unit(&in, &a, decs[i386]);
	xl_translate(&in, &b);
	assert(a.ncode == b.ncode && a.nblock == b.nblock && a.nmap == b.nmap);
	assert(!a.ncode || !memcmp(a.code, b.code, a.ncode));
	xl_unit_release(&a);
	xl_unit_release(&b);
	return 0;
}
