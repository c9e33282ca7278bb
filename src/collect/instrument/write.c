/* SPDX-License-Identifier: MIT */
/* write.c - put BENCH.idt, its folder, the block table and the module file together */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/instrument/job.h"
#include "collect/instrument/pack.h"
#include "elf/elf_image.h"
#include "trace/io.h"

extern const uint8_t pm_rti_text[], pm_rti_text_end[], pm_rti_data[], pm_rti_data_end[];
extern const uint8_t pm_rti_stub[], pm_rti_stub_end[];
extern const uint8_t pm_rti32_text[], pm_rti32_text_end[], pm_rti32_data[], pm_rti32_data_end[];
extern const uint8_t pm_rti32_stub[], pm_rti32_stub_end[];

static const struct runtime_files {
	const uint8_t *text, *text_end, *data, *data_end, *stub, *stub_end;
} runtimes[] = {
	{ pm_rti_text, pm_rti_text_end, pm_rti_data, pm_rti_data_end, pm_rti_stub,
	  pm_rti_stub_end },
	{ pm_rti32_text, pm_rti32_text_end, pm_rti32_data, pm_rti32_data_end, pm_rti32_stub,
	  pm_rti32_stub_end },
};

static void pad_to(struct pm_buf *b, uint64_t to)
{
	static const uint8_t zero[4096];

	while (b->n % to)
		pm_buf_add(b, zero, to - b->n % to < sizeof zero ? to - b->n % to : sizeof zero);
}

struct parts {
	struct pack_part *v;
	size_t n;
	uint64_t at;			/* where the next one of the tables will be */
	uint32_t align;
};

/* Returns where it will be among the tables. */
static uint32_t add_part(struct parts *to, const void *p, size_t n, unsigned how)
{
	uint64_t at = to->at;

	to->v[to->n++] = (struct pack_part){ p, n, how };
	to->at += (n + to->align - 1) / to->align * to->align;
	return (uint32_t)at;
}

size_t text_parts(const struct program_text *t, struct img_tables *head, uint32_t align,
		  struct pack_part v[MAX_PARTS], uint64_t *size)
{
	const struct xl_image *m = &t->image;
	struct parts parts = { .v = v, .align = align };

	*head = (struct img_tables){ .nblock = (uint32_t)m->nblock, .nmap = (uint32_t)m->map.n };
	add_part(&parts, head, sizeof *head, 0);
	head->block = add_part(&parts, m->block, m->nblock * sizeof *m->block, IMG_COLUMNS(4, 7));
	head->by_code = add_part(&parts, m->by_code, m->nblock * 4, IMG_COLUMNS(1, 1));
	head->map = add_part(&parts, m->map.p, m->map.n, 0);
	if (t->plan_at.n) {
		head->plan_at = add_part(&parts, t->plan_at.p, t->plan_at.n, IMG_COLUMNS(1, 1));
		head->back = add_part(&parts, t->back.p, t->back.n, IMG_COLUMNS(1, 0));
		head->record_at = add_part(&parts, t->record_at.p, t->record_at.n,
					   IMG_COLUMNS(1, 1));
		head->plan = add_part(&parts, t->plan.p, t->plan.n, 0);
		head->nplan = (uint32_t)t->plan.n;
	}
	*size = parts.at;
	return parts.n;
}

static void append_uleb(struct pm_buf *b, uint32_t v)
{
	uint8_t byte;

	do {
		byte = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
		pm_buf_add(b, &byte, 1);
	} while (v >>= 7);
}

static void append_entry(struct pm_buf *b, uint32_t pc, int32_t code, const uint32_t *by_itself,
			 uint8_t before)
{
	append_uleb(b, pc);
	append_uleb(b, (uint32_t)code << 1 ^ (uint32_t)(code >> 31));
	pm_buf_add(b, &before, 1);
	if (by_itself)
		append_uleb(b, *by_itself);
}

