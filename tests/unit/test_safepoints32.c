/* SPDX-License-Identifier: MIT */
/* test_safepoints32.c - SAFEPOINTS of 32-bit code (translate.h)
 *
 * A 32-bit child executes it, natively step by step, and translated, with this process as its
 * runtime. Where the kernel has no 32-bit programs qemu-i386 may have them. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "collect/runtime/abi.h"
#include "collect/translate/translate.h"
#include "isa/x86/decode.h"
#include "programs/stepped.h"

#define TEXT		0x10000000u
#define TEXT_SIZE	0x10000u
#define STACK		0x12000000u
#define STACK_SIZE	0x10000u
#define TOP		(STACK + STACK_SIZE - 64)
#define BLOCK		0x20000000u
#define BLOCK_BYTES	0x200000u
#define CACHE		0x32000000u
#define CACHE_SIZE	0x100000u
#define GATES		0x33000000u		/* int3s: GATES + the slot that led there */
#define CONTROL		0x33001000u		/* struct stepped */
#define FINISH		0x66660000u
#define MANY		1000000u		/* safepoints; more than there are */
#define ARITH		0x8d5u
#define TRAP		0x100u

enum { AX, CX, DX, BX, SP, BP, SI, DI };

struct state {
	uint32_t r[8], pc, flags;
};

struct unit32 {
	struct xl_unit u;
	uint32_t at, link0;
};

/* ---- the program ----------------------------------------------------------------------------- */
#define AT(label) "0x10000000 + (" label " - guest32)"
extern const uint8_t guest32[], guest32_main[], guest32_end[];
__asm__(
	".pushsection .rodata\n"
	".code32\n"
	".globl guest32\n"
	"guest32:\n"
	"with_argument: mov 4(%esp), %eax; add %edx, %eax; stc; ret $4\n"
	"leaf:	adc $3, %eax; ret\n"
	"fib:	push %ebx; mov %eax, %ebx; cmp $2, %eax; jb 1f\n"
	"	lea -1(%ebx), %eax; call fib; push %eax; lea -2(%ebx), %eax; call fib\n"
	"	pop %edx; add %edx, %eax\n"
	"1:	pop %ebx; ret\n"
	"ends:	adc $9, %eax; ret\n"
	"plt:	jmp *" AT("plt_slot") "\n"
	"plt_of_pic: jmp *8(%ebx)\n"
	/* as ld.so calls what it has found */
	"found:	push $0x1111; push $0x2222; push $0x3333; push $" AT("leaf") "; ret $12\n"
	"back:	jmp ends\n"
	"back_if: test %eax, %eax; jne ends; ret\n"
	".globl guest32_main\n"
	"guest32_main: push %ebp; xor %eax, %eax; mov $5, %ecx\n"
	"1:	add %ecx, %eax; dec %ecx; jnz 1b\n"		/* no flags at its head */
	"	mov $5, %edx; xor %esi, %esi\n"
	"9:	sete %cl; setc %ch; add %ecx, %eax; sub $1, %edx; jnz 9b\n"	/* all live */
	"	mov $9, %edx; jmp 11f\n"			/* into the middle of a loop */
	"10:	add $3, %esi; test $2, %dl; jz 11f; add $5, %esi\n"
	"11:	test $1, %dl; jz 12f; add %edx, %esi\n"
	"12:	dec %edx; jnz 10b; add %esi, %eax\n"
	"	mov $6, %ecx; clc\n"
	"2:	adc $0x7ffffff1, %eax; loop 2b\n"
	"	mov $4, %ecx; stc\n"
	"3:	sbb %eax, %ebx; dec %ecx; jecxz 4f; jmp 3b\n"
	"4:	mov $3, %ecx\n"
	"5:	loop 5b\n"
	"	jmp 7f\n"
	"6:	adc %eax, %esi; jmp 8f\n"
	"7:	xor %ecx, %ecx; stc; jcxz 6b\n"
	"8:	push $7; mov $11, %edx; call with_argument; adc $0, %eax\n"
	"	push $8; call with_argument; adc $0, %eax\n"
	"	mov $8, %eax; call fib\n"
	"	mov $" AT("leaf") ", %edx; stc; call *%edx\n"
	"	call *" AT("plt_slot") "\n"
	"	stc; call plt\n"
	"	mov $" AT("plt_slot - 8") ", %ebx; stc; call plt_of_pic\n"
	"	stc; call found; adc $1, %eax\n"
	"	call back; call back_if\n"
	"	mov $1, %ecx; stc; jmp *" AT("table") "(,%ecx,4)\n"
	"from_table: adc $2, %eax; push $" AT("2f") "; mov %esp, %ebp; stc; jmp *(%ebp)\n"
	"2:	adc $4, %eax; mov %eax, %edi; mov $" AT("3f") ", %eax; jmp *%eax\n"
	"3:	mov $" AT("4f") ", %eax; addr16 jmp *%eax\n"
	"4:	mov $" AT("5f") ", %ebp; clc; jmp *%ebp\n"
	"5:	sbb $1, %edi; push $" AT("6f") "; ret\n"
	"6:	pop %ecx; pop %ebp; ret\n"
	".balign 4\n"
	"plt_slot: .long " AT("leaf") "\n"
	"table:	.long 0, " AT("from_table") "\n"
	".globl guest32_end\n"
	"guest32_end:\n"
	".code64\n"
	".popsection\n");

