/* SPDX-License-Identifier: MIT */
#include "guest.h"

#include <string.h>

#include "collect/qemu/stream.h"

#define CR0_PG		(1u << 31)
#define CR4_PAE		(1u << 5)
#define CR4_LA57	(1u << 12)
#define PRESENT		1u
#define LARGE		0x80u
#define FRAME		0x000ffffffffff000ull
#define EFER_LMA	(1u << 10)
#define VECTORS		256u

struct guest guest = { .selector = UINT32_MAX };

enum {
	R_RIP, R_RSP, R_CS, R_CR0, R_CR3, R_CR4, R_EFER,
	R_RDI, R_RSI, R_RDX, R_RCX, R_R8, R_R9, R_RAX,
	R_COUNT
};
static struct qemu_plugin_register *reg[R_COUNT];
static struct g_byte_array *bytes;	/* what was read last */

bool guest_find_registers(void)
{
	static const char *const name[R_COUNT][2] = {
		[R_RIP] = { "rip", "eip" }, [R_RSP] = { "rsp", "esp" }, [R_CS] = { "cs" }, [R_CR0] = { "cr0" },
		[R_CR3] = { "cr3" }, [R_CR4] = { "cr4" }, [R_EFER] = { "efer" }, [R_RDI] = { "rdi", "edi" },
		[R_RSI] = { "rsi", "esi" }, [R_RDX] = { "rdx", "edx" }, [R_RCX] = { "rcx", "ecx" },
		[R_R8] = { "r8" }, [R_R9] = { "r9" }, [R_RAX] = { "rax", "eax" },
	};
	struct g_array *all = qemu_plugin_get_registers();

	bytes = g_byte_array_new();
	for (unsigned i = 0; all && i < all->len; i++) {
		const struct qemu_plugin_reg_descriptor *d =
			(struct qemu_plugin_reg_descriptor *)all->data + i;

		for (unsigned k = 0; k < R_COUNT; k++)
			if (!strcmp(d->name, name[k][0]) ||
			    (name[k][1] && !strcmp(d->name, name[k][1])))
				reg[k] = d->handle;
	}
	if (all)
		g_array_free(all, 1);
	return reg[R_RIP] && reg[R_RSP] && reg[R_CS] && reg[R_CR0] && reg[R_CR3];
}

/* 0 if it cannot be read. */
static uint64_t read_register(unsigned r)
{
	uint64_t v = 0;

	g_byte_array_set_size(bytes, 0);
	if (reg[r] && qemu_plugin_read_register(reg[r], bytes) > 0)
		memcpy(&v, bytes->data, bytes->len < 8 ? bytes->len : 8);
	return v;
}

bool guest_read(uint64_t addr, void *to, size_t n)
{
	g_byte_array_set_size(bytes, 0);
	if (!qemu_plugin_read_memory_vaddr(addr, bytes, n) || bytes->len < n)
		return false;
	memcpy(to, bytes->data, n);
	return true;
}

void guest_read_control(void)
{
	const bool was_wide = guest.wide;

	guest.paging = read_register(R_CR0) & CR0_PG;
	guest.wide = read_register(R_EFER) & EFER_LMA;
	guest.old_segment = guest.wide && (guest.old_segment || !was_wide);
	/* bit 63 and the low bits are about what stays in the TLB */
	guest.directory = read_register(R_CR3) & 0x000ffffffffff000;
	guest.selector = UINT32_MAX;
}

uint64_t guest_pc(void)
{
	return read_register(R_RIP);
}

uint64_t guest_stack_pointer(void)
{
	return read_register(R_RSP);
}

uint64_t guest_argument(unsigned i)
{
	return read_register(R_RDI + i);
}