void text_entries(const struct program_text *t, struct pm_buf *to)
{
	const struct xl_image *m = &t->image;
	const size_t nchunk = (t->hi - t->lo + IMG_CHUNK - 1) / IMG_CHUNK, begin = to->n;
	uint32_t *at = pm_alloc((nchunk + 1) * sizeof *at), pc, code, last = UINT32_MAX;
	size_t k = 0, e = 0;

	pm_buf_add(to, at, (nchunk + 1) * sizeof *at);
	for (size_t c = 0; c <= nchunk; c++) {
		at[c] = (uint32_t)(to->n - begin);
		for (pc = (uint32_t)(c * IMG_CHUNK), code = 0;
		     k < m->nblock && m->block[k].pc / IMG_CHUNK <= c; k++) {
			const struct img_block *b = &m->block[k];
			bool by_itself;

			while (e < m->nentry && m->entry[e].pc < b->pc)
				e++;
			by_itself = b->entry == IMG_NO_ENTRY && e < m->nentry &&
				m->entry[e].pc == b->pc;
			if ((b->entry == IMG_NO_ENTRY && !by_itself) || b->pc == last)
				continue;
			append_entry(to, b->pc - pc, (int32_t)(b->code - code),
				  by_itself ? &m->entry[e].code : NULL, b->entry);
			pc = last = b->pc;
			code = b->code;
		}
	}
	memcpy(to->p + begin, at, (nchunk + 1) * sizeof *at);
	free(at);
}

/* How large what is made of a file may become: four times the file, with room
 * for what else comes. */
static bool too_large(const struct job *j, size_t file, uint64_t n)
{
	return n + PAGE > j->file[file].n * 4 - j->file[file].n / 16;
}

/* A text's code and tables; their positions go into @to. Code that is not packed is there at once
 * when the program starts; it is as long as there is room for it. Where there is none all the same,
 * tables are packed again, as small as they can be. */
static void append_text(struct job *j, struct pm_buf *b, const struct program_text *t,
			struct img_text *to)
{
	const struct xl_image *m = &t->image;
	const struct pack_part code = { m->code.p, m->code.n, 0 };
	struct pack_part v[MAX_PARTS];
	struct img_tables head;
	size_t n = text_parts(t, &head, IMG_PIECE, v, &to->tables_len);
	uint64_t entries, code_pack = 0;
	bool pack, hard_tables = false, hard;

	pad_to(b, PAGE);
	to->packed_at = b->n;
	to->code_len = m->code.n;
	for (;; hard_tables = true) {
		b->n = to->packed_at;
		pack_image(v, n, hard_tables, b);
		pad_to(b, 4);
		entries = b->n - to->packed_at;
		text_entries(t, b);
		pack = too_large(j, t->file, b->n + up(m->code.n));
		if (!pack)
			break;
		pad_to(b, 4);
		code_pack = b->n - to->packed_at;
		hard = hard_tables || too_large(j, t->file, b->n + m->code.n / 2);
		pack_image(&code, 1, hard, b);
		if (hard_tables || !too_large(j, t->file, b->n))
			break;
	}
	to->packed_len = b->n - to->packed_at;
	if (!pack) {
		pad_to(b, PAGE);
		to->code_at = b->n;
		pm_buf_add(b, m->code.p, m->code.n);
	}
	to->packed = j->i386 ? place32(j, to->packed_len) : IMG_PACKED(t - j->text);
	to->entries = to->packed + entries;
	to->code_pack = pack ? to->packed + code_pack : 0;
	to->tables = j->i386 ? place32(j, to->tables_len) : IMG_TABLES(t - j->text);
	j->no_room |= !to->packed || !to->tables;
}

static void describe_text(const struct job *j, const struct program_text *t, struct img_text *to)
{
	to->lo = t->lo;
	to->hi = t->hi;
	to->base = j->file[t->file].base;
	to->bytes = t->bytes;
	to->hash = img_hash(j->file[t->file].p + t->offset, t->bytes);
	to->code = t->code;
	to->first = t->image.first;
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
	to->changed = f->changed;
	to->head = img_hash(f->p, f->n < PAGE ? f->n : PAGE);
}

static void append_segment(struct pm_buf *b, const Elf64_Phdr *p, bool narrow)
{
	const Elf32_Phdr n = {
		.p_type = p->p_type, .p_offset = (Elf32_Off)p->p_offset,
		.p_vaddr = (Elf32_Addr)p->p_vaddr,
		.p_paddr = (Elf32_Addr)p->p_paddr, .p_filesz = (Elf32_Word)p->p_filesz,
		.p_memsz = (Elf32_Word)p->p_memsz, .p_flags = p->p_flags,
		.p_align = (Elf32_Word)p->p_align,
	};

	if (narrow)
		pm_buf_add(b, &n, sizeof n);
	else
		pm_buf_add(b, p, sizeof *p);
}

