/* SPDX-License-Identifier: MIT */
/* kernel.c - nano: processes in their own address spaces, preempted by the timer, a disk that
 * masters the bus, system calls, and CITCAT's guest side; the smallest system on which all of
 * CITCAT can be wrong */
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned char u8;

#define NPROC		5
#define PAGES		256		/* of each page table: 1 MiB */
#define UNCACHED(p)	((volatile void *)((u32)(p) | 0x20000000))
#define PHYS(p)		((u32)(p) & 0x1fffffff)
#define UART		((volatile u32 *)0xbf000900)
#define VIRTIO		((volatile u32 *)0xbf010000)
#define POWER		((volatile u32 *)0xbf020000)
#define WINDOW		((volatile u32 *)0xbf030000)

/* virtio's registers and rings are little-endian whatever the processor is */
#ifdef __MIPSEB__
#define LE16(v)		((u16)((v) << 8 | ((v) >> 8 & 0xff)))
#define LE32(v)		((u32)LE16(v) << 16 | LE16((u32)(v) >> 16))
#else
#define LE16(v)		(v)
#define LE32(v)		(v)
#endif

enum { SYS_PUTS = 1, SYS_READ, SYS_WRITE, SYS_FLUSH, SYS_YIELD, SYS_EXIT, SYS_COUNT };

struct frame {
	u32 gpr[32], hi, lo, epc, status, fpr[32], fcr31;
};

struct proc {
	u32 pt[PAGES];
	struct frame f;
	int alive, waiting;		/* waiting: for the disk */
	u32 ticks;
} __attribute__((aligned(4096)));	/* so that each page table has a page number of its own */

extern struct frame *frame;
extern u32 *page_table;
extern char user_load[], user_size[];
void leave(void);
void trap(struct frame *f, u32 cause);
void kmain(u32 a0);
void citcat_begin(void);

u32 stack[1024];
u32 stack_top[4];
static struct proc procs[NPROC];
static u8 memory[NPROC * 40 * 4096] __attribute__((aligned(4096)));
static int current, running = -1;	/* running: whom the monitor was told of */
static u32 ticks, disk_irqs;

#define c0_read(n) ({ u32 v_; __asm__ volatile("mfc0 %0, $" #n "; nop" : "=r"(v_)); v_; })
#define c0_write(n, v) __asm__ volatile("mtc0 %0, $" #n "; nop; nop; nop" : : "r"(v) : "memory")

/* The kernel runs with interrupts disabled, so a report is never overtaken. */
static u32 count(void)
{
	u32 v = c0_read(9);

	WINDOW[4] = v;
	return v;
}

static u32 cause(void)
{
	u32 v = c0_read(13);

	WINDOW[6] = v;
	return v;
}

/* Kernel events for whoever watches the bus: arguments, then the tag. An argument has two words.
 * A process's number is its index + 1, its address space the page number of its page table. */
static void event(char tag, const u32 *arg, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		WINDOW[0xb00 / 4 + 2 * i] = arg[i];
	WINDOW[0xb80 / 4] = (u8)tag;
}

#define EVENT(tag, ...) do {							\
	const u32 arg_[] = { __VA_ARGS__ };					\
	event(tag, arg_, sizeof arg_ / sizeof arg_[0]);				\
} while (0)
#define SPACE(n)	(PHYS(procs[n].pt) >> 12)
#define DISK		1, 254, 0	/* its inode and device numbers */

static void putch(char c)
{
	while (!(UART[5] & 0x20))
		;
	UART[0] = (u8)c;
}

static void puts_(const char *s)
{
	while (*s)
		putch(*s++);
}

static void hex(u32 v)
{
	for (int i = 28; i >= 0; i -= 4)
		putch("0123456789abcdef"[v >> i & 15]);
}

/* ---- disk ---- */
static struct ring {
	struct { u32 addr, addr_hi, len; u16 flags, next; } desc[8];
	struct { u16 flags, idx, ring[8]; } avail;
	u16 pad[22];
	struct { u16 flags, idx; struct { u32 id, len; } ring[8]; } used;
	struct { u32 type, zero; u32 sector, hi; } hdr;
	u8 status;
} ring_memory __attribute__((aligned(64)));
#define RING ((volatile struct ring *)UNCACHED(&ring_memory))

static int have_disk;

static u32 virtio_get(u32 reg)
{
	return LE32(VIRTIO[reg / 4]);
}