/* ---- the child ------------------------------------------------------------------------------- */
/* Its memory, which this process has elsewhere. */
static int memory = -1;
static struct part {
	uint32_t at, size;
	uint8_t prot;
	uint8_t *here;
} parts[] = {
	{ TEXT, TEXT_SIZE, PROT_READ }, { STACK, STACK_SIZE, PROT_READ | PROT_WRITE },
	{ BLOCK, BLOCK_BYTES, PROT_READ | PROT_WRITE }, { RT32_ZERO, RT32_TABLE_SIZE, PROT_READ },
	{ RT32_SHADOW, RT32_DIR_SIZE + RT32_TABLE_SIZE, PROT_READ },
	{ CACHE, CACHE_SIZE, PROT_READ | PROT_EXEC }, { GATES, 0x1000, PROT_READ | PROT_EXEC },
	{ CONTROL, 0x1000, PROT_READ | PROT_WRITE },
};

static uint8_t *at(uint32_t address)
{
	for (size_t i = 0; i < NR(parts); i++)
		if (address - parts[i].at < parts[i].size)
			return parts[i].here + (address - parts[i].at);
	abort();
}

static uint32_t slot(uint32_t offset)
{
	uint32_t v;

	memcpy(&v, at(BLOCK + offset), 4);
	return v;
}

static void set_slot(uint32_t offset, uint32_t v)
{
	memcpy(at(BLOCK + offset), &v, 4);
}

static void share(void)
{
	uint32_t off = 0;

	memory = memfd_create("safepoints32", 0);
	assert_true(memory >= 0);
	for (size_t i = 0; i < NR(parts); i++)
		off += parts[i].size;
	assert_int_equal(ftruncate(memory, off), 0);
	off = 0;
	for (size_t i = 0; i < NR(parts); i++) {
		parts[i].here = mmap(NULL, parts[i].size, PROT_READ | PROT_WRITE, MAP_SHARED,
				     memory, off);
		assert_true(parts[i].here != MAP_FAILED);
		off += parts[i].size;
	}
}

static void child(int from, int to, bool native)
{
	static char word[4 + 3 * NR(parts)][16], file[4096];
	char *argv[6 + 3 * NR(parts)] = { "qemu-i386", file, word[0], word[1], word[2] };
	const char *const top = getenv("TOP");
	size_t n = 3;

	snprintf(file, sizeof file, "%s/build/programs/i386/stepped", top ? top : ".");
	snprintf(word[0], sizeof *word, "%d", memory);
	snprintf(word[1], sizeof *word, "%x", CONTROL);
	snprintf(word[2], sizeof *word, "%x", BLOCK);
	for (size_t i = 0; i < NR(parts); i++) {
		const int more = native && parts[i].at == TEXT ? PROT_EXEC : 0;

		snprintf(word[n], sizeof *word, "%x", parts[i].at);
		snprintf(word[n + 1], sizeof *word, "%x", parts[i].size);
		snprintf(word[n + 2], sizeof *word, "%d", parts[i].prot | more);
		for (unsigned k = 0; k < 3; k++, n++)
			argv[2 + n] = word[n];
	}
	if (access(file, X_OK))				/* no 32-bit C library */
		_exit(1);
	dup2(from, 0);
	dup2(to, 1);
	execv(file, argv + 1);
	execvp(argv[0], argv);
	_exit(1);
}

