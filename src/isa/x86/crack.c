/* SPDX-License-Identifier: MIT */
/* crack.c - recipes
 *
 * A row of recipes[] gives a mnemonic its printed names and a shape; a shape is a short function that
 * emits micro-ops from the decoded operands. Instructions without a row get the generic shape, which
 * works from the decoder's operand sets alone: loads, one computing micro-op (more if there are more
 * than two sources or one destination), stores. docs/formats/penn.md lists what was decided where the
 * course's traces show nothing. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "isa/x86/crack.h"
#include "isa/x86/regs.h"
#include "isa/x86/zydis_regs.h"

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7
#define T 44			/* the cracker's temporaries: 44-48, floating point 40-42 */
#define U 45
#define V 46

enum uop_shape {
	S_GENERIC, S_NAMED, S_ALU, S_CMP, S_INCDEC, S_NEG, S_NOT, S_MOV, S_EXT, S_CBW, S_CWD, S_LEA, S_SHIFT,
	S_MUL, S_IMUL, S_DIV, S_PUSH, S_POP, S_PUSHF, S_POPF, S_CALL, S_RET, S_JMP, S_JCC, S_LOOP, S_SETCC,
	S_CMOV, S_XCHG, S_XADD, S_CMPXCHG, S_CMPXCHG16, S_BT, S_MOVS, S_STOS, S_LODS, S_SCAS, S_CMPS,
	S_LEAVE, S_NOP, S_MOVBE, S_XLAT, S_FPMOV,
};

struct recipe {
	const char *macro, *micro, *micro_imm;
	enum uop_shape shape;
};

#define R(mn, macro, micro, imm, shape) [ZYDIS_MNEMONIC_##mn] = { macro, micro, imm, shape }
#define N(mn, macro, micro) R(mn, macro, micro, NULL, S_NAMED)
#define JCC(mn) R(mn, "J", "JMP_IMM", NULL, S_JCC)
#define SETCC(mn) R(SET##mn, "SET", "ADD", "ADD_IMM", S_SETCC)
#define CMOV(mn) R(CMOV##mn, "CMOV", "ADD", NULL, S_CMOV)
/* SSE instructions have a twin in AVX */
#define F(mn, micro) N(mn, NULL, micro), N(V##mn, NULL, micro)
#define FM(mn) R(mn, NULL, "FP_MOV", NULL, S_FPMOV), R(V##mn, NULL, "FP_MOV", NULL, S_FPMOV)

