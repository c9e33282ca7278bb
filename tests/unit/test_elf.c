/* SPDX-License-Identifier: MIT */
/* test_elf.c - the header check on whole, cut and bent files; names and lines against nm, addr2line
 * and readelf, which read the same file by other code */
#include <inttypes.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "elf/elf.h"
#include "elf/symbols.h"

static char self[4096], scratch[64];

static uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat s;
	uint8_t *p;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &s), 0);
	p = pm_alloc((size_t)s.st_size);
	*n = fread(p, 1, (size_t)s.st_size, f);
	assert_int_equal(*n, s.st_size);
	fclose(f);
	return p;
}

static void said(const uint8_t *p, size_t n, const char *want)
{
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	char line[512];

	assert_int_equal(pm_elf_check_memory(p, n, "f", &info, &err), PM_ERR);
	pm_err_format(&err, line, sizeof line);
	assert_string_equal(line, want);
	pm_elf_info_release(&info);
}

static void whole(void **state)
{
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	char buf[24];

	(void)state;
	assert_int_equal(pm_elf_check(self, &info, &err), PM_OK);
	assert_true(info.is64);
	assert_false(info.script);
	assert_int_equal(info.machine, 62);
	assert_string_equal(pm_elf_machine(info.machine, buf), "x86-64");
	assert_non_null(strstr(info.interp, "ld-linux"));
	assert_true(info.nseg > 4);
	assert_true(strlen(info.build_id) >= 32);
	pm_elf_info_release(&info);

	assert_int_equal(pm_elf_check("/", &info, &err), PM_ERR);
	assert_string_equal(err.msg, "expected a program, found a directory");
	pm_elf_info_release(&info);
	memset(&err, 0, sizeof err);
	assert_int_equal(pm_elf_check("/nowhere", &info, &err), PM_ERR);
	assert_string_equal(err.msg, "cannot open: No such file or directory");
	assert_string_equal(err.file, "/nowhere");
	pm_elf_info_release(&info);
	memset(&err, 0, sizeof err);
	assert_int_equal(pm_elf_check("/dev/null", &info, &err), PM_ERR);
	assert_string_equal(err.msg, "expected a program, found a special file");
	pm_elf_info_release(&info);
}

static void scripts(void **state)
{
	static const char good[] = "#! \t/usr/bin/env -S python3\nprint()\n";
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	char longest[400];

	(void)state;
	assert_int_equal(pm_elf_check_memory(good, sizeof good - 1, "s", &info, &err), PM_OK);
	assert_true(info.script);
	assert_string_equal(info.interp, "/usr/bin/env");
	pm_elf_info_release(&info);
	said((const uint8_t *)"#!\n", 3,
	     "f:0x2: expected the interpreter's name behind \"#!\", found none");
	said((const uint8_t *)"echo hello\n", 11,
	     "f:0x0: expected an ELF header or \"#!\", found other text");
	said((const uint8_t *)"MZ\x90\x00\x03", 5,
	     "f:0x0: expected an ELF header (7f 45 4c 46) or \"#!\", found 4d 5a 90 00");
	said((const uint8_t *)"", 0,
	     "f:0x0: expected an ELF header or \"#!\", found an empty file");
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "#!/", 3);
	said((const uint8_t *)longest, sizeof longest,
	     "f:0x2: expected the interpreter's name to end within 256 bytes");
}

static void missing_interpreter(void **state)
{
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	char path[128];
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/script", scratch);
	f = fopen(path, "w");
	fputs("#!/nowhere/sh -e\n", f);
	fclose(f);
	assert_int_equal(pm_elf_check(path, &info, &err), PM_ERR);
	assert_int_equal(err.off, 2);
	assert_string_equal(err.msg, "expected the interpreter '/nowhere/sh' to exist: "
				     "No such file or directory");
	pm_elf_info_release(&info);
	unlink(path);
}

static void put(uint8_t *p, size_t at, uint64_t v, unsigned n)
{
	memcpy(p + at, &v, n);
}

static uint64_t u64(const uint8_t *p, size_t at)
{
	uint64_t v;

	memcpy(&v, p + at, 8);
	return v;
}

