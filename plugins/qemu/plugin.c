/* SPDX-License-Identifier: MIT */
/* plugin.c - pugmark's part inside QEMU: says what an x86 guest executes and which data it references
 *
 * QEMU calls on_translate() for each block that it translates, on_block() whenever one begins, and
 * on_reference() behind each access. Each becomes a word in the ring (collect/qemu/stream.h).
 *
 * QEMU 10 tells nobody of interrupts and exceptions. But what they do shows: the first instruction of a
 * handler that the interrupt descriptor table names is executed next, and where control came from is
 * on the stack.
 *
 * A block may be translated again and again. One with the same address and bytes keeps its number, so
 * memory grows with what the guest executes, and not with time.
 *
 * QEMU knows blocks by physical address. The same one runs wherever its page is mapped, and is said to
 * be where it ran first. So where a block runs is only known if it is where the one before leads to;
 * else the program counter tells. A block that runs elsewhere gets another number there.
 *
 * The trace begins where the guest turns on paging: before that, a PC's firmware runs. A guest that
 * was saved has done that; then the trace begins with the first instruction, and we are told where the
 * tables are that it has loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "physical.h"
#include "ring.h"
#include "watch.h"

#define NOWHERE	(1ull << 63)		/* no address: no instruction is there */
#define EXPORT __attribute__((visibility("default")))

struct block;
struct insn {				/* what on_reference() is told */
	struct block *block;
	uint16_t slot;			/* as it stands in a word */
	uint16_t control;		/* enum control */
	uint32_t cycle;			/* number of a QS_CYCLE; 0: it makes none */
	uint32_t port;			/* UINT32_MAX: the one in dx */
	bool string;			/* the cycle is one for each reference */
};

struct block {
	/* of interest each time that it begins: one cache line */
	uint64_t pc, word;		/* what is said then */
	uint64_t next[2];		/* behind it, and where it branches to */
	bool plain;			/* pugmark knows it, and none of these: */
	bool control;			/* it may change control registers */
	bool far;			/* ... the code segment, in the end */
	bool pointer;			/* memory says where it leads to */
	bool handler;			/* of `vector` */
	uint8_t vector;
	bool watched;			/* something is to be said when it begins */
	uint32_t number;		/* UINT32_MAX: pugmark does not know it yet */
	uint32_t n, bytes;
	struct block *elsewhere;	/* the same at another address, where it ran last */

	uint64_t physical, physical_rest;	/* of its first byte; of the first in the next page */
	uint8_t *len, *code;		/* of each instruction; of all */
	struct insn insn[];
};
_Static_assert(offsetof(struct block, physical) <= 64, "one cache line");

static struct {
	struct block *now;		/* that runs, as QEMU knows it */
	uint64_t next[2];		/* of it */
	uint64_t read;			/* where it goes if that is in memory; NOWHERE: it has not
					 * read that yet */
	uint64_t away;			/* how far from there it really is */
	uint64_t end;			/* where it really ends, unless it is plain */
	bool plain;			/* on, nothing to look at, and not away */
	bool on;			/* pugmark is told */
	bool look;			/* control registers may have changed */
	bool physical;			/* physical addresses and what no reference shows are wanted */
	int touched;			/* a file for which pages were; -1: nobody asks */
	bool checked;			/* the running `ins` has made the write that only checks */
	uint32_t nblocks;
	uint64_t space;
} state;

/* ---- blocks by address and bytes ------------------------------------------------------------- */

static struct {
	struct block **slot;
	size_t n, mask;
} table;

static uint64_t hash(const struct block *b)
{
	const uint8_t *p = b->code;
	size_t n = b->bytes;
	uint64_t h = (b->pc ^ b->physical * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u ^ n, v;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h ^ h >> 29;
}

static bool same(const struct block *a, const struct block *b)
{
	return a->pc == b->pc && a->n == b->n && a->bytes == b->bytes &&
	       a->physical == b->physical && a->physical_rest == b->physical_rest &&
	       !memcmp(a->len, b->len, a->n) && !memcmp(a->code, b->code, a->bytes);
}

static void die(const char *what)
{
	qemu_plugin_outs(what);
	fprintf(stderr, "pugmark's plug-in: %s\n", what);
	exit(1);
}

static void *alloc(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		die("no memory is left");
	return p;
}

/* At a cache line; free() it. */
static struct block *alloc_block(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);

	if (!p)
		die("no memory is left");
	return memset(p, 0, sizeof(struct block));
}

