/* SPDX-License-Identifier: MIT */
/* instrument.c - plan where everything will be mapped, translate all texts, put the files together
 *
 * All addresses are fixed when a program is instrumented, so that nothing has to be moved when it
 * starts: position-independent programs live where Linux puts them without randomisation, libraries
 * where the program's own dynamic linker does. The layout of the files is told in runtime/image.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/process/instrument.h"
#include "collect/translate/image.h"
#include "elf/elf.h"
#include "isa/x86/decode.h"
#include "isa/x86/plan.h"
#include "pugmark/pugmark.h"
#include "trace/idt_files.h"
#include "trace/io.h"

#define PAGE		4096ull
#define PIE_BASE	0x555555554000ull	/* ELF_ET_DYN_BASE without randomisation */
#define MAX_FILES	256

extern const uint8_t pm_rti_text[], pm_rti_text_end[], pm_rti_data[], pm_rti_data_end[];
extern const uint8_t pm_rti_stub[], pm_rti_stub_end[];

struct file {
	char *path;
	const uint8_t *p;
	size_t n;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	uint64_t bias, base, end;	/* in memory */
	char build_id[129];
};

struct text {
	size_t file;
	uint64_t lo, hi, offset, bytes, code;
	uint32_t prot;
	struct xl_image image;
	struct pm_buf plan, plan_at, record_at;		/* runtime/image.h */
};

struct job {
	const struct pm_instrument_opts *o;
	struct file file[MAX_FILES];
	size_t nfile;
	struct text *text;
	size_t ntext, cap_text;
	struct range { uint64_t lo, hi; } *busy;
	size_t nbusy, cap_busy;
	bool interp;
	uint64_t vdso, vdso_end;
	struct idt_blk blk;
	struct x86_plan plan;
	uint32_t nblock, nlink;
	struct idt_hints hints;
	struct pm_buf seeds;		/* u64: what jump tables of the hint file name */
	uint64_t beg, end;		/* what of the program is traced */
	struct pm_map id;		/* instruction forms -> idt_id; see id_of() */
	struct pm_arena mem;
};

static uint64_t down(uint64_t n)
{
	return n & ~(PAGE - 1);
}

static uint64_t up(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

/* ---- files ------------------------------------------------------------------------------------------ */
static enum pm_status map_file(struct job *j, const char *path, struct pm_err *err)
{
	struct file *f = &j->file[j->nfile];
	struct pm_elf_info info = { 0 };
	char machine[24];
	struct stat st;
	int fd;

	if (j->nfile == MAX_FILES)
		return pm_fail_file(err, "it has more than %d libraries", MAX_FILES);
	*f = (struct file){ .path = pm_arena_strdup(&j->mem, path) };
	err->file = f->path;
	if (pm_elf_check(f->path, &info, err) != PM_OK) {
		pm_elf_info_release(&info);
		return PM_ERR;
	}
	if (info.script || info.machine != EM_X86_64 || !info.is64)
		pm_fail_file(err, info.script ? "it is a script; instrument the program that interprets it" :
			     "it is a program for %s; x86-64 programs can be instrumented",
			     pm_elf_machine(info.machine, machine));
	snprintf(f->build_id, sizeof f->build_id, "%s", info.build_id);
	pm_elf_info_release(&info);
	if (pm_failed(err))
		return PM_ERR;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return pm_fail_errno(err, "cannot open");
	f->n = (size_t)st.st_size;
	f->p = mmap(NULL, f->n, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (f->p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map");
	memcpy(&f->eh, f->p, sizeof f->eh);
	f->ph = pm_arena_alloc(&j->mem, f->eh.e_phnum * sizeof *f->ph);
	memcpy(f->ph, f->p + f->eh.e_phoff, f->eh.e_phnum * sizeof *f->ph);
	j->nfile++;
	err->file = NULL;
	return PM_OK;
}

static void busy(struct job *j, uint64_t lo, uint64_t hi)
{
	pm_grow(j->busy, j->nbusy, j->cap_busy);
	j->busy[j->nbusy++] = (struct range){ lo, hi };
}

static bool is_free(const struct job *j, uint64_t lo, uint64_t hi)
{
	if (lo < 0x10000 || hi > 0x7fffff000000 || (lo < RT_SHADOW + RT_SHADOW_SIZE && hi > RT_SHADOW))
		return false;
	for (size_t i = 0; i < j->nbusy; i++)
		if (lo < j->busy[i].hi && j->busy[i].lo < hi)
			return false;
	return true;
}

/* The file is mapped with its first segment's page at @base. */
static void place_file(struct job *j, struct file *f, uint64_t base)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD) {
			if (down(f->ph[i].p_vaddr) < first)
				first = down(f->ph[i].p_vaddr);
			if (up(f->ph[i].p_vaddr + f->ph[i].p_memsz) > last)
				last = up(f->ph[i].p_vaddr + f->ph[i].p_memsz);
		}
	f->bias = base - first;
	f->base = base;
	f->end = f->bias + last;
	busy(j, f->base, f->end);
}

static uint64_t lowest(const struct file *f)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && down(f->ph[i].p_vaddr) < first)
			first = down(f->ph[i].p_vaddr);
	return first;
}

static void add_texts(struct job *j, size_t file)
{
	struct file *f = &j->file[file];

	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		struct text *t;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
			continue;
		pm_grow(j->text, j->ntext, j->cap_text);
		t = &j->text[j->ntext++];
		*t = (struct text){
			.file = file, .lo = down(p->p_vaddr) + f->bias,
			.hi = up(p->p_vaddr + p->p_memsz) + f->bias, .offset = down(p->p_offset),
			.bytes = p->p_filesz + (p->p_vaddr & (PAGE - 1)),
			.prot = (p->p_flags & PF_R ? 1u : 0) | (p->p_flags & PF_W ? 2u : 0) | 4,
		};
	}
}