struct run {
	pid_t pid;
	int to, from;			/* pipes */
	struct stepped *regs;
	const struct xl_input *in;	/* NULL: native */
	bool leaves;			/* at each safepoint */
	struct unit32 *unit;
	size_t nunit, cap_unit;
	uint32_t used, nlink;
	struct state *trace;		/* of the native run */
	size_t ntrace, cap_trace;
	struct state end;
	uint32_t passed;
};

/* It has stopped; false: it has ended. */
static bool stopped(const struct run *r)
{
	char byte;

	return read(r->from, &byte, 1) == 1;
}

static bool begin(struct run *r, bool native)
{
	int to[2], from[2];

	memset(at(STACK), 0, STACK_SIZE);
	memcpy(at(TOP), &(uint32_t){ FINISH }, 4);
	r->regs = (struct stepped *)(void *)at(CONTROL);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	r->pid = fork();
	if (!r->pid)
		child(to[0], from[1], native);
	close(to[0]);
	close(from[1]);
	r->to = to[1];
	r->from = from[0];
	if (!stopped(r))
		return false;
	for (int i = 0; i < 8; i++)
		r->regs->r[i] = 0x1234;
	r->regs->r[SP] = TOP;
	r->regs->pc = TEXT + (uint32_t)(guest32_main - guest32);
	r->regs->flags = 0x202;
	return true;
}

static struct state state_of(const struct run *r)
{
	struct state s = { .pc = r->regs->pc, .flags = r->regs->flags & ARITH };

	memcpy(s.r, r->regs->r, sizeof s.r);
	if (r->in && xl_has_cursor(r->in))
		s.r[BP] = slot(RT_S_R11);
	return s;
}

/* Until it stops by a signal: which. */
static uint32_t go(struct run *r, bool step)
{
	r->regs->flags = (r->regs->flags & ~TRAP) | (step ? TRAP : 0);
	assert_int_equal(write(r->to, "", 1), 1);
	assert_true(stopped(r));
	return r->regs->sig;
}

static void end(struct run *r)
{
	int st;

	close(r->to);
	close(r->from);
	waitpid(r->pid, &st, 0);
	for (size_t i = 0; i < r->nunit; i++)
		xl_unit_release(&r->unit[i].u);
	free(r->unit);
	r->unit = NULL;
	r->nunit = r->cap_unit = 0;
}

/* ---- natively -------------------------------------------------------------------------------- */
static bool run_native(struct run *r)
{
	if (!begin(r, true)) {
		end(r);
		return false;
	}
	do {
		pm_grow(r->trace, r->ntrace, r->cap_trace);
		r->trace[r->ntrace++] = state_of(r);
		assert_int_equal(go(r, true), SIGTRAP);
		assert_true(r->ntrace < MANY);
	} while (r->regs->pc != FINISH);
	r->end = state_of(r);
	end(r);
	return true;
}

static const struct state *behind(const struct run *r, size_t k)
{
	return k + 1 < r->ntrace ? &r->trace[k + 1] : &r->end;
}

/* Does step @k of the native run pass a safepoint? As Zydis has it. */
static bool passes(const struct run *r, size_t k)
{
	const uint32_t pc = r->trace[k].pc;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, at(pc), X86_MAX_LEN, &z, op)));
	switch (z.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		if (op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return behind(r, k)->pc <= pc;
		return z.address_width == 32;
	default:
		return false;
	}
}

/* ---- translated ------------------------------------------------------------------------------ */
static const uint8_t *read_text(void *ctx, uint64_t address, size_t *avail)
{
	(void)ctx;
	if (address < TEXT || address >= TEXT + TEXT_SIZE)
		return NULL;
	*avail = TEXT + TEXT_SIZE - address;
	return at((uint32_t)address);
}

/* May it be entered from elsewhere, as it is? */
static bool is_open(const struct xl_block *b)
{
	return b->prev == XL_NONE && b->flow.in == XL_OPEN;
}

static const struct unit32 *find_block(const struct run *r, uint32_t pc, const struct xl_block **b)
{
	for (size_t k = 0; k < r->nunit; k++)
		for (size_t j = 0; j < r->unit[k].u.nblock; j++)
			if (r->unit[k].u.block[j].pc == pc && is_open(&r->unit[k].u.block[j])) {
				*b = &r->unit[k].u.block[j];
				return &r->unit[k];
			}
	return NULL;
}

