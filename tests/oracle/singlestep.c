/* SPDX-License-Identifier: MIT */
/* singlestep.c - what a program really executes: an independent ptrace single-stepper
 *
 *   singlestep [options] -- PROGRAM [ARG...]
 *
 *   -s PREFIX   instruction stream: PREFIX.P.T per process and thread, the address of every
 *               instruction executed as little-endian u64 (compare with streamdiff)
 *   -c PREFIX   counts: PREFIX.P per process image, lines "ADDRESS COUNT", for rep-prefixed string
 *               instructions "ADDRESS COUNT ITERATIONS", sorted by address (compare-counts)
 *   -d PREFIX   data references: PREFIX.P.T, lines "N PC KIND ADDRESS SIZE" in program order, N the
 *               number of instructions of the stream that completed before, KIND
 *               one of r (read), w (write), m (read, then written), computed from the operands
 *               that Zydis decodes and the registers that ptrace shows before the instruction
 *   -v          with -d, a sixth column: what the reference's first eight bytes hold behind the
 *               instruction, as a hexadecimal number
 *   -f          follow forks and vforks (threads and execs are always followed)
 *   -r          AT_RANDOM points to the 16 bytes "pugmark-random-0" after every exec
 *   -n N        stop stepping after N instructions and kill the program
 *   -x          hide the vDSO: its clocks are read again while the kernel is updating them, which
 *               it does in every step or two
 *   -p CPU      both run on this processor: twice as fast, but the program sees its affinity
 *   -o FILE     summary (default: standard error)
 *
 * P numbers process images in the order in which they begin: the program is 1; a forked child, or
 * what replaces a process by exec, is the next. T numbers a process's threads from 1.
 *
 * What is counted   An instruction counts when it completes; one that faults does not, unless it is
 * repeated after the fault was repaired: then once. A rep-prefixed string instruction counts once,
 * when it completes, however many iterations it makes - none, too - and however often a fault or a
 * signal came between them; its iterations (each is a step of the processor) are counted beside.
 * A gather or scatter that has gone part of its way - the next element faults - has referred to the
 * elements that it took out of its mask, and counts when it completes.
 * int3 and an into that traps complete, and int1 where the kernel shows the place behind it. A
 * system call completes when it returns; exit, a successful exec and sigreturn count; one that the
 * process dies in does not, except exit and exit_group.
 *
 * Address-space randomisation is off. A second run is equal only with equal arguments, environment
 * (the length of the program's path too), AT_RANDOM (-r), and without rseq:
 * GLIBC_TUNABLES=glibc.pthread.rseq=0. The exit status is the program's own. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cpuid.h>

#include <Zydis/Zydis.h>

#define XSTATE_MAX	16384

enum {
	REP = 1,
	PUSHF = 2,
	VOLATILE = 4,
	SYSCALL = 8,
	STOPPER = 16,
	INTO = 32,
	GATHER = 64,
	CPUID = 128
};

struct insn {
	uint64_t pc, count, iterations;
	uint8_t bytes[15], len, flags;
	bool used, decoded;
	const ZydisDecodedOperand *vsib;	/* with -d: the operand of a gather or scatter,
						 * of a load or store of a tile */
	bool tile;
	ZydisDecodedInstruction *zi;	/* with -d */
	ZydisDecodedOperand *op;
};

struct image {				/* one process image: from exec or fork to exec or exit */
	unsigned number;
	pid_t tgid;
	char exe[512];
	struct insn *slot;		/* open addressing by pc */
	size_t n, mask;
	unsigned threads;
	uint64_t instructions, iterations;
	bool over;
};

struct thread {
	pid_t tid;
	struct image *image;
	unsigned number;
	FILE *stream, *refs;
	uint64_t pc;			/* of the instruction that the next step executes */
	bool new_stop;			/* its first SIGSTOP is ptrace's, not the program's */
	bool unsure;			/* the next SIGTRAP may come without an executed
					 * instruction */
	bool fresh;			/* a new image, of which nothing has been stepped */
	struct user_regs_struct regs;	/* at the last stop */
	uint8_t *xs;			/* ... and there, before a gather or scatter, the vector
					 * registers */
	uint64_t done;			/* instructions in the stream */
	uint64_t planted;		/* address of our int3, 0: none */
	uint8_t under;			/* ... the byte that it is in place of */
};

static struct thread **threads;
static size_t nthreads, cap_threads;
static struct image **images;
static size_t nimages;
static const char *stream_prefix, *counts_prefix, *refs_prefix;
static bool follow, fix_random, no_vdso, values;
static uint64_t limit = UINT64_MAX, steps, signals_delivered;
static ZydisDecoder decoder64, decoder32;

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("singlestep: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(125);
}

static void *zalloc(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		die("out of memory");
	return p;
}

static size_t peek(pid_t tid, uint64_t addr, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)addr, n };
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (got > 0)
		return (size_t)got;
	/* execute-only or half-mapped: word by word */
	size_t done = 0;

	for (; done < n; ) {
		errno = 0;
		long w = ptrace(PTRACE_PEEKDATA, tid, addr + done, NULL);
		size_t k = n - done < 8 ? n - done : 8;

		if (errno)
			break;
		memcpy((char *)to + done, &w, k);
		done += k;
	}
	return done;
}

