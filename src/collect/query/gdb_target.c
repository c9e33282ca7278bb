/* SPDX-License-Identifier: MIT */
/* gdb_target.c - registers in the order in which gdb has them: its features i386.core, .sse,
 * .linux, .segments and .avx (gdb's manual, appendix G) */
#include <stdio.h>
#include <string.h>

#include "base/gdb_packet.h"
#include "base/mem.h"
#include "collect/query/gdb_target.h"
#include "collect/query/registers.h"

struct target_register {
	const char *name, *type;
	uint8_t bytes;
	const char *feature;		/* that begins here; NULL: it goes on */
};

#define G(n, t, b) { n, t, b, NULL }
/* What both widths have in the same order: segments, x87, eight vectors; their upper halves. */
#define LEGACY \
	G("cs", "int32", 4), \
	G("ss", "int32", 4), G("ds", "int32", 4), G("es", "int32", 4), G("fs", "int32", 4), \
	G("gs", "int32", 4), G("st0", "i387_ext", 10), G("st1", "i387_ext", 10), \
	G("st2", "i387_ext", 10), G("st3", "i387_ext", 10), G("st4", "i387_ext", 10), \
	G("st5", "i387_ext", 10), G("st6", "i387_ext", 10), G("st7", "i387_ext", 10), \
	G("fctrl", "int", 4), G("fstat", "int", 4), G("ftag", "int", 4), G("fiseg", "int", 4), \
	G("fioff", "int", 4), G("foseg", "int", 4), G("fooff", "int", 4), G("fop", "int", 4), \
	{ "xmm0", "vec128", 16, "sse" }, \
	G("xmm1", "vec128", 16), G("xmm2", "vec128", 16), G("xmm3", "vec128", 16), \
	G("xmm4", "vec128", 16), G("xmm5", "vec128", 16), G("xmm6", "vec128", 16), \
	G("xmm7", "vec128", 16)
#define HIGH_HALVES \
	{ "ymm0h", "uint128", 16, "avx" }, \
	G("ymm1h", "uint128", 16), G("ymm2h", "uint128", 16), G("ymm3h", "uint128", 16), \
	G("ymm4h", "uint128", 16), G("ymm5h", "uint128", 16), G("ymm6h", "uint128", 16), \
	G("ymm7h", "uint128", 16)

static const struct target_register registers[] = {
	{ "rax", "int64", 8, "core" },
	G("rbx", "int64", 8), G("rcx", "int64", 8), G("rdx", "int64", 8), G("rsi", "int64", 8),
	G("rdi", "int64", 8), G("rbp", "data_ptr", 8), G("rsp", "data_ptr", 8),
	G("r8", "int64", 8), G("r9", "int64", 8), G("r10", "int64", 8), G("r11", "int64", 8),
	G("r12", "int64", 8), G("r13", "int64", 8), G("r14", "int64", 8), G("r15", "int64", 8),
	G("rip", "code_ptr", 8), G("eflags", "i386_eflags", 4), LEGACY,
	G("xmm8", "vec128", 16), G("xmm9", "vec128", 16),
	G("xmm10", "vec128", 16), G("xmm11", "vec128", 16), G("xmm12", "vec128", 16),
	G("xmm13", "vec128", 16), G("xmm14", "vec128", 16), G("xmm15", "vec128", 16),
	G("mxcsr", "int", 4),
	{ "orig_rax", "int64", 8, "linux" },
	{ "fs_base", "int64", 8, "segments" }, G("gs_base", "int64", 8),
	HIGH_HALVES, G("ymm8h", "uint128", 16), G("ymm9h", "uint128", 16),
	G("ymm10h", "uint128", 16), G("ymm11h", "uint128", 16), G("ymm12h", "uint128", 16),
	G("ymm13h", "uint128", 16), G("ymm14h", "uint128", 16), G("ymm15h", "uint128", 16),
};

