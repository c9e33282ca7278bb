/* SPDX-License-Identifier: MIT */
/* elf.c - the checks of Linux' binfmt_elf and binfmt_script, each with a sentence
 *
 *   OFFSET 32  64  FIELD            OFFSET 32  64  FIELD OF A PROGRAM HEADER
 *        0   4   4  7f 45 4c 46          0   4   4  type
 *        4   1   1  class                4   -   4  flags
 *        5   1   1  byte order           -   4   8  file offset, address, (physical address),
 *       16   2   2  type                              file size, memory size
 *       18   2   2  machine             24   4   -  flags
 *       24   4   8  entry               28   4   8  alignment
 *       28   4   8  program headers' offset          (32: 32 bytes, 64: 56 bytes)
 *       42   2   2  (64: 54) size of one; then their number */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cur.h"
#include "base/mem.h"
#include "elf/elf.h"

#define MAX_HEADERS	65536u		/* bytes of program headers that Linux reads */
#define MAX_INTERP	4096u		/* PATH_MAX */
#define MAX_NOTES	65536u
#define SCRIPT_LINE	256u		/* what Linux looks at */

struct elf_input {
	int fd;				/* -1: memory */
	const uint8_t *p;
	uint64_t size;
};

/* @n bytes at @off into @to, or an error that names them. */
static bool get(const struct elf_input *in, uint64_t off, size_t n, void *to, const char *what,
		struct pm_err *err)
{
	size_t got = 0;

	if (off > in->size || n > in->size - off) {
		pm_fail(err, off, "expected %zu bytes of %s, found %llu: the file is cut off", n,
			what, (unsigned long long)(off > in->size ? 0 : in->size - off));
		return false;
	}
	if (in->fd < 0) {
		memcpy(to, in->p + off, n);
		return true;
	}
	while (got < n) {
		ssize_t k = pread(in->fd, (char *)to + got, n - got, (off_t)(off + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			pm_fail_errno(err, "cannot read");
			return false;
		}
		if (!k) {
			pm_fail(err, off + got, "expected %zu bytes of %s, found %zu", n, what,
				got);
			return false;
		}
		got += (size_t)k;
	}
	return true;
}

const char *pm_elf_machine(unsigned machine, char buf[static 24])
{
	switch (machine) {
	case EM_386:		return "i386";
	case EM_X86_64:		return "x86-64";
	case EM_ARM:		return "Arm";
	case EM_AARCH64:	return "AArch64";
	case EM_MIPS:		return "MIPS";
	case EM_PPC:		return "PowerPC";
	case EM_PPC64:		return "PowerPC 64";
	case EM_RISCV:		return "RISC-V";
	case EM_S390:		return "S/390";
	case EM_SPARC:		return "SPARC";
	case EM_SPARCV9:	return "SPARC V9";
	case EM_IA_64:		return "Itanium";
	case EM_68K:		return "Motorola 68000";
	case EM_ALPHA:		return "Alpha";
	case EM_PARISC:		return "PA-RISC";
	case EM_SH:		return "SuperH";
	case EM_LOONGARCH:	return "LoongArch";
	}
	snprintf(buf, 24, "machine %u", machine);
	return buf;
}

static enum pm_status check_script(const uint8_t *head, size_t n, struct pm_elf_info *info,
				   struct pm_err *err)
{
	size_t at = 2, end;