static void virtio_set(u32 reg, u32 v)
{
	VIRTIO[reg / 4] = LE32(v);
}

static void disk_init(void)
{
	if (virtio_get(0) != 0x74726976 || virtio_get(4) != 2 || virtio_get(8) != 2)
		return;
	virtio_set(0x70, 0);
	virtio_set(0x70, 3);
	virtio_set(0x24, 1);
	virtio_set(0x20, 3);			/* version 1, access platform */
	virtio_set(0x70, 11);
	virtio_set(0x30, 0);
	virtio_set(0x38, 8);
	virtio_set(0x80, PHYS(&ring_memory.desc));
	virtio_set(0x90, PHYS(&ring_memory.avail));
	virtio_set(0xa0, PHYS(&ring_memory.used));
	virtio_set(0x44, 1);
	virtio_set(0x70, 15);
	have_disk = 1;
}

/* The disk's interrupt: acknowledged, and who waits may go on. */
static void disk_done(void)
{
	virtio_set(0x64, virtio_get(0x60));
	disk_irqs++;
	for (int i = 0; i < NPROC; i++)
		procs[i].waiting = 0;
}

/* Memory is what the caches hold, and they hold nothing of it any more. */
static void flush(u32 a, u32 n)
{
	int secondary = !(c0_read(16) & 1 << 17);

	for (u32 p = a & ~15u; p < a + n; p += 16) {
		__asm__ volatile("cache 0x15, 0(%0)\n\tcache 0x10, 0(%0)" : : "r"(p) : "memory");
		if (secondary)
			__asm__ volatile("cache 0x17, 0(%0)" : : "r"(p) : "memory");
	}
}

static void disk_start(int write, u32 sector, u32 kva)
{
	EVENT(write ? '>' : '<', (u32)current + 1, DISK, sector * 512, 512);
	flush(kva, 512);
	RING->hdr.type = LE32(write);
	RING->hdr.zero = 0;
	RING->hdr.sector = LE32(sector);
	RING->hdr.hi = 0;
	for (int i = 0; i < 3; i++) {
		RING->desc[i].addr = LE32(i == 0   ? PHYS(&ring_memory.hdr)
					  : i == 1 ? PHYS(kva)
						   : PHYS(&ring_memory.status));
		RING->desc[i].addr_hi = 0;
		RING->desc[i].len = LE32(i == 0 ? 16 : i == 1 ? 512 : 1);
		RING->desc[i].flags = LE16(i == 0 ? 1 : i == 1 ? (write ? 1 : 3) : 2);
		RING->desc[i].next = LE16(i + 1);
	}
	RING->avail.ring[LE16(RING->avail.idx) & 7] = 0;
	RING->avail.idx = LE16((u16)(LE16(RING->avail.idx) + 1));
	virtio_set(0x50, 0);
}

/* ---- processes ---- */
/* The kernel's address of a user page; the same colour, so that the cache holds one copy. */
static u32 kernel_address(int p, u32 va)
{
	return 0x80000000u | ((procs[p].pt[va >> 12 & (PAGES - 1)] >> 6 << 12) & 0x1fffffff) |
	       (va & 4095);
}

static void copy(void *d, const void *s, u32 n)
{
	u32 *a = d;
	const u32 *b = s;

	for (n /= 4; n; n--)
		*a++ = *b++;
}

static void make(int n)
{
	struct proc *p = &procs[n];
	u32 base = (u32)memory + (u32)n * 40 * 4096, code = (u32)user_size / 4096;

	/* code and data from 0x10000 on, stack below 0x40000; virtual and physical colours agree */
	for (u32 i = 0; i < PAGES; i++)
		p->pt[i] = 0;
	base = (base + 0x3fff) & ~0x3fffu;
	for (u32 i = 0; i < code; i++) {
		copy((void *)(base + i * 4096), user_load + i * 4096, 4096);
		p->pt[0x10 + i] = PHYS(base + i * 4096) >> 12 << 6 | 3 << 3 | 6;
	}
	for (u32 i = 0; i < 4; i++)
		p->pt[0x3c + i] = PHYS(base + (code + 4 & ~3u) * 4096 + i * 4096) >> 12 << 6 |
				  3 << 3 | 6;
	flush(base, code * 4096);
	p->f.epc = 0x10000;
	p->f.gpr[29] = 0x40000 - 32;
	p->f.gpr[4] = (u32)n;
	p->f.status = 0x20008413 | 0x800;	/* CU1, IM7 IM3 (and IM2, unused), user, EXL, IE */
	p->alive = 1;
	EVENT('F', (u32)n + 1, 0);
	EVENT('A', (u32)n + 1, SPACE(n));
	EVENT('m', (u32)n + 1, 0x10000, code * 4096);
	EVENT('m', (u32)n + 1, 0x3c000, 0x4000);
	WINDOW[0xb40 / 4] = 'u' | 's' << 8 | 'e' << 16 | 'r' << 24;
	EVENT('X', (u32)n + 1, 2, 254, 0);
}

