/* SPDX-License-Identifier: MIT */
/* gdb.c - the remote serial protocol: registers, memory, breakpoints, run, step; watchpoints are
 * left to gdb, which steps for them
 *
 * Registers as gdb numbers them for MIPS: 0-31 GPR, 32 Status, 33 LO, 34 HI, 35 BadVAddr, 36 Cause,
 * 37 PC, 38-69 FPR, 70 FCSR, 71 FIR; 64 bits each ("mips:4000"). Breakpoints are kept here and
 * tested between instructions, so the guest's memory and caches stay what they are. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/gdb_packet.h"
#include "collect/machine/machine.h"

#define BREAKS	64

struct gdb {
	struct machine *m;
	struct gdb_link link;
	char out[GDB_REPLY];
	uint64_t brk[BREAKS];
	unsigned nbrk;
};

static uint64_t *reg_place(struct cpu *c, unsigned n)
{
	if (n < 32)
		return &c->gpr[n];
	if (n >= 38 && n < 70)
		return &c->fpr[n - 38];
	switch (n) {
	case 33: return &c->lo;
	case 34: return &c->hi;
	case 35: return &c->c0[C0_BADVADDR];
	case 37: return &c->pc;
	default: return NULL;
	}
}

static void reg_hex(struct gdb *g, unsigned n, char *to)
{
	struct cpu *c = g->m->cpu;
	uint64_t *p = reg_place(c, n), v = p ? *p : 0;
	uint8_t b[8];

	if (n == 32)
		v = cpu_cp0_get(c, C0_STATUS);
	else if (n == 36)
		v = cpu_cp0_get(c, C0_CAUSE);
	else if (n == 70)
		v = c->fcr31;
	else if (n == 71)
		v = 0x500;
	for (unsigned i = 0; i < 8; i++)
		b[c->cfg.big_endian ? 7 - i : i] = (uint8_t)(v >> 8 * i);
	gdb_hex(to, b, 8);
}

static void reg_set(struct gdb *g, unsigned n, const char *s)
{
	struct cpu *c = g->m->cpu;
	uint64_t *p = reg_place(c, n), v = 0;
	uint8_t b[8];
	size_t k = gdb_unhex(b, s, 8);

	if (k != 8)
		return;
	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)b[c->cfg.big_endian ? 7 - i : i] << 8 * i;
	if (n == 32)
		cpu_cp0_set(c, C0_STATUS, v);
	else if (n == 36)
		cpu_cp0_set(c, C0_CAUSE, v);
	else if (n == 70)
		c->fcr31 = (uint32_t)v;
	else if (p && n)
		*p = v;
	if (n == 37)
		c->in_delay = false;
	cpu_sync(c);
	c->attn = false;
}

/* One byte of the guest's memory; false if there is none. */
static uint8_t *mem_byte(struct gdb *g, uint64_t va)
{
	uint8_t *at;
	uint64_t pa;

	/* of 32-bit programs gdb sends the low half of an address */
	if (!cpu_locate(g->m->cpu, va, &pa, &at) &&
	    (va >> 32 || !cpu_locate(g->m->cpu, (uint64_t)(int64_t)(int32_t)va, &pa, &at)))
		return NULL;
	return at ? at : pa < g->m->ram_size ? g->m->ram + pa : NULL;
}

static bool at_break(const struct gdb *g)
{
	for (unsigned i = 0; i < g->nbrk; i++)
		if (g->brk[i] == g->m->cpu->pc || (uint32_t)g->brk[i] == (uint32_t)g->m->cpu->pc)
			return true;
	return false;
}

/* Run until a breakpoint, the end, or word from the debugger. */
static void go(struct gdb *g, bool step)
{
	struct machine *m = g->m;
	uint64_t n = 0;

	for (;;) {
		machine_step(m, step || g->nbrk ? 1 : 100000);
		if (m->stop != RUNNING) {
			gdb_reply(&g->link, m->stop == RESET ? "W01" : "W00");
			g->link.gone = true;
			return;
		}
		if (step || at_break(g))
			break;
		if (!(++n & (g->nbrk ? 0xffff : 15)) && gdb_calls(&g->link)) {
			gdb_receive(&g->link);
			break;
		}
		if (m->interrupted && *m->interrupted)
			break;
	}
	gdb_reply(&g->link, "S05");
}

