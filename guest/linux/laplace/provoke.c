/* SPDX-License-Identifier: MIT */
/* provoke.c - does once each thing that the kernel has an event for, and says which events must
 * follow
 *
 *   provoke          every event of Laplace's catalogue; a line for each that must be among those
 *                    that the kernel reports, without its time; * stands for any number
 *   provoke counts   the kernel's own counts of switches, processes, threads and page faults
 *
 * Without a library, so that it runs on every MIPS Linux of 32 bits, and on every x86-64 one. */
typedef unsigned long word;

#ifdef __mips__
enum { EXIT = 4001, FORK, READ, WRITE, OPEN, CLOSE, WAITPID, UNLINK = 4010, EXECVE, GETPID = 4020,
	PIPE = 4042, BRK = 4045, MMAP = 4090, MUNMAP, TRUNCATE, FTRUNCATE, CLONE = 4120,
	WRITEV = 4146, YIELD = 4162, MREMAP = 4167, ACCEPT, BIND, LISTEN = 4174,
	SOCKET = 4183, PREAD = 4200, PWRITE, SENDFILE = 4207, MADVISE = 4218,
	SHMGET = 4395, SHMCTL, SHMAT, SHMDT };

#define ANON		0x800
#define CREAT		0x100
#define STREAM		2
#define NONBLOCK	0x80
#define CHILD		18		/* SIGCHLD */
/* an offset of 64 bits begins at an even argument */
#define AT(offset)	0, offset

static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long v0 __asm__("$2") = n, a0 __asm__("$4") = a, a1 __asm__("$5") = b,
		      a2 __asm__("$6") = c, a3 __asm__("$7") = d;

	__asm__ volatile("addiu $29, $29, -32\n\tsw %5, 16($29)\n\tsw %6, 20($29)\n\tsyscall\n\t"
			 "addiu $29, $29, 32"
			 : "+r"(v0), "+r"(a3) : "r"(a0), "r"(a1), "r"(a2), "r"(e), "r"(f)
			 : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24",
			   "$25", "$31", "hi", "lo", "memory");
	return a3 ? -1 : v0;
}
#else
enum { EXIT = 60, FORK = 57, READ = 0, WRITE, OPEN, CLOSE, WAITPID = 61, UNLINK = 87, EXECVE = 59,
	GETPID = 39, PIPE = 22, BRK = 12, MMAP = 9, MUNMAP = 11, TRUNCATE = 76, FTRUNCATE,
	CLONE = 56, WRITEV = 20, YIELD = 24, MREMAP, ACCEPT = 43, BIND = 49, LISTEN, SOCKET = 41,
	PREAD = 17, PWRITE, SENDFILE = 40, MADVISE = 28, SHMGET, SHMAT, SHMCTL, SHMDT = 67 };

#define ANON		0x20
#define CREAT		0x40
#define STREAM		1
#define NONBLOCK	0x800
#define CHILD		17		/* SIGCHLD */
#define AT(offset)	offset, 0

static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall" : "=a"(r)
			 : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return (word)r > -4096ul ? -1 : r;
}
#endif

#define PAGE		4096ul
#define SHARED		1
#define PRIVATE		2
#define RDWR		2
#define TRUNC		0x200

#define call(n, a, b, c, d)	call6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static char line[256];
static unsigned nline;

static void print(const char *s)
{
	while (*s && nline < sizeof line)
		line[nline++] = *s++;
}