static const struct recipe recipes[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	/* arithmetic and logic */
	R(ADD, "ADD", "ADD", "ADD_IMM", S_ALU), R(SUB, "SUB", "SUB", "SUB_IMM", S_ALU),
	R(AND, "AND", "AND", "AND_IMM", S_ALU), R(OR, "OR", "OR", "OR_IMM", S_ALU),
	R(XOR, "XOR", "XOR", "XOR_IMM", S_ALU), R(ADC, "ADC", "ADD", "ADD_IMM", S_ALU),
	R(SBB, "SBB", "SUB", "SUB_IMM", S_ALU), R(ADCX, "ADCX", "ADD", "ADD_IMM", S_ALU),
	R(ADOX, "ADOX", "ADD", "ADD_IMM", S_ALU),
	R(CMP, "CMP", "SUB", "SUB_IMM", S_CMP), R(TEST, "TEST", "AND", "AND_IMM", S_CMP),
	R(INC, "INC", "ADD_IMM", NULL, S_INCDEC), R(DEC, "DEC", "SUB_IMM", NULL, S_INCDEC),
	R(NEG, "NEG", "SUB", NULL, S_NEG), R(NOT, "NOT", "XOR_IMM", NULL, S_NOT),
	R(SHL, "SHL", "SHL", "SHL_IMM", S_SHIFT), R(SHR, "SHR", "SHR", "SHR_IMM", S_SHIFT),
	R(SAR, "SAR", "SAR", "SAR_IMM", S_SHIFT), R(ROL, "ROL", "ROL", "ROL_IMM", S_SHIFT),
	R(ROR, "ROR", "ROR", "ROR_IMM", S_SHIFT), R(RCL, "RCL", "RCL", "RCL_IMM", S_SHIFT),
	R(RCR, "RCR", "RCR", "RCR_IMM", S_SHIFT),
	R(SHLD, "SHLD", "SHLD", "SHLD_IMM", S_SHIFT), R(SHRD, "SHRD", "SHRD", "SHRD_IMM", S_SHIFT),
	R(MUL, "MUL", "MUL", NULL, S_MUL), R(IMUL, "IMUL", "IMUL_T", "IMUL_T_IMM", S_IMUL),
	R(MULX, "MULX", "MUL", NULL, S_MUL), R(DIV, "DIV", "DIV", NULL, S_DIV),
	R(IDIV, "IDIV", "IDIV", NULL, S_DIV),
	R(BT, "BT", "BT", "BT_IMM", S_BT), R(BTS, "BTS", "BTS", "BTS_IMM", S_BT),
	R(BTR, "BTR", "BTR", "BTR_IMM", S_BT), R(BTC, "BTC", "BTC", "BTC_IMM", S_BT),
	N(BSWAP, "BSWAP", "BSWAP"), N(BSF, "BSF", "BSF"), N(BSR, "BSR", "BSR"), N(TZCNT, "TZCNT", "TZCNT"),
	N(LZCNT, "LZCNT", "LZCNT"), N(POPCNT, "POPCNT", "POPCNT"), N(ANDN, "ANDN", "ANDN"),
	N(BEXTR, "BEXTR", "BEXTR"), N(BLSI, "BLSI", "BLSI"), N(BLSR, "BLSR", "BLSR"),
	N(BLSMSK, "BLSMSK", "BLSMSK"), N(BZHI, "BZHI", "BZHI"), N(PDEP, "PDEP", "PDEP"),
	N(PEXT, "PEXT", "PEXT"), N(RORX, "RORX", "ROR_IMM"), N(SARX, "SARX", "SAR"), N(SHLX, "SHLX", "SHL"),
	N(SHRX, "SHRX", "SHR"), N(CRC32, "CRC32", "CRC32"),
	/* moves */
	R(MOV, "MOV", "ADD", "ADD_IMM", S_MOV), R(MOVNTI, "MOV", "ADD", "ADD_IMM", S_MOV),
	R(MOVZX, "MOVZX", "ZEXT", NULL, S_EXT), R(MOVSX, "MOVSX", "SEXT", NULL, S_EXT),
	R(MOVSXD, "MOVSX", "SEXT", NULL, S_EXT), R(LEA, "LEA", "LEA", NULL, S_LEA),
	R(CBW, "CBW", "SEXT_BYTE_TO_WORD", NULL, S_CBW), R(CWDE, "CWDE", "SEXT_WORD_TO_DWORD", NULL, S_CBW),
	R(CDQE, "CDQE", "SEXT_DWORD_TO_QWORD", NULL, S_CBW), R(CWD, "CWD", "SAR_IMM", NULL, S_CWD),
	R(CDQ, "CDQ", "SAR_IMM", NULL, S_CWD), R(CQO, "CQO", "SAR_IMM", NULL, S_CWD),
	R(PUSH, "PUSH", "STORE", NULL, S_PUSH), R(POP, "POP", "LOAD", NULL, S_POP),
	R(PUSHF, "PUSHF", "FLAGS", NULL, S_PUSHF), R(PUSHFD, "PUSHF", "FLAGS", NULL, S_PUSHF),
	R(PUSHFQ, "PUSHF", "FLAGS", NULL, S_PUSHF), R(POPF, "POPF", "FLAGS", NULL, S_POPF),
	R(POPFD, "POPF", "FLAGS", NULL, S_POPF), R(POPFQ, "POPF", "FLAGS", NULL, S_POPF),
	R(XCHG, "XCHG", "ADD", NULL, S_XCHG), R(XADD, "XADD", "ADD", NULL, S_XADD),
	R(CMPXCHG, "CMPXCHG", "SUB", NULL, S_CMPXCHG), R(CMPXCHG8B, "CMPXCHG8B", "SUB", NULL, S_CMPXCHG16),
	R(CMPXCHG16B, "CMPXCHG16B", "SUB", NULL, S_CMPXCHG16), R(MOVBE, "MOVBE", "BSWAP", NULL, S_MOVBE),
	R(XLAT, "XLAT", "LOAD", NULL, S_XLAT), R(LEAVE, "LEAVE", "ADD", NULL, S_LEAVE),
	N(LAHF, "LAHF", "FLAGS"), N(SAHF, "SAHF", "FLAGS"), N(CLC, "CLC", "FLAGS"), N(STC, "STC", "FLAGS"),
	N(CMC, "CMC", "FLAGS"), N(CLD, "CLD", "FLAGS"), N(STD, "STD", "FLAGS"),
	/* control */
	R(CALL, "CALL", "JMP_IMM", "JMP_REG", S_CALL), R(RET, "RET", "JMP_REG", NULL, S_RET),
	R(JMP, "JMP", "JMP_IMM", "JMP_REG", S_JMP),
	JCC(JB), JCC(JBE), JCC(JL), JCC(JLE), JCC(JNB), JCC(JNBE), JCC(JNL), JCC(JNLE), JCC(JNO), JCC(JNP),
	JCC(JNS), JCC(JNZ), JCC(JO), JCC(JP), JCC(JS), JCC(JZ), JCC(JCXZ), JCC(JECXZ), JCC(JRCXZ),
	R(LOOP, "LOOP", "JMP_IMM", NULL, S_LOOP), R(LOOPE, "LOOP", "JMP_IMM", NULL, S_LOOP),
	R(LOOPNE, "LOOP", "JMP_IMM", NULL, S_LOOP),
	SETCC(B), SETCC(BE), SETCC(L), SETCC(LE), SETCC(NB), SETCC(NBE), SETCC(NL), SETCC(NLE), SETCC(NO),
	SETCC(NP), SETCC(NS), SETCC(NZ), SETCC(O), SETCC(P), SETCC(S), SETCC(Z),
	CMOV(B), CMOV(BE), CMOV(L), CMOV(LE), CMOV(NB), CMOV(NBE), CMOV(NL), CMOV(NLE), CMOV(NO), CMOV(NP),
	CMOV(NS), CMOV(NZ), CMOV(O), CMOV(P), CMOV(S), CMOV(Z),
	N(SYSCALL, "SYSCALL", "SYSCALL"), N(INT, "INT", "SYSCALL"), N(INT3, "INT3", "SYSCALL"),
	N(UD2, "UD2", "TRAP"), N(HLT, "HLT", "TRAP"),
	/* strings */
	R(MOVSB, "MOVS", "LOAD", NULL, S_MOVS), R(MOVSW, "MOVS", "LOAD", NULL, S_MOVS),
	R(MOVSD, "MOVS", "LOAD", NULL, S_MOVS), R(MOVSQ, "MOVS", "LOAD", NULL, S_MOVS),
	R(STOSB, "STOS", "STORE", NULL, S_STOS), R(STOSW, "STOS", "STORE", NULL, S_STOS),
	R(STOSD, "STOS", "STORE", NULL, S_STOS), R(STOSQ, "STOS", "STORE", NULL, S_STOS),
	R(LODSB, "LODS", "LOAD", NULL, S_LODS), R(LODSW, "LODS", "LOAD", NULL, S_LODS),
	R(LODSD, "LODS", "LOAD", NULL, S_LODS), R(LODSQ, "LODS", "LOAD", NULL, S_LODS),
	R(SCASB, "SCAS", "SUB", NULL, S_SCAS), R(SCASW, "SCAS", "SUB", NULL, S_SCAS),
	R(SCASD, "SCAS", "SUB", NULL, S_SCAS), R(SCASQ, "SCAS", "SUB", NULL, S_SCAS),
	R(CMPSB, "CMPS", "SUB", NULL, S_CMPS), R(CMPSW, "CMPS", "SUB", NULL, S_CMPS),
	R(CMPSD, "CMPS", "SUB", NULL, S_CMPS), R(CMPSQ, "CMPS", "SUB", NULL, S_CMPS),
	/* nothing, hints, order */
	R(NOP, "NOP", "NOP", NULL, S_NOP), R(ENDBR64, "ENDBR", "NOP", NULL, S_NOP),
	R(ENDBR32, "ENDBR", "NOP", NULL, S_NOP), R(PAUSE, "PAUSE", "NOP", NULL, S_NOP),
	R(PREFETCH, "PREFETCH", "PREFETCH", NULL, S_NOP), R(PREFETCHW, "PREFETCH", "PREFETCH", NULL, S_NOP),
	R(PREFETCHT0, "PREFETCH", "PREFETCH", NULL, S_NOP), R(PREFETCHT1, "PREFETCH", "PREFETCH", NULL, S_NOP),
	R(PREFETCHT2, "PREFETCH", "PREFETCH", NULL, S_NOP), R(PREFETCHNTA, "PREFETCH", "PREFETCH", NULL, S_NOP),
	N(MFENCE, "MFENCE", "FENCE"), N(LFENCE, "LFENCE", "FENCE"), N(SFENCE, "SFENCE", "FENCE"),
	N(CPUID, "CPUID", "CPUID"), N(RDTSC, "RDTSC", "RDTSC"), N(RDTSCP, "RDTSCP", "RDTSC"),
	N(XGETBV, "XGETBV", "XGETBV"), N(RDRAND, "RDRAND", "RDRAND"), N(RDSEED, "RDSEED", "RDRAND"),
	N(RDPID, "RDPID", "RDPID"), N(RDFSBASE, "RDFSBASE", "ADD"), N(WRFSBASE, "WRFSBASE", "ADD"),
	N(XSAVE, "XSAVE", "FP_STATE"), N(XSAVEC, "XSAVEC", "FP_STATE"), N(XSAVEOPT, "XSAVEOPT", "FP_STATE"),
	N(XRSTOR, "XRSTOR", "FP_STATE"), N(FXSAVE, "FXSAVE", "FP_STATE"), N(FXRSTOR, "FXRSTOR", "FP_STATE"),
	N(RDSSPQ, "RDSSP", "NOP"), N(RDSSPD, "RDSSP", "NOP"),
	/* SSE and AVX: moves */
	FM(MOVAPS), FM(MOVAPD), FM(MOVUPS), FM(MOVUPD), FM(MOVDQA), FM(MOVDQU), FM(MOVQ), FM(MOVD), FM(MOVSS),
	FM(MOVNTDQ), FM(MOVNTPS), FM(MOVNTPD), FM(LDDQU), FM(MOVNTDQA),
	F(MOVHPS, "FP_SHUF"), F(MOVLPS, "FP_SHUF"), F(MOVHPD, "FP_SHUF"), F(MOVLPD, "FP_SHUF"),
	F(MOVHLPS, "FP_SHUF"), F(MOVLHPS, "FP_SHUF"), F(MOVMSKPS, "FP_MOV"), F(MOVMSKPD, "FP_MOV"),
	F(PMOVMSKB, "FP_MOV"), F(MOVDDUP, "FP_SHUF"),
	R(VMOVSD, NULL, "FP_MOV", NULL, S_FPMOV),
	R(VMOVDQU8, NULL, "FP_MOV", NULL, S_FPMOV), R(VMOVDQU16, NULL, "FP_MOV", NULL, S_FPMOV),
	R(VMOVDQU32, NULL, "FP_MOV", NULL, S_FPMOV), R(VMOVDQU64, NULL, "FP_MOV", NULL, S_FPMOV),
	R(VMOVDQA32, NULL, "FP_MOV", NULL, S_FPMOV), R(VMOVDQA64, NULL, "FP_MOV", NULL, S_FPMOV),
	N(KMOVB, NULL, "FP_MOV"), N(KMOVW, NULL, "FP_MOV"), N(KMOVD, NULL, "FP_MOV"), N(KMOVQ, NULL, "FP_MOV"),
	N(KORTESTB, NULL, "FP_CMP"), N(KORTESTW, NULL, "FP_CMP"), N(KORTESTD, NULL, "FP_CMP"),
	N(KORTESTQ, NULL, "FP_CMP"), N(VPXORD, NULL, "FP_XOR"), N(VPXORQ, NULL, "FP_XOR"),
	N(VPANDD, NULL, "FP_AND"), N(VPANDQ, NULL, "FP_AND"), N(VPORD, NULL, "FP_OR"), N(VPORQ, NULL, "FP_OR"),
	N(VPCMPB, NULL, "FP_ICMP"), N(VPCMPUB, NULL, "FP_ICMP"), N(VPCMPD, NULL, "FP_ICMP"),
	N(VPTESTNMB, NULL, "FP_ICMP"), N(VPTESTMB, NULL, "FP_ICMP"), N(VPERMQ, NULL, "FP_SHUF"),
	N(VINSERTI128, NULL, "FP_SHUF"), N(VEXTRACTI128, NULL, "FP_SHUF"),
	/* arithmetic */
	F(ADDSS, "FP_ADD"), F(ADDSD, "FP_ADD"), F(ADDPS, "FP_ADD"), F(ADDPD, "FP_ADD"), F(SUBSS, "FP_SUB"),
	F(SUBSD, "FP_SUB"), F(SUBPS, "FP_SUB"), F(SUBPD, "FP_SUB"), F(MULSS, "FP_MUL"), F(MULSD, "FP_MUL"),
	F(MULPS, "FP_MUL"), F(MULPD, "FP_MUL"), F(DIVSS, "FP_DIV"), F(DIVSD, "FP_DIV"), F(DIVPS, "FP_DIV"),
	F(DIVPD, "FP_DIV"), F(SQRTSS, "FP_SQRT"), F(SQRTSD, "FP_SQRT"), F(SQRTPS, "FP_SQRT"),
	F(SQRTPD, "FP_SQRT"), F(MINSS, "FP_MIN"), F(MINSD, "FP_MIN"), F(MINPS, "FP_MIN"), F(MINPD, "FP_MIN"),
	F(MAXSS, "FP_MAX"), F(MAXSD, "FP_MAX"), F(MAXPS, "FP_MAX"), F(MAXPD, "FP_MAX"),
	F(UCOMISS, "FP_CMP"), F(UCOMISD, "FP_CMP"), F(COMISS, "FP_CMP"), F(COMISD, "FP_CMP"),
	F(CMPPS, "FP_CMP"), F(CMPPD, "FP_CMP"), F(CMPSS, "FP_CMP"), N(VCMPSD, NULL, "FP_CMP"),
	F(CVTSI2SS, "FP_CVT"), F(CVTSI2SD, "FP_CVT"), F(CVTTSS2SI, "FP_CVT"), F(CVTTSD2SI, "FP_CVT"),
	F(CVTSS2SI, "FP_CVT"), F(CVTSD2SI, "FP_CVT"), F(CVTSS2SD, "FP_CVT"), F(CVTSD2SS, "FP_CVT"),
	F(CVTDQ2PD, "FP_CVT"), F(CVTDQ2PS, "FP_CVT"), F(CVTTPD2DQ, "FP_CVT"), F(CVTTPS2DQ, "FP_CVT"),
	F(CVTPS2PD, "FP_CVT"), F(CVTPD2PS, "FP_CVT"),
	/* logic and integer vectors */
	F(PXOR, "FP_XOR"), F(XORPS, "FP_XOR"), F(XORPD, "FP_XOR"), F(PAND, "FP_AND"), F(ANDPS, "FP_AND"),
	F(ANDPD, "FP_AND"), F(PANDN, "FP_ANDN"), F(ANDNPS, "FP_ANDN"), F(ANDNPD, "FP_ANDN"), F(POR, "FP_OR"),
	F(ORPS, "FP_OR"), F(ORPD, "FP_OR"), F(PADDB, "FP_IADD"), F(PADDW, "FP_IADD"), F(PADDD, "FP_IADD"),
	F(PADDQ, "FP_IADD"), F(PSUBB, "FP_ISUB"), F(PSUBW, "FP_ISUB"), F(PSUBD, "FP_ISUB"),
	F(PSUBQ, "FP_ISUB"), F(PCMPEQB, "FP_ICMP"), F(PCMPEQW, "FP_ICMP"), F(PCMPEQD, "FP_ICMP"),
	F(PCMPEQQ, "FP_ICMP"), F(PCMPGTB, "FP_ICMP"), F(PCMPGTW, "FP_ICMP"), F(PCMPGTD, "FP_ICMP"),
	F(PMINUB, "FP_IMIN"), F(PMAXUB, "FP_IMAX"), F(PMULUDQ, "FP_IMUL"), F(PMULLW, "FP_IMUL"),
	F(PMULLD, "FP_IMUL"), F(PMADDWD, "FP_IMUL"), F(PSLLW, "FP_SHIFT"), F(PSLLD, "FP_SHIFT"),
	F(PSLLQ, "FP_SHIFT"), F(PSRLW, "FP_SHIFT"), F(PSRLD, "FP_SHIFT"), F(PSRLQ, "FP_SHIFT"),
	F(PSRAW, "FP_SHIFT"), F(PSRAD, "FP_SHIFT"), F(PSLLDQ, "FP_SHIFT"), F(PSRLDQ, "FP_SHIFT"),
	F(PSHUFD, "FP_SHUF"), F(PSHUFB, "FP_SHUF"), F(PSHUFLW, "FP_SHUF"), F(PSHUFHW, "FP_SHUF"),
	F(SHUFPS, "FP_SHUF"), F(SHUFPD, "FP_SHUF"), F(UNPCKLPS, "FP_SHUF"), F(UNPCKHPS, "FP_SHUF"),
	F(UNPCKLPD, "FP_SHUF"), F(UNPCKHPD, "FP_SHUF"), F(PUNPCKLBW, "FP_SHUF"), F(PUNPCKLWD, "FP_SHUF"),
	F(PUNPCKLDQ, "FP_SHUF"), F(PUNPCKLQDQ, "FP_SHUF"), F(PUNPCKHBW, "FP_SHUF"), F(PUNPCKHWD, "FP_SHUF"),
	F(PUNPCKHDQ, "FP_SHUF"), F(PUNPCKHQDQ, "FP_SHUF"), F(PALIGNR, "FP_SHUF"), F(PACKUSWB, "FP_SHUF"),
	F(PTEST, "FP_CMP"), F(PINSRW, "FP_SHUF"), F(PINSRD, "FP_SHUF"), F(PINSRQ, "FP_SHUF"),
	F(PEXTRW, "FP_SHUF"), F(PEXTRD, "FP_SHUF"), F(PEXTRQ, "FP_SHUF"),
	N(VPBROADCASTB, NULL, "FP_SHUF"), N(VZEROUPPER, NULL, "FP_ZERO"), N(VPTERNLOGD, NULL, "FP_LOGIC"),
	/* x87 */
	N(FLD, "FLD", "FP_MOV"), N(FST, "FST", "FP_MOV"), N(FSTP, "FSTP", "FP_MOV"), N(FILD, "FILD", "FP_CVT"),
	N(FISTP, "FISTP", "FP_CVT"), N(FISTTP, "FISTTP", "FP_CVT"), N(FXCH, "FXCH", "FP_MOV"),
	N(FADD, "FADD", "FP_ADD"), N(FADDP, "FADDP", "FP_ADD"), N(FSUB, "FSUB", "FP_SUB"),
	N(FSUBP, "FSUBP", "FP_SUB"), N(FSUBR, "FSUBR", "FP_SUB"), N(FSUBRP, "FSUBRP", "FP_SUB"),
	N(FMUL, "FMUL", "FP_MUL"), N(FMULP, "FMULP", "FP_MUL"), N(FDIV, "FDIV", "FP_DIV"),
	N(FDIVP, "FDIVP", "FP_DIV"), N(FDIVR, "FDIVR", "FP_DIV"), N(FDIVRP, "FDIVRP", "FP_DIV"),
	N(FCHS, "FCHS", "FP_XOR"), N(FABS, "FABS", "FP_AND"), N(FUCOMI, "FUCOMI", "FP_CMP"),
	N(FUCOMIP, "FUCOMIP", "FP_CMP"), N(FCOMI, "FCOMI", "FP_CMP"), N(FCOMIP, "FCOMIP", "FP_CMP"),
	N(FLDZ, "FLDZ", "FP_ZERO"), N(FLD1, "FLD1", "FP_MOV"), N(FLDCW, "FLDCW", "FP_CTRL"),
	N(FNSTCW, "FNSTCW", "FP_CTRL"), N(LDMXCSR, "LDMXCSR", "FP_CTRL"), N(STMXCSR, "STMXCSR", "FP_CTRL"),
};
#undef R
#undef N
#undef F
#undef FM
#undef JCC
#undef SETCC
#undef CMOV