static void read_memory(struct gdb *g, const char *p)
{
	unsigned long long a, n;

	if (sscanf(p, "m%llx,%llx", &a, &n) != 2 || n > GDB_PACKET / 2) {
		gdb_reply(&g->link, "E01");
		return;
	}
	*g->out = 0;
	for (unsigned long long i = 0; i < n; i++) {
		uint8_t *b = mem_byte(g, a + i);

		if (!b)
			break;
		gdb_hex(g->out + 2 * i, b, 1);
	}
	gdb_reply(&g->link, n && !*g->out ? "E14" : g->out);
}

static void write_memory(struct gdb *g, const char *p)
{
	unsigned long long a, n;

	if (sscanf(p, "M%llx,%llx:", &a, &n) != 2 || n > GDB_PACKET / 2 || !strchr(p, ':')) {
		gdb_reply(&g->link, "E01");
		return;
	}
	p = strchr(p, ':') + 1;
	for (unsigned long long i = 0; i < n; i++) {
		uint8_t v, *b = mem_byte(g, a + i);

		if (!b || gdb_unhex(&v, p + 2 * i, 1) != 1) {
			gdb_reply(&g->link, "E14");
			return;
		}
		*b = v;
	}
	gdb_reply(&g->link, "OK");
}

/* Z sets a breakpoint, z takes it away. */
static void breakpoint(struct gdb *g, const char *p)
{
	unsigned long long a;
	unsigned r, kind;

	if (sscanf(p + 1, "%u,%llx,%x", &kind, &a, &r) != 3 || kind > 1) {
		gdb_reply(&g->link, "");
		return;
	}
	for (unsigned i = 0; i < g->nbrk; i++)
		if (g->brk[i] == a)
			g->brk[i--] = g->brk[--g->nbrk];
	if (*p == 'Z') {
		if (g->nbrk == BREAKS) {
			gdb_reply(&g->link, "E0c");
			return;
		}
		g->brk[g->nbrk++] = a;
	}
	gdb_reply(&g->link, "OK");
}

/* Without a description gdb has names of its own for registers, "sr" for Status. */
static size_t describe(char *to, size_t size)
{
	static const char *const named[] = {
		[32] = "status", "lo", "hi", "badvaddr", "cause", "pc", [70] = "fcsr", "fir",
	};
	static const struct { const char *name; uint8_t reg[35]; } features[] = {
		{ "cpu", { 33, 34, 37 } }, { "cp0", { 32, 35, 36 } }, { "fpu", { 70, 71 } },
	};
	size_t n = (size_t)snprintf(to, size, "<?xml version=\"1.0\"?><target><architecture>"
				    "mips:4000</architecture>");

	for (unsigned f = 0; f < NR(features); f++) {
		unsigned first = f == 0 ? 0 : f == 1 ? 32 : 38, plain = f == 1 ? 0 : 32;

		n += (size_t)snprintf(to + n, size - n, "<feature name=\"org.gnu.gdb.mips.%s\">",
				      features[f].name);
		for (unsigned i = 0; i < plain; i++)
			n += (size_t)snprintf(to + n, size - n, "<reg name=\"%c%u\" bitsize=\"64\" "
					      "regnum=\"%u\"/>", f ? 'f' : 'r', i, first + i);
		for (const uint8_t *r = features[f].reg; *r; r++)
			n += (size_t)snprintf(to + n, size - n, "<reg name=\"%s\" bitsize=\"64\" "
					      "regnum=\"%u\"/>", named[*r], *r);
		n += (size_t)snprintf(to + n, size - n, "</feature>");
	}
	return n + (size_t)snprintf(to + n, size - n, "</target>");
}

static void describe_part(struct gdb *g, const char *p)
{
	static char xml[8192];

	gdb_reply_part(&g->link, p, xml, describe(xml, sizeof xml));
}

