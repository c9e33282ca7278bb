/* SPDX-License-Identifier: MIT */
/* test_translate.c - translated code does what the original does, step by step
 *
 * xlate_run.h runs code natively and translated in this process. Where it cannot (the address
 * sanitizer's shadow lies where ours belongs), the tests are skipped; fuzz_translate runs there.
 *
 * XLATE_SOAK=N runs N times as many random programs, XLATE_SEED=N others, and XLATE_KEEP=FILE keeps
 * the text of the last one that went wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "x86_random.h"
#include "safepoints.h"

#define DATA_AT		0x62000000ull


/* ---- guests --------------------------------------------------------------------------------- */
struct guest {
	uint64_t base, size;		/* all of it, mapped */
	uint64_t entry;
	uint8_t *copy;			/* what memory held at the start */
	uint64_t lo, hi;		/* text */
};

static char scratch_dir[64];

/* Compile the guest program and map it where it wants to be (pie: at @base). */
static bool guest_load(struct guest *g, const char *flags, bool pie, uint64_t base)
{
	const char *top = getenv("TOP") ? getenv("TOP") : ".";
	char cmd[1000], path[100];
	uint8_t *file;
	struct stat st;
	const Elf64_Ehdr *eh;
	const Elf64_Phdr *ph;
	const Elf64_Shdr *sh;
	int fd;

	if (!scratch_dir[0]) {
		strcpy(scratch_dir, "/tmp/xlate-XXXXXX");
		assert_non_null(mkdtemp(scratch_dir));
	}
	snprintf(path, sizeof path, "%s/guest", scratch_dir);
	snprintf(cmd, sizeof cmd,
		 "gcc -std=gnu11 %s -w -fno-stack-protector -fno-builtin -ffreestanding -nostdlib "
		 "-fcf-protection=none %s -Wl,-e,guest_main -Wl,--build-id=none "
		 "-Wl,-z,separate-code "
		 "-Wl,-z,norelro -o %s %s/tests/programs/xlate_guest.c",
		 flags,
		 pie ? "-fPIE -static-pie"
		     : "-fno-pie -no-pie -static -Wl,-Ttext-segment=0x58000000",
		 path, top);
	assert_int_equal(system(cmd), 0);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	fstat(fd, &st);
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	close(fd);
	unlink(path);
	eh = (const void *)file;
	ph = (const void *)(file + eh->e_phoff);
	memset(g, 0, sizeof *g);
	g->base = pie ? base : 0x58000000;
	uint64_t bias = pie ? base : 0;

	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz + bias - g->base > g->size)
			g->size = ph[i].p_vaddr + ph[i].p_memsz + bias - g->base;
	g->size = (g->size + 4095) & ~4095ul;
	if (mmap((void *)g->base, g->size + 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)g->base)
		return false;
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			memcpy((void *)(bias + ph[i].p_vaddr), file + ph[i].p_offset,
			       ph[i].p_filesz);
	sh = (const void *)(file + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type == SHT_PROGBITS && (sh[i].sh_flags & SHF_EXECINSTR)) {
			g->lo = bias + sh[i].sh_addr;
			g->hi = g->lo + sh[i].sh_size;
		}
		if (sh[i].sh_type == SHT_RELA)
			for (uint64_t k = 0; k < sh[i].sh_size / sizeof(Elf64_Rela); k++) {
				const Elf64_Rela *r = (const Elf64_Rela *)(file + sh[i].sh_offset) +
						      k;

				assert_int_equal(ELF64_R_TYPE(r->r_info), R_X86_64_RELATIVE);
				*(uint64_t *)(bias + r->r_offset) = bias + r->r_addend;
			}
	}
	g->entry = bias + eh->e_entry;
	g->copy = malloc(g->size);
	memcpy(g->copy, (void *)g->base, g->size);
	munmap(file, st.st_size);
	return true;
}

static void guest_unload(struct guest *g)
{
	munmap((void *)g->base, g->size + 4096);
	free(g->copy);
}

/* The text shares pages with nothing that is written, or stepping in place would fail. */
static void setup(struct run *r, const struct guest *g, bool step)
{
	memset(r, 0, sizeof *r);
	r->lo = g->lo & ~4095ul;
	r->hi = (g->hi + 4095) & ~4095ul;
	r->text = g->copy + (r->lo - g->base);
	r->step = step;
	r->cache = mmap((void *)((g->base + 0x2000000) & ~0xfffffful), CACHE_SIZE,
			PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(r->cache != MAP_FAILED);
}

static void teardown(struct run *r)
{
	run_release(r);
	munmap(r->cache, CACHE_SIZE);
}

static void guest_start(struct state *s, const struct guest *g, uint64_t arg)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < 16; i++)
		s->r[i] = 0x1111111111111111ull * i;
	s->pc = g->entry;
	s->r[7] = arg;
	s->r[4] = (uint64_t)guest_stack + STACK_SIZE - 256 - 8;
	s->flags = 0x202;
	memset(guest_stack + STACK_SIZE - 65536, 0, 65536);
	*(uint64_t *)s->r[4] = FINISH_PC;
	memcpy((void *)g->base, g->copy, g->size);
}