/* ---- instructions of an image ------------------------------------------------------------- */

static struct insn *insn_slot(struct image *im, uint64_t pc)
{
	size_t i;

	if (im->n * 10 >= im->mask * 7) {
		struct insn *old = im->slot;
		size_t n = im->slot ? im->mask + 1 : 0;

		im->mask = n ? 2 * n - 1 : 16383;
		im->slot = zalloc((im->mask + 1) * sizeof *im->slot);
		for (size_t k = 0; k < n; k++)
			if (old[k].used) {
				for (i = old[k].pc * 0x9e3779b97f4a7c15 >> 20 & im->mask;
				     im->slot[i].used;)
					i = (i + 1) & im->mask;
				im->slot[i] = old[k];
			}
		free(old);
	}
	for (i = pc * 0x9e3779b97f4a7c15 >> 20 & im->mask; im->slot[i].used; i = (i + 1) & im->mask)
		if (im->slot[i].pc == pc)
			return &im->slot[i];
	im->slot[i].used = true;
	im->slot[i].pc = pc;
	im->n++;
	return &im->slot[i];
}

static bool writable(pid_t tid, uint64_t addr)
{
	char path[64], line[512];
	bool w = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long long lo, hi;
		char prot[5];

		if (sscanf(line, "%llx-%llx %4s", &lo, &hi, prot) == 3 && addr >= lo && addr < hi)
			w = prot[1] == 'w' || prot[3] == 's';
	}
	if (f)
		fclose(f);
	return w;
}

/* What the bytes at pc are, by their encoding alone. */
static void classify(struct insn *in, bool wide)
{
	const uint8_t *b = in->bytes, *end = b + in->len;
	bool rep = false;
	uint8_t keep = in->flags & VOLATILE;

	in->flags = keep;
	for (; b < end; b++) {
		if (*b == 0xf2 || *b == 0xf3)
			rep = true;
		else if (*b != 0x66 && *b != 0x67 && *b != 0xf0 && *b != 0x2e && *b != 0x36 &&
			 *b != 0x3e && *b != 0x26 && *b != 0x64 && *b != 0x65 &&
			 !(wide && (*b & 0xf0) == 0x40))
			break;
	}
	if (b == end)
		return;
	if (rep && ((*b >= 0x6c && *b <= 0x6f) || (*b >= 0xa4 && *b <= 0xa7) ||
		    (*b >= 0xaa && *b <= 0xaf)))
		in->flags |= REP;
	if (*b == 0x9c)
		in->flags |= PUSHF;
	if ((*b == 0x0f && b + 1 < end && (b[1] == 0x05 || b[1] == 0x34)) ||
	    (*b == 0xcd && b + 1 < end && b[1] == 0x80))
		in->flags |= SYSCALL;
	if (*b == 0xcc || *b == 0xf1 || (*b == 0xcd && b + 1 < end && b[1] == 3))
		in->flags |= STOPPER;
	if (*b == 0x0f && b + 1 < end && b[1] == 0xa2)
		in->flags |= CPUID;
	if (*b == 0xce && !wide)
		in->flags |= INTO;
	/* VEX 0f38 4b; VEX or EVEX 0f38 90..93, a0..a3 */
	if ((*b == 0xc4 && end - b > 3 && (b[1] & 0x1f) == 2 &&
	     ((b[3] & 0xfc) == 0x90 || b[3] == 0x4b)) ||
	    (*b == 0x62 && end - b > 4 && (b[1] & 15) == 2 &&
	     ((b[4] & 0xfc) == 0x90 || (b[4] & 0xfc) == 0xa0)))
		in->flags |= GATHER;
}

static struct insn *insn_at(struct thread *t, uint64_t pc)
{
	struct insn *in = insn_slot(t->image, pc);
	bool wide = t->regs.cs != 0x23;

	if (!in->len || in->flags & VOLATILE) {
		uint8_t bytes[15] = { 0 };
		size_t n = peek(t->tid, pc, bytes, sizeof bytes);

		if (!in->len && writable(t->tid, pc))
			in->flags |= VOLATILE;
		if (n != in->len || memcmp(bytes, in->bytes, n)) {
			memcpy(in->bytes, bytes, sizeof bytes);
			in->len = (uint8_t)n;
			classify(in, wide);
			in->decoded = false;
		}
	}
	if (refs_prefix && !in->decoded) {
		if (!in->zi) {
			in->zi = zalloc(sizeof *in->zi);
			in->op = zalloc(ZYDIS_MAX_OPERAND_COUNT * sizeof *in->op);
		}
		in->decoded = true;
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(wide ? &decoder64 : &decoder32, in->bytes,
						       in->len, in->zi, in->op)))
			in->zi->length = 0;
		in->vsib = NULL;
		in->tile = in->zi->length && (in->zi->mnemonic == ZYDIS_MNEMONIC_TILELOADD ||
					      in->zi->mnemonic == ZYDIS_MNEMONIC_TILELOADDT1 ||
					      in->zi->mnemonic == ZYDIS_MNEMONIC_TILESTORED);
		for (unsigned i = 0; in->zi->length && i < in->zi->operand_count; i++)
			if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    (in->tile || in->op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB))
				in->vsib = &in->op[i];
	}
	return in;
}