/* ---- emitting ------------------------------------------------------------------------------- */

struct uop_maker {
	struct x86_cracked *o;
	const ZydisDecodedInstruction *in;
	const ZydisDecodedOperand *op;
	const struct recipe *r;
	uint64_t live;			/* temporaries in use */
	bool reads_flags, writes_flags;
	bool full;			/* more micro-ops than a template holds: give up */
	struct x86_uop spare;		/* where the surplus goes */
};

static struct x86_uop *emit(struct uop_maker *m, const char *micro, int dest, int src1, int src2, int64_t imm)
{
	struct x86_uop *u = &m->spare;

	if (m->o->n == X86_CRACK_MAX)
		m->full = true;
	else
		u = &m->o->uop[m->o->n++];
	*u = (struct x86_uop){ (int16_t)src1, (int16_t)src2, (int16_t)dest, '-', '-', '-', 0, imm, micro };
	return u;
}

static int temp(struct uop_maker *m, bool fp)
{
	int first = fp ? 40 : T, last = fp ? 42 : 48;

	for (int t = first; t <= last; t++)
		if (!(m->live >> t & 1)) {
			m->live |= 1ull << t;
			return t;
		}
	m->full = true;
	return first;
}

static void done(struct uop_maker *m, int t)
{
	if (t >= 40 && t <= 48)
		m->live &= ~(1ull << t);
}