static void number(word v)
{
	char digits[17];
	int i = 16;

	digits[16] = 0;
	do {
		digits[--i] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	print(" ");
	print(digits + i);
}

static void flush(void)
{
	call(WRITE, 1, line, nline, 0);
	nline = 0;
}

/* "EVENT tag fields": 'n' takes a number, '*' stands for one. */
static void must(const char *tag, const char *fields, word a, word b, word c, word d, word e)
{
	word v[] = { a, b, c, d, e };
	int i = 0;

	print("EVENT ");
	print(tag);
	for (; *fields; fields++) {
		if (*fields == '*')
			print(" *");
		else
			number(v[i++]);
	}
	print(*tag == 'M' ? " provoke.tmp\n" : "\n");
	flush();
}

static void die(const char *what)
{
	print("provoke: failed: ");
	print(what);
	print("\n");
	flush();
	call(EXIT, 1, 0, 0, 0);
}

static word ok(long v, const char *what)
{
	if (v == -1)
		die(what);
	return (word)v;
}

static word pid;
static volatile char page[4 * PAGE] __attribute__((aligned(4096)));

static void memory(int fd)
{
	word a, b, top;

	a = ok(call6(MMAP, 0, 5 * PAGE, 3, PRIVATE | ANON, -1, 0), "mmap");
	must("m", "nnn", pid, a, 5 * PAGE, 0, 0);
	*(volatile char *)(a + PAGE) = 1;
	ok(call(MUNMAP, a + 3 * PAGE, PAGE, 0, 0), "munmap");
	must("U", "nnn", pid, a + 3 * PAGE, PAGE, 0, 0);
	ok(call(MUNMAP, a + 4 * PAGE, PAGE, 0, 0), "munmap");
	/* something in its way, so that it must move */
	ok(call6(MMAP, (long)(a + 3 * PAGE), PAGE, 3, PRIVATE | ANON | 0x10, -1, 0), "mmap fixed");
	b = ok(call(MREMAP, a, 3 * PAGE, 6 * PAGE, 1), "mremap");
	if (b == a)
		die("mremap did not move");
	must("@", "nnnnn", pid, b, 6 * PAGE, a, 3 * PAGE);
	*(volatile char *)(b + 5 * PAGE) = *(volatile char *)(b + PAGE);
	ok(call(MREMAP, b, 6 * PAGE, 2 * PAGE, 0), "mremap shrinks");
	must("U", "nnn", pid, b + 2 * PAGE, 4 * PAGE, 0, 0);
	ok(call(MREMAP, b, 2 * PAGE, 3 * PAGE, 0), "mremap grows");
	must("m", "nnn", pid, b + 2 * PAGE, PAGE, 0, 0);
	*(volatile char *)(b + 2 * PAGE) = 1;
	ok(call(MADVISE, b, PAGE, 4, 0), "madvise");
	must("m", "nnn", pid, b, PAGE, 0, 0);
	top = (ok(call(BRK, 0, 0, 0, 0), "brk") + PAGE - 1) & ~(PAGE - 1);
	ok(call(BRK, top, 0, 0, 0), "brk");
	ok(call(BRK, top + 3 * PAGE, 0, 0, 0), "brk grows");
	must("m", "nnn", pid, top, 3 * PAGE, 0, 0);
	*(volatile char *)(top + 2 * PAGE) = 1;
	ok(call(BRK, top + PAGE, 0, 0, 0), "brk shrinks");
	must("U", "nnn", pid, top + PAGE, 2 * PAGE, 0, 0);
	a = ok(call6(MMAP, 0, 2 * PAGE, 3, PRIVATE, fd, PAGE), "mmap file");
	must("M", "nnn***n", pid, a, 2 * PAGE, 1, 0);
	*(volatile char *)(a + 5);
	*(volatile char *)(a + 5) = 1;
	must("C", "nn", pid, a + 5, 0, 0, 0);
	a = ok(call6(MMAP, 0, PAGE, 3, SHARED, fd, 0), "mmap shared");
	must("M", "nnn***n", pid, a, PAGE, 0, 0);
	*(volatile char *)(a + 5) = 1;
	ok(call(MUNMAP, a, PAGE, 0, 0), "munmap");
}

static void shared_memory(void)
{
	word id = ok(call(SHMGET, 0, 2 * PAGE, 0x3b0, 0), "shmget");
	word a = ok(call(SHMAT, id, 0, 0, 0), "shmat");

	must("s", "nnnn", pid, a, 2 * PAGE, id, 0);
	*(volatile char *)a = 1;
	ok(call(SHMCTL, id, 0, 0, 0), "shmctl");
	ok(call(SHMDT, a, 0, 0, 0), "shmdt");
	must("U", "nnn", pid, a, 2 * PAGE, 0, 0);
	must("/", "nn", pid, id, 0, 0, 0);
}

static void files(int fd)
{
	const struct { const void *p; word n; } v[2] = { { "abc", 3 }, { "de", 2 } };
	char buf[64];
	int p[2];

	ok(call6(PWRITE, fd, (long)"xyz", 3, AT(0x1234), 0), "pwrite");
	must(">", "n***nn", pid, 0x1234, 3, 0, 0);
	ok(call6(PREAD, fd, (long)buf, 7, AT(0x1230), 0), "pread");
	must("<", "n***nn", pid, 0x1230, 7, 0, 0);
	ok(call(WRITEV, fd, v, 2, 0), "writev");
	must(">", "n***nn", pid, 4 * PAGE, 5, 0, 0);
	ok(call(FTRUNCATE, fd, 0, 0, 0), "ftruncate");
	must("t", "***n", 0, 0, 0, 0, 0);
	ok(call(PIPE, p, 0, 0, 0), "pipe");
}

static void names(void)
{
	static const char name[] = "/tmp/provoke.tmp";
	struct { unsigned short family; char path[20]; } at = { 1, "/tmp/provoke.sock" };
	int fd = (int)ok(call(OPEN, name, RDWR | CREAT | TRUNC, 0600, 0), "open"), s;

	print("EVENT (");
	number(pid);
	print(" * * * 0 f provoke.tmp\n");
	flush();
	for (int i = 0; i < 4; i++)
		ok(call(WRITE, fd, (const void *)page, PAGE, 0), "write");
	must(">", "n***nn", pid, 3 * PAGE, PAGE, 0, 0);
	memory(fd);
	files(fd);
	ok(call(CLOSE, fd, 0, 0, 0), "close");
	must(")", "n***", pid, 0, 0, 0, 0);
	ok(call(UNLINK, name, 0, 0, 0), "unlink");
	must("-", "***", 0, 0, 0, 0, 0);
	call(UNLINK, at.path, 0, 0, 0);
	s = (int)ok(call(SOCKET, 1, STREAM | NONBLOCK, 0, 0), "socket");
	ok(call(BIND, s, &at, 2 + sizeof at.path, 0), "bind");
	ok(call(LISTEN, s, 1, 0, 0), "listen");
	call(ACCEPT, s, 0, 0, 0);		/* nobody is there */
	must("a", "n", pid, 0, 0, 0, 0);
	call(UNLINK, at.path, 0, 0, 0);
}

static word deep(word n)
{
	volatile char here[3000];

	here[0] = here[2999] = (char)n;
	return n ? deep(n - 1) + (word)here[0] : 0;
}

/* argv[0] must be a path. */
static void processes(char **argv)
{
	long child;
	int status;

	child = (long)ok(call(FORK, 0, 0, 0, 0), "fork");
	if (!child) {
		word me = ok(call(GETPID, 0, 0, 0, 0), "getpid");
		char *args[] = { argv[0], (char *)"nothing", 0 };

		page[5] = 7;			/* a copy */
		must("C", "nn", me, (word)&page[5], 0, 0, 0);
		must("F", "nn", me, pid, 0, 0, 0);
		must("A", "n*", me, 0, 0, 0, 0);
		must("S", "n", me, 0, 0, 0, 0);
		call(EXECVE, argv[0], args, 0, 0);
		die("execve");
	}
	call(WAITPID, child, &status, 0, 0);
	print("EVENT X");
	number((word)child);
	print(" * * * provoke\n");
	flush();
	must("T", "n**", (word)child, 0, 0, 0, 0);
	must("u", "*", 0, 0, 0, 0, 0);
	must("D", "****", 0, 0, 0, 0, 0);
	must("&", "n***", pid, 0, 0, 0, 0);
	/* one that shares memory: no address space of its own */
	child = call6(CLONE, 0x100 | 0x4000 | CHILD, 0, 0, 0, 0, 0);
	if (!child)
		call(EXIT, 0, 0, 0, 0);
	call(WAITPID, child, &status, 0, 0);
	deep(100);
}

/* The number behind @word in @text; @word is a whole line's first. */
static const char *value(const char *text, const char *word)
{
	for (const char *p = text; *p; p++) {
		const char *w = word;

		if (p != text && p[-1] != '\n')
			continue;
		while (*w && *p == *w)
			p++, w++;
		if (!*w && *p == ' ')
			return p + 1;
	}
	return "?";
}

static char text[8 * PAGE];

static void get(const char *file)
{
	int fd = (int)ok(call(OPEN, file, 0, 0, 0), file);
	long n;

	/* its pages must be there: a fault in the middle of the read would be counted or not */
	for (word i = 0; i < sizeof text; i += 512)
		text[i] = 1;
	n = call(READ, fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	call(CLOSE, fd, 0, 0, 0);
}

static void say(const char *what, const char *v)
{
	print("COUNT ");
	print(what);
	print(" ");
	while (*v >= '0' && *v <= '9' && nline < sizeof line)
		line[nline++] = *v++;
	print("\n");
}

static void counts(void)
{
	const char *p;

	get("/proc/stat");
	say("switches", value(text, "ctxt"));
	say("forks", value(text, "processes"));
	get("/proc/vmstat");
	say("faults", value(text, "pgfault"));
	get("/proc/loadavg");
	for (p = text; *p && *p != '/'; p++)
		;
	say("threads", p + 1);
	flush();
}

void start(long *sp) __attribute__((used));
void start(long *sp)
{
	char **argv = (char **)(sp + 1);

	pid = (word)call(GETPID, 0, 0, 0, 0);
	if (sp[0] > 1 && argv[1][0] == 'c') {
		counts();
	} else if (sp[0] == 1) {
		names();
		shared_memory();
		processes(argv);
	}
	call(EXIT, 0, 0, 0, 0);
}

#ifdef __mips__
__asm__(".globl __start\n.set noreorder\n__start:\n"
	"\tmove $4, $29\n\taddiu $29, $29, -32\n\tjal start\n\t nop\n");
#else
__asm__(".globl _start\n_start:\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall start\n");
#endif