/* ---- data references ------------------------------------------------------------------------ */

static uint64_t reg_value(const struct user_regs_struct *r, ZydisRegister reg, uint64_t next)
{
	bool high = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
	uint64_t v;

	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return next;

	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
	case ZYDIS_REGISTER_RAX: v = r->rax; break;
	case ZYDIS_REGISTER_RCX: v = r->rcx; break;
	case ZYDIS_REGISTER_RDX: v = r->rdx; break;
	case ZYDIS_REGISTER_RBX: v = r->rbx; break;
	case ZYDIS_REGISTER_RSP: v = r->rsp; break;
	case ZYDIS_REGISTER_RBP: v = r->rbp; break;
	case ZYDIS_REGISTER_RSI: v = r->rsi; break;
	case ZYDIS_REGISTER_RDI: v = r->rdi; break;
	case ZYDIS_REGISTER_R8: v = r->r8; break;
	case ZYDIS_REGISTER_R9: v = r->r9; break;
	case ZYDIS_REGISTER_R10: v = r->r10; break;
	case ZYDIS_REGISTER_R11: v = r->r11; break;
	case ZYDIS_REGISTER_R12: v = r->r12; break;
	case ZYDIS_REGISTER_R13: v = r->r13; break;
	case ZYDIS_REGISTER_R14: v = r->r14; break;
	case ZYDIS_REGISTER_R15: v = r->r15; break;
	default: return 0;
	}
	if (high)
		return v >> 8 & 0xff;
	switch (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
	case 8: return v & 0xff;
	case 16: return v & 0xffff;
	case 32: return v & 0xffffffff;
	default: return v;
	}
}

static uint64_t segment_base(const struct user_regs_struct *r, ZydisRegister seg)
{
	return seg == ZYDIS_REGISTER_FS ? r->fs_base : seg == ZYDIS_REGISTER_GS ? r->gs_base : 0;
}

static void put_ref(struct thread *t, char kind, uint64_t addr, unsigned size)
{
	fprintf(t->refs, "%llu %llx %c %llx %u", (unsigned long long)t->done,
		(unsigned long long)t->pc, kind, (unsigned long long)addr, size);
	if (values) {
		uint64_t v = 0;

		peek(t->tid, addr, &v, size < sizeof v ? size : sizeof v);
		fprintf(t->refs, " %llx", (unsigned long long)v);
	}
	fputc('\n', t->refs);
}

/* The vector register as ptrace's standard-format xsave area holds it: @n bytes into @to. */
static void vector_value(const uint8_t *xs, unsigned index, uint8_t *to, unsigned n)
{
	unsigned a, b, c, d;

	memset(to, 0, 64);
	if (index < 16) {
		memcpy(to, xs + 160 + 16 * index, 16);
		if (n > 16) {
			__cpuid_count(0xd, 2, a, b, c, d);
			memcpy(to + 16, xs + b + 16 * index, 16);
		}
		if (n > 32) {
			__cpuid_count(0xd, 6, a, b, c, d);
			memcpy(to + 32, xs + b + 32 * index, 32);
		}
	} else {
		__cpuid_count(0xd, 7, a, b, c, d);
		memcpy(to, xs + b + 64 * (index - 16), 64);
	}
}

static void get_vectors(pid_t tid, uint8_t *xs)
{
	struct iovec iov = { xs, XSTATE_MAX };

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov))
		die("cannot read the vector registers: %s", strerror(errno));
}

/* Bit i: element i is selected by the mask in @xs. *@n: elements. */
static uint32_t selected(const struct insn *in, const uint8_t *xs, unsigned *n, unsigned *ielem)
{
	const ZydisDecodedInstruction *zi = in->zi;
	const ZydisDecodedOperand *m = in->vsib;
	unsigned elem = m->element_size / 8, k = 0;
	bool evex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	uint8_t mask[64] = { 0 };
	uint64_t kmask = 0;
	uint32_t bits = 0;

	/* The letter before the last tells the index size: vpgatherDd, vgatherQps. */
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_VGATHERQPD: case ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VPGATHERQD: case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPD: case ZYDIS_MNEMONIC_VSCATTERQPS:
	case ZYDIS_MNEMONIC_VPSCATTERQD: case ZYDIS_MNEMONIC_VPSCATTERQQ:
		*ielem = 8;
		break;
	default:
		*ielem = 4;
	}
	/* As many elements as both the index and the data register hold. */
	*n = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, m->mem.index) / 8 / *ielem;
	for (unsigned i = 0; i < zi->operand_count; i++) {
		const ZydisDecodedOperand *o = &in->op[i];
		ZydisRegisterClass c;

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		c = ZydisRegisterGetClass(o->reg.value);
		if (c == ZYDIS_REGCLASS_MASK) {
			unsigned eax, off, ecx, edx;

			__cpuid_count(0xd, 5, eax, off, ecx, edx);
			memcpy(&kmask, xs + off + 8 * ZydisRegisterGetId(o->reg.value), 8);
		} else if (c >= ZYDIS_REGCLASS_XMM && c <= ZYDIS_REGCLASS_ZMM) {
			unsigned w = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64,
							   o->reg.value) /
				     8;

			if (w / elem < *n)
				*n = w / elem;
			if (!evex && k++ == 1)		/* VEX: dest, vsib, mask */
				vector_value(xs, (unsigned)ZydisRegisterGetId(o->reg.value), mask,
					     w);
		}
	}
	for (unsigned i = 0; i < *n; i++)
		bits |= (uint32_t)(evex ? kmask >> i & 1 : mask[i * elem + elem - 1] >> 7) << i;
	return bits;
}