static bool known(void *ctx, uint64_t address, struct xl_known *out)
{
	const struct xl_block *b;
	const struct unit32 *p = find_block(ctx, (uint32_t)address, &b);

	if (!p)
		return false;
	out->code = p->at + b->code;
	out->live = b->live;
	return true;
}

static const struct unit32 *translate(struct run *r, uint32_t pc)
{
	struct xl_input in = *r->in;
	struct unit32 n = { .at = CACHE + ((r->used + 63) & ~63u), .link0 = r->nlink };

	in.entry = pc;
	in.place = n.at;
	in.ctx = r;
	xl_translate(&in, &n.u);
	assert_true(n.u.nblock && n.at + n.u.ncode + 64 < CACHE + CACHE_SIZE);
	for (size_t k = 0; k < n.u.nreloc; k++) {
		uint32_t v;

		memcpy(&v, n.u.code + n.u.reloc[k].at, 4);
		if (n.u.reloc[k].kind == XL_REL_LINK)
			v += n.link0;
		memcpy(n.u.code + n.u.reloc[k].at, &v, 4);
	}
	memcpy(at(n.at), n.u.code, n.u.ncode);
	r->used = n.at + (uint32_t)n.u.ncode - CACHE;
	r->nlink += (uint32_t)n.u.nlink;
	pm_grow(r->unit, r->nunit, r->cap_unit);
	r->unit[r->nunit] = n;
	return &r->unit[r->nunit++];
}

static uint32_t need(struct run *r, uint32_t pc)
{
	const struct xl_block *b;
	const struct unit32 *p = find_block(r, pc, &b);

	if (p)
		return p->at + b->code;
	p = translate(r, pc);
	return p->at + p->u.block[0].code;
}

/* The look-up of @pc, to which control has gone, has found nothing. */
static void missed(struct run *r, uint32_t pc)
{
	const uint32_t direct = need(r, pc);
	const struct xl_block *b;
	const struct unit32 *p = find_block(r, pc, &b);
	uint32_t to = 0;

	if (p && b->indirect != XL_NONE) {
		to = p->at + b->indirect;
	} else if (p) {
		r->used = (r->used + 15) & ~15u;
		to = CACHE + r->used;
		r->used += (uint32_t)xl_indirect_entry(at(to), true, to, direct, b->live);
	}
	if (to)
		memcpy(at(RT32_LINKS + 4 * (pc & 0xffff)), &(uint32_t){ to - pc }, 4);
	r->regs->pc = direct;
}

static uint32_t link_target(const struct run *r, uint32_t id)
{
	size_t k = r->nunit - 1;

	while (id < r->unit[k].link0)
		k--;
	return (uint32_t)r->unit[k].u.link[id - r->unit[k].link0].target;
}

/* Is @code the direct entry of a block at @pc? */
static bool is_entry(const struct run *r, uint32_t pc, uint32_t code)
{
	for (size_t k = 0; k < r->nunit; k++)
		for (size_t j = 0; j < r->unit[k].u.nblock; j++)
			if (r->unit[k].u.block[j].pc == pc &&
			    r->unit[k].at + r->unit[k].u.block[j].code == code)
				return true;
	return false;
}

/* Is it where the native run was behind as many safepoints? */
static void at_safepoint(struct run *r, const struct run *native)
{
	const uint32_t to = slot(RT_EXIT_PC), head = slot(RT_HEAD);
	const struct state s = state_of(r);
	uint32_t passed = 0;
	size_t k = 0;

	r->passed++;
	while (passed < r->passed && k < native->ntrace)
		passed += passes(native, k++);
	assert_int_equal(passed, r->passed);
	assert_int_equal(to, behind(native, k - 1)->pc);
	assert_memory_equal(s.r, behind(native, k - 1)->r, sizeof s.r);
	if (r->in->all_live)
		assert_int_equal(s.flags, behind(native, k - 1)->flags);
	assert_int_equal(slot(RT_UNTIL), 0);
	assert_int_equal(slot(RT_UNTIL + 4), 0);
	assert_true(!head || is_entry(r, to, head));
	set_slot(RT_HEAD, 0);
	set_slot(RT_UNTIL, 1);
	r->regs->pc = to == FINISH ? FINISH : need(r, to);
}