/* The program headers that the kernel gets: everything at its address, no interpreter, and the
 * stub. A 32-bit program that does not say otherwise may execute all that it can read: ours says
 * so. Returns how many. */
static unsigned append_headers(struct pm_buf *b, const struct job *j, uint64_t stub,
			       uint64_t stub_at)
{
	const Elf64_Phdr own = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = stub_at,
				 .p_vaddr = stub,
				 .p_paddr = stub, .p_filesz = IMG_STUB_SIZE,
				 .p_memsz = IMG_STUB_SIZE,
				 .p_align = PAGE };
	const Elf64_Phdr stack = { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 };
	const struct file *f = &j->file[0];
	bool placed = false, has_stack = !j->i386;
	unsigned n = f->eh.e_phnum + 1u;

	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		Elf64_Phdr p = f->ph[i];

		p.p_vaddr += f->bias;
		p.p_paddr += f->bias;
		if (p.p_type == PT_INTERP || p.p_type == PT_PHDR)
			p.p_type = PT_NULL;
		has_stack |= p.p_type == PT_GNU_STACK;
		if (p.p_type == PT_LOAD && !placed && stub < p.p_vaddr) {
			append_segment(b, &own, j->i386);
			placed = true;
		}
		append_segment(b, &p, j->i386);
	}
	if (!placed)
		append_segment(b, &own, j->i386);
	if (has_stack)
		return n;
	append_segment(b, &stack, j->i386);
	return n + 1;
}

static void write_elf_header(uint8_t *to, const Elf64_Ehdr *eh)
{
	Elf32_Ehdr narrow;

	if (!elf_is_narrow(eh)) {
		memcpy(to, eh, sizeof *eh);
		return;
	}
	memcpy(&narrow, to, sizeof narrow);
	narrow.e_type = eh->e_type;
	narrow.e_entry = (Elf32_Addr)eh->e_entry;
	narrow.e_phoff = (Elf32_Off)eh->e_phoff;
	narrow.e_phnum = eh->e_phnum;
	memcpy(to, &narrow, sizeof narrow);
}

struct stub_params {			/* at the end of the stub's page: see start.S */
	uint64_t text_at, text_len, data_at, data_len, manifest_at, manifest_len;
	uint64_t zero_len, spare;
};

static void append_manifest(struct job *j, struct pm_buf *b, const struct img_manifest *head,
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
	j->no_room |= j->i386 && m.size > IMG32_REST - IMG32_MANIFEST;
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
		.tag = "PUGMAN1\n", .abi = RT_ABI, .kind = j->o->kind, .line = j->o->line,
		.tags = (j->o->rep ? IMG_TAGS_REP : 0) | (j->o->stack ? IMG_TAGS_STACK : 0),
		.no_trace = j->o->no_trace, .merge = j->o->merge, .interp = j->interp,
		.narrow = j->i386,
		.entry = f->eh.e_entry + f->bias, .phnum = f->eh.e_phnum,
	};
	m->exec_all = j->i386;
	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_GNU_STACK && !(f->ph[i].p_flags & PF_X))
			m->exec_all = 0;
	memcpy(m->header, f->p, sizeof m->header);
	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];

		if (p->p_type == PT_LOAD && p->p_offset == 0 && p->p_filesz >= sizeof m->header)
			m->ehdr = p->p_vaddr + f->bias;
		if (p->p_type == PT_LOAD && p->p_offset <= f->eh.e_phoff &&
		    f->eh.e_phoff - p->p_offset < p->p_filesz)
			m->phdr = p->p_vaddr + f->bias + (f->eh.e_phoff - p->p_offset);
	}
	for (size_t i = 0; i < j->nblock; i++) {
		if (j->blk.block[i].address < j->beg || j->blk.block[i].address >= j->end)
			continue;
		if (!m->to)
			m->from = (uint32_t)i;
		m->to = (uint32_t)i + 1;
	}
	if (j->end == UINT64_MAX)
		m->to = UINT32_MAX;		/* what is translated later, too */
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