	while (at < n && (head[at] == ' ' || head[at] == '\t'))
		at++;
	for (end = at; end < n && !strchr(" \t\n", head[end]); end++)
		;			/* strchr also stops at NUL, as Linux does */
	if (end == at)
		return pm_fail(err, at,
			       "expected the interpreter's name behind \"#!\", found none");
	if (end == n && n == SCRIPT_LINE)
		return pm_fail(err, at, "expected the interpreter's name to end within %u bytes",
			       SCRIPT_LINE);
	info->script = true;
	info->interp = pm_alloc(end - at + 1);
	info->interp_at = at;
	memcpy(info->interp, head + at, end - at);
	return PM_OK;
}

/* Notes come from a hostile file like everything else, but a bad one is no reason to refuse it. */
static void find_build_id(const struct elf_input *in, const struct pm_elf_segment *s,
			  struct pm_elf_info *info)
{
	size_t n = s->filesz < MAX_NOTES ? (size_t)s->filesz : MAX_NOTES;
	struct pm_err ignored = { 0 };
	uint8_t *p = pm_alloc(n);
	struct pm_cur c;

	if (!get(in, s->off, n, p, "notes", &ignored))
		n = 0;
	c = pm_cur_init(p, n, 0, &ignored);
	while (pm_cur_left(&c) >= 12 && !pm_failed(&ignored)) {
		uint32_t namesz = pm_cur_u32(&c, "name size"), descsz = pm_cur_u32(&c, "size");
		uint32_t type = pm_cur_u32(&c, "type");
		const uint8_t *name = pm_cur_bytes(&c, ((uint64_t)namesz + 3) & ~3ull, "name");
		const uint8_t *desc = pm_cur_bytes(&c, descsz, "descriptor");

		if (name && desc && type == NT_GNU_BUILD_ID && namesz == 4 &&
		    !memcmp(name, "GNU", 4) && descsz && 2 * descsz < sizeof info->build_id) {
			for (uint32_t i = 0; i < descsz; i++)
				snprintf(info->build_id + 2 * i, 3, "%02x", desc[i]);
			break;
		}
		pm_cur_bytes(&c, -descsz & 3, "padding");
	}
	free(p);
}

static enum pm_status check_load(const struct pm_elf_segment *s, uint64_t at,
				 const struct pm_elf_info *info, struct pm_err *err)
{
	uint64_t top = info->is64 ? 1ull << 47 : 1ull << 32;

	if (s->filesz > s->memsz)
		return pm_fail(err, at,
			       "expected a segment's file size to be at most its memory size "
			       "0x%llx, found 0x%llx",
			       (unsigned long long)s->memsz, (unsigned long long)s->filesz);
	if (s->off > info->size || s->filesz > info->size - s->off)
		return pm_fail(err, at,
			       "expected a segment within the file's 0x%llx bytes, found 0x%llx "
			       "bytes at 0x%llx: the file is cut off",
			       (unsigned long long)info->size, (unsigned long long)s->filesz,
			       (unsigned long long)s->off);
	if (s->vaddr > top || s->memsz > top - s->vaddr)
		return pm_fail(err, at,
			       "expected a segment in user space (below 0x%llx), found 0x%llx "
			       "bytes at 0x%llx",
			       (unsigned long long)top, (unsigned long long)s->memsz,
			       (unsigned long long)s->vaddr);
	if ((s->off ^ s->vaddr) & 4095)
		return pm_fail(err, at,
			       "expected a segment's address to match its file offset modulo "
			       "0x1000, found 0x%llx at offset 0x%llx",
			       (unsigned long long)s->vaddr, (unsigned long long)s->off);
	return PM_OK;
}

static enum pm_status check_interp(const struct elf_input *in, const struct pm_elf_segment *s,
				   uint64_t at, struct pm_elf_info *info, struct pm_err *err)
{
	if (s->filesz < 2 || s->filesz > MAX_INTERP)
		return pm_fail(err, at, "expected 2..%u bytes of interpreter name, found 0x%llx",
			       MAX_INTERP, (unsigned long long)s->filesz);
	info->interp = pm_alloc((size_t)s->filesz + 1);
	info->interp_at = s->off;
	if (!get(in, s->off, (size_t)s->filesz, info->interp, "interpreter name", err))
		return PM_ERR;
	if (info->interp[s->filesz - 1])
		return pm_fail(err, s->off + s->filesz - 1,
			       "expected the interpreter's name to end with a zero, found 0x%02x",
			       (uint8_t)info->interp[s->filesz - 1]);
	return PM_OK;
}

static enum pm_status check_headers(const struct elf_input *in, uint64_t phoff, unsigned n,
				    struct pm_elf_info *info, struct pm_err *err)
{
	size_t each = info->is64 ? 56 : 32, bytes = n * each;
	uint8_t *p = pm_alloc(bytes);
	unsigned loads = 0;
	struct pm_cur c;