/* Loads and stores of tiles: one reference for each row from the one on where it had been stopped;
 * @partly: to where it has been stopped now. */
static void tile_refs(struct thread *t, const struct insn *in, bool partly)
{
	static uint8_t now[XSTATE_MAX];
	const ZydisDecodedOperand *m = in->vsib, *reg = m == in->op ? m + 1 : in->op;
	const unsigned tile = (unsigned)(reg->reg.value - ZYDIS_REGISTER_TMM0);
	unsigned eax, config, ecx, edx, end;
	uint64_t stride = m->mem.index == ZYDIS_REGISTER_NONE
				  ? 0
				  : reg_value(&t->regs, m->mem.index, 0) * m->mem.scale;
	uint64_t base = (uint64_t)m->mem.disp.value;
	uint16_t bytes;

	__cpuid_count(0xd, 17, eax, config, ecx, edx);
	memcpy(&bytes, t->xs + config + 16 + 2 * tile, 2);
	end = t->xs[config + 48 + tile];
	if (partly) {
		get_vectors(t->tid, now);
		end = now[config + 1];
	}
	if (m->mem.base != ZYDIS_REGISTER_NONE)
		base += reg_value(&t->regs, m->mem.base, 0);
	for (unsigned row = t->xs[config + 1]; row < end; row++) {
		uint64_t a = base + row * stride;

		if (in->zi->address_width == 32)
			a &= 0xffffffff;
		put_ref(t, m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? 'w' : 'r',
			a + segment_base(&t->regs, m->mem.segment), bytes);
	}
}

/* Gathers and scatters: one reference for each element that the mask had selected; @partly: and
 * that it does not any more. */
static void element_refs(struct thread *t, const struct insn *in, bool partly)
{
	static uint8_t now[XSTATE_MAX];
	const ZydisDecodedOperand *m = in->vsib;
	unsigned n, ielem,
		width = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, m->mem.index) / 8;
	uint32_t on = selected(in, t->xs, &n, &ielem);
	uint64_t seg = segment_base(&t->regs, m->mem.segment);
	uint8_t idx[64];

	if (partly) {
		get_vectors(t->tid, now);
		on &= ~selected(in, now, &n, &ielem);
	}
	vector_value(t->xs, (unsigned)ZydisRegisterGetId(m->mem.index), idx, width);
	for (unsigned i = 0; i < n; i++) {
		uint64_t a;
		int64_t at = 0;

		if (!(on >> i & 1))
			continue;
		if (ielem == 8) {
			memcpy(&at, idx + 8 * i, 8);
		} else {
			int32_t v;

			memcpy(&v, idx + 4 * i, 4);
			at = v;
		}
		a = reg_value(&t->regs, m->mem.base, 0) + (uint64_t)at * m->mem.scale +
		    (uint64_t)m->mem.disp.value;
		if (in->zi->address_width == 32)
			a &= 0xffffffff;
		put_ref(t, m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? 'w' : 'r', a + seg,
			m->element_size / 8);
	}
}

static void vsib_refs(struct thread *t, const struct insn *in, bool partly)
{
	if (in->tile)
		tile_refs(t, in, partly);
	else
		element_refs(t, in, partly);
}

/* What xsave, or its like, may touch: legacy region, header, and the components in eax that are
 * enabled. */
static unsigned xsave_bytes(const ZydisDecodedInstruction *zi, uint64_t asked)
{
	bool compact = zi->mnemonic == ZYDIS_MNEMONIC_XSAVEC ||
		       zi->mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
	unsigned size[32], offset[32], flags[32], d, total = 512 + 64, enabled;

	__asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
	for (unsigned i = 2; i < 32; i++)
		__cpuid_count(0xd, i, size[i], offset[i], flags[i], d);
	for (unsigned i = 2; i < 32; i++) {
		if (!(enabled >> i & 1) || !(asked >> i & 1))
			continue;
		if (compact) {
			if (flags[i] >> 1 & 1)
				while (total % 64)
					total++;
			total += size[i];
		} else if (offset[i] + size[i] > total) {
			total = offset[i] + size[i];
		}
	}
	return total;
}

/* References of the instruction that has just executed, or (@again) gone part of its way, from the
 * registers before it. */