#define LATER_COUNTERS	0x40000u	/* at least, of blocks that are translated later */
#define LATER_MOST	(192ull << 20)

/* Of a 32-bit program, when everything else has its place: counters; a table of the shadow for each
 * 64 KiB that texts have a part of; and for what is translated later as much as there is, of it one
 * part in three for the shadow. */
static void place_rest(struct job *j, struct img_manifest *m)
{
	uint64_t tables = 0, room;

	m->counters = RT_MAX_COUNTERS - IMG_RESERVED;
	if (!j->i386)
		return;
	for (m->block_size = 1 << 20;
	     m->block_size < IMG32_COUNTERS + 4 * (IMG_RESERVED + j->nblock + LATER_COUNTERS); )
		m->block_size *= 2;
	m->counters = (m->block_size - IMG32_COUNTERS) / 4 - IMG_RESERVED;
	if (!j->o->quick) {
		m->watch = place32(j, 8 * m->counters);
		j->no_room |= !m->watch;
	}
	for (size_t i = 0; i < j->ntext; i++)
		tables += RT32_TABLE_SIZE *
			(((j->text[i].hi - 1) >> 16) - (j->text[i].lo >> 16) + 1);
	room = left32(j) > tables ? left32(j) - tables : 0;
	room = room < IMG32_LATER_LEAST / 2 * 3 ? IMG32_LATER_LEAST : room / 3 * 2 < LATER_MOST ?
		room / 3 * 2 : LATER_MOST;
	room &= ~(uint64_t)(2 * IMG_PIECE - 1);
	m->shadow = place32(j, tables + room / 2);
	m->shadow_end = m->shadow + tables + room / 2;
	j->no_room |= !m->shadow;
	m->later = place32(j, room);
	m->later_end = m->later ? m->later + room : 0;
}

/* The instrumented program itself, but for the trailer. */
static void compose(struct job *j, struct pm_buf *b, struct img_manifest *m, struct img_text *text,
		    uint64_t *params_at)
{
	const struct runtime_files *rt = &runtimes[j->i386];
	const struct file *f = &j->file[0];
	struct stub_params stub = { 0 };
	Elf64_Ehdr eh = f->eh;
	uint64_t stub_at;

	pm_buf_room(b, 4 * f->n);	/* about as large as it may become */
	pm_buf_add(b, f->p, f->n);
	pad_to(b, PAGE);
	stub_at = b->n;
	m->stub = stub_address(j);
	pm_buf_add(b, rt->stub, (size_t)(rt->stub_end - rt->stub));
	pad_to(b, PAGE);
	eh.e_type = ET_EXEC;
	eh.e_entry = m->stub;
	eh.e_phoff = b->n;
	eh.e_phnum = (Elf64_Half)append_headers(b, j, m->stub, stub_at);
	pad_to(b, PAGE);
	stub.text_at = b->n;
	stub.text_len = (uint64_t)(rt->text_end - rt->text);
	pm_buf_add(b, rt->text, stub.text_len);
	pad_to(b, PAGE);
	stub.data_at = b->n;
	stub.data_len = (uint64_t)(rt->data_end - rt->data);
	stub.zero_len = up(stub.data_len);
	while (stub.data_len && !rt->data[stub.data_len - 1])
		stub.data_len--;
	pm_buf_add(b, rt->data, stub.data_len);
	pad_to(b, PAGE);
	stub.data_len = up(stub.data_len);
	stub.zero_len -= stub.data_len;
	for (size_t i = 0; i < j->ntext; i++)
		if (j->text[i].file == 0)
			append_text(j, b, &j->text[i], &text[i]);
	place_rest(j, m);
	append_manifest(j, b, m, text, &stub);
	write_elf_header(b->p, &eh);
	*params_at = stub_at + IMG_STUB_SIZE - sizeof stub;
	memcpy(b->p + *params_at, &stub, sizeof stub);
}

/* The trailer, and the file's magic number in it and in the manifest: whatever the number is, the
 * last four bytes make it come true. */