static void run_translated(struct run *r, const struct run *native)
{
	assert_true(begin(r, false));
	set_slot(RT_UNTIL, r->leaves ? 1 : MANY);
	set_slot(RT_UNTIL + 4, 0);
	set_slot(RT_HEAD, 0);
	r->passed = 0;
	r->regs->pc = need(r, r->regs->pc);
	if (xl_has_cursor(r->in)) {
		set_slot(RT_S_R11, r->regs->r[BP]);
		r->regs->r[BP] = BLOCK + RT32_TRACE;
	}
	while (r->regs->pc != FINISH) {
		const uint32_t sig = go(r, false);
		const uint32_t pc = r->regs->pc;

		if (sig == SIGSEGV) {
			assert_true(pc == FINISH || (pc >= TEXT && pc < TEXT + TEXT_SIZE));
			r->regs->r[CX] = slot(RT_S_RCX);
			r->regs->r[DX] = slot(RT_S_RDX);
			if (pc != FINISH)
				missed(r, pc);
		} else if (pc == GATES + RT_DO_SAFEPOINT + 1) {
			at_safepoint(r, native);
		} else {
			assert_int_equal(pc, GATES + RT_DO_RESOLVE + 1);
			r->regs->pc = need(r, link_target(r, slot(RT_EXIT_ID)));
		}
	}
	r->end = state_of(r);
	if (!r->leaves)
		r->passed = MANY - slot(RT_UNTIL);
}

/* ---- tests ----------------------------------------------------------------------------------- */
static void set_memory(void)
{
	static bool done;
	const uint32_t table = RT32_LINKS - 4 * TEXT;

	if (!done) {
		share();
		memcpy(at(TEXT), guest32, (size_t)(guest32_end - guest32));
		memset(at(GATES), 0xcc, 4096);
		for (uint32_t i = 0; i < 0x10000; i++)
			memcpy(at(RT32_SHADOW + 4 * i),
			       &(uint32_t){ RT32_ZERO - 4 * (i << 16) }, 4);
		memcpy(at(RT32_SHADOW + 4 * (TEXT >> 16)), &table, 4);
		for (uint32_t s = RT_DO_RESOLVE; s <= RT_DO_COUNT; s += 8)
			set_slot(s, GATES + s);
		set_slot(RT_DO_SAFEPOINT, GATES + RT_DO_SAFEPOINT);
	}
	done = true;
	memset(at(RT32_LINKS), 0, RT32_TABLE_SIZE);	/* TEXT's table is there */
}

static const struct xl_input basis = {
	.i386 = true, .lo = TEXT, .hi = TEXT + TEXT_SIZE, .logged = true,
	.read = read_text, .data = read_text, .known = known,
};

static const struct {
	const char *what;
	enum xl_kind kind;
	bool patchable, check, bare, all_live, count_all;
	uint32_t max_insns, max_blocks;
} variants[] = {
	{ "a profile", XL_PROFILE },
	{ "all counters", XL_PROFILE, .count_all = true },
	{ "bare", XL_PROFILE, .bare = true },
	{ "patchable", XL_PROFILE, .patchable = true },
	{ "checked", XL_PROFILE, .check = true },
	{ "single blocks", XL_PROFILE, .max_blocks = 1 },
	{ "single instructions", XL_PROFILE, .max_insns = 1, .max_blocks = 1 },
	{ "short blocks", XL_PROFILE, .max_insns = 2 },
	{ "all is live", XL_PROFILE, .all_live = true },
	{ "a trace of branches", XL_BRANCH },
	{ "a trace", XL_EXEC },
	{ "a patchable trace", XL_EXEC, .patchable = true },
	{ "a trace of short blocks", XL_EXEC, .max_insns = 2, .max_blocks = 3 },
};

static struct xl_input input_of(size_t v)
{
	struct xl_input in = basis;

	in.kind = variants[v].kind;
	in.patchable = variants[v].patchable;
	in.check_bytes = variants[v].check;
	in.bare = variants[v].bare;
	in.all_live = variants[v].all_live;
	in.count_all = variants[v].count_all;
	in.max_insns = variants[v].max_insns;
	in.max_blocks = variants[v].max_blocks;
	return in;
}