static void put_refs(struct thread *t, const struct insn *in, bool again)
{
	const ZydisDecodedInstruction *zi = in->zi;
	const struct user_regs_struct *r = &t->regs;
	uint64_t next = t->pc + zi->length, amask;
	bool wide = r->cs != 0x23;

	if (!zi->length || zi->meta.category == ZYDIS_CATEGORY_NOP ||
	    zi->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	    zi->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    zi->mnemonic == ZYDIS_MNEMONIC_CLFLUSH || zi->mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT ||
	    zi->mnemonic == ZYDIS_MNEMONIC_CLWB || zi->mnemonic == ZYDIS_MNEMONIC_CLDEMOTE)
		return;
	if (in->flags & REP) {
		uint64_t count = zi->address_width == 64 ? r->rcx : r->rcx & 0xffffffff;

		if (!count)
			return;
	}
	amask = zi->address_width == 64 ? UINT64_MAX : (UINT64_C(1) << zi->address_width) - 1;
	/* Reads before writes: the processor's order within an instruction. */
	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < zi->operand_count; i++) {
			const ZydisDecodedOperand *o = &in->op[i];
			unsigned size = o->size / 8;
			bool rd, wr;
			bool stack = o->mem.base == ZYDIS_REGISTER_RSP ||
				     o->mem.base == ZYDIS_REGISTER_ESP;
			uint64_t a;

			if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
			    o->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
			    o->mem.type == ZYDIS_MEMOP_TYPE_MIB)
				continue;
			rd = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
			wr = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
			if (pass != (wr && !rd))
				continue;
			if (o == in->vsib) {
				vsib_refs(t, in, again);
				continue;
			}
			a = (uint64_t)(o->mem.disp.has_displacement ? o->mem.disp.value : 0);
			if (o->mem.base != ZYDIS_REGISTER_NONE)
				a += reg_value(r, o->mem.base, next);
			if (o->mem.index != ZYDIS_REGISTER_NONE)
				a += reg_value(r, o->mem.index, next) *
				     (o->mem.scale ? o->mem.scale : 1);
			else if (zi->mnemonic == ZYDIS_MNEMONIC_XLAT)
				a += r->rax & 0xff;		/* which Zydis does not tell */
			if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && stack && wr)
				a -= size;			/* push and call */
			if (zi->mnemonic == ZYDIS_MNEMONIC_POP && stack &&
			    o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
				a += size;			/* pop [rsp+n]: the rsp after it */
			if ((zi->mnemonic == ZYDIS_MNEMONIC_BT ||
			     zi->mnemonic == ZYDIS_MNEMONIC_BTS ||
			     zi->mnemonic == ZYDIS_MNEMONIC_BTR ||
			     zi->mnemonic == ZYDIS_MNEMONIC_BTC) &&
			    in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
				int64_t bit = (int64_t)reg_value(r, in->op[1].reg.value, next);

				bit = size == 2 ? (int16_t)bit : size == 4 ? (int32_t)bit : bit;
				a += (uint64_t)(bit >> (size == 2 ? 4 : size == 4 ? 5 : 6)) * size;
			}
			if (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN || !stack)
				a &= amask;		/* 67 does not concern the stack */
			a += segment_base(r, o->mem.segment);
			if (!wide)
				a = (uint32_t)a;
			switch (zi->mnemonic) {
			case ZYDIS_MNEMONIC_XSAVE: case ZYDIS_MNEMONIC_XSAVE64:
			case ZYDIS_MNEMONIC_XSAVEOPT: case ZYDIS_MNEMONIC_XSAVEOPT64:
			case ZYDIS_MNEMONIC_XSAVEC: case ZYDIS_MNEMONIC_XSAVEC64:
			case ZYDIS_MNEMONIC_XRSTOR: case ZYDIS_MNEMONIC_XRSTOR64:
				size = xsave_bytes(zi, r->rax);
				break;
			default:
				break;
			}
			put_ref(t, rd && wr ? 'm' : wr ? 'w' : 'r', a, size);
		}
}

/* ---- processes and threads ------------------------------------------------------------------ */

static void read_link(pid_t tid, char *to, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)tid);
	n = readlink(path, to, size - 1);
	to[n > 0 ? n : 0] = 0;
}

static struct image *new_image(pid_t tgid)
{
	struct image *im = zalloc(sizeof *im);

	images = realloc(images, (nimages + 1) * sizeof *images);
	images[nimages++] = im;
	im->number = (unsigned)nimages;
	im->tgid = tgid;
	read_link(tgid, im->exe, sizeof im->exe);
	return im;
}

static FILE *open_for(const char *prefix, const struct thread *t)
{
	char path[4096];
	FILE *f;

	if (!prefix)
		return NULL;
	snprintf(path, sizeof path, "%s.%u.%u", prefix, t->image->number, t->number);
	f = fopen(path, "w");
	if (!f)
		die("%s: %s", path, strerror(errno));
	setvbuf(f, NULL, _IOFBF, 1 << 16);
	return f;
}

static void close_files(struct thread *t)
{
	if ((t->stream && fclose(t->stream)) || (t->refs && fclose(t->refs)))
		die("cannot write: %s", strerror(errno));
	t->stream = t->refs = NULL;
}