static void enlarge(void)
{
	struct block **old = table.slot;
	size_t size = table.mask + 1;

	table.mask = size * 2 - 1;
	table.slot = alloc(size * 2 * sizeof *table.slot);
	for (size_t i = 0; i < size; i++)
		if (old[i]) {
			size_t h = hash(old[i]) & table.mask;

			while (table.slot[h])
				h = (h + 1) & table.mask;
			table.slot[h] = old[i];
		}
	free(old);
}

/* @b, or the one that is the same; then @b is freed. */
static struct block *keep(struct block *b)
{
	size_t h;

	if (table.n * 2 > table.mask)
		enlarge();
	h = hash(b) & table.mask;
	for (; table.slot[h]; h = (h + 1) & table.mask)
		if (same(table.slot[h], b)) {
			free(b);
			return table.slot[h];
		}
	table.slot[h] = b;
	table.n++;
	return b;
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* @b where it runs now. */
static struct block *moved(struct block *b)
{
	const uint64_t pc = b->pc + state.away;
	struct block *m = b->elsewhere;
	const size_t size = sizeof *b + b->n * sizeof b->insn[0] + b->n + b->bytes;

	if (m && m->pc == pc)
		return m;
	m = alloc_block(size);
	memcpy(m, b, size);
	m->pc = pc;
	m->len = (uint8_t *)(m->insn + m->n);
	m->code = m->len + m->n;
	for (uint32_t i = 0; i < m->n; i++)
		m->insn[i].block = m;
	m->elsewhere = NULL;
	m->number = UINT32_MAX;
	m->plain = m->handler = m->watched = false;
	return b->elsewhere = keep(m);
}

/* For the first time. What follows it in memory need not be asked whether it is a handler's. */
static void define(struct block *b, bool wide)
{
	const unsigned nlen = (b->n + 7) / 8, ncode = (b->bytes + 7) / 8;
	int vector = -1;

	b->number = state.nblocks++;
	b->word = QS_BLOCK | (uint64_t)b->number << 32;
	ring_room(5 + nlen + ncode);
	ring_put(qs_record(QS_DEFINE, 4 + nlen + ncode, b->number));
	ring_put(b->pc);
	ring_put(b->n | (uint64_t)wide << 16);
	ring_put(b->physical);
	ring_put(b->physical_rest);
	memset(ring.w, 0, 8 * (size_t)(nlen + ncode));
	memcpy(ring.w, b->len, b->n);
	memcpy(ring.w + nlen, b->code, b->bytes);
	ring.w += nlen + ncode;
	if (b->pc != (state.plain ? state.next[0] : state.end))
		vector = guest_vector_at(b->pc);
	b->handler = vector >= 0;
	b->vector = (uint8_t)vector;
	b->watched = watch_wants(b->pc);
	b->plain = !b->handler && !b->control && !b->watched;
}

static void say_watched(uint64_t pc)
{
	uint64_t became;

	if (!watch_say(pc, &became))
		return;
	for (size_t i = 0; i <= table.mask; i++)
		if (table.slot[i] && table.slot[i]->pc == became) {
			table.slot[i]->watched = true;
			table.slot[i]->plain = false;
		}
}

static void say_space(void)
{
	if (!guest.paging)
		return;
	if (state.on && guest.directory == state.space)
		return;
	state.on = true;
	state.space = guest.directory;
	ring_room(2);
	ring_put(qs_record(QS_SPACE, 1, 0));
	ring_put(state.space);
}

static void say_interrupt(unsigned vector)
{
	uint64_t pc;

	if (!guest_interrupted(vector, &pc))
		return;
	ring_room(2);
	ring_put(qs_record(QS_INTERRUPT, 1, vector));
	ring_put(pc);
}

/* Is it where the one before leads to? */
static inline bool follows(const struct block *b)
{
	return b->pc == state.next[0] || b->pc == state.next[1] ||
	       b->pc + state.away == state.read;
}

static __attribute__((noinline)) void unusual_block(struct block *b)
{
	const bool begins = !state.on;
	struct block *where = b;

	if (state.look) {
		guest_read_control();
		say_space();
		state.look = false;
	}
	if (guest.old_segment && state.now && state.now->far)
		guest_segment_loaded();
	if (state.on) {
		if (begins || !follows(b))
			state.away = guest_pc() - b->pc;
		if (state.away)
			where = moved(b);
		if (where->number == UINT32_MAX)
			define(where, guest_wide_code());
		if (where->handler)
			say_interrupt(where->vector);
		if (where->watched)
			say_watched(where->pc);
		ring_put(where->word);
	}
	state.look = b->control;
	state.now = b;
	state.end = where->pc + b->bytes;
	state.next[0] = b->next[0];
	state.next[1] = b->next[1];
	state.read = NOWHERE;
	state.plain = state.on && !state.look && !state.away;
}

/* HOT */
static void on_block(unsigned cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	if (__builtin_expect(!(state.plain & b->plain) || !follows(b), 0)) {
		unusual_block(b);
		return;
	}
	state.now = b;
	state.next[0] = b->next[0];
	state.next[1] = b->next[1];
	state.read = NOWHERE;
	ring_put_last(b->word);
}

/* Size and direction, as they stand in a word, and bit 0; 0: not asked yet. QEMU's number for them is
 * opaque, but small, and it has few. */
static uint8_t known[1u << 18];
#define KNOWN	1u

static __attribute__((noinline)) uint8_t ask_bits(uint32_t info)
{
	const uint8_t bits = (uint8_t)(KNOWN | qemu_plugin_mem_size_shift(info) << QS_SIZE_SHIFT |
				       (qemu_plugin_mem_is_store(info) ? QS_WRITE : 0));

	if (info < sizeof known)
		known[info] = bits;
	return bits;
}

static inline uint32_t bits_of(uint32_t info)
{
	uint8_t bits = info < sizeof known ? known[info] : 0;

	if (__builtin_expect(!bits, 0))
		bits = ask_bits(info);
	return bits & ~KNOWN;
}

static __attribute__((noinline)) void unusual_reference(const struct insn *in, uint64_t word,
							uint64_t addr)
{
	const bool again = in->block != state.now;

	if (again && in->block->number == UINT32_MAX)
		define(in->block, guest_wide_code());
	ring_room(3);
	ring_put(qs_record(again ? QS_AGAIN : QS_WIDE_REF, 2, again ? in->block->number : 0));
	ring_put(word);
	ring_put(addr);
}

/* A port's number is as wide as its instruction says, or as dx. */
static void say_cycle(const struct insn *in)
{
	const uint32_t port = in->port == UINT32_MAX ? guest_port() : in->port;

	ring_room(3);
	ring_put(qs_record(QS_CYCLE, 2, in->cycle));
	ring_put(port);
	ring_put(guest_written());
}

static void on_cycle(unsigned cpu, void *data)
{
	const struct insn *in = data;

	(void)cpu;
	state.checked = false;
	if (state.on && in->block == state.now && !in->string)
		say_cycle(in);
}

/* The cycle of an ins or outs, beside its reference. False: the reference is none. QEMU writes
 * nothing first, so that a fault comes before the port is read. */
static bool say_string_cycle(const struct insn *in)
{
	const bool reads = (in->cycle >> QS_CYCLE_SHIFT & 7) == QS_IN;

	state.checked = reads && !state.checked;
	if (state.checked)
		return false;
	if (state.physical && state.on && in->block == state.now)
		say_cycle(in);
	return true;
}

/* Of any instruction. */
static void on_reference(unsigned cpu, uint32_t info, uint64_t addr, void *data)
{
	const struct insn *in = data;
	uint64_t word;

	(void)cpu;
	if (__builtin_expect(in->control >= CONTROL_IDT, 0)) {
		struct qemu_plugin_mem_value v = qemu_plugin_mem_get_value(info);

		guest_table((enum control)in->control, &v);
	}
	if (__builtin_expect(in->string, 0) && !say_string_cycle(in))
		return;
	if (__builtin_expect(!state.on, 0))
		return;
	word = QS_REF | in->slot | bits_of(info);
	if (state.physical) {
		const struct qemu_plugin_hwaddr *h = qemu_plugin_get_hwaddr(info, addr);

		if (qemu_plugin_hwaddr_is_io(h))
			word |= QS_DEVICE;
		physical_say(h, addr, 1u << (word >> QS_SIZE_SHIFT & 7));
	}
	if (__builtin_expect(in->block != state.now ||
			     (uint64_t)((int64_t)(addr << 16) >> 16) != addr, 0)) {
		unusual_reference(in, word, addr);
		return;
	}
	ring_put(word | addr << QS_ADDR_SHIFT);
}

/* What on_plain() is told: the instruction as it stands in a word, and its block. */
static void *tell(const struct block *b, const struct insn *in)
{
	_Static_assert(QS_MAX_INSNS << QS_SLOT_SHIFT <= 1u << 16, "no bit is lost");
	return (void *)((uintptr_t)b << 16 | in->slot);
}

/* HOT: of an instruction of which only the reference is wanted. */
static void on_plain(unsigned cpu, uint32_t info, uint64_t addr, void *data)
{
	const uintptr_t told = (uintptr_t)data;
	struct block *b = (struct block *)(told >> 16);
	const uint8_t bits = info < sizeof known ? known[info] : 0;

	if (__builtin_expect(!bits | !state.on | (b != state.now) |
			     ((uint64_t)((int64_t)(addr << 16) >> 16) != addr), 0)) {
		on_reference(cpu, info, addr, &b->insn[(told & 0xffff) >> QS_SLOT_SHIFT]);
		return;
	}
	ring_put_last(QS_REF | (told & 0xffff) | (bits & ~KNOWN) | addr << QS_ADDR_SHIFT);
}

/* ... and if it reads where control goes. Only in 64-bit code is that the address itself. */
static void on_pointer(unsigned cpu, uint32_t info, uint64_t addr, void *data)
{
	if (bits_of(info) == 3u << QS_SIZE_SHIFT && (uintptr_t)data >> 16 == (uintptr_t)state.now)
		state.read = qemu_plugin_mem_get_value(info).data.u64;
	on_plain(cpu, info, addr, data);
}

/* ---- what is translated ---------------------------------------------------------------------- */

static void find_physical(struct block *b, const struct qemu_plugin_tb *tb)
{
	const uint64_t next = (b->pc | 4095) + 1;

	b->physical = b->physical_rest = QS_NOWHERE;
	if (!state.physical)
		return;
	b->physical = physical_code(qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0)), b->pc);
	/* the call-back of the block may not have seen how CR3 changed */
	if (b->pc + b->bytes > next)
		b->physical_rest = physical_code(NULL, next);
}

