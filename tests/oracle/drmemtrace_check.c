/* SPDX-License-Identifier: MIT */
/* drmemtrace_check FILE... - does each file hold what DynamoRIO's tools rely on?
 *
 * The rules are those of its documentation and of its own invariant checker, in our words; nothing
 * of pugmark's reader or writer is used. A file is one thread's trace, not packed. Prints a line
 * for the whole, and one for each rule that is broken.
 *
 * (1) A file begins with a header, its version, its type, thread and process; line and page size
 *     come before the end; it ends with the thread's exit and a footer, and has one thread.
 * (2) With encodings in its type, every instruction's bytes are known when it runs, are as many as
 *     it is long, and decode to as many.
 * (3) An instruction follows the one before it in memory, or is the branch's target, or the same
 *     one again as a repetition, or a marker says why not: a signal's handler begins or returns, or
 *     a window has changed.
 * (4) Conditional branches say whether they were taken, indirect ones have a target that is not 0.
 * (5) Times do not go back, and none stands between a branch and what follows it, but for signals.
 * (6) If the type promises numbers of system calls, each system call's instruction has one behind
 *     it, and it has a time and a processor before it.
 * (7) A signal's marker says where it came: where the flow had got to, or the last instruction,
 *     which begins again. A handler that returns returns there. (A program whose handlers change
 *     where they return to breaks this rule, whoever traces it.)
 * (8) An instruction has the reads and writes that its operands say. */
#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ, WRITE, PREFETCH, INSTR = 10, JUMP, JUMP_IND, COND, CALL, CALL_IND, RET, THREAD = 22,
       EXIT, PID, HEADER, FOOTER, MARKER = 28, AGAIN, SYSENTER = 31, ENCODING = 47, TAKEN,
       UNTAKEN };
enum { EVENT, XFER, TIME, CPU, TYPE = 9, LINE, VERSION = 12, WINDOW = 14, PAGE = 18, SYSCALL = 25,
       TARGET = 29 };

struct entry { unsigned type, size; uint64_t addr; };
struct insn {
	uint64_t pc;
	uint8_t bytes[16];
	unsigned n;
	bool decoded, direct, call, uncertain, rep;
	uint64_t target;
	int reads, writes;
};
struct check {
	const char *path;
	const uint8_t *p;
	size_t n, at;
	unsigned width, broken;
	uint64_t type, tid, time, window, insns;
	bool line, page, exited, footer;
	struct insn *table;		/* hashed by pc */
	uint8_t enc[16];
	unsigned nenc;
	uint64_t target;		/* of the indirect branch that comes */
	/* the last instruction */
	uint64_t pc, next;		/* next 0: anywhere */
	unsigned size, kind;
	bool any, timed, number, transfer;
	int reads, writes;
	struct insn *last;
	uint64_t resume[64], expect;	/* expect: where a handler must return to */
	unsigned depth;
	unsigned before[2];		/* kinds of the last two markers, ~0: something else */
};
#define SLOTS	(1u << 20)

static void fail(struct check *c, const char *what)
{
	if (++c->broken <= 5)
		printf("%s: entry %zu, instruction %llu at 0x%llx: %s\n", c->path,
		       c->at / c->width, (unsigned long long)c->insns,
		       (unsigned long long)c->pc, what);
}

static struct insn *slot(struct check *c, uint64_t pc)
{
	size_t i = (size_t)(pc * 0x9e3779b97f4a7c15u >> 44) & (SLOTS - 1);

	while (c->table[i].n && c->table[i].pc != pc)
		i = (i + 1) & (SLOTS - 1);
	return c->table + i;
}