	if (!get(in, phoff, bytes, p, "program headers", err)) {
		free(p);
		return PM_ERR;
	}
	c = pm_cur_init(p, bytes, phoff, err);
	info->seg = pm_alloc(n * sizeof *info->seg);
	for (unsigned i = 0; i < n; i++) {
		struct pm_elf_segment *s = &info->seg[info->nseg++];

		s->type = pm_cur_u32(&c, "segment type");
		if (info->is64) {
			s->flags = pm_cur_u32(&c, "flags");
			s->off = pm_cur_u64(&c, "offset");
			s->vaddr = pm_cur_u64(&c, "address");
			pm_cur_u64(&c, "physical address");
			s->filesz = pm_cur_u64(&c, "file size");
			s->memsz = pm_cur_u64(&c, "memory size");
			s->align = pm_cur_u64(&c, "alignment");
		} else {
			s->off = pm_cur_u32(&c, "offset");
			s->vaddr = pm_cur_u32(&c, "address");
			pm_cur_u32(&c, "physical address");
			s->filesz = pm_cur_u32(&c, "file size");
			s->memsz = pm_cur_u32(&c, "memory size");
			s->flags = pm_cur_u32(&c, "flags");
			s->align = pm_cur_u32(&c, "alignment");
		}
	}
	free(p);
	for (unsigned i = 0; i < n; i++) {
		const struct pm_elf_segment *s = &info->seg[i];
		uint64_t at = phoff + i * each;

		if (s->type == PT_LOAD) {
			loads++;
			if (check_load(s, at, info, err))
				return PM_ERR;
		} else if (s->type == PT_INTERP && !info->interp) {
			if (check_interp(in, s, at, info, err))
				return PM_ERR;
		} else if (s->type == PT_NOTE && !info->build_id[0]) {
			find_build_id(in, s, info);
		}
	}
	if (!loads)
		return pm_fail(err, phoff, "expected a segment to load among %u program headers, "
			       "found none", n);
	return PM_OK;
}

static const char *type_name(unsigned type)
{
	switch (type) {
	case ET_NONE:	return "none";
	case ET_REL:	return "a relocatable object";
	case ET_CORE:	return "a core dump";
	}
	return "something else";
}

static enum pm_status check(const struct elf_input *in, struct pm_elf_info *info,
			    struct pm_err *err)
{
	uint8_t head[SCRIPT_LINE];
	size_t n = in->size < sizeof head ? (size_t)in->size : sizeof head, need;
	unsigned phentsize, phnum;
	struct pm_cur c;
	uint64_t phoff;

