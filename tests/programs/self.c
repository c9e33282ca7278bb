/* SPDX-License-Identifier: MIT */
/* self.c - what a program sees of itself: auxv, /proc/self, its own code, IFUNCs, the vDSO, rseq */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include "self_check.h"

extern char __executable_start[], etext[];

static int impl_a(int x) { return x + 1; }
static int impl_b(int x) { return x + 2; }
static int (*resolve(void))(int)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") ? impl_a : impl_b;
}
int chosen(int) __attribute__((ifunc("resolve")));

static char *slurp(const char *path)
{
	static char buf[1 << 20];
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t got;

	CHECK(fd >= 0);
	while ((got = read(fd, buf + n, sizeof buf - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	buf[n] = 0;
	return buf;
}

int main(int argc, char **argv)
{
	char path[4096], *p, *line;
	struct timespec a, b;
	struct timeval tv;
	time_t now;
	int found = 0, fd;
	unsigned cpu;

	/* /proc/self/exe, comm, cmdline */
	path[readlink("/proc/self/exe", path, sizeof path - 1)] = 0;
	CHECK(strstr(path, strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0]));
	p = slurp("/proc/self/comm");
	CHECK(!strncmp(p, "self", 4));
	p = slurp("/proc/self/cmdline");
	CHECK(!strcmp(p, argv[0]));
	CHECK(argc == 1);
	CHECK(!strcmp((char *)getauxval(AT_EXECFN), argv[0]));
	SECTION("exe, comm, cmdline: its own");

	p = slurp("/proc/self/status");
	p = strstr(p, "TracerPid:");
	CHECK(p && atoi(p + 10) == 0);
	CHECK(prctl(PR_SET_NAME, "renamed") == 0);
	CHECK(!strncmp(slurp("/proc/self/comm"), "renamed", 7));
	SECTION("nobody traces it");

	/* auxv and program headers */
	{
		const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		int text = 0;

		CHECK(ph && getauxval(AT_PHNUM) > 2 && getauxval(AT_PHENT) == sizeof *ph);
		for (unsigned i = 0; i < getauxval(AT_PHNUM); i++)
			text += ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X;
		CHECK(text == 1);
		CHECK(getauxval(AT_ENTRY) >= (uintptr_t)__executable_start &&
		      getauxval(AT_ENTRY) < (uintptr_t)etext);
		CHECK(getauxval(AT_PAGESZ) == 4096 && getauxval(AT_SECURE) == 0 &&
		      getauxval(AT_RANDOM));
		CHECK(((ElfW(Ehdr) *)(void *)__executable_start)->e_ident[1] == 'E');
	}
	/* maps: main is in an executable mapping of the program's file */
	p = strdup(slurp("/proc/self/maps"));
	for (line = strtok(p, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long lo, hi;
		unsigned long off;
		char prot[8];

		CHECK(sscanf(line, "%lx-%lx %7s %lx", &lo, &hi, prot, &off) == 4);
		if ((uintptr_t)main >= lo && (uintptr_t)main < hi) {
			char in_memory[64], in_file[64];
			int exe = open("/proc/self/exe", O_RDONLY);

			CHECK(!strcmp(prot, "r-xp") && strstr(line, path));
			memcpy(in_memory, (void *)(uintptr_t)main, 64);
			CHECK(pread(exe, in_file, 64, (off_t)((uintptr_t)main - lo + off)) == 64);
			CHECK(!memcmp(in_memory, in_file, 64));
			close(exe);
			found++;
		}
		if (strstr(line, "[stack]"))
			CHECK((uintptr_t)&found >= lo && (uintptr_t)&found < hi);
		if (strstr(line, "[heap]"))
			CHECK((uintptr_t)sbrk(0) == hi);
	}
	CHECK(found == 1);
	free(p);
	SECTION("auxv, maps: good");

	/* the file says what is mapped when it is read */
	fd = open("/proc/self/maps", O_RDONLY);
	for (int i = 0; i < 3; i++) {
		char *at = mmap(NULL, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		     want[64];
		static char all[65536];
		ssize_t n, k = 0;

		CHECK(mprotect(at + 4096, 4096, PROT_READ) == 0);
		CHECK(lseek(fd, 0, SEEK_SET) == 0);
		while ((n = read(fd, all + k, sizeof all - 1 - (size_t)k)) > 0)
			k += n;
		all[k] = 0;
		snprintf(want, sizeof want, "%lx-%lx r--p 00000000 00:00 0", (long)at + 4096,
			 (long)at + 8192);
		CHECK(strstr(all, want));
		munmap(at, 12288);
	}
	close(fd);
	SECTION("maps, read again: good");

	/* its own code is what the file has */
	fd = open("/proc/self/exe", O_RDONLY);
	{
		off_t size = lseek(fd, 0, SEEK_END);
		char *file = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
		const Elf64_Ehdr *eh = (void *)file;
		const Elf64_Phdr *ph = (void *)(file + eh->e_phoff);
		uint64_t bias = eh->e_type == ET_DYN ? (uintptr_t)__executable_start : 0;

		CHECK(file != MAP_FAILED);
		for (int i = 0; i < eh->e_phnum; i++)
			if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
				CHECK(!memcmp((void *)(bias + ph[i].p_vaddr), file + ph[i].p_offset,
					      ph[i].p_filesz));
		munmap(file, (size_t)size);
	}
	close(fd);
	SECTION("its code: byte for byte the file's");

	CHECK(chosen(5) == 6);
	{
		void *ret;

		__asm__ volatile("call 1f\n1:\tpop %0" : "=r"(ret));
		CHECK((uintptr_t)ret >= (uintptr_t)__executable_start &&
		      (uintptr_t)ret < (uintptr_t)etext);
		CHECK((uintptr_t)__builtin_return_address(0) > 4096);
	}
	SECTION("ifunc, return addresses: good");

	CHECK(getauxval(AT_SYSINFO_EHDR) && !memcmp((void *)getauxval(AT_SYSINFO_EHDR), ELFMAG, 4));
	for (int i = 0; i < 10000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		clock_gettime(CLOCK_MONOTONIC, &b);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
	}
	/* However long it takes from one to the next; time() may lag by a tick of the kernel's
	 * clock. */
	now = time(NULL);
	CHECK(gettimeofday(&tv, NULL) == 0 && tv.tv_sec >= now);
	CHECK(syscall(SYS_clock_gettime, CLOCK_REALTIME, &a) == 0 && a.tv_sec >= tv.tv_sec);
	CHECK(time(NULL) >= a.tv_sec - 1);
	CHECK(getcpu(&cpu, NULL) == 0 && cpu < 4096 && sched_getcpu() >= 0);
	SECTION("vdso: time goes forward");

	/* rseq: refused, or registered by libc and then right */
	{
		extern const unsigned __rseq_size __attribute__((weak));
		extern const ptrdiff_t __rseq_offset __attribute__((weak));

		if (&__rseq_size && __rseq_size) {
			volatile int32_t *id = (void *)((char *)__builtin_thread_pointer() +
							__rseq_offset);

			CHECK(id[1] >= 0 && id[1] < 4096);
		}
		CHECK(syscall(SYS_rseq, (void *)1, 32, 0, 0) == -1);
	}
	/* descriptors: the lowest free one is 3, and all others may be closed */
	fd = open("/dev/null", O_RDONLY);
	CHECK(fd == 3);
	close(fd);
	{
		DIR *d = opendir("/proc/self/fd");
		int n = 0;

		while (readdir(d))
			n++;
		closedir(d);
		CHECK(n == 2 + 4);		/* . .. 0 1 2 and the directory itself */
	}
	for (int i = 3; i < 2000; i++)
		close(i);
	syscall(SYS_close_range, 3, ~0u, 0);
	CHECK(dup2(1, 900) == 900 && close(900) == 0);
	SECTION("descriptors: its own");

	/* brk and mmap give memory where nothing was */
	p = sbrk(0);
	CHECK(sbrk(1 << 20) == p && (char *)sbrk(0) == p + (1 << 20));
	memset(p, 1, 1 << 20);
	CHECK(sbrk(-(1 << 20)) == p + (1 << 20));
	for (int i = 0; i < 200; i++) {
		size_t size = 4096u << (i % 10);
		char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		CHECK(m != MAP_FAILED && !m[0] && !m[size - 1]);
		m[0] = m[size - 1] = 1;
		if (i & 1)
			CHECK(munmap(m, size) == 0);
	}
	SECTION("brk, mmap: good");

	CHECK(prctl(PR_GET_DUMPABLE) == 1 && prctl(PR_SET_DUMPABLE, 2) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
	if (!fork())
		_exit(prctl(PR_GET_DUMPABLE));
	CHECK(wait(&fd) > 0 && fd == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0 && prctl(PR_GET_DUMPABLE) == 1);
	SECTION("dumpable: as it was set");
	return 0;
}