/* Code lives within 2 GiB of all that it addresses relative to itself; see choose_place() of space.c,
 * which does the same for running programs. */
static bool place_code(struct job *j, struct text *t)
{
	const uint64_t size = up((t->hi - t->lo) * 6 + (1 << 20)), step = 16ull << 20;

	if (t->lo < RT_SHADOW)
		for (uint64_t at = down(RT_SHADOW - size); at > t->hi && at >= step; at -= step)
			if (is_free(j, at, at + size)) {
				t->code = at;
				busy(j, at, at + size);
				return true;
			}
	for (uint64_t d = 512ull << 20; d < 1800ull << 20; d += step)
		if (t->lo > d + size && is_free(j, t->lo - d - size, t->lo - d)) {
			t->code = t->lo - d - size;
			busy(j, t->code, t->code + size);
			return true;
		}
	return false;
}

/* ---- libraries ---------------------------------------------------------------------------------------- */
/* The dynamic linker lists what it would load, and where. The program itself does not run. */
static FILE *list_libraries(const struct job *j, pid_t *pid)
{
	const struct file *f = &j->file[0];
	const char *interp = j->file[1].path, *base = strrchr(interp, '/');
	const bool musl = base && !strncmp(base, "/ld-musl", 8);
	char path[4096];
	int fd[2];

	if (!realpath(f->path, path) || pipe2(fd, O_CLOEXEC))
		return NULL;
	*pid = fork();
	if (*pid < 0)
		return NULL;
	if (!*pid) {
		int null = open("/dev/null", O_RDWR);

		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
		dup2(null, 0);
		dup2(fd[1], 1);
		dup2(null, 2);
		if (musl) {
			execl(interp, interp, "--list", path, (char *)NULL);
		} else {
			setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
			unsetenv("LD_WARN");
			unsetenv("LD_BIND_NOW");
			unsetenv("LD_VERBOSE");
			execl(path, path, (char *)NULL);
		}
		_exit(127);
	}
	close(fd[1]);
	return fdopen(fd[0], "r");
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool have_file(const struct job *j, const char *path)
{
	for (size_t i = 0; i < j->nfile; i++)
		if (same_file(j->file[i].path, path))
			return true;
	return false;
}

/* Where a file goes whose natural place is not known: below the others. */
static uint64_t any_base(const struct job *j, const struct file *f)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && f->ph[i].p_vaddr + f->ph[i].p_memsz > size)
			size = f->ph[i].p_vaddr + f->ph[i].p_memsz;
	size = up(size) + (1 << 20);
	for (uint64_t at = 0x7ffff0000000; at > 0x7ff000000000; at -= 2 << 20)
		if (is_free(j, at, at + size))
			return at;
	return 0;
}

static enum pm_status add_library(struct job *j, const char *path, uint64_t at, struct pm_err *err)
{
	struct file *f = &j->file[j->nfile];
	uint64_t size;

	if (map_file(j, path, err) != PM_OK)
		return PM_ERR;
	size = 0;
	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && up(f->ph[i].p_vaddr + f->ph[i].p_memsz) > size)
			size = up(f->ph[i].p_vaddr + f->ph[i].p_memsz);
	if (!at || !is_free(j, at, at + size))
		at = any_base(j, f);
	place_file(j, f, at + lowest(f));
	return PM_OK;
}

/* The vDSO would be at @at, with its data in front of it: as much as we have ourselves. */
static void place_vdso(struct job *j, uint64_t at)
{
	uint64_t lo, hi, first = 0, code = 0, end = 0;
	char line[512], name[64];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %63s", &lo, &hi, name) != 3)
			continue;
		if (!strncmp(name, "[vvar", 5) && !first)
			first = lo;
		if (!strcmp(name, "[vdso]")) {
			code = lo;
			end = hi;
		}
	}
	if (f)
		fclose(f);
	if (!first || !code || first > code)
		return;
	j->vdso = at - (code - first);
	j->vdso_end = at + (end - code);
	busy(j, j->vdso, j->vdso_end);
}

static enum pm_status libraries(struct job *j, struct pm_err *err)
{
	struct { char path[4096]; uint64_t at; } *v = pm_alloc(MAX_FILES * sizeof *v);
	size_t n = 0;
	enum pm_status st = PM_OK;
	char *line = NULL;
	size_t cap = 0;
	uint64_t interp_at = 0;
	pid_t pid = -1;
	int status = 0;
	FILE *out = list_libraries(j, &pid);

	if (!out) {
		free(v);
		return pm_fail_errno(err, "cannot ask its dynamic linker for its libraries");
	}
	while (getline(&line, &cap, out) > 0 && n < MAX_FILES) {
		char name[256], path[4096];
		uint64_t at = 0;

		if (strstr(line, "not found")) {
			sscanf(line, " %255s", name);
			st = pm_fail_file(err, "its library '%.100s' is not found", name);
			break;
		}
		if (sscanf(line, " %255s => %4095s (%" SCNx64 ")", name, path, &at) < 2 &&
		    sscanf(line, " %4095s (%" SCNx64 ")", path, &at) < 1)
			continue;
		if (!strcmp(path, "linux-vdso.so.1") && at)
			place_vdso(j, at);
		if (!strchr(path, '/'))
			continue;
		if (same_file(path, j->file[1].path)) {
			interp_at = at;
			continue;
		}
		snprintf(v[n].path, sizeof v[n].path, "%s", path);
		v[n++].at = at;
	}
	free(line);
	fclose(out);
	waitpid(pid, &status, 0);
	if (st == PM_OK && !(WIFEXITED(status) && !WEXITSTATUS(status)))
		st = pm_fail_file(err, "its dynamic linker does not tell its libraries");
	if (st == PM_OK) {
		struct file *f = &j->file[1];

		if (!interp_at || !is_free(j, interp_at, interp_at + (4 << 20)))
			interp_at = 0x7ffff7fc0000;
		place_file(j, f, interp_at + lowest(f));
	}
	for (size_t i = 0; i < n && st == PM_OK; i++)
		if (!have_file(j, v[i].path))
			st = add_library(j, v[i].path, v[i].at, err);
	free(v);
	return st;
}

