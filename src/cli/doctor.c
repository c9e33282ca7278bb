/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "cli/doctor.h"
#include "collect/control/process.h"

#define MIB	((uint64_t)1 << 20)

static void say(struct ability *f, enum verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void advise(struct ability *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void print(struct pm_buf *to, const char *fmt, va_list ap)
{
	char line[1000];

	vsnprintf(line, sizeof line, fmt, ap);
	pm_buf_printf(to, "%s", line);
}

/* The worst that is said is the verdict. */
static void say(struct ability *f, enum verdict v, const char *fmt, ...)
{
	va_list ap;

	if (v > f->verdict)
		f->verdict = v;
	if (f->text.n)
		pm_buf_printf(&f->text, "; ");
	va_start(ap, fmt);
	print(&f->text, fmt, ap);
	va_end(ap);
}

static void advise(struct ability *f, const char *fmt, ...)
{
	va_list ap;

	if (f->advice.n)
		pm_buf_printf(&f->advice, "; ");
	va_start(ap, fmt);
	print(&f->advice, fmt, ap);
	va_end(ap);
}

/* The first line of a small file; "" if it cannot be read. */
static char *first_line(const char *path, char *line, size_t n)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, (int)n, f))
		line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* What stands behind @key in a file of "KEY: VALUE" or "KEY VALUE" lines; false: nothing. */