/* Flags that a function leaves: where they mean something, and the direction flag. */
static greg_t end_flags(const struct run *r)
{
	return r->abi_flags || r->dropped ? 0x400 : ARITH | 0x400;
}

static bool same_end(const struct run *r, const struct state *a, int sig_a)
{
	return !r->failed && r->end_signal == sig_a && r->end.pc == a->pc &&
	       !memcmp(r->end.r, a->r, sizeof a->r) &&
	       !((r->end.flags ^ a->flags) & end_flags(r));
}

static void assert_same_end(const struct run *r, const struct state *a, int sig_a)
{
	if (r->failed)
		fail_msg("%s", r->why);
	if (r->end_signal != sig_a || r->end.pc != a->pc)
		fail_msg("ends with signal %d at 0x%lx, natively %d at 0x%lx", r->end_signal,
			 r->end.pc, sig_a, a->pc);
	for (int i = 0; i < 16; i++)
		if (r->end.r[i] != a->r[i])
			fail_msg("at the end %s is 0x%lx, natively 0x%lx", reg_name[i], r->end.r[i],
				 a->r[i]);
	assert_int_equal(r->end.flags & end_flags(r), a->flags & end_flags(r));
}

/* How often each instruction began, by the native trace; rep iterations are one. */
static void assert_counts(struct run *r)
{
	struct pm_map times = { 0 };
	uint64_t pc, n, *count = solved(r);

	for (size_t k = 0; k < r->ntrace; k++) {
		struct x86_insn x;

		pc = r->trace[k].pc;
		if (k && r->trace[k - 1].pc == pc &&
		    x86_decode(ref_dec, r->text + (pc - r->lo), r->hi - pc, &x) && x.prop & X86_REP)
			continue;
		++*pm_map_put(&times, pc, NULL);
	}
	for (size_t i = 0; pm_map_next(&times, &i, &pc, &n); )
		if (counted(r, count, pc) != n)
			fail_msg("0x%lx ran %lu times, counted %lu", pc, n, counted(r, count, pc));
	free(count);
	pm_map_release(&times);
}

struct variant {
	bool absolute, patchable, check, abi, logged;
	uint32_t max_insns, max_blocks;
};

static const struct variant variants[] = {
	{ 0 },
	{ .patchable = true },
	{ .check = true },
	{ .patchable = true, .check = true },
	{ .max_insns = 1, .max_blocks = 1 },
	{ .max_insns = 3 },
	{ .max_blocks = 2 },
	{ .abi = true },
	{ .abi = true, .patchable = true },
	{ .abi = true, .max_insns = 3 },
	{ .logged = true },
	{ .logged = true, .abi = true },
	{ .logged = true, .patchable = true },
	{ .logged = true, .abi = true, .max_blocks = 2 },
};

/* The same once more, leaving at each safepoint; @s as for the run before, which ended as
 * @native. */
static void leave_at_each(struct run *r, const struct state *s, const struct state *native)
{
	const uint64_t n = safepoints_of(r);

	r->leaves = true;
	passed_at = passed_k = 0;
	run_once(r, s, true);
	assert_same_end(r, native, 0);
	if (r->left != n)
		fail_msg("%lu safepoints, natively %lu", r->left, n);
	r->leaves = false;
}

static void run_guest(const char *flags, bool pie, uint64_t base, bool step, size_t nstepped)
{
	struct guest g;
	struct run r;
	struct state s, native;
	uint8_t *memory;
	int sig;

	assert_true(guest_load(&g, flags, pie, base));
	memory = malloc(g.size);
	for (size_t v = 0; v < (step ? nstepped : NR(variants)); v++) {
		setup(&r, &g, step);
		r.absolute = !pie;
		r.patchable = variants[v].patchable;
		r.check_bytes = variants[v].check;
		r.abi_flags = variants[v].abi;
		r.max_insns = variants[v].max_insns;
		r.max_blocks = variants[v].max_blocks;
		r.logged = variants[v].logged;
		guest_start(&s, &g, v);
		run_once(&r, &s, false);
		assert_int_equal(r.end_signal, 0);
		native = r.end;
		sig = r.end_signal;
		memcpy(memory, (void *)g.base, g.size);

		guest_start(&s, &g, v);
		memset(thread_block + RT_COUNTERS, 0, BLOCK_BYTES - RT_COUNTERS);
		run_once(&r, &s, true);
		assert_same_end(&r, &native, sig);
		assert_memory_equal(memory, (void *)g.base, g.size);
		assert_int_equal(r.dropped, variants[v].abi);	/* live_pair() does that */
		if (step)
			assert_counts(&r);
		if (step && r.logged) {
			assert_int_equal(UINT64_MAX - slot(RT_UNTIL), safepoints_of(&r));
			guest_start(&s, &g, v);
			leave_at_each(&r, &s, &native);
		}
		teardown(&r);
	}
	free(memory);
	guest_unload(&g);
}