/* Each field in turn is made impossible; the error names its place. */
static void bent(void **state)
{
	size_t n, load = 0, interp = 0, k;
	uint8_t *whole_file = slurp(self, &n), *p;
	char want[400];

	(void)state;
	for (k = 64; k < 64 + 56u * whole_file[56]; k += 56) {
		if (whole_file[k] == 1 && !load)
			load = k;
		if (whole_file[k] == 3)
			interp = k;
	}
	assert_true(load && interp);
#define BENT(change, want_)				\
	do {						\
		p = pm_alloc(n);			\
		memcpy(p, whole_file, n);		\
		change;					\
		said(p, n, want_);			\
		free(p);				\
	} while (0)
	BENT(p[4] = 3, "f:0x4: expected ELF class 1 (32 bit) or 2 (64 bit), found 3");
	BENT(p[5] = 2, "f:0x5: expected byte order 1 (little-endian), found 2 (big-endian)");
	BENT(p[16] = 1, "f:0x10: expected an executable (type 2 or 3), found type 1 (a relocatable "
	     "object)");
	BENT(p[16] = 4, "f:0x10: expected an executable (type 2 or 3), found type 4 (a core dump)");
	BENT(p[54] = 32, "f:0x36: expected program headers of 56 bytes, found 32");
	BENT(put(p, 56, 0, 2), "f:0x38: expected 1..1170 program headers, found 0");
	BENT(put(p, 56, 0xffff, 2), "f:0x38: expected 1..1170 program headers, found 65535");
	snprintf(want, sizeof want,
		 "f:0xffffffffff000000: expected %u bytes of program headers, found "
		 "0: the file is cut off",
		 56u * whole_file[56]);
	BENT(put(p, 32, 0xffffffffff000000, 8), want);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected a segment's file size to be at most its memory "
		 "size 0x1, found 0x%" PRIx64,
		 load, u64(whole_file, load + 32));
	BENT(put(p, load + 40, 1, 8), want);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected a segment within the file's 0x%zx bytes, found "
		 "0x%" PRIx64 " bytes at 0x10000000: the file is cut off",
		 load, n, u64(whole_file, load + 32));
	BENT(put(p, load + 8, 0x10000000, 8), want);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected a segment in user space (below 0x800000000000), "
		 "found 0x%" PRIx64 " bytes at 0xffffffff80000000",
		 load, u64(whole_file, load + 40));
	BENT(put(p, load + 16, 0xffffffff80000000, 8), want);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected a segment's address to match its file offset "
		 "modulo 0x1000, found 0x123 at offset 0x0",
		 load);
	BENT(put(p, load + 16, 0x123, 8), want);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected 2..4096 bytes of interpreter name, found 0x1", interp);
	BENT(put(p, interp + 32, 1, 8), want);
	k = (size_t)(u64(whole_file, interp + 8) + u64(whole_file, interp + 32) - 1);
	snprintf(want, sizeof want,
		 "f:0x%zx: expected the interpreter's name to end with a zero, found "
		 "0x58",
		 k);
	BENT(p[k] = 'X', want);
#undef BENT
	free(whole_file);
}

/* Cut off anywhere it is refused, until only what no segment needs is missing. */
static void cut(void **state)
{
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	uint64_t need = 0;
	size_t n;
	uint8_t *p = slurp(self, &n);

	(void)state;
	assert_int_equal(pm_elf_check_memory(p, n, "f", &info, &err), PM_OK);
	for (size_t i = 0; i < info.nseg; i++)
		if (info.seg[i].type == 1 && info.seg[i].off + info.seg[i].filesz > need)
			need = info.seg[i].off + info.seg[i].filesz;
	pm_elf_info_release(&info);
	for (size_t k = 0; k < n; k += k < 2048 ? 1 : 997) {
		uint8_t *exact = pm_alloc(k);	/* so that a sanitizer sees a byte too far */

		memcpy(exact, p, k);
		memset(&err, 0, sizeof err);
		assert_int_equal(pm_elf_check_memory(exact, k, "f", &info, &err),
				 k < need ? PM_ERR : PM_OK);
		assert_true(k >= need || err.msg[0]);
		pm_elf_info_release(&info);
		free(exact);
	}
	free(p);
}

/* ---- names ---------------------------------------------------------------------------------- */

__attribute__((noinline)) static int here(void) { __asm__ volatile(""); return __LINE__; }