static void power_off(void)
{
	puts_("ticks ");
	hex(ticks != 0);
	puts_(" disk ");
	hex(disk_irqs);
	puts_("\n");
	event('e', 0, 0);
	WINDOW[10] = 0;
	POWER[0] = 0x5555;
	for (;;)
		;
}

static void switch_to(int n)
{
	current = n;
	frame = &procs[n].f;
	page_table = procs[n].pt;
	c0_write(10, (u32)n + 1);
	if (n != running) {
		running = n;
		WINDOW[0x30 / 4] = SPACE(n);
		EVENT('S', (u32)n + 1);
	}
}

/* The next process that can run; with all of them waiting, spin for the disk with interrupts
 * off. */
static void schedule(void)
{
	for (;;) {
		int alive = 0;

		for (int i = 1; i <= NPROC; i++) {
			int n = (current + i) % NPROC;

			alive |= procs[n].alive;
			if (procs[n].alive && !procs[n].waiting) {
				switch_to(n);
				return;
			}
		}
		if (!alive)
			power_off();
		while (!(cause() & 0x800))
			;
		disk_done();
	}
}

static void syscall(struct frame *f)
{
	u32 a = f->gpr[4], b = f->gpr[5];

	f->epc += 4;
	f->gpr[7] = 0;
	switch (f->gpr[2]) {
	case SYS_PUTS:
		for (u32 c; (c = *(u8 *)kernel_address(current, a)); a++)
			putch((char)c);
		break;
	case SYS_READ: case SYS_WRITE:
		if (!have_disk) {
			f->gpr[7] = 1;
			break;
		}
		for (int i = 0; i < NPROC; i++)
			if (procs[i].waiting) {		/* one request at a time: come again */
				f->epc -= 4;
				schedule();
				return;
			}
		disk_start(f->gpr[2] == SYS_WRITE, a, kernel_address(current, b));
		procs[current].waiting = 1;
		schedule();
		break;
	case SYS_FLUSH:
		flush(kernel_address(current, a), b);
		break;
	case SYS_YIELD:
		schedule();
		break;
	case SYS_EXIT:
		procs[current].alive = 0;
		EVENT('T', (u32)current + 1, procs[current].ticks, 0);
		EVENT('u', SPACE(current));
		schedule();
		break;
	case SYS_COUNT:
		f->gpr[2] = count();
		break;
	}
}

void trap(struct frame *f, u32 c)
{
	switch (c >> 2 & 31) {
	case 0:
		c = cause() & f->status;
		if (c & 0x800)
			disk_done();
		if (c & 0x8000) {
			ticks++;
			procs[current].ticks++;
			/* never two intervals alike: interrupts fall on every kind of
			 * instruction */
			c0_write(11, count() + 700 + (ticks * 37 & 1023));
			schedule();
		}
		return;
	case 8:
		syscall(f);
		return;
	case 10:	/* reserved instruction: a 64-bit operation in 32-bit user mode */
		f->gpr[3] = 0x52490000;
		f->epc += 4;
		return;
	default:
		puts_("trap ");
		hex(c);
		puts_(" epc ");
		hex(f->epc);
		puts_(" badvaddr ");
		hex(c0_read(8));
		puts_("\n");
		POWER[0] = 0x7777;
		for (;;)
			;
	}
}

void kmain(u32 a0)
{
	(void)a0;
	puts_("nano\n");
	for (u32 i = 0; i < 48; i++) {
		c0_write(0, i);
		c0_write(10, 0x80000000 + i * 0x2000);
		c0_write(2, 0);
		c0_write(3, 0);
		__asm__ volatile("tlbwi; nop; nop");
	}
	disk_init();
	for (int i = 0; i < NPROC; i++)
		make(i);
	switch_to(0);
	((void (*)(void))((u32)citcat_begin | 0x20000000))();
	c0_write(11, count() + 2000);
	leave();
}