static void decode(struct check *c, struct insn *in)
{
	const bool wide = c->type & 0x40;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder d;

	ZydisDecoderInit(&d, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
			 wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
	in->decoded = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, in->bytes, in->n, &z, op));
	in->direct = in->call = in->uncertain = in->rep = false;
	in->reads = in->writes = 0;
	if (!in->decoded)
		return;
	if (z.length != in->n)
		fail(c, "(2) the bytes are another length than the instruction");
	in->call = z.mnemonic == ZYDIS_MNEMONIC_SYSCALL || z.mnemonic == ZYDIS_MNEMONIC_SYSENTER ||
		   (z.mnemonic == ZYDIS_MNEMONIC_INT && op[0].imm.value.u == 0x80);
	in->rep = z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				  ZYDIS_ATTRIB_HAS_REPNE);
	in->uncertain = in->call || z.meta.category == ZYDIS_CATEGORY_CMOV ||
		z.meta.category == ZYDIS_CATEGORY_XSAVE ||
		z.meta.category == ZYDIS_CATEGORY_XSAVEOPT ||
		z.meta.category == ZYDIS_CATEGORY_PREFETCH ||
		z.meta.category == ZYDIS_CATEGORY_NOP ||
		z.meta.category == ZYDIS_CATEGORY_WIDENOP ||
		z.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
		z.meta.category == ZYDIS_CATEGORY_GATHER ||
		z.meta.category == ZYDIS_CATEGORY_AVX2GATHER ||
		z.meta.category == ZYDIS_CATEGORY_SCATTER ||
		z.meta.category == ZYDIS_CATEGORY_SYSTEM || z.avx.mask.reg;
	for (unsigned i = 0; i < z.operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[i].imm.is_relative) {
			ZyanU64 to;

			in->direct = ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&z, op + i, in->pc,
									   &to));
			in->target = wide ? to : (uint32_t)to;
		}
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		in->reads += (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		in->writes += (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
}

/* (8) of the instruction that is over. */
static void end_insn(struct check *c)
{
	const struct insn *in = c->last;
	char text[120];

	if (!c->any || !in || !in->decoded || in->uncertain)
		return;
	if (in->rep && !c->reads && !c->writes)
		return;				/* repeated no times */
	if (in->reads == c->reads && in->writes == c->writes)
		return;
	snprintf(text, sizeof text,
		 "(8) %d reads and %d writes of operands, %d and %d in the trace", in->reads,
		 in->writes, c->reads, c->writes);
	fail(c, text);
}

static struct insn *known(struct check *c, const struct entry *e)
{
	struct insn *in = slot(c, e->addr);

	if (!(c->type & 0x200))
		return NULL;
	if (c->nenc) {
		if (c->nenc != e->size)
			fail(c, "(2) more or fewer bytes than the instruction has");
		in->pc = e->addr;
		in->n = c->nenc;
		memcpy(in->bytes, c->enc, sizeof in->bytes);
		decode(c, in);
	}
	if (!in->n)
		fail(c, "(2) nobody knows its bytes");
	else if (in->n != e->size)
		fail(c, "(2) it was another length before");
	else if (!in->decoded)
		fail(c, "(2) its bytes are no instruction");
	return in->n ? in : NULL;
}

/* (3) @pc comes now. */
static void check_flow(struct check *c, uint64_t pc, bool again)
{
	if (c->any && c->next && pc != c->next && !(again && pc == c->pc))
		fail(c, c->kind >= JUMP && c->kind != AGAIN ?
		     "(3) the branch leads elsewhere" : "(3) a jump that nothing explains");
	if (c->expect && pc != c->expect)
		fail(c, "(7) a handler returns elsewhere");
}

static uint64_t where_to(struct check *c, const struct entry *e, const struct insn *in)
{
	const uint64_t behind = e->addr + e->size;

	switch (e->type) {
	case COND:
		fail(c, "(4) it does not say whether it was taken");
		return 0;
	case JUMP_IND:
	case CALL_IND:
	case RET:
		if (!c->target)
			fail(c, "(4) an indirect branch without a target");
		return c->target;
	case JUMP:
	case CALL:
	case TAKEN:
		if (c->target)
			fail(c, "(4) a target of what is no indirect branch");
		if (in && in->decoded && !in->direct)
			fail(c, "(4) it is no direct branch");
		return in && in->direct ? in->target : 0;
	case SYSENTER:
		return 0;
	}
	return behind;
}

static void add_insn(struct check *c, const struct entry *e)
{
	const bool branch = c->kind >= JUMP && c->kind != AGAIN && c->kind != SYSENTER;
	struct insn *in;

	end_insn(c);
	in = known(c, e);
	check_flow(c, e->addr, e->type == AGAIN);
	if (c->any && c->last && c->last->call && c->type & 0x400 && !c->number && e->type != AGAIN)
		fail(c, "(6) a system call without its number");
	if (c->any && branch && c->timed && !c->transfer)
		fail(c, "(5) a time between a branch and what follows");
	c->pc = e->addr;
	c->size = e->size;
	c->kind = e->type;
	c->next = where_to(c, e, in);
	c->last = in;
	c->any = true;
	c->nenc = 0;
	c->target = c->expect = 0;
	c->timed = c->number = c->transfer = false;
	c->reads = c->writes = 0;
	c->insns += e->type != AGAIN;
}

static void add_marker(struct check *c, const struct entry *e)
{
	switch (e->size) {
	case EVENT:
		if (!e->addr)
			fail(c, "(7) a signal that came nowhere");
		if (c->any && c->next && e->addr != c->next && e->addr != c->pc)
			fail(c, "(7) a signal came where the flow was not");
		if (c->expect && e->addr != c->expect)
			fail(c, "(7) a signal came where no handler had returned to");
		c->expect = 0;
		c->resume[c->depth++ % 64] = e->addr;
		c->next = 0;
		c->transfer = true;
		break;
	case XFER:
		if (!e->addr)
			fail(c, "(7) a return from nowhere");
		if (c->depth)
			c->expect = c->resume[--c->depth % 64];
		c->next = 0;
		c->transfer = true;
		break;
	case TIME:
		if (e->addr < c->time)
			fail(c, "(5) time goes back");
		c->time = e->addr;
		c->timed = true;
		break;
	case TYPE:
		c->type = e->addr;
		break;
	case LINE:
		c->line = true;
		break;
	case PAGE:
		c->page = true;
		break;
	case WINDOW:
		if (e->addr == c->window)
			fail(c, "(3) the same window again");
		c->window = e->addr;
		c->next = 0;
		break;
	case SYSCALL:
		if (!c->last || !c->last->call)
			fail(c, "(6) a number of no system call");
		if (c->before[0] != CPU || c->before[1] != TIME)
			fail(c, "(6) no time before a system call's number");
		if (!(c->type & 0x400))
			fail(c, "(6) the type does not promise numbers of system calls");
		c->number = true;
		break;
	case TARGET:
		c->target = e->addr;
		break;
	}
	c->before[1] = c->before[0];
	c->before[0] = e->size;
}

static void add(struct check *c, const struct entry *e)
{
	if (c->footer)
		fail(c, "(1) something behind the footer");
	if (e->type != MARKER)
		c->before[0] = c->before[1] = ~0u;
	switch (e->type) {
	case READ:
		c->reads++;
		break;
	case WRITE:
		c->writes++;
		break;
	case THREAD:
		if (c->tid && c->tid != e->addr)
			fail(c, "(1) a second thread");
		c->tid = e->addr;
		break;
	case EXIT:
		if (e->addr != c->tid || !c->line || !c->page || !c->any)
			fail(c, "(1) the end of another thread, or no sizes, or nothing ran");
		c->exited = true;
		break;
	case FOOTER:
		c->footer = true;
		break;
	case ENCODING:
		if (c->nenc + e->size > 15 || e->size > c->width - 4)
			fail(c, "(2) too many bytes");
		else
			memcpy(c->enc + c->nenc, c->p + c->at + 4, e->size);
		c->nenc += e->size;
		break;
	case MARKER:
		add_marker(c, e);
		break;
	case PID: case HEADER: case PREFETCH:
		break;
	default:
		if ((e->type >= INSTR && e->type <= RET) || e->type == AGAIN ||
		    e->type == SYSENTER || e->type == TAKEN || e->type == UNTAKEN)
			add_insn(c, e);
		else
			fail(c, "an entry of a type that is not expected");
	}
}

static struct entry get(const struct check *c)
{
	const uint8_t *p = c->p + c->at;
	struct entry e = { (unsigned)(p[0] | p[1] << 8), (unsigned)(p[2] | p[3] << 8), 0 };

	memcpy(&e.addr, p + 4, c->width - 4);
	return e;
}

static void check_head(struct check *c)
{
	static const struct { unsigned type, size; } want[] = {
		{ HEADER, 0 }, { MARKER, VERSION }, { MARKER, TYPE }, { THREAD, 4 }, { PID, 4 }
	};
	uint64_t version = 0;

	for (unsigned i = 0; i < 5 && c->at + c->width <= c->n; i++, c->at += c->width) {
		const struct entry e = get(c);

		if (e.type != want[i].type || e.size != want[i].size)
			fail(c, "(1) not what a file begins with");
		if (i == 1 && (e.addr != version || e.addr < 5))
			fail(c, "(1) versions differ, or are old");
		if (i == 0)
			version = e.addr;
		if (i >= 3 && !e.addr)
			fail(c, "(1) a thread or process without a number");
	}
	c->at = 0;
}

static bool check_file(struct check *c, const char *path, uint64_t *insns)
{
	static struct insn *table;
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	table = table ? table : malloc(SLOTS * sizeof *table);
	if (fd < 0 || fstat(fd, &st) || !st.st_size || !table)
		exit(2);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit(2);
	close(fd);
	memset(table, 0, SLOTS * sizeof *table);
	*c = (struct check){ .path = path, .p = p, .n = (size_t)st.st_size, .table = table,
			     .before = { ~0u, ~0u } };
	/* 8 bytes an entry if the second one begins there */
	c->width = c->n > 12 && p[8] == MARKER && !p[9] ? 8 : 12;
	check_head(c);
	for (; c->at + c->width <= c->n; c->at += c->width) {
		const struct entry e = get(c);

		add(c, &e);
	}
	end_insn(c);
	if (c->at != c->n || !c->exited || !c->footer)
		fail(c, "(1) no whole entry, exit and footer at the end");
	if (c->type & 0x20 && c->width != 8)
		fail(c, "(1) entries of a 32-bit program have 8 bytes");
	*insns += c->insns;
	munmap(p, c->n);
	return !c->broken;
}

int main(int argc, char **argv)
{
	static struct check c;
	uint64_t insns = 0;
	unsigned bad = 0;

	for (int i = 1; i < argc; i++)
		bad += !check_file(&c, argv[i], &insns);
	printf("%d files, %s", argc - 1, bad ? "broken rules\n" : "good\n");
	fprintf(stderr, "%llu instructions\n", (unsigned long long)insns);
	return bad != 0;
}