/* What no reference shows of it, and of ins and outs what one does. */
static void find_cycle(struct insn *in, unsigned slot, const uint8_t *p, unsigned len)
{
	unsigned size, cycle;

	cycle = guest_cycle(p, len, &size, &in->port, &in->string);
	in->cycle = cycle ? slot | cycle << QS_CYCLE_SHIFT | size << QS_CYCLE_SIZE : 0;
}

static struct block *read_block(const struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), bytes = 0;
	struct block *b;
	uint8_t *p;

	if (!n || n > QS_MAX_INSNS)
		die("a block has an absurd number of instructions");
	for (size_t i = 0; i < n; i++) {
		size_t len = qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));

		if (!len || len > QS_MAX_LEN)
			die("an instruction has an absurd length");
		bytes += len;
	}
	b = alloc_block(sizeof *b + n * sizeof b->insn[0] + n + bytes);
	b->pc = qemu_plugin_tb_vaddr(tb);
	b->n = (uint32_t)n;
	b->bytes = (uint32_t)bytes;
	b->number = UINT32_MAX;
	b->len = (uint8_t *)(b->insn + n);
	b->code = p = b->len + n;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		const size_t len = qemu_plugin_insn_size(in);

		b->len[i] = (uint8_t)len;
		qemu_plugin_insn_data(in, p, len);
		b->insn[i] = (struct insn){
			.block = b, .slot = (uint16_t)(i << QS_SLOT_SHIFT),
			.control = (uint16_t)guest_control(p, (unsigned)len),
		};
		b->control |= b->insn[i].control == CONTROL_REGISTER;
		find_cycle(&b->insn[i], (unsigned)i, p, (unsigned)len);
		p += len;
	}
	find_physical(b, tb);
	b->far = guest_is_far(p - b->len[n - 1], b->len[n - 1]);
	b->pointer = guest_reads_target(p - b->len[n - 1], b->len[n - 1]);
	b->next[0] = b->pc + bytes;
	b->next[1] = guest_branch(p - b->len[n - 1], b->len[n - 1], b->next[0]);
	return b;
}