static bool value_in(const char *path, const char *key, char *value, size_t n)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(key);
	char line[4096];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f)) {
		found = !strncmp(line, key, len) && strchr(": \t", line[len]);
		if (found) {
			const char *v = line + len + strspn(line + len, ": \t");

			snprintf(value, n, "%.*s", (int)strcspn(v, "\n"), v);
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* What @try says in a child, 0 to 250; 255: it died. */
static int in_child(int (*try)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(try());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void check_processor(struct ability *f)
{
	static const struct { const char *flag, *name; } features[] = {
		{ "avx2", "AVX2" }, { "avx512f", "AVX-512" }, { "amx_tile", "AMX" },
		{ "fsgsbase", "FSGSBASE" },
	};
	char flags[4096] = "";

	if (!value_in("/proc/cpuinfo", "flags", flags, sizeof flags - 2)) {
		say(f, VERDICT_OK, "x86-64; /proc/cpuinfo does not say more");
		return;
	}
	strcat(flags, " ");
	say(f, VERDICT_OK, "%ld of x86-64", sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < NR(features); i++) {
		char word[32];

		snprintf(word, sizeof word, "%s ", features[i].flag);
		pm_buf_printf(&f->text, "%s%s%s", i ? ", " : ", ",
			      strstr(flags, word) ? "" : "no ", features[i].name);
	}
}

static void check_kernel(struct ability *f)
{
	int fd = memfd_create("pugmark-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct utsname u;

	if (uname(&u))
		snprintf(u.release, sizeof u.release, "?");
	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)) {
		say(f, VERDICT_CANNOT, "Linux %s makes no sealed memory files (%s), which hold "
				       "what is executed", u.release, strerror(errno));
		advise(f, "Linux 5.1 or later has them, unless a seccomp filter refuses them");
	} else {
		say(f, VERDICT_OK, "Linux %s has sealed memory files", u.release);
	}
	if (fd >= 0)
		close(fd);
}

static int try_ptrace(void)
{
	pid_t pid = fork();
	int status, ok;

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	ok = WIFSTOPPED(status);
	if (ok) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return !ok;
}

static void check_ptrace(struct ability *f)
{
	char scope[40];

	first_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	if (!in_child(try_ptrace)) {
		say(f, VERDICT_OK, "own children can be traced (%s%s)",
		    *scope ? "Yama's ptrace_scope is " : "no Yama", scope);
		return;
	}
	say(f, VERDICT_LIMITED, "refused%s%s; pugmark loads programs itself then, with the same "
				"results, but cannot start those with the rights of others",
	    *scope ? ": ptrace_scope is " : "", scope);
	advise(f, *scope == '3' ? "ptrace_scope below 3 takes a new start of the machine"
				: "no debugger or strace around pugmark; in a container "
				  "--cap-add=SYS_PTRACE, or a seccomp profile that allows it");
}

static void check_seccomp(struct ability *f)
{
	char mode[40] = "?", privs[40] = "0";

	value_in("/proc/self/status", "Seccomp", mode, sizeof mode);
	value_in("/proc/self/status", "NoNewPrivs", privs, sizeof privs);
	if (!access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK))
		say(f, VERDICT_OK, "this is a container");
	if (*mode == '2') {
		say(f, VERDICT_LIMITED, "a seccomp filter may refuse system calls that pugmark or "
					"the program makes");
		advise(f, "if `run` below is ok, it refuses none that matters");
	} else {
		say(f, VERDICT_OK, "no seccomp filter");
	}
	if (*privs == '1')
		say(f, VERDICT_OK, "programs cannot gain rights (no_new_privs)");
}

static int try_namespace(void)
{
	return unshare(CLONE_NEWUSER) ? (errno < 250 ? errno : 250) : 0;
}

static void check_namespaces(struct ability *f)
{
	int why = in_child(try_namespace);

	if (!why) {
		say(f, VERDICT_OK, "users can make namespaces");
		return;
	}
	say(f, VERDICT_LIMITED, "users cannot make namespaces (%s): sandboxes of traced programs, "
				"as browsers', do not start; pugmark itself needs none",
	    why < 250 ? strerror(why) : "the attempt died");
	advise(f, "sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone, or "
		  "--no-sandbox for the program");
}

/* The smallest 32-bit program: exit(0). */
static int try_32_bit(void)
{
	static const uint8_t code[] = { 0x31, 0xdb, 0x8d, 0x43, 0x01, 0xcd, 0x80 };
	struct {
		Elf32_Ehdr e;
		Elf32_Phdr p;
		uint8_t code[sizeof code];
	} file = {
		.e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				    EV_CURRENT },
		       .e_type = ET_EXEC, .e_machine = EM_386, .e_version = EV_CURRENT,
		       .e_entry = 0x10000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		       .e_phoff = sizeof(Elf32_Ehdr), .e_ehsize = sizeof(Elf32_Ehdr),
		       .e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 1 },
		.p = { .p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof file,
		       .p_memsz = sizeof file, .p_flags = PF_R | PF_X, .p_align = 0x1000 },
	};
	char *const argv[] = { "32-bit", NULL }, *const envp[] = { NULL };
	int fd = memfd_create("pugmark-doctor", MFD_CLOEXEC);

	memcpy(file.code, code, sizeof code);
	if (fd < 0 || write(fd, &file, sizeof file) != sizeof file)
		return 1;
	fexecve(fd, argv, envp);
	return 1;
}

static void check_32_bit(struct ability *f)
{
	if (!in_child(try_32_bit)) {
		say(f, VERDICT_OK, "32-bit programs run");
		return;
	}
	say(f, VERDICT_LIMITED, "the kernel runs no 32-bit programs, so there are none to trace");
	advise(f, "a kernel with CONFIG_IA32_EMULATION; or the parameter ia32_emulation=on");
}

static int try_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE) < 0 ||
	       !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
}

static void check_aslr(struct ability *f)
{
	char space[40];

	first_line("/proc/sys/kernel/randomize_va_space", space, sizeof space);
	if (!in_child(try_personality) || *space == '0') {
		say(f, VERDICT_OK, "address-space randomisation can be switched off: two runs have "
				   "the same addresses");
		return;
	}
	say(f, VERDICT_LIMITED, "address-space randomisation cannot be switched off: addresses "
				"differ from run to run, and less comes from the cache");
	advise(f, "a seccomp profile that allows personality()");
}

/* ---- what there is of everything ------------------------------------------------------------- */