bool guest_wide_code(void)
{
	uint32_t selector, at;
	uint8_t d[8];

	if (!guest.wide || guest.old_segment)
		return false;
	selector = (uint32_t)read_register(R_CS) & 0xffff;
	if (selector == guest.selector)
		return guest.selector_wide;
	at = selector & 0xfff8;
	guest.selector = selector;
	/* the L bit of its descriptor; a segment of a local table is no 64-bit code's */
	guest.selector_wide = !(selector & 4) &&
		(at + 7 > guest.gdt_size || !guest_read(guest.gdt + at, d, 8) || d[6] & 0x20);
	return guest.selector_wide;
}

int guest_vector_at(uint64_t pc)
{
	static uint8_t table[VECTORS * 16];
	const unsigned each = guest.wide ? 16 : 8;
	unsigned n = guest.idt_size / each;

	if (n > VECTORS)
		n = VECTORS;
	if (!n || !guest_read(guest.idt, table, (size_t)n * each))
		return -1;
	for (unsigned v = 0; v < n; v++) {
		const uint8_t *g = table + (size_t)v * each;
		uint64_t at = g[0] | g[1] << 8 | (uint64_t)g[6] << 16 | (uint64_t)g[7] << 24;

		for (unsigned i = 8; guest.wide && i < 12; i++)
			at |= (uint64_t)g[i] << 8 * (i - 4);
		if (at == pc && g[5] & 0x80)	/* present */
			return (int)v;
	}
	return -1;
}

bool guest_interrupted(unsigned vector, uint64_t *pc)
{
	/* those that push an error code: 8, 10 to 14, 17, 21, 29, 30 */
	const bool code = vector < 32 && 0x60227d00u >> vector & 1;
	const unsigned each = guest.wide ? 8 : 4;
	uint64_t sp = read_register(R_RSP);

	*pc = 0;
	return guest_read(sp + (code ? each : 0), pc, each);
}

void guest_table(enum control which, const struct qemu_plugin_mem_value *v)
{
	uint64_t base = v->type == MEM_U64 ? v->data.u64 : v->data.u32;

	if (which == CONTROL_GDT) {
		guest.selector = UINT32_MAX;
		if (v->type == MEM_U16)
			guest.gdt_size = v->data.u16 + 1u;
		else
			guest.gdt = base;
	} else if (v->type == MEM_U16) {
		guest.idt_size = v->data.u16 + 1u;
	} else {
		guest.idt = base;
	}
}

/* How many bytes are prefixes. */
static unsigned prefixes(const uint8_t *p, unsigned len)
{
	unsigned i = 0;

	while (i < len && (p[i] == 0x66 || p[i] == 0x67 || p[i] == 0x2e || p[i] == 0x36 ||
			   p[i] == 0x3e || p[i] == 0x26 || p[i] == 0x64 || p[i] == 0x65 ||
			   p[i] == 0xf0 || p[i] == 0xf2 || p[i] == 0xf3 || (p[i] & 0xf0) == 0x40))
		i++;
	return i;
}

bool guest_is_far(const uint8_t *p, unsigned len)
{
	const unsigned i = prefixes(p, len);
	const uint8_t op = i < len ? p[i] : 0, ext = i + 1 < len ? p[i + 1] >> 3 & 7 : 0;

	return op == 0x9a || op == 0xea || (op >= 0xca && op <= 0xcf) ||
	       (op == 0xff && (ext == 3 || ext == 5)) ||
	       (op == 0x0f && i + 1 < len && (p[i + 1] == 0x05 || p[i + 1] == 0x07 ||
					      p[i + 1] == 0x34 || p[i + 1] == 0x35));
}

bool guest_reads_target(const uint8_t *p, unsigned len)
{
	const unsigned i = prefixes(p, len);
	const uint8_t op = i < len ? p[i] : 0, mod = i + 1 < len ? p[i + 1] : 0xff;

	return op == 0xc2 || op == 0xc3 ||
	       (op == 0xff && mod < 0xc0 && ((mod >> 3 & 7) == 2 || (mod >> 3 & 7) == 4));
}

void guest_segment_loaded(void)
{
	guest.old_segment = false;
	guest.selector = UINT32_MAX;
}