/* ---- the block table ------------------------------------------------------------------------------------ */
/* idt_id follows from prefixes, opcode and ModRM: each such form is worked out once. */
static uint16_t id_of(struct job *j, const uint8_t *p, const struct x86_insn *x)
{
	unsigned n = x->modrm ? x->modrm + 1u : x->op + 1u;
	uint64_t key = 0, *at;
	bool fresh;

	if (n > 7)
		return idt_insn_id(p, x->len, true);
	memcpy(&key, p, n);
	at = pm_map_put(&j->id, key | (uint64_t)n << 56, &fresh);
	if (fresh)
		*at = idt_insn_id(p, x->len, true);
	return (uint16_t)*at;
}

/* What is known of an instruction while its block's records are planned. */
struct step {
	struct x86_at at;
	uint16_t id;
	uint8_t class;
};

static void put8(struct pm_buf *b, unsigned v)
{
	uint8_t byte = (uint8_t)v;

	pm_buf_add(b, &byte, 1);
}

static void put16(struct pm_buf *b, unsigned v)
{
	put8(b, v);
	put8(b, v >> 8);
}

static void put_sleb(struct pm_buf *b, int64_t v)
{
	for (;;) {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		if ((v == 0 && !(byte & 0x40)) || (v == -1 && byte & 0x40)) {
			put8(b, byte);
			return;
		}
		put8(b, byte | 0x80);
	}
}

static unsigned value_of(uint16_t v)
{
	switch (v) {
	case X86_VAL_NONE: return IMG_V_NONE;
	case X86_VAL_RSP: return IMG_V_RSP;
	case X86_VAL_FS: return IMG_V_FS;
	case X86_VAL_GS: return IMG_V_GS;
	}
	return v;
}

static void put_address(struct pm_buf *b, const struct x86_ref *r, bool odd)
{
	if (odd) {
		put8(b, r->how);
		put8(b, value_of(r->index));
		put8(b, r->scale);
		put8(b, value_of(r->segment));
		put16(b, r->how == X86_REF_BITS ? value_of(r->after) : r->after);
		put16(b, r->size);
	}
	put8(b, value_of(r->base));
	put_sleb(b, r->disp);
}

static void put_ref(struct pm_buf *b, unsigned op, const struct x86_ref *r)
{
	const bool odd = r->how != X86_REF_SUM || r->index != X86_VAL_NONE || r->segment != X86_VAL_NONE;
	unsigned size = r->size ? r->size : 4, code = idt_bytes_code(size, true);

	if (idt_code_bytes(code, true) != size)
		code = 0;
	put8(b, op | code << 3 | (odd ? IMG_P_ODD : 0));
	put8(b, r->insn);
	if (!code && op != IMG_P_POINTER)
		put16(b, size);
	put_address(b, r, odd);
}

/* How many entries a reference of @size bytes is. */
static int entries_of(unsigned size)
{
	int n = 0;

	for (size = size ? size : 4; size; n++)
		size -= idt_code_bytes(idt_bytes_code(size, true), true);
	return n;
}

static int8_t few(int n)
{
	return (int8_t)(n > 127 ? 127 : n);
}

/* The rules are those of FORMATS 2.3 and 2.4, as trace/fmt_idt.c has them. Returns the entries. */
static int8_t plan_insn(const struct job *j, const struct step *s, const struct x86_ref *r, size_t n, uint64_t pc,
			uint8_t insn, struct pm_buf *to)
{
	const bool exec = j->o->kind == IMG_EXEC;
	const bool indirect = s->class == PM_CLASS_JUMP_IND || s->class == PM_CLASS_CALL_IND;
	int entries = 0;

	if (exec && s->class != PM_CLASS_NONE && s->class != PM_CLASS_SYSCALL) {
		entries++;
		if (indirect && n && r->kind == PM_EV_READ) {
			put_ref(to, IMG_P_POINTER, r++);
			n--;
		} else if (s->class == PM_CLASS_JUMP || s->class == PM_CLASS_COND || s->class == PM_CLASS_CALL) {
			put8(to, IMG_P_TARGET);
			put8(to, insn);
			put_sleb(to, (int64_t)(x86_target(&s->at.x, s->at.p, s->at.pc) - pc));
		} else {
			put8(to, IMG_P_NEXT);
			put8(to, insn);
		}
	}
	for (; n; n--, r++) {
		if (r->how == X86_REF_VSIB)	/* entries per instruction are a fixed number there */
			continue;
		if (r->how == X86_REF_REP) {
			put8(to, IMG_P_REP);
			put8(to, insn);
			put8(to, r->scale);
			put8(to, r->size);
			put8(to, value_of(r->base));
			put8(to, value_of(r->index));
			put8(to, value_of(r->after));
			put8(to, value_of(r->segment));
			put8(to, r->disp == -1 ? 64 : 32);
			return r->scale == X86_REP_MOVS || r->scale == X86_REP_CMPS ? -2 : -1;
		}
		put_ref(to, r->kind == PM_EV_READ ? IMG_P_READ : r->kind == PM_EV_WRITE ? IMG_P_WRITE :
			IMG_P_MODIFY, r);
		entries += entries_of(r->size) * (r->kind == PM_EV_MODIFY && !exec ? 2 : 1);
	}
	return few(entries);
}