/* Stepping is slow: @nstepped variants only. */
static void test_guest(const char *flags, size_t nstepped)
{
	if (!run_init())
		skip();
	run_guest(flags, false, 0, false, nstepped);
	run_guest(flags, false, 0, true, nstepped);
	run_guest(flags, true, 0x500000000, false, nstepped);
	run_guest(flags, true, 0x500000000, true, nstepped);
}

static void guest_O0(void **state) { test_guest("-O0", 1); }
static void guest_O1(void **state) { test_guest("-O1", 1); }
static void guest_O2(void **state) { test_guest("-O2", NR(variants)); }
static void guest_O3(void **state) { test_guest("-O3 -march=x86-64-v3", 1); }
static void guest_Os(void **state) { test_guest("-Os", 1); }

/* ---- random programs ------------------------------------------------------------------------ */
#define RANDOM_AT	0x50000000ull		/* absolute, and above the heap, which begins up
						 * to 1 GiB behind the program; elsewhere for
						 * position-independent ones */
#define RANDOM_PIC	0x540000000ull
#define TEXT_SIZE	0x4000
#define DATA_SIZE	0x4000
/* Within 2 GiB of the text, and of the cache's place, which are so far apart that one does not
 * reach the other. */
#define FAR_TEXT	0x600000000ull
#define FAR_DATA	(FAR_TEXT - 0x50000000)
#define FAR_CACHE	(FAR_TEXT + 0x50000000)
#define MAX_BLOCKS	24

struct maker {
	uint8_t *p;
	uint32_t n;
	uint32_t start[MAX_BLOCKS + 1];		/* of each block; the last is the leaf function */
	struct { uint32_t at, to; bool byte; } fix[128];
	uint32_t nfix, nblock;
	uint64_t at, data;			/* of the text; what it is to address relative to
						 * rip, 0: nothing */
	ZydisDecoder zd;
};

static void mk(struct maker *m, const char *bytes, unsigned n)
{
	memcpy(m->p + m->n, bytes, n);
	m->n += n;
}

static void mk_rel(struct maker *m, uint32_t to, bool byte)
{
	m->fix[m->nfix].at = m->n;
	m->fix[m->nfix].to = to;
	m->fix[m->nfix++].byte = byte;
	m->n += byte ? 1 : 4;
}

/* disp32 to @to, of an instruction that ends @behind bytes after it. */
static void mk_pc32(struct maker *m, uint64_t to, unsigned behind)
{
	const int32_t disp = (int32_t)(to - (m->at + m->n + 4 + behind));

	mk(m, (const char *)&disp, 4);
}

static void mk_data(struct maker *m, unsigned behind)
{
	mk_pc32(m, m->data + rng() % (DATA_SIZE / 64 - 1) * 64, behind);
}

/* mov [rip + data], r10; notrack call or jmp [rip + data] */
static void mk_through_data(struct maker *m, bool call)
{
	const uint64_t to = m->data + rng() % (DATA_SIZE / 64 - 1) * 64;

	mk(m, "\x4c\x89\x15", 3);
	mk_pc32(m, to, 0);
	mk(m, call ? "\x3e\xff\x15" : "\x3e\xff\x25", 3);
	mk_pc32(m, to, 0);
}

/* @p with [rip + disp32] in place of [rsi + disp8]; as it is where that is no instruction, of
 * MPX. */
static void mk_far(struct maker *m, const uint8_t *p, const struct x86_insn *x)
{
	const uint32_t start = m->n;
	struct x86_insn y;

	mk(m, (const char *)p, x->modrm);
	mk(m, (char []){ (p[x->modrm] & 0x38) | 5 }, 1);
	mk_data(m, x->len - x->modrm - 2u);
	mk(m, (const char *)p + x->modrm + 2, x->len - x->modrm - 2u);
	if (!x86_decode(ref_dec, m->p + start, m->n - start, &y)) {
		m->n = start;
		mk(m, (const char *)p, x->len);
	}
}

/* What x86_random.h does not make: rsp as an operand, 16 bytes, and REX.B, which rip ignores. */
static void mk_far_odd(struct maker *m)
{
	static const struct { const char *bytes; uint8_t n, imm; } odd[] = {
		{ "\xff\x35", 2, 0 },			/* push; pop rbx */
		{ "\x41\xff\x35", 3, 0 },
		{ "\x48\x0f\xc7\x0d", 4, 0 },		/* cmpxchg16b */
		{ "\xf0\x48\x0f\xc7\x0d", 5, 0 },
		{ "\x48\x8d\x05", 3, 0 },		/* lea */
		{ "\x4d\x8d\x05", 3, 0 },
		{ "\x4c\x8d\x25", 3, 0 },
		{ "\x8d\x0d", 2, 0 },
		{ "\x66\x8d\x15", 3, 0 },
		{ "\x49\x8b\x2d", 3, 0 },		/* mov */
		{ "\x8a\x2d", 2, 0 },			/* ... ch */
		{ "\x41\x80\x3d", 3, 1 },		/* cmp byte, imm8 */
		{ "\x66\xc7\x05", 3, 2 },		/* mov word, imm16 */
		{ "\x48\x81\x05", 3, 4 },		/* add qword, imm32 */
		{ "\x0f\x1f\x05", 3, 0 },		/* nop, not dereferenced */
	};
	const unsigned k = (unsigned)(rng() % NR(odd));

	mk(m, odd[k].bytes, odd[k].n);
	mk_data(m, odd[k].imm);
	mk(m, "\x12\x34\x56\x78", odd[k].imm);
	if (k < 2)
		mk(m, "\x5b", 1);
}