enum control guest_control(const uint8_t *p, unsigned len)
{
	const unsigned i = prefixes(p, len);

	if (i + 2 >= len || p[i] != 0x0f)
		return CONTROL_NONE;
	if (p[i + 1] == 0x22)
		return CONTROL_REGISTER;
	if (p[i + 1] != 0x01 || p[i + 2] >= 0xc0)
		return CONTROL_NONE;
	switch (p[i + 2] >> 3 & 7) {
	case 2:
		return CONTROL_GDT;
	case 3:
		return CONTROL_IDT;
	case 6:
		return CONTROL_REGISTER;	/* lmsw */
	}
	return CONTROL_NONE;
}

uint64_t guest_branch(const uint8_t *p, unsigned len, uint64_t end)
{
	const unsigned i = prefixes(p, len);
	int32_t d = 0;

	if (i + 2 == len && ((p[i] & 0xf0) == 0x70 || (p[i] & 0xfc) == 0xe0 || p[i] == 0xeb))
		d = (int8_t)p[i + 1];
	else if ((i + 5 == len && (p[i] & 0xfe) == 0xe8) ||
		 (i + 6 == len && p[i] == 0x0f && (p[i + 1] & 0xf0) == 0x80))
		memcpy(&d, p + len - 4, 4);
	return end + (uint64_t)(int64_t)d;
}

unsigned guest_cycle(const uint8_t *p, unsigned len, unsigned *size, uint32_t *port, bool *string)
{
	const unsigned i = prefixes(p, len);
	const uint8_t op = i < len ? p[i] : 0;
	const bool narrow = memchr(p, 0x66, i);

	*size = op & 1 ? narrow ? 1 : 2 : 0;
	*port = UINT32_MAX;
	*string = (op & 0xfc) == 0x6c;
	if (op == 0xf4)
		return QS_HALT;
	if (op == 0x0f && i + 2 == len && p[i + 1] == 0x09 && !memchr(p, 0xf3, i))
		return QS_FLUSH;
	if (op == 0x0f && i + 2 == len && p[i + 1] == 0x08)
		return QS_INVALIDATE;
	if (*string || (op & 0xfc) == 0xec)
		return op & 2 ? QS_OUT : QS_IN;
	if ((op & 0xfc) != 0xe4 || i + 2 != len)
		return 0;
	*port = p[i + 1];
	return op & 2 ? QS_OUT : QS_IN;
}

uint32_t guest_port(void)
{
	return read_register(R_RDX) & 0xffff;
}

uint32_t guest_written(void)
{
	return (uint32_t)read_register(R_RAX);
}

uint64_t guest_walk(uint64_t addr, const uint8_t *ram, uint64_t size)
{
	const uint64_t cr4 = read_register(R_CR4);
	const bool pae = guest.wide || cr4 & CR4_PAE;
	const unsigned each = pae ? 8 : 4, bits = pae ? 9 : 10;
	uint64_t table = read_register(R_CR3) & (guest.wide || !pae ? FRAME : 0xffffffe0);
	int shift = guest.wide ? cr4 & CR4_LA57 ? 48 : 39 : pae ? 30 : 22;

	for (;; shift -= (int)bits) {
		const uint64_t at = table + (addr >> shift & ((1u << bits) - 1)) * each;
		uint64_t entry = 0;

		if (at + each > size)
			return QS_NOWHERE;
		memcpy(&entry, ram + at, each);
		if (!(entry & PRESENT))
			return QS_NOWHERE;
		/* what maps the most has no such bit in 32-bit PAE tables, nor in the first of four
		 * or five */
		if (shift == 12 || (entry & LARGE && (shift < 30 || (guest.wide && shift == 30)))) {
			const uint64_t inside = (1ull << shift) - 1;

			return (entry & FRAME & ~inside) | (addr & inside);
		}
		table = entry & FRAME;
	}
}