	info->size = in->size;
	if (!n)
		return pm_fail(err, 0, "expected an ELF header or \"#!\", found an empty file");
	if (!get(in, 0, n, head, "header", err))
		return PM_ERR;
	if (n >= 2 && head[0] == '#' && head[1] == '!')
		return check_script(head, n, info, err);
	if (memcmp(head, ELFMAG, n < SELFMAG ? n : SELFMAG)) {
		bool text = true;

		for (size_t i = 0; i < n; i++)
			text &= head[i] >= ' ' || strchr("\t\n\r", head[i]);
		if (text)
			return pm_fail(err, 0,
				       "expected an ELF header or \"#!\", found other text");
		return pm_fail(err, 0, "expected an ELF header (7f 45 4c 46) or \"#!\", found "
			       "%02x %02x %02x %02x", head[0], n > 1 ? head[1] : 0,
			       n > 2 ? head[2] : 0, n > 3 ? head[3] : 0);
	}
	c = pm_cur_init(head, n, 0, err);
	pm_cur_bytes(&c, 4, "ELF magic");
	need = pm_cur_u8(&c, "ELF class");
	if (!pm_failed(err) && need != ELFCLASS32 && need != ELFCLASS64)
		return pm_fail(err, 4, "expected ELF class 1 (32 bit) or 2 (64 bit), found %zu",
			       need);
	info->is64 = need == ELFCLASS64;
	need = pm_cur_u8(&c, "byte order");
	if (!pm_failed(err) && need != ELFDATA2LSB)
		return pm_fail(err, 5, "expected byte order 1 (little-endian), found %zu%s", need,
			       need == ELFDATA2MSB ? " (big-endian)" : "");
	pm_cur_bytes(&c, 10, "ELF identification");
	info->type = pm_cur_u16(&c, "ELF type");
	info->machine = pm_cur_u16(&c, "machine");
	pm_cur_u32(&c, "ELF version");
	info->entry = info->is64 ? pm_cur_u64(&c, "entry") : pm_cur_u32(&c, "entry");
	phoff = info->is64 ? pm_cur_u64(&c, "program header offset") :
			     pm_cur_u32(&c, "program header offset");
	pm_cur_bytes(&c, info->is64 ? 14 : 10, "ELF header");
	phentsize = pm_cur_u16(&c, "program header size");
	phnum = pm_cur_u16(&c, "number of program headers");
	pm_cur_bytes(&c, 6, "ELF header");
	if (pm_failed(err))
		return PM_ERR;
	if (info->type != ET_EXEC && info->type != ET_DYN)
		return pm_fail(err, 16, "expected an executable (type 2 or 3), found type %u (%s)",
			       info->type, type_name(info->type));
	need = info->is64 ? 56 : 32;
	if (phentsize != need)
		return pm_fail(err, info->is64 ? 54 : 42, "expected program headers of %zu bytes, "
			       "found %u", need, phentsize);
	if (!phnum || phnum * need > MAX_HEADERS)
		return pm_fail(err, info->is64 ? 56 : 44,
			       "expected 1..%zu program headers, found %u", MAX_HEADERS / need,
			       phnum);
	return check_headers(in, phoff, phnum, info, err);
}

enum pm_status pm_elf_check(const char *path, struct pm_elf_info *info, struct pm_err *err)
{
	/* a FIFO must not block, a terminal not become ours */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_input in = { .fd = fd };
	enum pm_status st;
	struct stat s;

	*info = (struct pm_elf_info){ 0 };
	if (!err->msg[0])
		err->file = path;
	if (fd < 0)
		return pm_fail_errno(err, "cannot open");
	if (fstat(fd, &s)) {
		st = pm_fail_errno(err, "cannot stat");
	} else if (!S_ISREG(s.st_mode)) {
		st = pm_fail_file(err, "expected a program, found %s",
				  S_ISDIR(s.st_mode) ? "a directory" : "a special file");
	} else {
		in.size = (uint64_t)s.st_size;
		st = check(&in, info, err);
		if (st == PM_OK && info->interp && access(info->interp, F_OK))
			st = pm_fail(err, info->interp_at,
				     "expected the interpreter '%s' to exist: %s", info->interp,
				     strerror(errno));
	}
	close(fd);
	return st;
}

enum pm_status pm_elf_check_memory(const void *p, size_t n, const char *name,
				   struct pm_elf_info *info, struct pm_err *err)
{
	struct elf_input in = { -1, p, n };

	*info = (struct pm_elf_info){ 0 };
	if (!err->msg[0])
		err->file = name;
	return check(&in, info, err);
}

void pm_elf_info_release(struct pm_elf_info *info)
{
	free(info->interp);
	free(info->seg);
	*info = (struct pm_elf_info){ 0 };
}