static void query(struct gdb *g, const char *p)
{
	static const char features[] = "qXfer:features:read:target.xml:";

	if (!strncmp(p, "qSupported", 10)) {
		gdb_reply(&g->link, "PacketSize=1000;QStartNoAckMode+;qXfer:features:read+");
	} else if (!strncmp(p, features, strlen(features))) {
		describe_part(g, p + strlen(features));
	} else if (!strcmp(p, "qAttached")) {
		gdb_reply(&g->link, "1");
	} else if (!strcmp(p, "qC")) {
		gdb_reply(&g->link, "QC1");
	} else if (!strcmp(p, "qfThreadInfo")) {
		gdb_reply(&g->link, "m1");
	} else if (!strcmp(p, "qsThreadInfo")) {
		gdb_reply(&g->link, "l");
	} else {
		gdb_reply(&g->link, "");
	}
}

static void serve(struct gdb *g)
{
	unsigned r;
	char *p = g->link.packet;

	switch (*p) {
	case '?': gdb_reply(&g->link, "S05"); return;
	case 'g':
		for (unsigned i = 0; i < 72; i++)
			reg_hex(g, i, g->out + 16 * i);
		gdb_reply(&g->link, g->out);
		return;
	case 'G':
		for (unsigned i = 0; i < 72 && strlen(p + 1) >= 16 * (i + 1); i++)
			reg_set(g, i, p + 1 + 16 * i);
		gdb_reply(&g->link, "OK");
		return;
	case 'p':
		if (sscanf(p, "p%x", &r) != 1 || r > 71) {
			gdb_reply(&g->link, "E01");
			return;
		}
		reg_hex(g, r, g->out);
		gdb_reply(&g->link, g->out);
		return;
	case 'P':
		if (sscanf(p, "P%x=", &r) != 1 || r > 71 || !strchr(p, '=')) {
			gdb_reply(&g->link, "E01");
			return;
		}
		reg_set(g, r, strchr(p, '=') + 1);
		gdb_reply(&g->link, "OK");
		return;
	case 'm':
		read_memory(g, p);
		return;
	case 'M':
		write_memory(g, p);
		return;
	case 'c': go(g, false); return;
	case 's': go(g, true); return;
	case 'Z': case 'z':
		breakpoint(g, p);
		return;
	case 'H': gdb_reply(&g->link, "OK"); return;
	case 'T': gdb_reply(&g->link, "OK"); return;
	case 'D': gdb_reply(&g->link, "OK"); g->link.gone = true; return;
	case 'k': g->link.gone = true; return;
	case 'q':
		query(g, p);
		return;
	case 'Q':
		if (!strcmp(p, "QStartNoAckMode")) {
			gdb_reply(&g->link, "OK");
			g->link.no_ack = true;
			return;
		}
		/* fall through */
	default:
		gdb_reply(&g->link, "");
	}
}

enum pm_status machine_gdb(struct machine *m, unsigned port, void (*waiting)(unsigned port),
			   struct pm_err *err)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t alen = sizeof a;
	struct gdb *g;
	int one = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return pm_fail_errno(err, "cannot make a socket");
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 1)) {
		close(s);
		return pm_fail_errno(err, "cannot listen on port %u", port);
	}
	g = pm_alloc(sizeof *g);
	g->m = m;
	g->link.interrupted = m->interrupted;
	if (!getsockname(s, (struct sockaddr *)&a, &alen))
		port = ntohs(a.sin_port);
	waiting(port);
	if (m->interrupted && !gdb_wait(s, m->interrupted)) {
		close(s);
		free(g);
		err->file = NULL;
		return pm_fail_file(err, "interrupted before a debugger came");
	}
	do
		g->link.in = g->link.out = accept(s, NULL, NULL);
	while (g->link.in < 0 && errno == EINTR);
	close(s);
	if (g->link.in < 0) {
		free(g);
		return pm_fail_errno(err, "nobody came");
	}
	while (!g->link.gone && gdb_receive(&g->link))
		if (strcmp(g->link.packet, "\003"))
			serve(g);
	close(g->link.in);
	free(g);
	return PM_OK;
}