static bool is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static int reg_of(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER ? x86_reg_number(op->reg.value) : -1;
}

static bool rip_relative(const ZydisDecodedOperand *op)
{
	return op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP;
}

static uint8_t bytes_of(const ZydisDecodedOperand *op)
{
	return op->size / 8 > 255 ? 0 : (uint8_t)(op->size / 8);
}

static void load(struct uop_maker *m, const ZydisDecodedOperand *op, int dest)
{
	int base = x86_reg_number(op->mem.base), index = x86_reg_number(op->mem.index);
	int64_t disp = op->mem.disp.value;
	struct x86_uop *u;

	if (rip_relative(op)) {
		base = dest >= T && dest <= 48 ? dest : temp(m, false);
		emit(m, "SAVE_PC", base, -1, -1, disp);
		u = emit(m, "LOAD", dest, -1, base, 0);
		if (base != dest)
			done(m, base);
	} else {
		u = emit(m, "LOAD", dest, index, base, disp);
	}
	u->ldst = 'L';
	u->msize = bytes_of(op);
}

static void store(struct uop_maker *m, const ZydisDecodedOperand *op, int data)
{
	int base = x86_reg_number(op->mem.base), index = x86_reg_number(op->mem.index), t;
	int64_t disp = op->mem.disp.value;
	struct x86_uop *u;

	if (rip_relative(op) || index >= 0) {
		t = temp(m, false);
		if (index >= 0)
			emit(m, "LEA", t, index, base, disp);
		else
			emit(m, "SAVE_PC", t, -1, -1, disp);
		u = emit(m, "STORE", -1, data, t, 0);
		done(m, t);
	} else {
		u = emit(m, "STORE", -1, data, base, disp);
	}
	u->ldst = 'S';
	u->msize = bytes_of(op);
}