/* No word on the stack is the address of a translation, below its end neither. */
static void assert_clean(const char *what)
{
	for (uint32_t a = STACK; a < STACK + STACK_SIZE; a += 4) {
		uint32_t v;

		memcpy(&v, at(a), 4);
		if (v - CACHE < CACHE_SIZE)
			fail_msg("%s: 0x%x is at 0x%x of the stack", what, v, a);
	}
}

static void passes_the_same(void **state)
{
	static uint8_t stack[STACK_SIZE];
	struct run native = { 0 };
	uint32_t want = 0;

	(void)state;
	set_memory();
	if (!run_native(&native))
		skip();
	for (size_t k = 0; k < native.ntrace; k++)
		want += passes(&native, k);
	assert_true(want > 100);
	for (size_t v = 0; v < NR(variants); v++)
		for (unsigned leaves = 0; leaves < 2; leaves++) {
			const struct xl_input in = input_of(v);
			struct run r = { .in = &in, .leaves = leaves };

			set_memory();
			run_translated(&r, &native);
			if (r.passed != want)
				fail_msg("%s: %u safepoints, natively %u", variants[v].what,
					 r.passed, want);
			assert_memory_equal(r.end.r, native.end.r, sizeof r.end.r);
			assert_int_equal(r.end.flags, native.end.flags);
			end(&r);
			if (variants[v].max_blocks)	/* who returns there is not seen */
				continue;
			assert_clean(variants[v].what);
			if (v || leaves)	/* below its end it is the same as well */
				assert_memory_equal(stack, at(STACK), STACK_SIZE);
			memcpy(stack, at(STACK), STACK_SIZE);
		}
	free(native.trace);
}

/* Moved, a unit's code is what it is when it is made for that place. */
static void moves(void **state)
{
	struct xl_unit a = { 0 }, b = { 0 };
	uint32_t places = 0;

	(void)state;
	set_memory();
	for (size_t v = 0; v < NR(variants); v++) {
		struct xl_input in = input_of(v);
		uint32_t shift = 0x4c0;

		in.known = NULL;
		in.entry = TEXT + (uint32_t)(guest32_main - guest32);
		in.place = CACHE;
		xl_translate(&in, &a);
		in.place = CACHE + shift;
		xl_translate(&in, &b);
		assert_int_equal(a.ncode, b.ncode);
		for (size_t k = 0; k < a.nreloc; k++) {
			uint32_t field;

			if (a.reloc[k].kind != XL_REL_PLACE)
				continue;
			memcpy(&field, a.code + a.reloc[k].at, 4);
			assert_true(field - CACHE < a.ncode);
			field += shift;
			memcpy(a.code + a.reloc[k].at, &field, 4);
			places++;
		}
		assert_memory_equal(a.code, b.code, a.ncode);
	}
	assert_true(places > 10);
	xl_unit_release(&a);
	xl_unit_release(&b);
}

/* What another run would not repeat the runtime executes. */
static void odd_ones(void **state)
{
	static const struct { const char *bytes; uint8_t n; } odd[] = {
		{ "\x0f\x31", 2 }, { "\x0f\x01\xf9", 3 }, { "\x0f\xa2", 2 }, { "\x0f\x01\xd0", 3 },
		{ "\x0f\xc7\xf0", 3 }, { "\x0f\xc7\xf9", 3 }, { "\xf3\x0f\xc7\xf8", 4 },
		{ "\x66\x0f\xc7\xf3", 4 },
	};
	struct xl_unit u = { 0 };

	(void)state;
	set_memory();
	for (size_t k = 0; k < NR(odd); k++)
		for (unsigned logged = 0; logged < 2; logged++) {
			struct xl_input in = basis;
			const uint32_t pc = TEXT + 0x8000 + 16 * (uint32_t)k;

			memcpy(at(pc), odd[k].bytes, odd[k].n);
			memcpy(at(pc + odd[k].n), "\xc3", 1);
			in.entry = pc;
			in.known = NULL;
			in.place = CACHE;
			in.logged = logged;
			xl_translate(&in, &u);
			assert_int_equal(u.block[0].n, logged ? 1 : 2);
			assert_int_equal(!!memmem(u.code, u.ncode, odd[k].bytes, odd[k].n),
					 !logged);
		}
	xl_unit_release(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_the_same), cmocka_unit_test(moves),
		cmocka_unit_test(odd_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