static int first(struct dl_phdr_info *i, size_t size, void *to)
{
	*(uint64_t *)to = i->dlpi_addr;
	return 1;
}

static uint64_t bias(void)
{
	uint64_t b = 0;

	dl_iterate_phdr(first, &b);		/* the program comes first */
	return b;
}

static void names_as_nm_has_them(void **state)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(self, NULL, &err);
	char cmd[4200], name[1024], type;
	unsigned n = 0, same = 0;
	uint64_t addr, size;
	struct pm_elf_function f;
	FILE *nm;

	(void)state;
	assert_non_null(e);
	snprintf(cmd, sizeof cmd, "nm -S '%s'", self);
	nm = popen(cmd, "r");
	while (fgets(cmd, sizeof cmd, nm)) {
		if (sscanf(cmd, "%" SCNx64 " %" SCNx64 " %c %1023s", &addr, &size, &type, name) !=
			    4 ||
		    !strchr("tT", type))
			continue;
		n++;
		assert_true(pm_elf_function_at(e, addr, &f));
		assert_int_equal(f.lo, addr);
		same += !strcmp(f.name, name);
		assert_true(pm_elf_function_at(e, addr + size - 1, &f));
		assert_int_equal(f.lo, addr);
		assert_int_equal(f.kind, PM_NAME_SYMBOL);
	}
	assert_int_equal(pclose(nm), 0);
	assert_true(n > 20);
	assert_true(same > n * 9 / 10);		/* aliases share an address */
	assert_true(pm_elf_function_at(e, (uint64_t)(uintptr_t)here - bias(), &f));
	assert_string_equal(f.name, "here");
	assert_string_equal(pm_elf_demangle(e, "_ZN3foo3barEi"), "foo::bar(int)");
	assert_string_equal(pm_elf_demangle(e, "_ZN3foo3barEi@plt"), "foo::bar(int)@plt");
	assert_string_equal(pm_elf_demangle(e, "main"), "main");
	assert_string_equal(pm_elf_demangle(e, "_Znonsense"), "_Znonsense");
	assert_false(pm_elf_function_at(e, 0, &f));
	assert_true(f.hi > 0);
	pm_elf_close(e);
	memset(&err, 0, sizeof err);
	assert_null(pm_elf_open(self, "0011", &err));
	assert_non_null(strstr(err.msg, "expected build id 0011, found "));
}

/* objdump names the same stubs by its own means. */
static void plt_as_objdump_has_it(void **state)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(self, NULL, &err);
	char cmd[4200], name[1024];
	unsigned n = 0;
	uint64_t addr;
	FILE *od;

	(void)state;
	snprintf(cmd, sizeof cmd, "objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null",
		 self);
	od = popen(cmd, "r");
	while (fgets(cmd, sizeof cmd, od)) {
		struct pm_elf_function f;

		if (sscanf(cmd, "%" SCNx64 " <%1023[^>]>:", &addr, name) != 2 ||
		    strchr(name, '-') || !strstr(name, "@plt"))
			continue;
		n++;
		assert_true(pm_elf_function_at(e, addr, &f));
		assert_string_equal(f.name, name);
		assert_int_equal(f.kind, PM_NAME_PLT);
		assert_int_equal(f.lo, addr);
	}
	pclose(od);
	/* sanitizers intercept by PLT, too; with neither there is nothing to compare */
	assert_true(n > 5);
	pm_elf_close(e);
}

static void lines_as_addr2line_has_them(void **state)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(self, NULL, &err);
	struct pm_elf_range *v;
	char cmd[4200], out[4200];
	const char *file;
	unsigned line, n = 0;
	size_t nf;

	(void)state;
	assert_true(pm_elf_has_lines(e));
	assert_true(pm_elf_line_at(e, (uint64_t)(uintptr_t)here - bias(), &file, &line));
	assert_int_equal(line, here());
	assert_non_null(strstr(file, "tests/unit/test_elf.c"));
	nf = pm_elf_functions(e, &v);
	for (size_t i = 0; i < nf; i += 1 + nf / 40) {
		unsigned want = 0;
		char *colon;
		FILE *a;

		if (!pm_elf_line_at(e, v[i].lo, &file, &line))
			continue;
		snprintf(cmd, sizeof cmd, "addr2line -e '%s' 0x%" PRIx64, self, v[i].lo);
		a = popen(cmd, "r");
		assert_non_null(fgets(out, sizeof out, a));
		pclose(a);
		colon = strrchr(out, ':');
		assert_non_null(colon);
		want = (unsigned)strtoul(colon + 1, NULL, 10);
		assert_int_equal(line, want);
		n++;
	}
	assert_true(n > 10);
	free(v);
	pm_elf_close(e);
}