static void check_memory(struct ability *f)
{
	char free_kb[40] = "0", overcommit[40], most[40];
	uint64_t mib;

	value_in("/proc/meminfo", "MemAvailable", free_kb, sizeof free_kb);
	first_line("/proc/sys/vm/overcommit_memory", overcommit, sizeof overcommit);
	first_line("/sys/fs/cgroup/memory.max", most, sizeof most);
	mib = strtoull(free_kb, NULL, 10) >> 10;
	say(f, mib && mib < 512 ? VERDICT_LIMITED : VERDICT_OK, "%" PRIu64 " MiB are free", mib);
	if (mib && mib < 512)
		advise(f, "large programs need some hundred MiB for their translations");
	if (*most && *most != 'm')
		say(f, strtoull(most, NULL, 10) < 512 * MIB ? VERDICT_LIMITED : VERDICT_OK,
		    "the control group may have %llu MiB", strtoull(most, NULL, 10) >> 20);
	if (*overcommit == '2') {
		say(f, VERDICT_LIMITED, "memory is never overcommitted (overcommit_memory is 2)");
		advise(f, "if `run` below fails, sysctl vm.overcommit_memory=0");
	}
}

static const char *limit_text(rlim_t v, char text[static 40])
{
	if (v == RLIM_INFINITY)
		return "unlimited";
	snprintf(text, 40, "%llu", (unsigned long long)v);
	return text;
}

static int resource_tried;		/* the one that try_limit() raises */

static int try_limit(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	return !!setrlimit(resource_tried, &none);
}

static void check_limits(struct ability *f)
{
	static const struct { int resource; const char *name, *shell; } all[] = {
		{ RLIMIT_AS, "address space", "-v" }, { RLIMIT_FSIZE, "file size", "-f" },
		{ RLIMIT_MEMLOCK, "locked memory", "-l" }, { RLIMIT_NPROC, "processes", "-u" },
		{ RLIMIT_NOFILE, "open files", "-n" },
	};
	char text[40];

	for (size_t i = 0; i < NR(all); i++) {
		struct rlimit r = { 0, 0 };
		uint64_t need = pm_run_needs(all[i].resource);

		getrlimit(all[i].resource, &r);
		resource_tried = all[i].resource;
		if (need && r.rlim_max < need && in_child(try_limit)) {
			say(f, VERDICT_CANNOT, "the hard limit on %s is %llu MiB; tracing reserves "
					       "%llu GiB of it, nearly all of it without using it",
			    all[i].name, (unsigned long long)(r.rlim_max / MIB),
			    (unsigned long long)(need >> 30));
			advise(f, "a shell without `ulimit %s` (its soft form does no harm)",
			       all[i].shell);
		} else if (all[i].resource == RLIMIT_NPROC && r.rlim_cur < 16) {
			say(f, VERDICT_LIMITED, "at most %s processes and threads",
			    limit_text(r.rlim_cur, text));
			advise(f, "`ulimit -u` of some dozens: pugmark has up to 8 threads");
		} else if (all[i].resource == RLIMIT_NOFILE && r.rlim_cur < 32) {
			say(f, VERDICT_LIMITED, "at most %s open files",
			    limit_text(r.rlim_cur, text));
			advise(f, "`ulimit -n` of 64 or more");
		} else {
			say(f, VERDICT_OK, "%s %s", all[i].name, limit_text(r.rlim_cur, text));
		}
	}
}

/* Sizes of the directory's files, and their number. */
static uint64_t bytes_in(const char *dir, unsigned *files)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint64_t sum = 0;

	*files = 0;
	while (d && (e = readdir(d))) {
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_blocks * 512;
		++*files;
	}
	if (d)
		closedir(d);
	return sum;
}

static void check_space(struct ability *f, const char *dir, uint64_t least)
{
	struct statvfs v;
	uint64_t left;

	if (statvfs(dir, &v))
		return;
	left = (uint64_t)v.f_bavail * v.f_frsize;
	say(f, left < least ? VERDICT_LIMITED : VERDICT_OK, "%" PRIu64 " MiB free there",
	    left / MIB);
	if (left < least)
		advise(f, "room for at least %" PRIu64 " MiB", least / MIB);
}

