/* SPDX-License-Identifier: MIT */
#include "guest.h"

#include <string.h>

#define CR0_PG		(1u << 31)
#define EFER_LMA	(1u << 10)
#define VECTORS		256u

struct guest guest = { .selector = UINT32_MAX };

enum {
	R_RIP, R_RSP, R_CS, R_CR0, R_CR3, R_EFER,
	R_RDI, R_RSI, R_RDX, R_RCX, R_R8, R_R9, R_RAX,
	R_COUNT
};
static struct qemu_plugin_register *reg[R_COUNT];
static struct g_byte_array *bytes;	/* what was read last */

bool guest_find_registers(void)
{
	static const char *const name[R_COUNT][2] = {
		[R_RIP] = { "rip", "eip" }, [R_RSP] = { "rsp", "esp" }, [R_CS] = { "cs" }, [R_CR0] = { "cr0" },
		[R_CR3] = { "cr3" }, [R_EFER] = { "efer" }, [R_RDI] = { "rdi" }, [R_RSI] = { "rsi" },
		[R_RDX] = { "rdx" }, [R_RCX] = { "rcx" }, [R_R8] = { "r8" }, [R_R9] = { "r9" },
		[R_RAX] = { "rax" },
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
	guest.paging = read_register(R_CR0) & CR0_PG;
	guest.wide = read_register(R_EFER) & EFER_LMA;
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

	if (!guest.wide)
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