static const struct x86_at *step_at(void *ctx, uint32_t i)
{
	return &((const struct step *)ctx)[i].at;
}

static void plan_block(struct job *j, struct text *t, const struct step *s, unsigned n, uint64_t pc,
		       struct idt_insn *insn)
{
	uint32_t at = (uint32_t)t->plan.n;
	size_t k = 0;

	pm_buf_add(&t->plan_at, &at, sizeof at);
	if (j->o->kind == IMG_BRANCH) {
		const struct step *last = n ? &s[n - 1] : NULL;
		uint8_t op[2] = { 0 };
		unsigned nop = 0;

		if (last && last->class != PM_CLASS_NONE && last->class != PM_CLASS_SYSCALL)
			nop = idt_opcode(last->at.p, last->at.x.len, true, op);
		put8(&t->plan, 0);
		put8(&t->plan, nop);
		pm_buf_add(&t->plan, op, nop);
		return;
	}
	x86_plan(step_at, (void *)(uintptr_t)s, n, true, &j->plan);
	put8(&t->plan, (unsigned)j->plan.nstore);
	for (unsigned i = 0; i < n; i++) {
		size_t first = k;

		while (k < j->plan.nref && j->plan.ref[k].insn == i)
			k++;
		insn[i].entries = plan_insn(j, &s[i], j->plan.ref + first, k - first, pc, (uint8_t)i, &t->plan);
	}
	put8(&t->plan, IMG_P_END);
	put8(&t->plan, value_of(j->plan.rsp));
	put_sleb(&t->plan, j->plan.rsp_add);
}

static void table_of(struct job *j, struct text *t, struct x86_decoder *dec)
{
	const uint8_t *text = j->file[t->file].p + t->offset;

	for (size_t i = 0; i < t->image.nblock; i++) {
		const struct img_block *b = &t->image.block[i];
		const uint64_t pc = t->lo + b->pc;
		struct idt_insn insn[256];
		struct step s[256];
		const uint8_t *p = text + b->pc;
		unsigned n = 0;
		uint32_t at;

		for (; n < b->n; n++, p += s[n - 1].at.x.len) {
			s[n].at.p = p;
			if (!x86_decode(dec, p, (size_t)(text + b->pc + b->size - p), &s[n].at.x))
				break;
			s[n].at.pc = pc + (uint64_t)(p - (text + b->pc));
			s[n].id = id_of(j, p, &s[n].at.x);
			s[n].class = idt_id_class(s[n].id);
			insn[n] = (struct idt_insn){ s[n].id, s[n].at.x.len, 0 };
		}
		if (j->o->kind != IMG_PROFILE)
			plan_block(j, t, s, n, pc, insn);
		if (!n)			/* a place that the decoder does not know: a record needs an instruction */
			insn[n++] = (struct idt_insn){ 0xffff, 1, 0 };
		at = idt_blk_add(&j->blk, pc, insn, n);
		at = (uint32_t)(j->blk.block[at].offset / 8);
		if (j->o->kind == IMG_EXEC)
			pm_buf_add(&t->record_at, &at, sizeof at);
	}
}

/* ---- putting files together -------------------------------------------------------------------------------- */
static void pad_to(struct pm_buf *b, uint64_t to)
{
	static const uint8_t zero[4096];

	while (b->n % to)
		pm_buf_add(b, zero, to - b->n % to < sizeof zero ? to - b->n % to : sizeof zero);
}

/* A text's code and tables; their positions go into @to. */
static void put_text(struct pm_buf *b, const struct text *t, struct img_text *to)
{
	const struct xl_image *m = &t->image;
	struct img_tables head = { .nblock = (uint32_t)m->nblock, .nentry = (uint32_t)m->nentry,
				   .nmap = (uint32_t)m->map.n };

	pad_to(b, PAGE);
	to->code_at = b->n;
	to->code_len = m->code.n;
	pm_buf_add(b, m->code.p, m->code.n);
	pad_to(b, PAGE);
	to->tables_at = b->n;
	head.block = sizeof head;
	head.entry = head.block + (uint32_t)(m->nblock * sizeof *m->block);
	head.by_code = head.entry + (uint32_t)(m->nentry * sizeof *m->entry);
	head.map = head.by_code + (uint32_t)(m->nblock * 4);
	if (t->plan_at.n) {
		head.plan_at = (head.map + head.nmap + 3) & ~3u;
		head.record_at = head.plan_at + (uint32_t)t->plan_at.n;
		head.plan = head.record_at + (uint32_t)t->record_at.n;
		head.nplan = (uint32_t)t->plan.n;
	}
	pm_buf_add(b, &head, sizeof head);
	pm_buf_add(b, m->block, m->nblock * sizeof *m->block);
	pm_buf_add(b, m->entry, m->nentry * sizeof *m->entry);
	pm_buf_add(b, m->by_code, m->nblock * 4);
	pm_buf_add(b, m->map.p, m->map.n);
	pad_to(b, 4);
	pm_buf_add(b, t->plan_at.p, t->plan_at.n);
	pm_buf_add(b, t->record_at.p, t->record_at.n);
	pm_buf_add(b, t->plan.p, t->plan.n);
	to->tables_len = b->n - to->tables_at;
}

static void describe_text(const struct job *j, const struct text *t, struct img_text *to)
{
	to->lo = t->lo;
	to->hi = t->hi;
	to->base = j->file[t->file].base;
	to->bytes = t->bytes;
	to->hash = img_hash(j->file[t->file].p + t->offset, t->bytes);
	to->code = t->code;
	to->first = t->image.in.first;
	to->nblock = (uint32_t)t->image.nblock;
	to->prot = t->prot;
	to->file = (uint32_t)t->file;
}