static void check_cache(struct ability *f)
{
	char path[4096], parent[4096];
	struct stat st;
	uint64_t bytes;
	unsigned files;

	if (!pm_cache_directory(path, sizeof path)) {
		say(f, VERDICT_LIMITED, "no directory for translations: neither XDG_CACHE_HOME nor "
					"HOME is set; each run translates anew");
		advise(f, "--cache-dir DIR");
		return;
	}
	if (stat(path, &st)) {
		snprintf(parent, sizeof parent, "%s", path);
		do
			*strrchr(parent, '/') = 0;
		while (*parent && access(parent, F_OK));
		if (access(*parent ? parent : "/", W_OK)) {
			say(f, VERDICT_LIMITED, "%s cannot be made: %s; each run translates anew",
			    path, strerror(errno));
			advise(f, "--cache-dir DIR, or another XDG_CACHE_HOME");
			return;
		}
		say(f, VERDICT_OK, "%s is not there yet: the first run makes it", path);
		check_space(f, *parent ? parent : "/", 64 * MIB);
		return;
	}
	bytes = bytes_in(path, &files);
	say(f, VERDICT_OK, "%s has %" PRIu64 " MiB in %u files", path, bytes / MIB, files);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022) {
		say(f, VERDICT_LIMITED, "it is not used: it must be a directory of yours to which "
					"nobody else can write");
		advise(f, "chmod go-w, or remove it");
	} else if (access(path, W_OK)) {
		say(f, VERDICT_LIMITED, "it cannot be written: %s; what is new is translated anew "
					"in each run", strerror(errno));
		advise(f, "chmod u+w, or --cache-dir DIR");
	}
	check_space(f, path, 64 * MIB);
}

static void check_tmp(struct ability *f)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && access(dir, W_OK)) {
		say(f, VERDICT_LIMITED, "%s cannot be written (%s): conversions that need "
					"temporary files fail", dir, strerror(errno));
		advise(f, "another TMPDIR");
		return;
	}
	if (fd >= 0)
		close(fd);
	say(f, VERDICT_OK, "%s can be written", dir);
	check_space(f, dir, 64 * MIB);
}

static void check_proc(struct ability *f)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[2000], dir[500], type[60], options[1000];

	if (!mounts) {
		say(f, VERDICT_CANNOT, "/proc is not there: pugmark sees no maps of processes");
		advise(f, "mount -t proc proc /proc");
		return;
	}
	say(f, VERDICT_OK, "/proc is there");
	while (fgets(line, sizeof line, mounts))
		if (sscanf(line, "%*s %499s %59s %999s", dir, type, options) == 3 &&
		    !strcmp(type, "proc") && !strcmp(dir, "/proc") &&
		    (strstr(options, "hidepid=2") || strstr(options, "hidepid=inv") ||
		     strstr(options, "hidepid=ptrace") || strstr(options, "hidepid=4")))
			say(f, VERDICT_OK, "processes of others are hidden (hidepid), which only "
					   "matters for programs with rights of others");
	fclose(mounts);
	if (access("/proc/self/maps", R_OK) || access("/proc/self/mem", R_OK)) {
		say(f, VERDICT_CANNOT, "it does not show maps and memory of own processes");
		advise(f, "mount -t proc proc /proc");
	}
}