/* The value of @op in a register: its own, or a temporary that was loaded. -1: an immediate. */
static int value_of(struct uop_maker *m, const ZydisDecodedOperand *op, bool fp)
{
	int t;

	if (!is_mem(op))
		return reg_of(op);
	t = temp(m, fp);
	load(m, op, t);
	return t;
}

static int64_t imm_of(const ZydisDecodedOperand *op)
{
	return is_imm(op) ? op->imm.value.s : 0;
}

/* dest <- sources, more than two of them by way of temporaries. An instruction that reads and writes
 * the flags needs two micro-ops for it: CARRY takes them in first. */
static struct x86_uop *compute(struct uop_maker *m, const char *micro, int dest, const int *from, unsigned n,
			       int64_t imm, bool reads, bool writes, bool fp)
{
	struct x86_uop *u;
	int s[16];

	n = n < 16 ? n : 16;
	memcpy(s, from, n * sizeof *s);
	if (reads && writes) {
		int t = temp(m, fp), last = n ? s[n - 1] : -1;

		emit(m, "CARRY", t, last, -1, imm)->flags = 'R';
		s[n ? n - 1 : n++] = t;
		reads = false;
		done(m, last);
		done(m, t);
	}
	while (n > 2) {
		int t = temp(m, fp);

		emit(m, micro, t, s[n - 2], s[n - 1], 0);
		done(m, s[n - 1]);
		done(m, s[n - 2]);
		s[n-- - 2] = t;
		done(m, t);
	}
	u = emit(m, micro, dest, n > 0 ? s[0] : -1, n > 1 ? s[1] : -1, imm);
	u->flags = writes ? 'W' : reads ? 'R' : '-';
	return u;
}

static void add_set(int *s, unsigned *n, int reg)
{
	if (reg < 0 || reg == X86_REG_FLAGS || *n == 16)
		return;
	for (unsigned i = 0; i < *n; i++)
		if (s[i] == reg)
			return;
	s[(*n)++] = reg;
}

/* From the operand sets alone. */
static void generic(struct uop_maker *m, const char *micro)
{
	const ZydisDecodedOperand *out[8];
	int src[16], dst[16], result;
	unsigned ns = 0, nd = 0, nout = 0;
	bool fp = !m->o->integer;
	int64_t imm = 0;

	for (unsigned i = 0; i < m->in->operand_count; i++) {
		const ZydisDecodedOperand *op = &m->op[i];
		bool rd = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool wr = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (is_imm(op) && op->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
			imm = imm_of(op);
		} else if (is_mem(op) && op->mem.type == ZYDIS_MEMOP_TYPE_MEM && (rd || wr)) {
			if (rd) {
				int t = temp(m, fp);

				load(m, op, t);
				add_set(src, &ns, t);
			}
			if (wr && nout < 8)
				out[nout++] = op;
		} else if (is_mem(op)) {
			/* an address that is only computed, or many addresses (gather): its registers */
			add_set(src, &ns, x86_reg_number(op->mem.base));
			add_set(src, &ns, x86_reg_number(op->mem.index));
			if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB && rd) {
				struct x86_uop *u = emit(m, "LOAD", fp ? 42 : V, -1,
							 x86_reg_number(op->mem.base), op->mem.disp.value);

				u->ldst = 'L';
				add_set(src, &ns, u->dest);
			} else if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB && wr) {
				emit(m, "STORE", -1, -1, x86_reg_number(op->mem.base),
				     op->mem.disp.value)->ldst = 'S';
			}
		} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			if (rd)
				add_set(src, &ns, reg_of(op));
			if (wr)
				add_set(dst, &nd, reg_of(op));
		}
	}
	result = nd == 1 && !nout ? dst[0] : nd || nout ? temp(m, fp) :
		 ns || m->writes_flags ? (fp ? 40 : T) : -1;
	compute(m, micro, result, src, ns, imm, m->reads_flags, m->writes_flags, fp);
	for (unsigned i = 0; i < nout; i++)
		store(m, out[i], result);
	for (unsigned i = 0; i < nd && (nd > 1 || nout); i++)
		emit(m, i == 1 && nd == 2 ? "UPPER_HALF" : fp ? "FP_MOV" : "ADD", dst[i], result, -1, 0);
}

static void push(struct uop_maker *m, int data, unsigned size)
{
	struct x86_uop *u = emit(m, "STORE", -1, data, RSP, -(int64_t)size);

	u->ldst = 'S';
	u->msize = (uint8_t)size;
	emit(m, "SUB_IMM", RSP, RSP, -1, size);
}