static ZydisRegister op_base(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	for (unsigned i = 0; i < z->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return op[i].mem.index ? ZYDIS_REGISTER_NONE : op[i].mem.base;
	return ZYDIS_REGISTER_NONE;
}

static void mk_insn(struct maker *m)
{
	static const char *const fault[] = {
		"\x48\x8b\x07", "\x01\x17", "\xff\x17", "\xff\x27", "\xff\x37", "\x8f\x07",
		"\xf7\xf7", "\xf3\xa4", "\x48\x89\xfc\x51", "\x48\x89\xfc\xc3",
		"\x48\x89\xfc\xe8\x00\x00\x00\x00",
	};
	static const uint8_t fault_n[] = { 3, 2, 2, 2, 2, 2, 2, 2, 4, 4, 8 };

	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	uint8_t p[X86_MAX_LEN];
	struct x86_insn x;

	switch (rng() % 24) {
	case 4:
		if (rng() % 12)
			break;
		/* mov rdi, a place that is not there; use it, through rsp at last */
		mk(m, "\x48\xbf\x00\x10\x00\x00\x00\x00\x00\x80", 10);
		unsigned f = rng() % NR(fault);

		mk(m, fault[f], fault_n[f]);
		return;
	case 0:
		mk(m, "\x50\x5b", 2);			/* push rax; pop rbx */
		return;
	case 1:
		mk(m, "\x9c\x41\x5c", 3);		/* pushf; pop r12 */
		return;
	case 2:
		mk(m, "\x48\x8b\x05", 3);		/* mov rax, [rip + the code itself] */
		mk_rel(m, rng() % (m->nblock + 1), false);
		return;
	case 3:
		mk(m, "\x66\x81\x3d", 3);	/* cmp word [rip + ..], imm16; rip is behind imm */
		mk_rel(m, rng() % (m->nblock + 1), false);
		mk(m, "\x34\x12", 2);
		return;
	case 5: case 6:
		if (!m->data)
			break;
		mk_far_odd(m);
		return;
	}
	for (;;) {
		random_insn(p);
		if (!x86_decode(ref_dec, p, sizeof p, &x) || x.kind != X86_PLAIN ||
		    x.prop & (X86_RIP | X86_TLS) || x.write & (1 << 4 | 1 << 6))
			continue;
		ZydisDecoderDecodeFull(&m->zd, p, sizeof p, &z, op);
		if (unfit(&z, op) || z.mnemonic == ZYDIS_MNEMONIC_INT3 ||
		    z.mnemonic == ZYDIS_MNEMONIC_INT1)
			continue;
		/* memory: only [rsi + disp8], and what faults anyway */
		if (x.nref && !(x.nref == 1 && x.modrm && p[x.modrm] >> 6 == 1 &&
				!(x.prop & X86_ADDR) && op_base(&z, op) == ZYDIS_REGISTER_RSI))
			continue;
		if (x.nref && z.meta.category == ZYDIS_CATEGORY_BITBYTE)
			continue;			/* bt with a register reaches anywhere */
		if (x.prop & X86_MAY_FAULT && !x.nref && rng() % 16)
			continue;
		if (z.meta.isa_ext == ZYDIS_ISA_EXT_AMD3DNOW ||
		    z.meta.isa_set == ZYDIS_ISA_SET_PENTIUMMMX)
			continue;
		break;
	}
	if (m->data && x.ndisp == 1 && p[x.modrm] >> 6 == 1 && (p[x.modrm] & 7) == 6 &&
	    !(x.prop & X86_ADDR) && rng() % 8)
		mk_far(m, p, &x);
	else
		mk(m, (char *)p, x.len);
}

static void mk_block(struct maker *m, uint32_t b)
{
	uint32_t left = m->nblock - b - 1, to = b + 1 + (left ? rng() % left : 0);
	bool byte = rng() & 1;
	uint32_t at;

	m->start[b] = m->n;
	for (unsigned i = rng() % 7; i--; )
		mk_insn(m);
	if (!left) {
		mk(m, "\xc3", 1);
		return;
	}
	switch (rng() % 14) {
	case 0: case 1: case 2: case 3:
		if (byte)
			mk(m, (char []){ 0x70 | (rng() & 15) }, 1);
		else
			mk(m, (char []){ 0x0f, 0x80 | (rng() & 15) }, 2);
		mk_rel(m, to, byte);
		break;
	case 4: case 5:
		mk(m, byte ? "\xeb" : "\xe9", 1);
		mk_rel(m, to, byte);
		if (rng() & 1)
			mk(m, "\x0f\xff\x06", 3);		/* junk */
		m->start[b + 1] = m->n;
		break;
	case 6:
		mk(m, (char []){ 0xe0 | (rng() & 3) }, 1);	/* loop, jrcxz */
		mk_rel(m, to, true);
		break;
	case 7:
		mk(m, "\x67\xe3", 2);
		mk_rel(m, to, true);
		break;
	case 8: case 9:
		mk(m, "\xe8", 1);
		mk_rel(m, m->nblock, false);
		break;
	case 10:
		mk(m, "\x4c\x8d\x15", 3);	/* lea r10, [rip + leaf]; call r10 */
		mk_rel(m, m->nblock, false);
		if (m->data)
			mk_through_data(m, true);
		else
			mk(m, "\x41\xff\xd2", 3);
		break;
	case 11:
		if (m->data) {
			mk(m, "\x4c\x8d\x15", 3);
			mk_rel(m, to, false);
			mk_through_data(m, false);
			break;
		}
		mk(m, "\x48\x8d\x0d", 3);	/* lea rcx, [rip + to]; notrack jmp rcx */
		mk_rel(m, to, false);
		mk(m, "\x3e\xff\xe1", 3);
		break;
	case 12:						/* push; jmp [rsp] over it by ret */
		mk(m, "\x48\x8d\x15", 3);
		mk_rel(m, to, false);
		mk(m, "\x52\xf3\xc3", 3);
		break;
	default:	/* falls, or is entered in the middle */
		at = m->n;
		mk_insn(m);
		if (rng() & 1)
			m->start[b] = at;
		break;
	}
}

/* A program whose branches only go forward. Ends with ret, or a fault. */
static bool mk_program(struct maker *m, uint8_t *p)
{
	m->p = p;
	m->n = m->nfix = 0;
	m->nblock = 3 + rng() % (MAX_BLOCKS - 3);
	memset(p, 0xcc, TEXT_SIZE);
	for (uint32_t b = 0; b < m->nblock; b++)
		mk_block(m, b);
	m->start[0] = 0;
	m->start[m->nblock] = m->n;
	mk_insn(m);
	if (rng() & 1)
		mk(m, "\xc3", 1);
	else
		mk(m, "\xc2\x00\x00", 3);
	for (uint32_t k = 0; k < m->nfix; k++) {
		int32_t rel = m->start[m->fix[k].to] - (m->fix[k].at + (m->fix[k].byte ? 1 : 4));

		if (m->fix[k].byte) {
			if (rel != (int8_t)rel)
				return false;
			m->p[m->fix[k].at] = rel;
		} else {
			memcpy(m->p + m->fix[k].at, &rel, 4);
		}
	}
	return true;
}

/* Data and stack as a random program finds them. */
static void random_memory(uint8_t *to, const uint8_t *data, const struct state *s)
{
	memcpy(to, data, DATA_SIZE);
	memset(guest_stack + STACK_SIZE / 2 - 64, 0, 128);
	*(uint64_t *)s->r[4] = FINISH_PC;
}

static void run_random(uint64_t at, bool absolute, unsigned programs, bool step)
{
	const bool far = at == FAR_TEXT;
	static uint8_t data[DATA_SIZE], after[DATA_SIZE];
	static uint8_t text[TEXT_SIZE];
	uint8_t *mem, *dat;
	struct maker m;
	struct run r = { 0 };
	unsigned finished = 0;

	mem = mmap((void *)at, TEXT_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	dat = mmap((void *)(far ? FAR_DATA : DATA_AT), DATA_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	r.cache = mmap((void *)(far ? FAR_CACHE : at + 0x1000000), CACHE_SIZE,
		       PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(mem == (void *)at && dat == (void *)(far ? FAR_DATA : DATA_AT) &&
		    r.cache != MAP_FAILED);
	m.at = at;
	m.data = far ? FAR_DATA : 0;
	ZydisDecoderInit(&m.zd, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	r.lo = at;
	r.hi = at + TEXT_SIZE;
	r.text = text;
	r.absolute = absolute;
	for (unsigned k = 0; k < programs; k++) {
		const struct variant *v = &variants[rng() % 2 ? 0 : rng() % NR(variants)];
		struct state s, native;
		int sig;

		while (!mk_program(&m, mem))
			;
		memcpy(text, mem, TEXT_SIZE);
		for (unsigned i = 0; i < DATA_SIZE; i++)
			data[i] = rng();
		for (int i = 0; i < 16; i++)
			s.r[i] = rng() & 3 ? rng() : rng() & 0xff;
		s.r[1] = rng() % 5;
		s.r[6] = (uint64_t)dat + DATA_SIZE / 2;
		s.r[4] = (uint64_t)guest_stack + STACK_SIZE / 2;
		s.pc = at;
		s.flags = 0x202 | (rng() & ARITH);
		r.patchable = v->patchable;
		r.check_bytes = v->check;
		r.max_insns = v->max_insns;
		r.max_blocks = v->max_blocks;
		r.logged = v->logged;
		r.step = step;
again:
		r.ntrace = 0;
		r.failed = false;

		random_memory(dat, data, &s);
		run_once(&r, &s, false);
		native = r.end;
		sig = r.end_signal;
		memcpy(after, dat, DATA_SIZE);

		random_memory(dat, data, &s);
		memset(thread_block + RT_COUNTERS, 0, 65536);
		run_once(&r, &s, true);
		if (sig)			/* flags are not held to be exact at faults */
			r.end.flags = native.flags;
		else
			finished++;
		if (!same_end(&r, &native, sig) && !r.step) {
			if (getenv("XLATE_KEEP")) {
				FILE *f = fopen(getenv("XLATE_KEEP"), "wb");

				fwrite(text, 1, m.n, f);
				fclose(f);
				fprintf(stderr, "variant %td\n", v - variants);
			}
			r.step = true;		/* once more, to see where */
			release_units(&r);
			goto again;
		}
		assert_same_end(&r, &native, sig);
		if (far && r.steps)
			fail_msg("%lu steps", r.steps);
		assert_memory_equal(after, dat, DATA_SIZE);
		if (step && !sig)
			assert_counts(&r);
		if (step && !sig && r.logged) {
			random_memory(dat, data, &s);
			leave_at_each(&r, &s, &native);
		}
		release_units(&r);
	}
	munmap(mem, TEXT_SIZE);
	munmap(dat, DATA_SIZE);
	munmap(r.cache, CACHE_SIZE);
	run_release(&r);
	assert_true(finished > programs / 2);
}

static unsigned soak(void)
{
	if (getenv("XLATE_SEED"))
		rng_state ^= strtoull(getenv("XLATE_SEED"), NULL, 0) * 0x9e3779b97f4a7c15ull;
	return getenv("XLATE_SOAK") ? (unsigned)atoi(getenv("XLATE_SOAK")) : 1;
}

static void random_programs(void **state)
{
	unsigned times = soak();

	if (!run_init())
		skip();
	run_random(RANDOM_AT, true, 1500 * times, false);
	run_random(RANDOM_PIC, false, 1500 * times, false);
	run_random(FAR_TEXT, false, 1500 * times, false);
}

static void random_programs_stepped(void **state)
{
	unsigned times = soak();

	if (!run_init())
		skip();
	run_random(RANDOM_AT, true, 150 * times, true);
	run_random(RANDOM_PIC, false, 150 * times, true);
	run_random(FAR_TEXT, false, 150 * times, true);
}

/* ---- what the runtime has to do ------------------------------------------------------------- */
static const struct snippet {
	const char *what, *bytes;
	uint8_t n;
	uint8_t steps, syscalls;		/* gates that a run goes through */
} snippets[] = {
	{ "getpid", "\xb8\x27\0\0\0\xf9\x0f\x05\x83\xd1\x00\xc3", 12, 0, 1 },
	{ "two system calls", "\xb8\x27\0\0\0\x0f\x05\xb8\x27\0\0\0\x0f\x05\xc3", 15, 0, 2 },
	{ "int 0x80", "\xb8\x14\0\0\0\xcd\x80\xff\xc8\xc3", 10, 0, 1 },
	{ "gs operand", "\x65\x48\x8b\x04\x25\x00\x08\0\0\x48\xff\xc0\xc3", 13, 1, 0 },
	{ "gs that lea ignores", "\x65\x48\x8d\x3e\x65\x8b\x04\x25\x00\x08\0\0\xc3", 13, 1, 0 },
	{ "eip-relative", "\x67\x8b\x05\x01\0\0\0\xc3\x12\x34\x56\x78", 12, 1, 0 },
	{ "retf to nowhere", "\x6a\x00\x6a\x00\xcb", 5, 1, 0 },
	{ "no instruction", "\x31\xc0\x0f\x04\xc3", 5, 1, 0 },
	{ "no instruction at all", "\x0f\x04", 2, 1, 0 },
	{ "ud2", "\x31\xc0\x0f\x0b", 4, 0, 0 },
	{ "hlt", "\xf9\xf4", 2, 0, 0 },
	{ "bad call", "\x31\xc0\xff\xd0", 4, 0, 0 },
	/* the thread's block: its own address */
	{ "call through fs", "\x48\xc7\xc0\x10\0\0\0\x64\xff\x10", 10, 0, 0 },
	{ "jmp rax", "\xf9\x48\x8d\x05\x04\0\0\0\xff\xe0\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp rcx", "\xf9\x48\x8d\x0d\x04\0\0\0\xff\xe1\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp rdx", "\xf9\x48\x8d\x15\x04\0\0\0\xff\xe2\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp rbx", "\xf9\x48\x8d\x1d\x04\0\0\0\xff\xe3\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp rbp", "\xf9\x48\x8d\x2d\x04\0\0\0\xff\xe5\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp rsi", "\xf9\x48\x8d\x35\x04\0\0\0\xff\xe6\x0f\x0b\x83\xd1\0\xc3", 16, 0, 0 },
	{ "jmp r8", "\xf9\x4c\x8d\x05\x05\0\0\0\x41\xff\xe0\x0f\x0b\x83\xd1\0\xc3", 17, 0, 0 },
	{ "jmp r12", "\xf9\x4c\x8d\x25\x05\0\0\0\x41\xff\xe4\x0f\x0b\x83\xd1\0\xc3", 17, 0, 0 },
	{ "jmp r13", "\xf9\x4c\x8d\x2d\x05\0\0\0\x41\xff\xe5\x0f\x0b\x83\xd1\0\xc3", 17, 0, 0 },
	{ "jmp r15", "\xf9\x4c\x8d\x3d\x05\0\0\0\x41\xff\xe7\x0f\x0b\x83\xd1\0\xc3", 17, 0, 0 },
	{ "call rax", "\x48\x8d\x05\x05\0\0\0\xff\xd0\xff\xc1\xc3\xff\xc2\xc3", 15, 0, 0 },
	{ "call rcx", "\x48\x8d\x0d\x05\0\0\0\xff\xd1\xff\xc1\xc3\xff\xc2\xc3", 15, 0, 0 },
	{ "call rdx", "\x48\x8d\x15\x05\0\0\0\xff\xd2\xff\xc1\xc3\xff\xc2\xc3", 15, 0, 0 },
	{ "call rbx", "\x48\x8d\x1d\x05\0\0\0\xff\xd3\xff\xc1\xc3\xff\xc2\xc3", 15, 0, 0 },
	{ "call r12", "\x4c\x8d\x25\x06\0\0\0\x41\xff\xd4\xff\xc1\xc3\xff\xc2\xc3", 16, 0, 0 },
	{ "call r13", "\x4c\x8d\x2d\x06\0\0\0\x41\xff\xd5\xff\xc1\xc3\xff\xc2\xc3", 16, 0, 0 },
	{ "jmp rax, no address", "\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11\xff\xe0", 12, 0, 0 },
	{ "jmp r11, no address", "\x49\xbb\x88\x77\x66\x55\x44\x33\x22\x11\x41\xff\xe3", 13, 0, 0 },
	{ "pushed pc", "\xe8\0\0\0\0\x59\xe8\0\0\0\0\x5a\x48\x29\xca\xc3", 16, 0, 0 },
	{ "ret 8 to itself", "\x48\x8d\x05\x06\0\0\0\x50\x50\xc2\x08\x00\x90\x90\xc3", 15, 0, 0 },
};

/* Some kernels have no int 0x80: whether this one has, what is at s->pc tells. */
static bool kernel_takes(struct run *r, const struct state *s)
{
	*(uint64_t *)s->r[4] = FINISH_PC;
	run_once(r, s, false);
	return r->end_signal != SIGSEGV;
}

static void runtime_gates(void **state)
{
	static uint8_t text[4096];
	uint8_t *mem;
	struct run r = { 0 };

	if (!run_init())
		skip();
	memset(thread_block + 0x800, 0x5a, 8);
	mem = mmap((void *)RANDOM_AT, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	r.cache = mmap((void *)(RANDOM_AT + 0x1000000), CACHE_SIZE,
		       PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(mem == (void *)RANDOM_AT && r.cache != MAP_FAILED);
	r.text = text;
	r.lo = RANDOM_AT;
	r.hi = RANDOM_AT + 4096;
	for (size_t k = 0; k < 2 * NR(snippets); k++) {
		const struct snippet *t = &snippets[k / 2];
		struct state s = { .pc = RANDOM_AT, .flags = 0x202 }, native;
		int sig = 0;

		r.absolute = k & 1;
		memset(mem, 0xcc, 4096);
		memcpy(mem, t->bytes, t->n);
		memcpy(text, mem, 4096);
		s.r[4] = (uint64_t)guest_stack + STACK_SIZE / 2;
		s.r[6] = (uint64_t)guest_stack;
		if (t->bytes[5] == '\xcd' && !kernel_takes(&r, &s))
			continue;
		for (int translated = 0; translated < 2; translated++) {
			memset(guest_stack + STACK_SIZE / 2 - 64, 0, 128);
			*(uint64_t *)s.r[4] = FINISH_PC;
			run_once(&r, &s, translated);
			if (!translated) {
				native = r.end;
				sig = r.end_signal;
			}
		}
		if (sig)
			native.flags = r.end.flags;
		if (!same_end(&r, &native, sig))
			print_error("%s:\n", t->what);
		assert_same_end(&r, &native, sig);
		if (r.steps != t->steps || r.syscalls != t->syscalls)
			fail_msg("%s: %lu steps, %lu system calls", t->what, r.steps, r.syscalls);
		release_units(&r);
	}
	munmap(mem, 4096);
	munmap(r.cache, CACHE_SIZE);
	run_release(&r);
}

/* Bytes that change under a block are noticed at its next entry, and only then. */
static void changed_bytes(void **state)
{
	static uint8_t text[4096];
	/* call f; call f; ret. At 0x40, f: mov eax, 1; add ebx, eax; ret */
	static const char code[] = "\xe8\x3b\0\0\0\xe8\x36\0\0\0\xc3";
	struct run r = { .check_bytes = true, .absolute = true };
	struct state s = { .pc = RANDOM_AT, .flags = 0x202 };
	uint8_t *mem;

	if (!run_init())
		skip();
	mem = mmap((void *)RANDOM_AT, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	r.cache = mmap((void *)(RANDOM_AT + 0x1000000), CACHE_SIZE,
		       PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(mem == (void *)RANDOM_AT && r.cache != MAP_FAILED);
	r.text = text;
	r.lo = RANDOM_AT;
	r.hi = RANDOM_AT + 4096;
	memset(text, 0xcc, sizeof text);
	memcpy(text, code, sizeof code - 1);
	for (unsigned at = 0x41; at < 0x45; at++) {
		static const char f[] = "\xb8\x01\0\0\0\x01\xc3\xc3";

		memcpy(text + 0x40, f, sizeof f - 1);
		s.r[4] = (uint64_t)guest_stack + STACK_SIZE / 2;
		for (int round = 0; round < 3; round++) {
			uint64_t before = r.checks;

			if (round == 1)
				text[at] = 5;
			memcpy(mem, text, 4096);
			*(uint64_t *)s.r[4] = FINISH_PC;
			run_once(&r, &s, true);
			if (r.failed)
				fail_msg("%s", r.why);
			assert_int_equal(r.end.pc, FINISH_PC);
			uint32_t eax;

			memcpy(&eax, text + 0x41, 4);
			assert_int_equal((uint32_t)r.end.r[3], 2 * eax);
			assert_int_equal(r.checks > before, round > 0);
		}
		release_units(&r);
	}
	munmap(mem, 4096);
	munmap(r.cache, CACHE_SIZE);
	run_release(&r);
}

static const uint8_t *text_of_guest(void *ctx, uint64_t addr, size_t *avail)
{
	const struct guest *g = ctx;

	*avail = addr >= g->lo && addr < g->hi ? (size_t)(g->hi - addr) : 0;
	return g->copy + (addr - g->base);
}

/* Counting copies lie behind what a unit is without them, one for each block, and write no
 * records. */
static void counting_copies(void **state)
{
	struct xl_unit without = { 0 }, with = { 0 };
	struct guest g;

	if (!run_init())
		skip();
	assert_true(guest_load(&g, "-O2", true, 0x500000000));
	for (int kind = XL_BRANCH; kind <= XL_EXEC; kind++) {
		struct xl_input in = {
			.kind = (enum xl_kind)kind, .entry = g.entry, .lo = g.lo, .hi = g.hi,
			.place = g.lo + 0x1000000,
			.read = text_of_guest, .ctx = &g,
		};
		size_t n, jumps_out = 0;

		xl_translate(&in, &without);
		in.counting_copies = true;
		xl_translate(&in, &with);
		n = without.nblock;
		assert_true(n > 10);
		assert_int_equal(with.nblock, 2 * n);
		assert_int_equal(with.nlink, 2 * without.nlink);
		assert_memory_equal(with.code, without.code, without.ncode);
		assert_memory_equal(with.block, without.block, n * sizeof *with.block);
		assert_memory_equal(with.map, without.map, without.nmap * sizeof *with.map);
		for (size_t k = 0; k < n; k++) {
			const struct xl_block *b = &with.block[k], *t = b + n;

			assert_true(t->pc == b->pc && t->size == b->size && t->n == b->n &&
				    t->live == b->live);
			assert_true(t->flags == (b->flags | XL_COUNTS) && t->code >= without.ncode);
			assert_int_equal(t->indirect == XL_NONE, b->indirect == XL_NONE);
			assert_int_equal(t->prev, b->prev == XL_NONE ? XL_NONE : b->prev + n);
		}
		for (size_t k = 0; k < with.nlink; k++)
			assert_int_equal(with.link[k].counting, k >= without.nlink);
		for (size_t k = 0; k < with.nreloc; k++)
			assert_true(with.reloc[k].at < without.ncode ||
				    with.reloc[k].kind != XL_REL_BLOCK);
		for (size_t k = without.ncode; k + 7 < with.ncode; k++)
			jumps_out += !memcmp(with.code + k, "\x65\xff\x24\x25\x68\0\0",
					     8); /* jmp gs:[RT_DO_COUNT] */
		assert_true(jumps_out > 2 && jumps_out < n);
	}
	xl_unit_release(&without);
	xl_unit_release(&with);
	guest_unload(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_copies),
		cmocka_unit_test(runtime_gates),
		cmocka_unit_test(changed_bytes),
		cmocka_unit_test(random_programs),
		cmocka_unit_test(random_programs_stepped),
		cmocka_unit_test(guest_O0),
		cmocka_unit_test(guest_O1),
		cmocka_unit_test(guest_O2),
		cmocka_unit_test(guest_O3),
		cmocka_unit_test(guest_Os),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	if (scratch_dir[0])
		rmdir(scratch_dir);
	return rc;
}