static void key_of(const struct file *f, char *to, size_t n)
{
	if (f->build_id[0])
		snprintf(to, n, "%s", f->build_id);
	else
		snprintf(to, n, "h%016" PRIx64, img_hash(f->p, f->n));
}

static void describe_file(const struct file *f, struct img_file *to)
{
	char *full = realpath(f->path, NULL);

	/* the interpreter is opened by this name: keep it as the program says it */
	snprintf(to->path, sizeof to->path, "%s", f->path[0] == '/' || !full ? f->path : full);
	free(full);
	key_of(f, to->key, sizeof to->key);
	to->build_len = (uint32_t)strlen(f->build_id) / 2;
	for (uint32_t i = 0; i < to->build_len; i++) {
		unsigned byte;

		sscanf(f->build_id + 2 * i, "%2x", &byte);
		to->build[i] = (uint8_t)byte;
	}
	to->base = f->base;
	to->end = f->end;
	to->size = f->n;
	to->head = img_hash(f->p, f->n < PAGE ? f->n : PAGE);
}

/* The program headers that the kernel gets: everything at its address, no interpreter, and the stub. */
static void put_headers(struct pm_buf *b, const struct file *f, uint64_t stub, uint64_t stub_at)
{
	Elf64_Phdr own = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = stub_at, .p_vaddr = stub,
			   .p_paddr = stub, .p_filesz = IMG_STUB_SIZE, .p_memsz = IMG_STUB_SIZE,
			   .p_align = PAGE };
	bool placed = false;

	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		Elf64_Phdr p = f->ph[i];

		p.p_vaddr += f->bias;
		p.p_paddr += f->bias;
		if (p.p_type == PT_INTERP || p.p_type == PT_PHDR)
			p.p_type = PT_NULL;
		if (p.p_type == PT_LOAD && !placed && stub < p.p_vaddr) {
			pm_buf_add(b, &own, sizeof own);
			placed = true;
		}
		pm_buf_add(b, &p, sizeof p);
	}
	if (!placed)
		pm_buf_add(b, &own, sizeof own);
}

struct stub_params {			/* at the end of the stub's page: see start.S */
	uint64_t text_at, text_len, data_at, data_len, manifest_at, manifest_len;
	uint64_t spare[2];
};

static void put_manifest(struct job *j, struct pm_buf *b, const struct img_manifest *head,
			 const struct img_text *text, struct stub_params *stub)
{
	struct img_manifest m = *head;

	pad_to(b, PAGE);
	m.nfile = (uint32_t)j->nfile;
	m.ntext = (uint32_t)j->ntext;
	m.nlink = j->nlink;
	m.nblock = j->nblock;
	m.files = sizeof m;
	m.texts = m.files + j->nfile * sizeof(struct img_file);
	m.links = m.texts + j->ntext * sizeof *text;
	m.size = (uint32_t)(m.links + 8ull * j->nlink);
	stub->manifest_at = b->n;
	stub->manifest_len = m.size;
	pm_buf_add(b, &m, sizeof m);
	for (size_t i = 0; i < j->nfile; i++) {
		struct img_file f = { 0 };

		describe_file(&j->file[i], &f);
		pm_buf_add(b, &f, sizeof f);
	}
	pm_buf_add(b, text, j->ntext * sizeof *text);
	for (size_t i = 0; i < j->ntext; i++)
		pm_buf_add(b, j->text[i].image.link, 8 * j->text[i].image.nlink);
}

static void fill_manifest(const struct job *j, struct img_manifest *m)
{
	const struct file *f = &j->file[0];

	*m = (struct img_manifest){
		.tag = "PUGMAN1\n", .abi = RT_ABI, .kind = j->o->kind, .line = j->o->line, .rep = j->o->rep,
		.no_trace = j->o->no_trace, .merge = j->o->merge, .interp = j->interp,
		.entry = f->eh.e_entry + f->bias, .phnum = f->eh.e_phnum,
	};
	memcpy(m->header, f->p, sizeof m->header);
	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];

		if (p->p_type == PT_LOAD && p->p_offset == 0 && p->p_filesz >= sizeof f->eh)
			m->ehdr = p->p_vaddr + f->bias;
		if (p->p_type == PT_LOAD && p->p_offset <= f->eh.e_phoff &&
		    f->eh.e_phoff - p->p_offset < p->p_filesz)
			m->phdr = p->p_vaddr + f->bias + (f->eh.e_phoff - p->p_offset);
	}
	for (size_t i = 0; i < j->blk.nblock; i++) {
		if (j->blk.block[i].address < j->beg || j->blk.block[i].address >= j->end)
			continue;
		if (!m->to)
			m->from = (uint32_t)i;
		m->to = (uint32_t)i + 1;
	}
	m->vdso = j->vdso;
	m->vdso_end = j->vdso_end;
	if (j->interp)
		m->interp_entry = j->file[1].eh.e_entry + j->file[1].bias;
}

static uint64_t stub_address(const struct job *j)
{
	const uint64_t base = j->file[0].base;

	/* below the program, so that its heap begins where it always does */
	if (base >= 0x40000)
		return base - 0x20000;
	return up(j->file[0].end) + 0x10000;
}

struct out {				/* a file to be, under its temporary name */
	char *path, *temp;
};

static enum pm_status save(struct out *o, const char *path, const struct pm_buf *b, mode_t mode,
			   struct pm_err *err)
{
	struct pm_buf name = { 0 };
	int fd;

