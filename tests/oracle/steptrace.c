/* SPDX-License-Identifier: MIT */
/* steptrace.c - a program single-stepped, and what it did written as a drmemtrace file
 *
 *   steptrace [-n INSTRUCTIONS] OUT PROGRAM [ARG...]
 *
 * The independent source of instruction traces with bytes, addresses and branches for tests of the
 * formats and of cracking: addresses come from ptrace's registers and Zydis's operands, nothing of
 * pugmark is linked. Slow: some 10^5 instructions a second. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

static FILE *out;

static void put(unsigned type, unsigned size, uint64_t addr)
{
	uint8_t e[12];

	memcpy(e, &(uint16_t){ (uint16_t)type }, 2);
	memcpy(e + 2, &(uint16_t){ (uint16_t)size }, 2);
	memcpy(e + 4, &addr, 8);
	fwrite(e, 12, 1, out);
}

static uint64_t reg(const struct user_regs_struct *r, ZydisRegister z)
{
	ZydisRegister big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, z);

	switch (big) {
	case ZYDIS_REGISTER_RAX: return r->rax;
	case ZYDIS_REGISTER_RCX: return r->rcx;
	case ZYDIS_REGISTER_RDX: return r->rdx;
	case ZYDIS_REGISTER_RBX: return r->rbx;
	case ZYDIS_REGISTER_RSP: return r->rsp;
	case ZYDIS_REGISTER_RBP: return r->rbp;
	case ZYDIS_REGISTER_RSI: return r->rsi;
	case ZYDIS_REGISTER_RDI: return r->rdi;
	case ZYDIS_REGISTER_R8: return r->r8;
	case ZYDIS_REGISTER_R9: return r->r9;
	case ZYDIS_REGISTER_R10: return r->r10;
	case ZYDIS_REGISTER_R11: return r->r11;
	case ZYDIS_REGISTER_R12: return r->r12;
	case ZYDIS_REGISTER_R13: return r->r13;
	case ZYDIS_REGISTER_R14: return r->r14;
	case ZYDIS_REGISTER_R15: return r->r15;
	case ZYDIS_REGISTER_RIP: return r->rip;
	default: return 0;
	}
}

static uint64_t address(const struct user_regs_struct *r, const ZydisDecodedInstruction *in,
			const ZydisDecodedOperand *op)
{
	uint64_t a = (uint64_t)op->mem.disp.value;

	if (op->mem.base == ZYDIS_REGISTER_RIP)
		return a + r->rip + in->length;
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    op->mem.base == ZYDIS_REGISTER_RSP) {
		if (in->mnemonic == ZYDIS_MNEMONIC_LEAVE)
			return r->rbp;
		return op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? r->rsp - op->size / 8
								     : r->rsp;
	}
	if (op->mem.base != ZYDIS_REGISTER_NONE)
		a += reg(r, op->mem.base);
	if (op->mem.index != ZYDIS_REGISTER_NONE)
		a += reg(r, op->mem.index) * op->mem.scale;
	if (in->address_width == 32)
		a = (uint32_t)a;
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		a += r->fs_base;
	else if (op->mem.segment == ZYDIS_REGISTER_GS)
		a += r->gs_base;
	return a;
}

static unsigned type_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op, int taken)
{
	int direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: return taken ? 48 : 49;
	case ZYDIS_CATEGORY_UNCOND_BR: return direct ? 11 : 12;
	case ZYDIS_CATEGORY_CALL: return direct ? 14 : 15;
	case ZYDIS_CATEGORY_RET: return 16;
	default: return 10;
	}
}

#define SEEN (1 << 20)
static uint64_t seen[SEEN];

static int first_time(uint64_t pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15u) >> 44;

	for (; seen[i] && seen[i] != pc; i = (i + 1) % SEEN)
		;
	if (seen[i])
		return 0;
	seen[i] = pc;
	return 1;
}

int main(int argc, char **argv)
{
	struct user_regs_struct r, next;
	unsigned long limit = 1000000, n = 0;
	uint64_t last = 0;
	ZydisDecoder dec;
	int status, a = 1;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		limit = strtoul(argv[2], NULL, 0);
		a = 3;
	}
	if (argc - a < 2 || !(out = fopen(argv[a], "wb"))) {
		fprintf(stderr, "usage: steptrace [-n INSTRUCTIONS] OUT PROGRAM [ARG...]\n");
		return 2;
	}
	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[a + 1], argv + a + 1);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, 0, &r)) {
		fprintf(stderr, "steptrace: cannot run %s\n", argv[a + 1]);
		return 1;
	}
	put(25, 0, 6);
	put(28, 12, 6);
	put(28, 9, 0x240);
	put(22, 4, 1234);
	put(24, 4, 1234);
	put(28, 10, 64);
	put(28, 20, 10000000);
	put(28, 18, 4096);
	put(28, 2, 13348540800000000ull);
	put(28, 3, 0);
	for (; n < limit; n++) {
		ZydisDecodedInstruction in;
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		uint8_t b[15] = { 0 };
		struct iovec to = { b, 15 }, from = { (void *)(uintptr_t)r.rip, 15 };
		int known = 0, over;
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (got < 15) {		/* the end of a mapping */
			from.iov_len = 4096 - (r.rip & 4095) < 15 ? 4096 - (r.rip & 4095) : 15;
			to.iov_len = from.iov_len;
			got = process_vm_readv(pid, &to, 1, &from, 1, 0);
		}
		if (got > 0)
			known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, b, (size_t)got, &in, op));
		over = ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) < 0 ||
		       !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
		       ptrace(PTRACE_GETREGS, pid, 0, &next);
		if (known) {
			int rep = in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						   ZYDIS_ATTRIB_HAS_REPNE);
			int again = rep && last == r.rip;
			unsigned type = again ? 29
					      : type_of(&in, op,
							!over && next.rip != r.rip + in.length);

			if (!again && first_time(r.rip))
				for (unsigned i = 0; i < in.length; i += 8) {
					uint64_t word = 0;

					memcpy(&word, b + i, in.length - i < 8 ? in.length - i : 8);
					put(47, in.length - i < 8 ? in.length - i : 8, word);
				}
			if ((type == 12 || type == 15 || type == 16) && !over)
				put(28, 29, next.rip);
			put(type, in.length, r.rip);
			for (int w = 0; w < 2; w++)
				for (unsigned i = 0; i < in.operand_count; i++) {
					unsigned mask = w ? ZYDIS_OPERAND_ACTION_MASK_WRITE :
							ZYDIS_OPERAND_ACTION_MASK_READ;

					if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
					    op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM ||
					    !(op[i].actions & mask) || (rep && !r.rcx) ||
					    in.mnemonic == ZYDIS_MNEMONIC_NOP ||
					    in.meta.category == ZYDIS_CATEGORY_PREFETCH)
						continue;
					put((unsigned)w, op[i].size / 8, address(&r, &in, &op[i]));
				}
		}
		last = r.rip;
		if (over)
			break;
		r = next;
	}
	put(23, 4, 1234);
	put(26, 0, 0);
	kill(pid, SIGKILL);
	return fclose(out) ? 1 : 0;
}