static void check_helpers(struct ability *f)
{
	static const struct { const char *what, *programs[5]; } helpers[] = {
		{ "browser", { "xdg-open", "firefox", "chromium", "google-chrome" } },
		{ "KCachegrind", { "kcachegrind", "qcachegrind" } },
		{ "DuckDB", { "duckdb" } },
		{ "Python", { "python3" } },
	};
	const char *browser = getenv("BROWSER");
	char path[4096];

	for (size_t i = 0; i < NR(helpers); i++) {
		const char *found = NULL;

		if (!i && browser && *browser)
			found = "$BROWSER";
		for (size_t k = 0; !found && k < 5 && helpers[i].programs[k]; k++)
			if (pm_run_find(helpers[i].programs[k], path, sizeof path))
				found = helpers[i].programs[k];
		if (found)
			say(f, VERDICT_OK, "%s: %s", helpers[i].what, found);
		else
			say(f, VERDICT_OK, "no %s", helpers[i].what);
	}
	say(f, VERDICT_OK, "%s", access("/usr/lib/debug/.build-id", F_OK)
				 ? "no separate debug files in /usr/lib/debug"
				 : "separate debug files in /usr/lib/debug");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* `pugmark run -- true`, as a process of its own. How many instructions it counted; 0: it failed,
 * and @why is what it said. */
static uint64_t run_once(const char *program, char *why, size_t n)
{
	FILE *out = tmpfile(), *said = tmpfile();
	uint64_t insns = 0;
	char line[1000];
	pid_t pid;
	int status = 0;

	snprintf(why, n, "no temporary file");
	if (!out || !said)
		goto out;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fileno(out), 1);
		dup2(fileno(said), 2);
		execl("/proc/self/exe", "pugmark", "run", "-q", "--no-follow", "--fix-random",
		      "--no-vdso", "--json", "-", "--", program, (char *)NULL);
		fprintf(stderr, "cannot run itself: %s\n", strerror(errno));
		fflush(stderr);
		_exit(1);
	}
	snprintf(why, n, "cannot start: %s", strerror(errno));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		goto out;
	snprintf(why, n, "status 0x%x", (unsigned)status);
	rewind(said);
	if (fgets(line, sizeof line, said)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(why, n, "%.*s", (int)n - 1,
			 strncmp(line, "pugmark: ", 9) ? line : line + 9);
	}
	rewind(out);
	while (!status && !insns && fgets(line, sizeof line, out)) {
		const char *at = strstr(line, "\"instructions\": ");

		if (at)
			insns = strtoull(at + strlen("\"instructions\": "), NULL, 10);
	}
out:
	if (out)
		fclose(out);
	if (said)
		fclose(said);
	return insns;
}

static void check_run(struct ability *f)
{
	char program[4096], why[300];
	uint64_t first, second;

	if (!pm_run_find("true", program, sizeof program)) {
		say(f, VERDICT_CANNOT, "there is no `true` to be traced");
		return;
	}
	first = run_once(program, why, sizeof why);
	second = first ? run_once(program, why, sizeof why) : 0;
	if (!second) {
		say(f, VERDICT_CANNOT, "`pugmark run -- %s` fails: %s", program, why);
		advise(f, "see what is limited above");
	} else if (first != second) {
		say(f, VERDICT_CANNOT,
		    "%s executed %" PRIu64 " instructions, and then %" PRIu64, program, first,
		    second);
		advise(f, "something around it changes: environment, preloaded libraries, "
			  "the processor's features");
	} else {
		say(f, VERDICT_OK, "%s executed %" PRIu64 " instructions, twice", program, first);
	}
}

size_t doctor_examine(struct ability **v)
{
	static const struct { const char *name; void (*check)(struct ability *f); } checks[] = {
		{ "processor", check_processor }, { "kernel", check_kernel },
		{ "ptrace", check_ptrace }, { "seccomp", check_seccomp },
		{ "namespaces", check_namespaces }, { "32-bit", check_32_bit },
		{ "addresses", check_aslr }, { "memory", check_memory }, { "limits", check_limits },
		{ "proc", check_proc }, { "cache", check_cache }, { "temporary", check_tmp },
		{ "helpers", check_helpers }, { "run", check_run },
	};
	struct ability *f = pm_alloc(NR(checks) * sizeof *f);

	for (size_t i = 0; i < NR(checks); i++) {
		f[i].name = checks[i].name;
		checks[i].check(f + i);
		pm_buf_add(&f[i].text, "", 1);
		pm_buf_add(&f[i].advice, "", 1);
	}
	*v = f;
	return NR(checks);
}

void doctor_release(struct ability *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pm_buf_release(&v[i].text);
		pm_buf_release(&v[i].advice);
	}
	free(v);
}

const char *doctor_verdict(enum verdict v)
{
	static const char *const name[] = { "ok", "limited", "cannot" };

	return name[v];
}
