/* SPDX-License-Identifier: MIT */
/* The generated code has rdi = the next event (or address), less what `off` says; rsi = the record;
 * rdx = what is known; r8 = 0; rax and rcx are free. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "collect/consume/expander.h"

#define ROOM		(256u << 20)		/* of code; touched as it fills */
#define EVENT_BYTES	64			/* of code for an event, at most */
#define PER_ADVANCE	5			/* events whose offsets fit a byte */

_Static_assert(sizeof(struct pm_event) == 24, "what is emitted below");

struct expander {
	uint8_t *write, *run;			/* the same memory */
	size_t n;
};

struct code {
	uint8_t *c;
	bool wide;
	enum expander_what what;
	uint8_t off;				/* of the current event from rdi */
};

enum { RAX, RCX, RDX, RSI = 6, RDI = 7, R8 = 8 };

struct expander *expander_new(void)
{
	struct expander *x = pm_alloc(sizeof *x);
	int fd = getenv("PUGMARK_NO_EXPANDER") ? -1 : memfd_create("pugmark-expander", MFD_CLOEXEC);

	x->write = x->run = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, ROOM)) {
		x->write = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		x->run = mmap(NULL, ROOM, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (x->write != MAP_FAILED && x->run != MAP_FAILED)
		return x;
	expander_free(x);
	return NULL;
}

void expander_free(struct expander *x)
{
	if (!x)
		return;
	if (x->write != MAP_FAILED)
		munmap(x->write, ROOM);
	if (x->run != MAP_FAILED)
		munmap(x->run, ROOM);
	free(x);
}

static void put(struct code *o, const char *bytes, unsigned n)
{
	memcpy(o->c, bytes, n);
	o->c += n;
}

static void put8(struct code *o, unsigned v)
{
	*o->c++ = (uint8_t)v;
}

static void put32(struct code *o, uint32_t v)
{
	memcpy(o->c, &v, 4);
	o->c += 4;
}

static bool fits8(int64_t v)
{
	return v == (int8_t)v;
}

static bool fits32(int64_t v)
{
	return v == (int32_t)v;
}

/* op reg, [base + disp], 64 bits; base: rsi, rdi, rdx */
static void op(struct code *o, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
	put8(o, 0x48 | (reg >> 3) << 2);
	put8(o, opcode);
	put8(o, (fits8(disp) ? 0x40 : 0x80) | (reg & 7) << 3 | base);
	if (fits8(disp))
		put8(o, (uint8_t)disp);
	else
		put32(o, (uint32_t)disp);
}

/* The same with 32 bits, the upper half of a register that is loaded becoming 0. */
static void op32(struct code *o, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
	put8(o, opcode);
	put8(o, (fits8(disp) ? 0x40 : 0x80) | reg << 3 | base);
	if (fits8(disp))
		put8(o, (uint8_t)disp);
	else
		put32(o, (uint32_t)disp);
}

static void constant(struct code *o, unsigned reg, uint64_t v)
{
	if (v >> 32)
		put8(o, 0x48);
	put8(o, 0xb8 | reg);
	put32(o, (uint32_t)v);
	if (v >> 32)
		put32(o, (uint32_t)(v >> 32));
}

static void store(struct code *o, unsigned reg, unsigned field)
{
	op(o, 0x89, reg, RDI, o->off + (int)field);
}

static void next(struct code *o, unsigned size)
{
	o->off += (uint8_t)size;
	if (o->off < PER_ADVANCE * sizeof(struct pm_event))
		return;
	put(o, "\x48\x83\xc7", 3);			/* add rdi, off */
	put8(o, o->off);
	o->off = 0;
}

static void block(struct code *o, const struct expander_part *p)
{
	struct pm_event ev = { .kind = PM_EV_BLOCK, .id = p->block };
	uint64_t head;

	memcpy(&head, &ev, 8);
	constant(o, RAX, head);
	store(o, RAX, 0);
	constant(o, RAX, p->pc);
	store(o, RAX, 8);
	put(o, "\x48\xc7\x47", 3);			/* mov qword [rdi + off + 16], n */
	put8(o, o->off + 16);
	put32(o, p->n);
	next(o, sizeof ev);
}

static void value(struct code *o, unsigned reg, uint16_t v)
{
	if (v >= X86_VAL_KNOWN)
		op(o, 0x8b, reg, RDX,
		   8 * (v == X86_VAL_RSP  ? KNOWN_RSP
			: v == X86_VAL_FS ? KNOWN_FS
					  : KNOWN_GS));
	else if (X86_VAL_HOW(v) == X86_VAL_SIGN)
		op(o, 0x63, reg, RSI, 4 + (int32_t)X86_VAL_AT(v));	/* movsxd */
	else if (o->wide && X86_VAL_HOW(v) == X86_VAL_WHOLE)
		op(o, 0x8b, reg, RSI, 4 + (int32_t)X86_VAL_AT(v));
	else
		op32(o, 0x8b, reg, RSI, 4 + (int32_t)X86_VAL_AT(v));
}

static void add_constant(struct code *o, int64_t v)
{
	if (!fits32(v)) {
		constant(o, RCX, (uint64_t)v);
		put(o, "\x48\x01\xc8", 3);		/* add rax, rcx */
	} else if (v) {
		put(o, "\x48\x05", 2);			/* add rax, v */
		put32(o, (uint32_t)v);
	}
}

static bool reference(struct code *o, const struct x86_ref *r)
{
	struct x86_sum sum;
	struct pm_event ev = { .kind = r->kind, .flags = r->flags, .size = r->size, .id = r->insn };
	uint64_t head;

	if (!x86_ref_sum(r, &sum))
		return false;
	if (o->what == EXPAND_EVENTS) {
		memcpy(&head, &ev, 8);
		constant(o, RAX, head);
		store(o, RAX, 0);
	}
	if (sum.base == X86_VAL_NONE && sum.index == X86_VAL_NONE) {
		constant(o, RAX, (uint64_t)r->disp);
	} else {
		if (sum.base != X86_VAL_NONE)
			value(o, RAX, sum.base);
		else
			constant(o, RAX, 0);
		if (sum.index != X86_VAL_NONE) {
			value(o, RCX, sum.index);
			put(o, "\x48\x8d\x04", 3); /* lea rax, [rax + rcx * scale] */
			put8(o, (unsigned)__builtin_ctz(sum.scale | 0x100u) << 6 | RCX << 3 | RAX);
		}
		add_constant(o, r->disp);
	}
	if (!o->wide)
		put(o, "\x89\xc0", 2);			/* mov eax, eax */
	if (o->what == EXPAND_EVENTS) {
		store(o, RAX, 8);
		store(o, R8, 16);
		next(o, sizeof ev);
	} else {
		store(o, RAX, 0);
		next(o, sizeof(uint64_t));
	}
	return true;
}

expander_fn *expander_compile(struct expander *x, enum expander_what what,
			      const struct expander_part *part, uint32_t npart, uint16_t rsp,
			      int64_t rsp_add, bool wide)
{
	struct code o = { .c = x->write + x->n, .wide = wide, .what = what };
	const size_t begin = x->n;
	uint32_t events = npart;

	for (uint32_t i = 0; i < npart; i++)
		events += part[i].nref;
	if (events > EXPANDER_EVENTS || (events + 2) * EVENT_BYTES > ROOM - x->n)
		return NULL;
	put(&o, "\x45\x31\xc0", 3);			/* xor r8d, r8d */
	for (uint32_t i = 0; i < npart; i++) {
		if (what == EXPAND_EVENTS)
			block(&o, &part[i]);
		for (uint32_t k = 0; k < part[i].nref; k++)
			if (!reference(&o, &part[i].ref[k]))
				return NULL;
	}
	if (rsp != X86_VAL_RSP || rsp_add) {
		if (rsp == X86_VAL_NONE)
			constant(&o, RAX, 0);
		else
			value(&o, RAX, rsp);
		add_constant(&o, rsp_add);
		op(&o, 0x89, RAX, RDX, 8 * KNOWN_RSP);
	}
	put(&o, "\x48\x8d\x47", 3);			/* lea rax, [rdi + off] */
	put8(&o, o.off);
	put8(&o, 0xc3);
	PM_INVARIANT(1, x->write + begin < o.c && x->write != x->run);
	PM_INVARIANT(3, o.c <= x->write + begin + (events + 2) * EVENT_BYTES);
	x->n = ((size_t)(o.c - x->write) + 15) & ~(size_t)15;
	return (expander_fn *)(uintptr_t)(x->run + begin);
}