/* Size of the stack operand that the decoder lists. */
static unsigned stack_size(const struct uop_maker *m)
{
	for (unsigned i = 0; i < m->in->operand_count; i++)
		if (is_mem(&m->op[i]) && m->op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return bytes_of(&m->op[i]);
	return 8;
}

static const char *ext_name(bool sign, unsigned from, unsigned to)
{
	static const char *const name[2][3][3] = {
		{ { "ZEXT_BYTE_TO_WORD", "ZEXT_BYTE_TO_DWORD", "ZEXT_BYTE_TO_QWORD" },
		  { "ZEXT_WORD_TO_WORD", "ZEXT_WORD_TO_DWORD", "ZEXT_WORD_TO_QWORD" },
		  { "ZEXT_DWORD_TO_WORD", "ZEXT_DWORD_TO_DWORD", "ZEXT_DWORD_TO_QWORD" } },
		{ { "SEXT_BYTE_TO_WORD", "SEXT_BYTE_TO_DWORD", "SEXT_BYTE_TO_QWORD" },
		  { "SEXT_WORD_TO_WORD", "SEXT_WORD_TO_DWORD", "SEXT_WORD_TO_QWORD" },
		  { "SEXT_DWORD_TO_WORD", "SEXT_DWORD_TO_DWORD", "SEXT_DWORD_TO_QWORD" } },
	};

	return name[sign][from == 8 ? 0 : from == 16 ? 1 : 2][to == 16 ? 0 : to == 32 ? 1 : 2];
}

static void branch(struct uop_maker *m, const char *micro, int src, int64_t imm, bool direct)
{
	struct x86_uop *u = emit(m, micro, -1, src, -1, imm);

	u->branch = direct ? 'D' : 'I';
	if (m->reads_flags)
		u->flags = 'R';
}

/* String instructions: pointers move by the element's size, in the direction that a flag gives. */
static void advance(struct uop_maker *m, int reg, unsigned size)
{
	emit(m, "ADD_IMM", reg, reg, -1, size)->flags = m->reads_flags ? 'R' : '-';
}

static const ZydisDecodedOperand *mem_based(const struct uop_maker *m, int base)
{
	for (unsigned i = 0; i < m->in->operand_count; i++)
		if (is_mem(&m->op[i]) && x86_reg_number(m->op[i].mem.base) == base)
			return &m->op[i];
	return NULL;
}

/* False: the operands are not what the shape expects, use the generic one. */
static bool shape(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op, *a, *b;
	const struct recipe *r = m->r;
	const bool fl = m->reads_flags, fw = m->writes_flags;
	int s[4], d, t, v;
	unsigned size, n;

	switch (r->shape) {
	case S_GENERIC:
		return false;
	case S_NAMED:
		generic(m, r->micro);
		return true;
	case S_ALU:
		if (m->in->mnemonic == ZYDIS_MNEMONIC_XOR && reg_of(&op[0]) >= 0 && !is_imm(&op[1]) &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value) {
			emit(m, "ADD", reg_of(&op[0]), -1, -1, 0);
			return true;
		}
		d = value_of(m, &op[0], false);
		n = 0;
		s[n++] = d;
		if (!is_imm(&op[1]))
			s[n++] = value_of(m, &op[1], false);
		else if (fl)
			s[n++] = -1;
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, d, s, n, imm_of(&op[1]), fl, fw, false);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_CMP:
		m->live |= 1ull << T;		/* the result that nobody wants goes there */
		n = 0;
		s[n++] = value_of(m, &op[0], false);
		if (!is_imm(&op[1]))
			s[n++] = value_of(m, &op[1], false);
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, T, s, n, imm_of(&op[1]), fl, fw, false);
		return true;
	case S_INCDEC:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, d, -1, 1);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_NEG:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, -1, d, 0)->flags = 'W';
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_NOT:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, d, -1, -1);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_MOV:
		if (is_mem(&op[0])) {
			v = reg_of(&op[1]);
			if (v < 0) {		/* an immediate, or a segment register */
				v = temp(m, false);
				emit(m, is_imm(&op[1]) ? r->micro_imm : r->micro, v, -1, -1, imm_of(&op[1]));
			}
			store(m, &op[0], v);
			return true;
		}
		d = reg_of(&op[0]);
		if (is_mem(&op[1]))
			load(m, &op[1], d >= 0 ? d : T);
		else
			emit(m, is_imm(&op[1]) ? r->micro_imm : r->micro, d, reg_of(&op[1]), -1, imm_of(&op[1]))
				->flags = fw ? 'W' : '-';
		return true;
	case S_EXT:
		v = value_of(m, &op[1], false);
		emit(m, ext_name(r->micro[0] == 'S', op[1].size, op[0].size), reg_of(&op[0]), v, -1, 0);
		return true;
	case S_CBW:
		emit(m, r->micro, RAX, RAX, -1, 0);
		return true;
	case S_CWD:
		emit(m, r->micro, RDX, RAX, -1, m->in->mnemonic == ZYDIS_MNEMONIC_CWD ? 15 :
		     m->in->mnemonic == ZYDIS_MNEMONIC_CDQ ? 31 : 63);
		return true;
	case S_LEA:
		d = reg_of(&op[0]);
		if (rip_relative(&op[1]))
			emit(m, "SAVE_PC", d, -1, -1, op[1].mem.disp.value);
		else
			emit(m, "LEA", d, x86_reg_number(op[1].mem.index), x86_reg_number(op[1].mem.base),
			     op[1].mem.disp.value);
		return true;
	case S_SHIFT: {
		bool imm = false;
		int64_t count = 0;

		d = value_of(m, &op[0], false);
		n = 0;
		s[n++] = d;
		for (unsigned i = 1; i < m->in->operand_count && op[i].visibility !=
		     ZYDIS_OPERAND_VISIBILITY_HIDDEN; i++)
			if (is_imm(&op[i])) {
				imm = true;
				count = imm_of(&op[i]);
			} else if (reg_of(&op[i]) >= 0 && reg_of(&op[i]) != d) {
				s[n++] = reg_of(&op[i]);
			}
		/* a shift of a register by itself (shl cl, cl) has one source */
		if (fl && n == 1)
			s[n++] = -1;
		compute(m, imm ? r->micro_imm : r->micro, d, s, n, count, fl, fw, false);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	}
	case S_MUL: case S_DIV: case S_IMUL: {
		int src[16], dst[16];
		unsigned ns = 0, nd = 0;

		if (r->shape == S_IMUL && m->in->operand_count_visible > 1) {
			bool imm = is_imm(&op[m->in->operand_count_visible - 1]);

			n = 0;
			if (!imm)
				s[n++] = reg_of(&op[0]);
			v = value_of(m, &op[1], false);
			if (imm || v != s[0])
				s[n++] = v;
			compute(m, imm ? r->micro_imm : r->micro, reg_of(&op[0]), s, n,
				imm ? imm_of(&op[m->in->operand_count_visible - 1]) : 0, fl, fw, false);
			return true;
		}
		for (unsigned i = 0; i < m->in->operand_count; i++) {
			if (is_mem(&op[i]))
				add_set(src, &ns, value_of(m, &op[i], false));
			else if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				add_set(src, &ns, reg_of(&op[i]));
		}
		/* mulx names its destinations high, low; the others write rax, then rdx */
		for (unsigned i = m->in->operand_count; i--; )
			if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				add_set(dst, &nd, reg_of(&op[i]));
		if (nd == 2 && dst[0] == RDX && dst[1] == RAX && m->in->mnemonic != ZYDIS_MNEMONIC_MULX) {
			dst[0] = RAX;
			dst[1] = RDX;
		}
		t = temp(m, false);
		compute(m, r->shape == S_IMUL ? "IMUL" : r->micro, t, src, ns, 0, fl, fw, false);
		emit(m, "ADD", nd ? dst[0] : -1, t, -1, 0);
		if (nd > 1)
			emit(m, r->shape == S_DIV ? "REMAINDER" : "UPPER_HALF", dst[1], t, -1, 0);
		return true;
	}
	case S_PUSH:
		v = is_imm(&op[0]) ? -1 : value_of(m, &op[0], false);
		if (v < 0) {
			v = temp(m, false);
			emit(m, is_imm(&op[0]) ? "ADD_IMM" : "ADD", v, -1, -1, imm_of(&op[0]));
		}
		push(m, v, stack_size(m));
		return true;
	case S_POP: {
		struct x86_uop *u;

		size = stack_size(m);
		d = reg_of(&op[0]);
		t = is_mem(&op[0]) || d < 0 || d == RSP ? temp(m, false) : d;
		u = emit(m, "LOAD", t, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		if (is_mem(&op[0]))
			store(m, &op[0], t);
		else if (d == RSP)
			emit(m, "ADD", RSP, t, -1, 0);
		return true;
	}
	case S_PUSHF:
		t = temp(m, false);
		emit(m, "FLAGS", t, -1, -1, 0)->flags = 'R';
		push(m, t, stack_size(m));
		return true;
	case S_POPF: {
		struct x86_uop *u;

		size = stack_size(m);
		t = temp(m, false);
		u = emit(m, "LOAD", t, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		s[0] = t;
		compute(m, "FLAGS", U, s, 1, 0, fl, fw, false);
		return true;
	}
	case S_CALL: {
		struct x86_uop *u;

		if (op[0].type == ZYDIS_OPERAND_TYPE_POINTER || m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		size = stack_size(m);
		v = -1;
		m->live |= 1ull << T;
		if (!is_imm(&op[0]))
			v = value_of(m, &op[0], false);
		emit(m, "SAVE_PC", T, -1, -1, 0);
		emit(m, "SUB_IMM", RSP, RSP, -1, size);
		u = emit(m, "STORE", -1, T, RSP, 0);
		u->ldst = 'S';
		u->msize = (uint8_t)size;
		branch(m, v < 0 ? r->micro : r->micro_imm, v, imm_of(&op[0]), v < 0);
		return true;
	}
	case S_RET: {
		struct x86_uop *u;

		if (m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		size = stack_size(m);
		u = emit(m, "LOAD", T, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size + (is_imm(&op[0]) ? (uint64_t)op[0].imm.value.u : 0));
		branch(m, r->micro, T, 0, false);
		return true;
	}
	case S_JMP:
		if (op[0].type == ZYDIS_OPERAND_TYPE_POINTER || m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		v = is_imm(&op[0]) ? -1 : value_of(m, &op[0], false);
		branch(m, v < 0 ? r->micro : r->micro_imm, v, imm_of(&op[0]), v < 0);
		return true;
	case S_JCC:
		/* jrcxz and its narrower kin look at rcx, not at the flags */
		branch(m, r->micro, fl ? -1 : RCX, imm_of(&op[0]), true);
		return true;
	case S_LOOP:
		emit(m, "SUB_IMM", RCX, RCX, -1, 1);
		branch(m, r->micro, RCX, imm_of(&op[0]), true);
		return true;
	case S_SETCC:
		d = is_mem(&op[0]) ? temp(m, false) : reg_of(&op[0]);
		emit(m, r->micro, d, -1, -1, 0);
		emit(m, r->micro_imm, d, -1, -1, 1)->flags = 'R';
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_CMOV:
		v = value_of(m, &op[1], false);
		emit(m, r->micro, reg_of(&op[0]), v, -1, 0)->flags = 'R';
		return true;
	case S_XCHG:
		a = is_mem(&op[1]) ? &op[1] : &op[0];
		b = is_mem(&op[1]) ? &op[0] : &op[1];
		t = temp(m, false);
		if (is_mem(a)) {
			load(m, a, t);
			store(m, a, reg_of(b));
		} else {
			emit(m, r->micro, t, reg_of(a), -1, 0);
			emit(m, r->micro, reg_of(a), reg_of(b), -1, 0);
		}
		emit(m, r->micro, reg_of(b), t, -1, 0);
		return true;
	case S_XADD:
		t = temp(m, false);
		if (is_mem(&op[0])) {
			load(m, &op[0], t);
			v = temp(m, false);
			emit(m, r->micro, v, t, reg_of(&op[1]), 0)->flags = 'W';
			store(m, &op[0], v);
		} else {
			emit(m, r->micro, t, reg_of(&op[0]), -1, 0);
			emit(m, r->micro, reg_of(&op[0]), reg_of(&op[0]), reg_of(&op[1]), 0)->flags = 'W';
		}
		emit(m, r->micro, reg_of(&op[1]), t, -1, 0);
		return true;
	case S_CMPXCHG:
		t = temp(m, false);
		v = temp(m, false);
		if (is_mem(&op[0])) {
			load(m, &op[0], t);
			emit(m, r->micro, v, RAX, t, 0)->flags = 'W';
			store(m, &op[0], reg_of(&op[1]));
		} else {
			emit(m, "ADD", t, reg_of(&op[0]), -1, 0);
			emit(m, r->micro, v, RAX, t, 0)->flags = 'W';
			emit(m, "ADD", reg_of(&op[0]), reg_of(&op[1]), -1, 0);
		}
		emit(m, "ADD", RAX, t, -1, 0);
		return true;
	case S_CMPXCHG16:
		t = temp(m, false);
		v = temp(m, false);
		load(m, &op[0], t);
		emit(m, "SUB", v, RAX, t, 0);
		emit(m, "SUB", v, RDX, v, 0)->flags = 'W';
		emit(m, "MERGE", v, RBX, RCX, 0);
		store(m, &op[0], v);
		emit(m, "ADD", RAX, t, -1, 0);
		emit(m, "UPPER_HALF", RDX, t, -1, 0);
		return true;
	case S_BT:
		/* bt only tests: its result goes nowhere */
		n = 0;
		if (m->in->mnemonic == ZYDIS_MNEMONIC_BT)
			m->live |= 1ull << T;
		d = value_of(m, &op[0], false);
		s[n++] = d;
		if (!is_imm(&op[1]) && reg_of(&op[1]) != d)
			s[n++] = reg_of(&op[1]);
		t = m->in->mnemonic == ZYDIS_MNEMONIC_BT ? T : d;
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, t, s, n, imm_of(&op[1]), fl, fw, false);
		if (is_mem(&op[0]) && m->in->mnemonic != ZYDIS_MNEMONIC_BT)
			store(m, &op[0], d);
		return true;
	case S_MOVS: case S_STOS: case S_LODS: case S_SCAS: case S_CMPS:
		a = mem_based(m, RSI);
		b = mem_based(m, RDI);
		if ((r->shape != S_STOS && r->shape != S_SCAS && !a) || (r->shape != S_LODS && !b))
			return false;		/* the SSE instructions movsd and cmpsd share the name */
		size = bytes_of(a ? a : b);
		switch (r->shape) {
		case S_MOVS:
			t = temp(m, false);
			load(m, a, t);
			store(m, b, t);
			break;
		case S_STOS:
			store(m, b, RAX);
			break;
		case S_LODS:
			load(m, a, RAX);
			break;
		case S_SCAS:
			load(m, b, U);
			emit(m, "SUB", T, RAX, U, 0)->flags = 'W';
			break;
		default:
			load(m, a, U);
			load(m, b, V);
			emit(m, "SUB", T, U, V, 0)->flags = 'W';
		}
		if (a)
			advance(m, RSI, size);
		if (b)
			advance(m, RDI, size);
		if (m->o->rep)
			emit(m, "SUB_IMM", RCX, RCX, -1, 1);
		return true;
	case S_LEAVE: {
		struct x86_uop *u;

		size = stack_size(m);
		emit(m, "ADD", RSP, RBP, -1, 0);
		u = emit(m, "LOAD", RBP, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		return true;
	}
	case S_NOP: {
		int src[16];
		unsigned ns = 0;

		/* an address or a register may be named; no memory is touched */
		for (unsigned i = 0; i < m->in->operand_count; i++)
			if (is_mem(&op[i])) {
				add_set(src, &ns, x86_reg_number(op[i].mem.index));
				add_set(src, &ns, x86_reg_number(op[i].mem.base));
			} else if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
				add_set(src, &ns, reg_of(&op[i]));
			}
		compute(m, r->micro, -1, src, ns, 0, false, false, false);
		return true;
	}
	case S_MOVBE:
		if (is_mem(&op[0])) {
			t = temp(m, false);
			emit(m, r->micro, t, reg_of(&op[1]), -1, 0);
			store(m, &op[0], t);
		} else {
			emit(m, r->micro, reg_of(&op[0]), value_of(m, &op[1], false), -1, 0);
		}
		return true;
	case S_XLAT: {
		struct x86_uop *u = emit(m, "LOAD", RAX, RAX, RBX, 0);

		u->ldst = 'L';
		u->msize = 1;
		return true;
	}
	case S_FPMOV:
		if (m->in->operand_count_visible != 2 || is_imm(&op[1]))
			return false;		/* masked, or merging with a third register */
		if (is_mem(&op[0]) && reg_of(&op[1]) >= 0 &&
		    !(op[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ)) {
			store(m, &op[0], reg_of(&op[1]));
			return true;
		}
		if (reg_of(&op[0]) < 0 || op[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			return false;
		if (is_mem(&op[1]))
			load(m, &op[1], reg_of(&op[0]));
		else
			emit(m, r->micro, reg_of(&op[0]), reg_of(&op[1]), -1, 0);
		return true;
	}
	return false;
}

/* Two mnemonics name both a string instruction and one of SSE. */
static const struct recipe *recipe_of(const ZydisDecodedInstruction *in)
{
	static const struct recipe movsd = { NULL, "FP_MOV", NULL, S_FPMOV };
	static const struct recipe cmpsd = { NULL, "FP_CMP", NULL, S_NAMED };

	if (in->mnemonic == ZYDIS_MNEMONIC_MOVSD && in->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return &movsd;
	if (in->mnemonic == ZYDIS_MNEMONIC_CMPSD && in->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return &cmpsd;
	return &recipes[in->mnemonic];
}

bool x86_crack(const uint8_t *bytes, unsigned len, bool wide, struct x86_cracked *out)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct uop_maker m = { .o = out, .in = &in, .op = op };
	const char *name;
	unsigned i;

	memset(out, 0, sizeof *out);
	if (!x86_zydis(bytes, len, wide, &in, op))
		return false;
	m.r = recipe_of(&in);
	out->len = in.length;
	out->integer = true;
	for (i = 0; i < in.operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		switch (ZydisRegisterGetClass(op[i].reg.value)) {
		case ZYDIS_REGCLASS_FLAGS:
			m.reads_flags |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
			m.writes_flags |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
			break;
		case ZYDIS_REGCLASS_X87: case ZYDIS_REGCLASS_MMX: case ZYDIS_REGCLASS_XMM:
		case ZYDIS_REGCLASS_YMM: case ZYDIS_REGCLASS_ZMM: case ZYDIS_REGCLASS_MASK:
			out->integer = false;
			break;
		default:
			break;
		}
	}
	out->rep = in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	out->cond = in.meta.category == ZYDIS_CATEGORY_COND_BR;
	name = m.r->macro ? m.r->macro : ZydisMnemonicGetString(in.mnemonic);
	for (i = 0; i < sizeof out->macro - 1 && name && name[i]; i++)
		out->macro[i] = (char)toupper((unsigned char)name[i]);
	out->specific = shape(&m) && !m.full;
	if (!out->specific) {
		out->n = 0;
		m.full = false;
		m.live = 0;
		generic(&m, m.r->micro ? m.r->micro : out->integer ? "OP" : "FP_OP");
		/* a recipe whose shape did not fit has names of its own all the same */
		out->specific = m.r->shape != S_GENERIC;
	}
	/* control transfers that only the generic recipe knows: far ones, xbegin, system calls excepted */
	if (in.meta.category == ZYDIS_CATEGORY_CALL || in.meta.category == ZYDIS_CATEGORY_RET ||
	    in.meta.category == ZYDIS_CATEGORY_UNCOND_BR || in.meta.category == ZYDIS_CATEGORY_COND_BR) {
		struct x86_uop *last = out->n ? &out->uop[out->n - 1] : NULL;

		for (i = 0; i < out->n && out->uop[i].branch == '-'; i++)
			;
		if (i == out->n && last)
			last->branch = 'I';
	}
	return true;
}