static void join_image(struct thread *t, struct image *im)
{
	close_files(t);
	t->image = im;
	t->number = ++im->threads;
	t->done = 0;
	t->stream = open_for(stream_prefix, t);
	t->refs = open_for(refs_prefix, t);
}

static struct thread *find_thread(pid_t tid)
{
	for (size_t i = 0; i < nthreads; i++)
		if (threads[i]->tid == tid)
			return threads[i];
	return NULL;
}

static pid_t group_of(pid_t tid)
{
	char path[64], line[256];
	int tgid = tid;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

static struct thread *add_thread(pid_t tid)
{
	struct thread *t = zalloc(sizeof *t);
	struct image *im = NULL;
	pid_t tgid = group_of(tid);

	if (nthreads == cap_threads) {
		cap_threads = cap_threads ? cap_threads * 2 : 16;
		threads = realloc(threads, cap_threads * sizeof *threads);
	}
	threads[nthreads++] = t;
	t->tid = tid;
	for (size_t i = 0; i < nimages; i++)
		if (images[i]->tgid == tgid && !images[i]->over)
			im = images[i];
	join_image(t, im ? im : new_image(tgid));
	return t;
}

static void drop_thread(struct thread *t)
{
	bool last = true;

	close_files(t);
	free(t->xs);
	for (size_t i = 0; i < nthreads; i++)
		if (threads[i] == t)
			threads[i--] = threads[--nthreads];
		else if (threads[i]->image == t->image)
			last = false;
	if (last)
		t->image->over = true;
	free(t);
}

/* ---- stepping ------------------------------------------------------------------------------- */

/* Once the stack of a new program is as execve() leaves it: -r, -x. */
static void fix_auxv(pid_t tid, const struct user_regs_struct *r)
{
	bool wide = r->cs != 0x23;
	unsigned word = wide ? 8 : 4;
	uint64_t at = r->rsp, v, key;
	int nulls = 0;

	v = 0;
	peek(tid, at, &v, word);
	at += word * (v + 1);		/* argc, argv[] */
	while (nulls < 2) {
		v = 0;
		if (peek(tid, at, &v, word) != word)
			return;
		at += word;
		if (!v)
			nulls++;
	}
	for (;; at += 2 * word) {
		key = v = 0;
		if (peek(tid, at, &key, word) != word || key == AT_NULL)
			return;
		peek(tid, at + word, &v, word);
		if (no_vdso && (key == AT_SYSINFO_EHDR || key == AT_SYSINFO)) {
			uint64_t ignore = AT_IGNORE;
			struct iovec local = { &ignore, word },
			remote = { (void *)(uintptr_t)at, word };

			if (process_vm_writev(tid, &local, 1, &remote, 1, 0) != (ssize_t)word)
				die("cannot hide the vDSO: %s", strerror(errno));
		}
		if (fix_random && key == AT_RANDOM) {
			static const char bytes[17] = "pugmark-random-0";
			struct iovec local = { (void *)(uintptr_t)bytes, 16 };
			struct iovec remote = { (void *)(uintptr_t)v, 16 };

			if (process_vm_writev(tid, &local, 1, &remote, 1, 0) != 16)
				die("cannot set AT_RANDOM: %s", strerror(errno));
		}
	}
}

/* A step's SIGTRAP that finds the signal blocked resets the program's handler to the default: in a
 * handler, SIGTRAP stays unblocked. (A program that has a SIGTRAP handler and blocks the signal by
 * a system call is beyond this tool.) */
static void unblock_trap(pid_t tid)
{
	uint64_t mask;

	if (!ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) && mask & 1 << (SIGTRAP - 1)) {
		mask &= ~(UINT64_C(1) << (SIGTRAP - 1));
		ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask);
	}
}

/* A hypervisor that emulates cpuid may lose the trap behind it, and the next instruction is
 * executed with it: it is run up to a breakpoint instead. (Another thread that comes there at the
 * same moment is beyond this tool.) */
static bool plant(struct thread *t, uint64_t addr)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, t->tid, addr, NULL);
	if (errno)
		return false;
	t->under = (uint8_t)word;
	if (ptrace(PTRACE_POKETEXT, t->tid, addr, (word & ~0xffL) | 0xcc))
		return false;
	t->planted = addr;
	return true;
}

/* True: it stands there, and @now says so. */
static bool lift(struct thread *t, struct user_regs_struct *now, bool trap)
{
	const uint64_t at = t->planted;
	long word;

	if (!at)
		return false;
	t->planted = 0;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, t->tid, at, NULL);
	if (errno || ptrace(PTRACE_POKETEXT, t->tid, at, (word & ~0xffL) | t->under))
		die("cannot take the breakpoint away: %s", strerror(errno));
	if (!trap || now->rip != at + 1)
		return false;
	now->rip = at;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, now))
		die("cannot set registers: %s", strerror(errno));
	return true;
}

static void completed(struct thread *t, struct insn *in)
{
	in->count++;
	t->image->instructions++;
	t->done++;
	if (t->stream && fwrite(&t->pc, 8, 1, t->stream) != 1)
		die("cannot write the stream: %s", strerror(errno));
}