	pm_buf_printf(&name, "%s.%d.tmp", path, getpid());
	pm_buf_add(&name, "", 1);
	o->path = pm_strdup(path);
	o->temp = (char *)name.p;
	fd = open(o->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0) {
		free(o->temp);
		o->temp = NULL;
		err->file = path;
		return pm_fail_errno(err, "cannot write");
	}
	for (size_t done = 0; done < b->n; ) {
		ssize_t n = write(fd, b->p + done, b->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			err->file = path;
			return pm_fail_errno(err, "cannot write");
		}
		done += (size_t)n;
	}
	if (close(fd)) {
		err->file = path;
		return pm_fail_errno(err, "cannot write");
	}
	return PM_OK;
}

static char *named(struct job *j, const char *suffix)
{
	const char *stem = j->file[0].path;
	char *s = pm_arena_alloc(&j->mem, strlen(stem) + strlen(suffix) + 1);

	return strcat(strcpy(s, stem), suffix);
}

/* The instrumented program itself, but for the trailer. */
static void compose(struct job *j, struct pm_buf *b, struct img_manifest *m, struct img_text *text)
{
	const struct file *f = &j->file[0];
	struct stub_params stub = { 0 };
	Elf64_Ehdr eh = f->eh;
	uint64_t stub_at;

	pm_buf_add(b, f->p, f->n);
	pad_to(b, PAGE);
	stub_at = b->n;
	m->stub = stub_address(j);
	pm_buf_add(b, pm_rti_stub, (size_t)(pm_rti_stub_end - pm_rti_stub));
	pad_to(b, PAGE);
	eh.e_type = ET_EXEC;
	eh.e_entry = m->stub;
	eh.e_phoff = b->n;
	put_headers(b, f, m->stub, stub_at);
	eh.e_phnum = (Elf64_Half)((b->n - eh.e_phoff) / sizeof(Elf64_Phdr));
	pad_to(b, PAGE);
	stub.text_at = b->n;
	stub.text_len = (uint64_t)(pm_rti_text_end - pm_rti_text);
	pm_buf_add(b, pm_rti_text, stub.text_len);
	pad_to(b, PAGE);
	stub.data_at = b->n;
	stub.data_len = (uint64_t)(pm_rti_data_end - pm_rti_data);
	pm_buf_add(b, pm_rti_data, stub.data_len);
	for (size_t i = 0; i < j->ntext; i++)
		if (j->text[i].file == 0)
			put_text(b, &j->text[i], &text[i]);
	put_manifest(j, b, m, text, &stub);
	memcpy(b->p, &eh, sizeof eh);
	memcpy(b->p + stub_at + IMG_STUB_SIZE - sizeof stub, &stub, sizeof stub);
}

/* The trailer, and the file's magic number in it and in the manifest: whatever the number is, the last
 * four bytes make it come true. */
static void seal(struct pm_buf *b, const struct job *j, uint32_t orig_magic, uint32_t *magic)
{
	struct idt_trailer t = { .tag = "PUGIDT1\n", .orig_magic = orig_magic, .abi = RT_ABI };
	struct stub_params stub;
	uint64_t phoff;
	uint32_t magics[2];

	memcpy(&phoff, b->p + offsetof(Elf64_Ehdr, e_phoff), 8);
	memcpy(&stub, b->p + phoff - sizeof stub, sizeof stub);
	snprintf(t.options, sizeof t.options, "%s", j->o->options ? j->o->options : "-p");
	t.manifest = stub.manifest_at;
	*magic = idt_magic(b->p, b->n);
	t.idt_magic = *magic;
	magics[0] = orig_magic;
	magics[1] = *magic;
	memcpy(b->p + stub.manifest_at + offsetof(struct img_manifest, orig_magic), magics, sizeof magics);
	pm_buf_add(b, &t, sizeof t - 4);
	t.fix = idt_magic_fix(b->p, b->n, *magic);
	pm_buf_add(b, &t.fix, 4);
}

static void list_modules(struct job *j, struct pm_buf *to)
{
	struct idt_modules m = { 0 };

	for (size_t i = 0; i < j->ntext; i++) {
		const struct text *t = &j->text[i];
		const struct file *f = &j->file[t->file];
		char *full = realpath(f->path, NULL);

		pm_grow(m.v, m.n, m.cap);
		m.v[m.n++] = (struct idt_module){ t->lo, t->hi, t->offset,
			f->build_id[0] ? f->build_id : NULL, pm_arena_strdup(&j->mem, full ? full : f->path) };
		free(full);
	}
	idt_modules_write(&m, to);
	idt_modules_release(&m);
}

static enum pm_status write_all(struct job *j, struct pm_err *err)
{
	struct img_text *text = pm_alloc((j->ntext + 1) * sizeof *text);
	struct out out[MAX_FILES + 4] = { 0 };
	struct pm_buf b = { 0 }, blk = { 0 }, mod = { 0 };
	char *dir = named(j, ".idt.d");
	struct img_manifest m;
	enum pm_status st = PM_OK;
	size_t n = 0;
	bool made = false;