static void register_reference(struct qemu_plugin_insn *in, struct block *b, struct insn *of,
			       bool pointer)
{
	const bool plain = !state.physical && !of->string && of->control < CONTROL_IDT;

	qemu_plugin_register_vcpu_mem_cb(in, !plain ? on_reference : pointer ? on_pointer : on_plain,
					 QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_MEM_RW,
					 plain ? tell(b, of) : of);
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = keep(read_block(tb));

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS, b);
	for (size_t i = 0; i < b->n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);

		if (b->insn[i].string || (state.physical && b->insn[i].cycle))
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_cycle, QEMU_PLUGIN_CB_R_REGS,
							       &b->insn[i]);
		register_reference(in, b, &b->insn[i], i == b->n - 1 && b->pointer);
	}
}

static void on_cpu(uint64_t id, unsigned cpu)
{
	(void)id;
	if (!cpu && !guest_find_registers())
		die("this QEMU does not show the registers that are needed");
	if (!cpu && state.touched >= 0)
		physical_watch();
}

/* What is looked at from now on is not wanted. */
static void on_enough(void)
{
	physical_say_touched(state.touched);
	state.touched = -1;
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	on_enough();
	ring_close();
}

EXPORT int qemu_plugin_version = QEMU_API;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	int fd = -1, watch = -1, memory = -1;

	state.touched = -1;
	for (int i = 0; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		const uint64_t v = value ? strtoull(value + 1, NULL, 0) : 0;

		if (!strncmp(argv[i], "ring=", 5))
			fd = (int)v;
		else if (!strncmp(argv[i], "watch=", 6))
			watch = atoi(argv[i] + 6);
		else if (!strncmp(argv[i], "memory=", 7))
			memory = atoi(argv[i] + 7);
		else if (!strncmp(argv[i], "touched=", 8))
			state.touched = atoi(argv[i] + 8);
		else if (!strncmp(argv[i], "gdt=", 4))
			guest.gdt = v;
		else if (!strncmp(argv[i], "gdt-size=", 9))
			guest.gdt_size = (uint32_t)v;
		else if (!strncmp(argv[i], "idt=", 4))
			guest.idt = v;
		else if (!strncmp(argv[i], "idt-size=", 9))
			guest.idt_size = (uint32_t)v;
	}
	/* it was saved: control registers are to be looked at, and no code segment is an old one */
	state.look = guest.wide = guest.idt_size;
	ring_enough = on_enough;
	state.read = NOWHERE;
	state.physical = memory >= 0;
	if (!info->system_emulation || info->system.max_vcpus != 1 ||
	    (strcmp(info->target_name, "x86_64") && strcmp(info->target_name, "i386"))) {
		fprintf(stderr, "pugmark's plug-in traces a system with one x86 processor\n");
		return 1;
	}
	if (!ring_open(fd) || (watch >= 0 && !watch_open(watch)) ||
	    (memory >= 0 && !physical_open(memory))) {
		fprintf(stderr, "pugmark's plug-in is started by `pugmark machine run --guest`\n");
		return 1;
	}
	table.mask = (1u << 16) - 1;
	table.slot = alloc((table.mask + 1) * sizeof *table.slot);
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