/* The instruction at t->pc has completed, or (rep) one iteration of it; @now is after it. */
static void executed(struct thread *t, const struct user_regs_struct *now)
{
	struct insn *in = insn_at(t, t->pc);
	bool again = in->flags & (REP | GATHER) && now->rip == t->pc;

	steps++;
	if (in->flags & PUSHF) {
		/* The trap flag on the stack is ours; the program must not see or restore it. */
		uint64_t word = 0;
		unsigned size = (unsigned)(t->regs.rsp - now->rsp);	/* 2, 4 or 8 */

		if (size > 8)
			size = 8;

		if (peek(t->tid, now->rsp, &word, size) == size && word & 0x100) {
			struct iovec local = { &word, size },
			remote = { (void *)(uintptr_t)now->rsp, size };

			word &= ~UINT64_C(0x100);
			if (process_vm_writev(t->tid, &local, 1, &remote, 1, 0) != (ssize_t)size)
				die("cannot clear the trap flag on the stack");
		}
	}
	if (t->refs)
		put_refs(t, in, again);
	if (!again)
		completed(t, in);
	if (in->flags & REP) {
		/* a step that left with the count at zero from the start made no iteration */
		uint64_t c = t->regs.rcx;

		if (c) {
			in->iterations++;
			t->image->iterations++;
		}
	}
}

static void step_all(pid_t first, int *result)
{
	long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL |
		       (follow ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0);
	bool begun = false, first_alive = true, stepped;

	while (nthreads || first_alive) {
		int status, sig, deliver = 0;
		struct user_regs_struct now;
		struct thread *t;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0) {
			if (errno == EINTR)
				continue;
			if (errno == ECHILD)
				break;
			die("waitpid: %s", strerror(errno));
		}
		t = find_thread(tid);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == first) {
				*result = status;
				first_alive = false;
			}
			if (t) {
				struct insn *in = t->pc ? insn_slot(t->image, t->pc) : NULL;

				/* exit and exit_group never come back from their system call */
				if (in && in->flags & SYSCALL && WIFEXITED(status))
					completed(t, in);
				drop_thread(t);
			}
			continue;
		}
		sig = WSTOPSIG(status);
		if (!begun) {			/* the SIGSTOP in front of the first exec */
			begun = true;
			if (ptrace(PTRACE_SETOPTIONS, tid, 0, options))
				die("ptrace: %s", strerror(errno));
			ptrace(PTRACE_CONT, tid, 0, 0);
			continue;
		}
		if (!t) {
			if (tid == first && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
				ptrace(PTRACE_CONT, tid, 0, sig);	/* before the exec */
				continue;
			}
			t = add_thread(tid);
			t->new_stop = tid != first;
		}
		if (ptrace(PTRACE_GETREGS, tid, 0, &now)) {
			if (errno == ESRCH)	/* killed meanwhile; its end will be reported */
				continue;
			die("cannot read registers: %s", strerror(errno));
		}
		stepped = lift(t, &now, sig == SIGTRAP && !(status >> 16));
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			unsigned long old = 0;
			struct thread *caller;

			ptrace(PTRACE_GETEVENTMSG, tid, 0, &old);
			/* An exec by another thread: that thread takes over the leader's id. */
			caller = (pid_t)old != tid ? find_thread((pid_t)old) : NULL;
			if (t->pc || caller) {
				struct thread *c = caller ? caller : t;

				completed(c, insn_slot(c->image, c->pc)); /* the execve itself */
			}
			if (t->pc || caller) {
				t->image->over = true;
				for (size_t i = 0; i < nthreads; i++)
					if (threads[i] != t && threads[i]->image == t->image) {
						drop_thread(threads[i]);
						i = (size_t)-1;
					}
				join_image(t, new_image(tid));
			}
			if (fix_random || no_vdso)
				fix_auxv(tid, &now);
			t->unsure = t->fresh = true;
		} else if (status >> 16) {
			/* clone, fork, vfork: in the middle of the system call; its step comes
			 * later */
			unsigned long child = 0;

			if (!ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) &&
			    !find_thread((pid_t)child))
				add_thread((pid_t)child)->new_stop = true;
			goto resume;
		} else if (t->new_stop && sig == SIGSTOP) {
			t->new_stop = false;
			t->unsure = true;
		} else if (sig == SIGTRAP) {
			siginfo_t si;
			struct insn *in = insn_at(t, t->pc);
			bool done = true;

			if (!stepped && (t->unsure || in->flags & STOPPER || now.rip == t->pc)) {
				if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si))
					continue;
				/* TRAP_TRACE: a step; TRAP_BRKPT: a step over a system call;
				 * SIGTRAP: a handler is about to run, nothing was executed */
				if (si.si_code == SIGTRAP) {
					done = false;
					unblock_trap(tid);
				} else if (si.si_code <= 0 ||
					   (si.si_code == SI_KERNEL && !(in->flags & STOPPER))) {
					done = false;	/* somebody sent a SIGTRAP */
					deliver = sig;
				} else if (in->flags & STOPPER)
					deliver = sig;
			}
			/* after an exec the step of the execve is reported in the new image */
			if (!stepped && t->fresh && !deliver && done && si.si_code == TRAP_BRKPT)
				done = false;
			t->unsure = t->fresh = false;
			if (done && t->pc && !(deliver && now.rip == t->pc))
				executed(t, &now);
		} else {
			struct insn *in = t->pc ? insn_slot(t->image, t->pc) : NULL;

			deliver = sig;
			if (in && in->vsib && t->xs && now.rip == t->pc)
				vsib_refs(t, in, true);
			if (sig == SIGSEGV && now.rip == t->pc + 1 &&
			    insn_at(t, t->pc)->flags & INTO)
				executed(t, &now);
		}
		if (deliver) {
			signals_delivered++;
			t->unsure = true;
		}
		t->regs = now;
		t->pc = now.rip;
		if (insn_at(t, t->pc)->vsib) {	/* its bytes while they are there */
			if (!t->xs)
				t->xs = zalloc(XSTATE_MAX);
			get_vectors(tid, t->xs);
		}
		if (steps >= limit) {
			fprintf(stderr, "singlestep: stopped after %llu steps\n",
				(unsigned long long)steps);
			for (size_t i = 0; i < nimages; i++)
				if (!images[i]->over)
					kill(images[i]->tgid, SIGKILL);
			limit = UINT64_MAX;
			continue;
		}