	fill_manifest(j, &m);
	for (size_t i = 0; i < j->ntext; i++) {
		describe_text(j, &j->text[i], &text[i]);
		m.stamp = (m.stamp ^ text[i].hash ^ img_hash(j->text[i].image.code.p, j->text[i].image.code.n)) *
			  0x9e3779b97f4a7c15u;
	}
	if (j->nfile > 1) {
		made = !mkdir(dir, 0777);
		if (!made && errno != EEXIST) {
			err->file = dir;
			st = pm_fail_errno(err, "cannot make this directory");
		}
	}
	for (size_t k = 1; k < j->nfile && st == PM_OK; k++) {
		struct img_head head = { "PUGLIB1\n", m.stamp };
		struct pm_buf lib = { 0 };
		char key[132], path[4096];

		pm_buf_add(&lib, &head, sizeof head);
		for (size_t i = 0; i < j->ntext; i++)
			if (j->text[i].file == k)
				put_text(&lib, &j->text[i], &text[i]);
		key_of(&j->file[k], key, sizeof key);
		snprintf(path, sizeof path, "%s/%s", dir, key);
		st = save(&out[n++], path, &lib, 0666, err);
		pm_buf_release(&lib);
	}
	if (st == PM_OK) {
		compose(j, &b, &m, text);
		j->blk.orig_magic = idt_magic(j->file[0].p, j->file[0].n);
		seal(&b, j, j->blk.orig_magic, &j->blk.idt_magic);
		idt_blk_write(&j->blk, &blk);
		list_modules(j, &mod);
		st = save(&out[n++], named(j, ".idt"), &b, 0777, err);
	}
	if (st == PM_OK)
		st = save(&out[n++], named(j, ".blk64"), &blk, 0666, err);
	if (st == PM_OK)
		st = save(&out[n++], named(j, ".mod"), &mod, 0666, err);
	for (size_t i = 0; i < n; i++) {
		if (st == PM_OK && rename(out[i].temp, out[i].path)) {
			err->file = pm_arena_strdup(&j->mem, out[i].path);
			st = pm_fail_errno(err, "cannot write");
		}
		if (st != PM_OK && out[i].temp)
			unlink(out[i].temp);
		free(out[i].path);
		free(out[i].temp);
	}
	if (st != PM_OK && made)
		rmdir(dir);
	pm_buf_release(&b);
	pm_buf_release(&blk);
	pm_buf_release(&mod);
	free(text);
	return st;
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */
static enum pm_status check_input(struct job *j, struct pm_err *err)
{
	const struct file *f = &j->file[0];
	const char *out[] = { named(j, ".idt"), named(j, ".blk64"), named(j, ".mod") };
	struct idt_trailer t;
	struct stat st;

	err->file = f->path;
	if (idt_trailer_find(f->p, f->n, &t))
		return pm_fail_file(err, "it is an instrumented program already");
	if (!stat(f->path, &st) && st.st_mode & (S_ISUID | S_ISGID))
		return pm_fail_file(err, "it is setuid or setgid: an instrumented copy would not be");
	for (size_t i = 0; i < NR(out); i++)
		if (!stat(out[i], &st) && S_ISDIR(st.st_mode)) {
			err->file = out[i];
			return pm_fail_file(err, "it is a directory, and would have to be a file");
		}
	err->file = NULL;
	return PM_OK;
}

/* What glibc loads by itself when threads are cancelled or end: in its own folder, or nowhere. */
static enum pm_status add_unwinder(struct job *j, struct pm_err *err)
{
	for (size_t i = 1; i < j->nfile; i++) {
		const char *slash = strrchr(j->file[i].path, '/');
		char path[4096];

		if (!slash || strcmp(slash, "/libc.so.6"))
			continue;
		snprintf(path, sizeof path, "%.*s/libgcc_s.so.1", (int)(slash - j->file[i].path),
			 j->file[i].path);
		if (!access(path, R_OK) && !have_file(j, path))
			return add_library(j, path, 0, err);
	}
	return PM_OK;
}

static char *interpreter(struct job *j)
{
	const struct file *f = &j->file[0];

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_INTERP && f->ph[i].p_offset < f->n &&
		    memchr(f->p + f->ph[i].p_offset, 0, f->n - f->ph[i].p_offset))
			return pm_arena_strdup(&j->mem, (const char *)f->p + f->ph[i].p_offset);
	return NULL;
}

/* ---- hints ------------------------------------------------------------------------------------------ */
static const uint8_t *at_address(const struct file *f, uint64_t addr, uint64_t n, bool exec)
{
	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		uint64_t off = addr - f->bias - p->p_vaddr;

		if (p->p_type == PT_LOAD && off < p->p_filesz && p->p_filesz - off >= n &&
		    (!exec || p->p_flags & PF_X))
			return f->p + p->p_offset + off;
	}
	return NULL;
}

static enum pm_status apply_hint(struct job *j, const struct idt_hint *h, struct pm_err *err)
{
	const struct file *f = &j->file[0];
	const bool code = h->kind != IDT_JTAB && h->kind != IDT_CURBRK;
	/* addresses in the file serve as well as those in memory */
	uint64_t addr = h->addr < f->base ? h->addr + f->bias : h->addr, to;
	const uint8_t *p = at_address(f, addr, h->kind == IDT_JTAB ? 8 * h->entries : 1, code);

	if (h->kind == IDT_TRACE_END && !p)
		p = at_address(f, addr - 1, 1, true);
	if (!p && h->kind == IDT_CURBRK)
		return PM_OK;			/* the heap begins where it always does */
	if (!p || h->entries > UINT32_MAX)
		return pm_fail_line(err, h->line, "0x%" PRIx64 " is not in the program's %s", h->addr,
				    code ? "text" : "data");
	if (h->kind == IDT_TRACE_BEG)
		j->beg = addr;
	if (h->kind == IDT_TRACE_END)
		j->end = addr;
	if ((h->kind == IDT_MAIN_CALL || h->kind == IDT_EXIT_CALL) && *p != 0xe8 && *p != 0xff)
		return pm_fail_line(err, h->line, "there is no call at 0x%" PRIx64, h->addr);
	for (uint64_t i = 0; h->kind == IDT_JTAB && i < h->entries; i++) {
		memcpy(&to, p + 8 * i, 8);
		to = to < f->base ? to + f->bias : to;
		if (!at_address(f, to, 1, true))
			return pm_fail_line(err, h->line, "entry %" PRIu64 " of the jump table at 0x%" PRIx64
					    " is no address in the text", i, h->addr);
		pm_buf_add(&j->seeds, &to, sizeof to);
	}
	return PM_OK;
}

static enum pm_status read_hints(struct job *j, struct pm_err *err)
{
	struct pm_buf raw;
	enum pm_status st;