/* Without symbols the unwind tables still say where functions are: the same places, by other
 * names. */
static void stripped(void **state)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(self, NULL, &err), *s;
	struct pm_elf_range *v;
	unsigned named = 0, n = 0;
	char cmd[9000], path[128];
	struct pm_elf_function f;
	size_t nf;

	(void)state;
	snprintf(path, sizeof path, "%s/stripped", scratch);
	snprintf(cmd, sizeof cmd, "objcopy --strip-all '%s' %s", self, path);
	assert_int_equal(system(cmd), 0);
	s = pm_elf_open(path, pm_elf_build_id(e), &err);
	assert_non_null(s);
	nf = pm_elf_functions(e, &v);
	for (size_t i = 0; i < nf; i++) {
		char want[32];

		if (!(v[i].from & PM_START_FDE) || !(v[i].from & PM_START_SYMBOL))
			continue;
		n++;
		if (!pm_elf_function_at(s, v[i].lo, &f) || f.kind != PM_NAME_FDE)
			continue;		/* some names are exported */
		snprintf(want, sizeof want, "fde_0x%" PRIx64, v[i].lo);
		assert_string_equal(f.name, want);
		assert_int_equal(f.lo, v[i].lo);
		assert_int_equal(f.hi, v[i].hi);
		named++;
	}
	assert_true(n > 20);
	assert_true(named > 5);
	free(v);
	pm_elf_close(e);
	pm_elf_close(s);
	unlink(path);
}

static void vdso(void **state)
{
	const uint8_t *v = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct pm_err err = { 0 };
	struct pm_elf_function f;
	struct pm_elf_range *r;
	bool found = false;
	uint64_t shoff;
	struct pm_elf *e;
	size_t n;

	(void)state;
	if (!v)
		skip();
	memcpy(&shoff, v + 40, 8);
	e = pm_elf_open_memory(v, shoff + 64u * v[60], "[vdso]", &err);
	assert_non_null(e);
	n = pm_elf_functions(e, &r);
	for (size_t i = 0; i < n; i++)
		found |= pm_elf_function_at(e, r[i].lo, &f) && strstr(f.name, "clock_gettime");
	assert_true(found);
	free(r);
	pm_elf_close(e);
}

static void starts(void **state)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(self, NULL, &err);
	struct pm_elf_info info;
	struct pm_elf_range *v;
	uint32_t all = 0;
	bool entry = false;
	size_t n;

	(void)state;
	assert_int_equal(pm_elf_check(self, &info, &err), PM_OK);
	n = pm_elf_functions(e, &v);
	for (size_t i = 0; i < n; i++) {
		all |= v[i].from;
		assert_true(!i || v[i - 1].lo < v[i].lo);
		assert_true(v[i].hi >= v[i].lo);
		if (v[i].from & PM_START_ENTRY)
			entry = v[i].lo == info.entry;
	}
	assert_true(entry);
	assert_int_equal(all, PM_START_SYMBOL | PM_START_FDE | PM_START_ENTRY | PM_START_INIT |
			      PM_START_PLT);
	free(v);
	pm_elf_info_release(&info);
	pm_elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(scripts),
		cmocka_unit_test(missing_interpreter),
		cmocka_unit_test(bent),
		cmocka_unit_test(cut),
		cmocka_unit_test(names_as_nm_has_them),
		cmocka_unit_test(plt_as_objdump_has_it),
		cmocka_unit_test(lines_as_addr2line_has_them),
		cmocka_unit_test(stripped),
		cmocka_unit_test(starts),
		cmocka_unit_test(vdso),
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	int bad;

	strcpy(scratch, "/tmp/test_elf.XXXXXX");
	if (n <= 0 || !mkdtemp(scratch))
		return 1;
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(scratch);
	return bad;
}