resume:
	if (ptrace(t->pc && !deliver && insn_slot(t->image, t->pc)->flags & CPUID &&
				   plant(t, t->pc + 2)
			   ? PTRACE_CONT
			   : PTRACE_SINGLESTEP,
		   tid, 0, deliver) &&
	    errno != ESRCH)
		die("cannot step: %s", strerror(errno));
	}
}

static int by_pc(const void *a, const void *b)
{
	const struct insn *x = *(struct insn *const *)a, *y = *(struct insn *const *)b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void write_counts(const struct image *im)
{
	struct insn **v = zalloc((im->n + 1) * sizeof *v);
	char path[4096];
	size_t n = 0;
	FILE *f;

	for (size_t i = 0; im->slot && i <= im->mask; i++)
		if (im->slot[i].used && im->slot[i].count)
			v[n++] = &im->slot[i];
	qsort(v, n, sizeof *v, by_pc);
	snprintf(path, sizeof path, "%s.%u", counts_prefix, im->number);
	f = fopen(path, "w");
	if (!f)
		die("%s: %s", path, strerror(errno));
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "0x%llx %llu", (unsigned long long)v[i]->pc,
			(unsigned long long)v[i]->count);
		if (v[i]->flags & REP)
			fprintf(f, " %llu", (unsigned long long)v[i]->iterations);
		fputc('\n', f);
	}
	if (fclose(f))
		die("%s: %s", path, strerror(errno));
	free(v);
}

int main(int argc, char **argv)
{
	FILE *summary = stderr;
	cpu_set_t cpus;
	int result = 0, c;
	pid_t pid;

	while ((c = getopt(argc, argv, "+s:c:d:n:o:p:frvx")) > 0)
		switch (c) {
		case 's': stream_prefix = optarg; break;
		case 'c': counts_prefix = optarg; break;
		case 'd': refs_prefix = optarg; break;
		case 'n': limit = strtoull(optarg, NULL, 0); break;
		case 'f': follow = true; break;
		case 'v': values = true; break;
		case 'r': fix_random = true; break;
		case 'x': no_vdso = true; break;
		case 'p':
			CPU_ZERO(&cpus);
			CPU_SET(atoi(optarg), &cpus);
			if (sched_setaffinity(0, sizeof cpus, &cpus))
				die("cannot run on processor %s: %s", optarg, strerror(errno));
			break;
		case 'o':
			summary = fopen(optarg, "we");
			if (!summary)
				die("%s: %s", optarg, strerror(errno));
			break;
		default:
			return 2;
		}
	if (optind == argc) {
		fputs("usage: singlestep [-frx] [-s|-c|-d PREFIX] [-n N] [-p CPU] [-o FILE] -- "
		      "PROGRAM [ARG...]\n",
		      stderr);
		return 2;
	}
	ZydisDecoderInit(&decoder64, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderInit(&decoder32, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		int old = personality(0xffffffff);

		if (old < 0 || personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0)
			fputs("singlestep: address-space randomisation stays on\n", stderr);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[optind], argv + optind);
		fprintf(stderr, "singlestep: %s: %s\n", argv[optind], strerror(errno));
		_exit(127);
	}
	step_all(pid, &result);
	for (size_t i = 0; i < nimages; i++) {
		const struct image *im = images[i];

		fprintf(summary, "%u %s: %llu instructions, %llu rep iterations, %u threads\n",
			im->number, im->exe, (unsigned long long)im->instructions,
			(unsigned long long)im->iterations, im->threads);
		if (counts_prefix)
			write_counts(im);
	}
	if (WIFSIGNALED(result)) {
		signal(WTERMSIG(result), SIG_DFL);
		raise(WTERMSIG(result));
		return 128 + WTERMSIG(result);
	}
	return WEXITSTATUS(result);
}