static const struct target_register registers32[] = {
	{ "eax", "int32", 4, "core" },
	G("ecx", "int32", 4), G("edx", "int32", 4), G("ebx", "int32", 4), G("esp", "data_ptr", 4),
	G("ebp", "data_ptr", 4), G("esi", "int32", 4), G("edi", "int32", 4),
	G("eip", "code_ptr", 4), G("eflags", "i386_eflags", 4), LEGACY,
	G("mxcsr", "int", 4),
	{ "orig_eax", "int32", 4, "linux" },
	HIGH_HALVES,
};

static const struct target_register *registers_of(const struct standing *st)
{
	return stopped_is_i386(st) ? registers32 : registers;
}

static const char types[] =
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>"
	"<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>"
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>"
	"<field name=\"v2_double\" type=\"v2d\"/><field name=\"v16_int8\" type=\"v16i8\"/>"
	"<field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/>"
	"</union>";
static const char flags[] =
	"<flags id=\"i386_eflags\" size=\"4\"><field name=\"CF\" start=\"0\" end=\"0\"/>"
	"<field name=\"PF\" start=\"2\" end=\"2\"/><field name=\"AF\" start=\"4\" end=\"4\"/>"
	"<field name=\"ZF\" start=\"6\" end=\"6\"/><field name=\"SF\" start=\"7\" end=\"7\"/>"
	"<field name=\"TF\" start=\"8\" end=\"8\"/><field name=\"IF\" start=\"9\" end=\"9\"/>"
	"<field name=\"DF\" start=\"10\" end=\"10\"/><field name=\"OF\" start=\"11\" end=\"11\"/>"
	"</flags>";

size_t gdb_target_describe(const struct standing *st, char *to, size_t size)
{
	size_t n = (size_t)snprintf(to, size, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM "
				    "\"gdb-target.dtd\"><target><architecture>i386%s"
				    "</architecture><osabi>GNU/Linux</osabi>",
				    stopped_is_i386(st) ? "" : ":x86-64");

	for (unsigned i = 0; i < gdb_target_registers(st); i++) {
		const struct target_register *r = &registers_of(st)[i];

		if (r->feature)
			n += (size_t)snprintf(to + n, size - n,
					      "%s<feature name=\"org.gnu.gdb.i386.%s\">%s",
					      i ? "</feature>" : "", r->feature,
					      !i ? flags : strcmp(r->feature, "sse") ? "" : types);
		n += (size_t)snprintf(to + n, size - n, "<reg name=\"%s\" bitsize=\"%u\" "
				      "type=\"%s\" regnum=\"%u\"/>", r->name, 8u * r->bytes,
				      r->type, i);
	}
	return n + (size_t)snprintf(to + n, size - n, "</feature></target>");
}

unsigned gdb_target_registers(const struct standing *st)
{
	return stopped_is_i386(st) ? NR(registers32) : NR(registers);
}

/* The upper half of a ymm register, or what has that name. */
static bool get(struct standing *st, const char *name, uint8_t value[64])
{
	struct query_register v[QUERY_REGISTERS];
	char whole[8];
	const bool high = !strncmp(name, "ymm", 3);

	snprintf(whole, sizeof whole, "%s", name);
	if (high)
		whole[strlen(whole) - 1] = 0;
	if (!query_is_register(whole) || query_registers(st, whole, v) != 1)
		return false;
	memcpy(value, v->value + 16 * high, 64 - 16 * high);
	return true;
}

size_t gdb_target_get(struct standing *st, uint32_t tid, unsigned i, char *to)
{
	const struct target_register *r = &registers_of(st)[i];
	struct query_register general = { 0 };
	struct user_regs_struct regs;
	uint8_t value[64] = { 0 };
	bool known;

	if (tid == stopped_position(st)->tid) {
		known = get(st, r->name, value);
	} else {
		known = stopped_others_regs(st, tid, &regs) && strcmp(r->name, "fs_base") &&
			query_general(&regs, r->name, &general);
		memcpy(value, general.value, sizeof value);
	}
	gdb_hex(to, value, r->bytes);
	if (!known)
		memset(to, 'x', 2u * r->bytes);
	return 2u * r->bytes;
}