static void seal(struct pm_buf *b, const struct job *j, uint64_t params_at, uint32_t orig_magic,
		 uint32_t *magic)
{
	struct idt_trailer t = { .tag = "PUGIDT1\n", .orig_magic = orig_magic, .abi = RT_ABI };
	struct stub_params stub;
	uint32_t magics[2];

	memcpy(&stub, b->p + params_at, sizeof stub);
	snprintf(t.options, sizeof t.options, "%s", j->o->options ? j->o->options : "-p");
	t.manifest = stub.manifest_at;
	*magic = idt_magic(b->p, b->n);
	t.idt_magic = *magic;
	magics[0] = orig_magic;
	magics[1] = *magic;
	memcpy(b->p + stub.manifest_at + offsetof(struct img_manifest, orig_magic), magics,
	       sizeof magics);
	pm_buf_add(b, &t, sizeof t - 4);
	t.fix = idt_magic_fix(b->p, b->n, *magic);
	pm_buf_add(b, &t.fix, 4);
}

static void list_modules(struct job *j, struct pm_buf *to)
{
	struct idt_modules m = { 0 };

	for (size_t i = 0; i < j->ntext; i++) {
		const struct program_text *t = &j->text[i];
		const struct file *f = &j->file[t->file];
		char *full = realpath(f->path, NULL);

		pm_grow(m.v, m.n, m.cap);
		m.v[m.n++] = (struct idt_module){ .lo = t->lo, .hi = t->hi, .offset = t->offset,
			.build_id = f->build_id[0] ? f->build_id : NULL,
			.path = pm_arena_strdup(&j->mem, full ? full : f->path) };
		free(full);
	}
	idt_modules_write(&m, to);
	idt_modules_release(&m);
}

enum pm_status write_all(struct job *j, struct pm_err *err)
{
	struct img_text *text = pm_alloc((j->ntext + 1) * sizeof *text);
	struct output_files out = { 0 };
	struct pm_buf b = { 0 }, blk = { 0 }, mod = { 0 };
	char *dir = output_path(j, ".idt.d");
	struct img_manifest m;
	enum pm_status st = PM_OK;
	uint64_t params_at = 0;
	bool made = false;

	fill_manifest(j, &m);
	for (size_t i = 0; i < j->ntext; i++) {
		describe_text(j, &j->text[i], &text[i]);
		m.stamp = (m.stamp ^ text[i].hash ^ img_hash(j->text[i].image.code.p,
							     j->text[i].image.code.n)) *
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
				append_text(j, &lib, &j->text[i], &text[i]);
		key_of(&j->file[k], key, sizeof key);
		snprintf(path, sizeof path, "%s/%s", dir, key);
		st = output_save(&out, pm_arena_strdup(&j->mem, path), &lib, 0666, err);
		pm_buf_release(&lib);
	}
	if (st == PM_OK) {
		list_modules(j, &mod);
		idt_blk_write(&j->blk, &blk);	/* magic numbers come last */
		m.mod_size = mod.n;
		m.blk_size = blk.n;
		compose(j, &b, &m, text, &params_at);
	}
	if (st == PM_OK && j->no_room) {
		err->file = j->file[0].path;
		st = pm_fail_file(err, "there is no room for the translated code and its tables");
	}
	if (st == PM_OK) {
		j->blk.orig_magic = idt_magic(j->file[0].p, j->file[0].n);
		seal(&b, j, params_at, j->blk.orig_magic, &j->blk.idt_magic);
		idt_blk_magic(&j->blk, blk.p);
		st = output_save(&out, output_path(j, ".idt"), &b, 0777, err);
	}
	if (st == PM_OK)
		st = output_save(&out, output_path(j, output_table(j)), &blk, 0666, err);
	if (st == PM_OK)
		st = output_save(&out, output_path(j, ".mod"), &mod, 0666, err);
	st = outputs_end(j, &out, st, err);
	if (st == PM_OK && j->o->verbose) {
		for (size_t i = 0; i < j->ntext; i++)
			print_text(j, &j->text[i], &text[i]);
		print_process(j, &m);
	}
	if (st != PM_OK && made)
		rmdir(dir);
	pm_buf_release(&b);
	pm_buf_release(&blk);
	pm_buf_release(&mod);
	free(text);
	return st;
}