	j->end = UINT64_MAX;
	if (!j->o->hints)
		return PM_OK;
	st = idt_slurp(j->o->hints, &raw, err);
	if (st != PM_OK)
		return st;
	err->file = j->o->hints;
	st = idt_hints_parse((const char *)raw.p, raw.n, &j->hints, err);
	for (size_t i = 0; i < j->hints.n && st == PM_OK; i++)
		st = apply_hint(j, &j->hints.v[i], err);
	if (st == PM_OK && j->beg >= j->end)
		st = pm_fail_file(err, "tracing would end before it begins");
	pm_buf_release(&raw);
	if (st == PM_OK)
		err->file = NULL;
	return st;
}

static enum pm_status plan(struct job *j, struct pm_err *err)
{
	char *interp;

	if (map_file(j, j->o->path, err) != PM_OK || check_input(j, err) != PM_OK)
		return PM_ERR;
	place_file(j, &j->file[0], j->file[0].eh.e_type == ET_DYN ? PIE_BASE + lowest(&j->file[0]) :
		   lowest(&j->file[0]));
	if (read_hints(j, err) != PM_OK)
		return PM_ERR;
	interp = interpreter(j);
	j->interp = interp;
	if (interp && (map_file(j, interp, err) != PM_OK || libraries(j, err) != PM_OK))
		return PM_ERR;
	if (add_unwinder(j, err) != PM_OK)
		return PM_ERR;
	for (const char *const *l = j->o->library; l && *l; l++)
		if (!have_file(j, *l) && add_library(j, *l, 0, err) != PM_OK)
			return PM_ERR;
	for (size_t i = 0; i < j->nfile; i++)
		add_texts(j, i);
	for (size_t i = 0; i < j->ntext; i++)
		if (!place_code(j, &j->text[i])) {
			err->file = j->file[j->text[i].file].path;
			return pm_fail_file(err, "there is no room near its text for the translated code");
		}
	return PM_OK;
}

static void tell(const struct job *j, const struct text *t)
{
	FILE *v = j->o->verbose;

	if (!v)
		return;
	fprintf(v, "%s\n  text  0x%" PRIx64 "-0x%" PRIx64 "\n  code  0x%" PRIx64 ", %zu bytes (%.2f x)\n"
		"  %zu blocks from number %u, map %zu bytes, %zu entries, %zu exits, %" PRIu64 " unknown\n",
		j->file[t->file].path, t->lo, t->hi, t->code, t->image.code.n,
		(double)t->image.code.n / (double)t->bytes, t->image.nblock, t->image.in.first, t->image.map.n,
		t->image.nentry, t->image.nlink, t->image.unknown);
}

static const enum xl_kind xl_kinds[] = {
	[IMG_PROFILE] = XL_PROFILE, [IMG_BRANCH] = XL_BRANCH, [IMG_CACHE] = XL_EXEC, [IMG_EXEC] = XL_EXEC,
};

static enum pm_status translate_all(struct job *j, struct pm_err *err)
{
	struct x86_decoder *dec = x86_decoder_new(X86_MODE_64);

	j->blk.wide = true;
	for (size_t i = 0; i < j->ntext; i++) {
		struct text *t = &j->text[i];
		const struct file *f = &j->file[t->file];
		struct xl_image_input in = {
			.file = f->p, .size = f->n, .path = f->path, .bias = f->bias, .lo = t->lo, .hi = t->hi,
			.offset = t->offset, .bytes = t->bytes, .code = t->code, .kind = xl_kinds[j->o->kind],
			.first = j->nblock,
			.seed = t->file ? NULL : (const uint64_t *)j->seeds.p,
			.nseed = t->file ? 0 : j->seeds.n / sizeof(uint64_t),
		};

		xl_image_make(&in, j->nlink, &t->image);
		j->nblock += (uint32_t)t->image.nblock;
		j->nlink += (uint32_t)t->image.nlink;
		table_of(j, t, dec);
		if (i == 0)
			j->blk.oldt_offset = (int64_t)(t->lo - t->offset);
		tell(j, t);
	}
	x86_decoder_free(dec);
	if (j->o->max_blocks && j->nblock > j->o->max_blocks) {
		err->file = j->file[0].path;
		return pm_fail_file(err, "it has %u blocks, more than the %" PRIu64 " allowed: -B %u is needed",
				    j->nblock, j->o->max_blocks, j->nblock);
	}
	return PM_OK;
}

enum pm_status pm_instrument(const struct pm_instrument_opts *o, struct pm_err *err)
{
	struct job *j = pm_alloc(sizeof *j);
	enum pm_status st;

	j->o = o;
	st = plan(j, err);
	if (st == PM_OK)
		st = translate_all(j, err);
	if (st == PM_OK)
		st = write_all(j, err);
	if (st != PM_OK && err->file && !strncmp(err->file, o->path, strlen(o->path) + 1))
		err->file = o->path;
	for (size_t i = 0; i < j->ntext; i++) {
		xl_image_release(&j->text[i].image);
		pm_buf_release(&j->text[i].plan);
		pm_buf_release(&j->text[i].plan_at);
		pm_buf_release(&j->text[i].record_at);
	}
	x86_plan_release(&j->plan);
	for (size_t i = 0; i < j->nfile; i++)
		munmap((void *)(uintptr_t)j->file[i].p, j->file[i].n);
	idt_blk_release(&j->blk);
	pm_map_release(&j->id);
	idt_hints_release(&j->hints);
	pm_buf_release(&j->seeds);
	free(j->text);
	free(j->busy);
	/* errors name files: what they point to has to stay until they are printed */
	if (st == PM_OK)
		pm_arena_release(&j->mem);
	free(j);
	return st;
}
