/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <isa-l/crc.h>

#include "base/proc_maps.h"
#include "isa/x86/zydis_regs.h"
#include "trace/idt_files.h"
#include "trace/idt_format.h"
#include "trace/io.h"
#include "trace/text.h"

/* ---- module files --------------------------------------------------------------------------- */
static bool hex(const char *s, size_t n, uint64_t *v)
{
	if (n > 2 && s[0] == '0' && s[1] == 'x') {
		s += 2;
		n -= 2;
	}
	if (!n || n > 16)
		return false;
	for (*v = 0; n; n--, s++) {
		unsigned d = *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') :
			     *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10 : 16;

		if (d > 15)
			return false;
		*v = *v << 4 | d;
	}
	return true;
}

static enum pm_status module_line(const char *s, size_t n, uint64_t line, struct idt_modules *to,
				  struct pm_err *err)
{
	struct pm_tok t = { s, s + n };
	struct idt_module m = { 0 };
	const char *tok, *dash;
	char name[4096];
	size_t len;

	tok = pm_tok_next(&t, &len);
	if (len && *tok == '@') {
		if (!hex(tok + 1, len - 1, &m.record))
			return pm_fail_text(err, line, "a position in the block table", tok, len);
		tok = pm_tok_next(&t, &len);
	}
	dash = memchr(tok, '-', len);
	if (!dash || !hex(tok, (size_t)(dash - tok), &m.lo) ||
	    !hex(dash + 1, len - (size_t)(dash + 1 - tok), &m.hi) || m.hi <= m.lo)
		return pm_fail_text(err, line, "a range of addresses LO-HI", tok, len);
	tok = pm_tok_next(&t, &len);
	if (!hex(tok, len, &m.offset))
		return pm_fail_text(err, line, "a position in the file", tok, len);
	tok = pm_tok_next(&t, &len);
	if (!len || len > 128)
		return pm_fail_text(err, line, "a build id", tok, len);
	snprintf(name, sizeof name, "%.*s", (int)len, tok);
	if (strcmp(name, "-"))
		m.build_id = pm_arena_strdup(&to->mem, name);
	tok = pm_tok_next(&t, &len);
	if (!len || (size_t)(s + n - tok) >= sizeof name)
		return pm_fail_text(err, line, "a path", tok, len);
	snprintf(name, sizeof name, "%.*s", (int)(s + n - tok), tok);
	maps_path(name);
	m.path = pm_arena_strdup(&to->mem, name);
	pm_grow(to->v, to->n, to->cap);
	to->v[to->n++] = m;
	return PM_OK;
}

enum pm_status idt_modules_parse(const char *text, size_t n, struct idt_modules *to,
				 struct pm_err *err)
{
	const char *end = text + n;
	uint64_t line = 0;

	*to = (struct idt_modules){ 0 };
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text)), *stop = nl ? nl : end;

		line++;
		if (stop > text && *text != '#' &&
		    module_line(text, (size_t)(stop - text), line, to, err) == PM_ERR) {
			idt_modules_release(to);
			return PM_ERR;
		}
		text = stop + 1;
	}
	return PM_OK;
}

void idt_modules_write(const struct idt_modules *m, struct pm_buf *to)
{
	pm_buf_printf(to, "# mapped text: addresses, position in the file, build id, file\n");
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].record)
			pm_buf_printf(to, "@0x%" PRIx64 " ", m->v[i].record);
		pm_buf_printf(to, "0x%" PRIx64 "-0x%" PRIx64 " 0x%" PRIx64 " %s ", m->v[i].lo,
			      m->v[i].hi, m->v[i].offset,
			      m->v[i].build_id ? m->v[i].build_id : "-");
		for (const char *p = m->v[i].path; *p; p++)	/* as /proc does */
			if (*p == '\n')
				pm_buf_add(to, "\\012", 4);
			else
				pm_buf_add(to, p, 1);
		pm_buf_add(to, "\n", 1);
	}
}

void idt_modules_release(struct idt_modules *m)
{
	free(m->v);
	pm_arena_release(&m->mem);
	*m = (struct idt_modules){ 0 };
}

/* Of the records of one block, whose last instruction is a gather or scatter, that with no elements
 * comes first. */
static bool with_elements(const struct idt_blk *b, size_t i, struct pm_map *without)
{
	const struct idt_block *k = &b->block[i];
	const int8_t entries = k->n ? b->insn[k->insn + k->n - 1].entries : 0;
	const uint64_t key = k->address ^ (uint64_t)k->n << 56;

	if (entries == 0)
		*pm_map_put(without, key, NULL) = 1;
	return entries > 0 && pm_map_get(without, key);
}

size_t idt_least_counters(const struct idt_blk *b, const struct idt_modules *m)
{
	struct pm_map without = { 0 };
	uint64_t later = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].record && m->v[i].record < later)
			later = m->v[i].record;
	while (n < b->nblock && b->block[n].offset < later)
		n++;
	for (size_t i = 0; i < n; i++)
		if (with_elements(b, i, &without))
			n = i;
	pm_map_release(&without);
	return n;
}

/* ---- names ---------------------------------------------------------------------------------- */
static char *named(const char *stem, const char *suffix)
{
	char *s = pm_alloc(strlen(stem) + strlen(suffix) + 1);

	return strcat(strcpy(s, stem), suffix);
}

static bool is_there(const char *stem, const char *suffix)
{
	char *path = named(stem, suffix);
	struct stat st;
	const bool yes = !stat(path, &st);

	free(path);
	return yes;
}

/* Is @name a file of a program's, of 64-bit or 32-bit names? How much of it is the program's name;
 * 0: it is none. */
static size_t stem_of(const char *name, bool *wide)
{
	static const char *const suffix[] = { ".trc", ".cnt", ".blk" };
	size_t end = strlen(name), n = end;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	if (n < end && n && name[n - 1] == '.')
		end = n - 1;				/* the number of a process or thread */
	*wide = end > 2 && !memcmp(name + end - 2, "64", 2);
	if (*wide)
		end -= 2;
	for (size_t i = 0; end > 4 && i < NR(suffix); i++)
		if (!memcmp(name + end - 4, suffix[i], 4))
			return end - 4;
	return 0;
}

/* "BENCH.trc64" or "BENCH.trc64.123" */
static char *numbered(const struct idt_bench *b, const char *narrow, const char *wide)
{
	char *path = named(b->orig, b->wide ? wide : narrow), *full = named(path, b->number);

	free(path);
	return full;
}

static bool has_files(const char *stem)
{
	return is_there(stem, ".blk64") || is_there(stem, ".blk") || is_there(stem, ".trc64") ||
		is_there(stem, ".trc");
}

void idt_bench_find(const char *name, struct idt_bench *b)
{
	char *stem = pm_strdup(name), *otr;
	size_t n = strlen(stem), head;
	struct stat st;
	bool wide;

	if (n > 4 && !strcmp(stem + n - 4, ".idt"))
		stem[n - 4] = 0;
	*b = (struct idt_bench){ .orig = stem };
	head = has_files(stem) ? 0 : stem_of(stem, &wide);
	if (head) {
		n = head + 4 + 2 * wide;		/* ".trc64" */
		b->number = pm_strdup(stem + n);
		b->wide = wide;
		b->file = true;
		stem[head] = 0;
	} else {
		b->number = pm_strdup("");
		b->wide = is_there(stem, ".blk64") ||
			(is_there(stem, ".trc64") && !is_there(stem, ".blk"));
	}
	b->blk = named(stem, b->wide ? ".blk64" : ".blk");
	b->idt = named(stem, ".idt");
	b->mod = named(stem, ".mod");
	b->cnt = numbered(b, ".cnt", ".cnt64");
	b->trc = numbered(b, ".trc", ".trc64");
	b->kt = numbered(b, ".kt", ".kt64");
	otr = named(stem, ".otr");
	if (head || stat(otr, &st)) {
		free(otr);
		otr = pm_strdup(b->trc);
	}
	b->trace = otr;
}

void idt_bench_release(struct idt_bench *b)
{
	free(b->orig);
	free(b->number);
	free(b->idt);
	free(b->blk);
	free(b->cnt);
	free(b->trc);
	free(b->kt);
	free(b->mod);
	free(b->trace);
	*b = (struct idt_bench){ 0 };
}

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec
		? a->st_mtim.tv_sec < b->st_mtim.tv_sec : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

size_t idt_numbered_files(const char *path, const char *since)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t n = strlen(name);
	char *dir = pm_strdup(slash ? path : ".");
	struct stat first, st;
	const bool dated = !stat(since, &first);
	const struct dirent *e;
	size_t found = 0;
	DIR *d;

	if (slash)
		dir[name - path] = 0;
	d = opendir(dir);
	free(dir);
	while (d && (e = readdir(d)))
		found += !strncmp(e->d_name, name, n) && e->d_name[n] == '.' && e->d_name[n + 1] &&
			!e->d_name[n + 1 + strspn(e->d_name + n + 1, "0123456789")] &&
			!fstatat(dirfd(d), e->d_name, &st, 0) && !(dated && is_older(&st, &first));
	if (d)
		closedir(d);
	return found;
}

/* ---- contents ------------------------------------------------------------------------------- */
enum pm_status idt_slurp(const char *path, struct pm_buf *to, struct pm_err *err)
{
	struct pm_input *in = pm_input_open(path, err);

	*to = (struct pm_buf){ 0 };
	if (!in)
		return PM_ERR;
	for (;;) {
		size_t got = 0;
		const uint8_t *w = pm_input_peek(in, PM_WINDOW, &got, err);

		if (!w || !got)
			break;
		pm_buf_add(to, w, got);
		pm_input_skip(in, got);
	}
	if (!pm_failed(err))
		pm_input_failed(in, err);
	pm_input_close(in);
	if (pm_failed(err)) {
		pm_buf_release(to);
		return PM_ERR;
	}
	return PM_OK;
}

uint32_t idt_magic(const void *p, size_t n)
{
	return crc32_gzip_refl(0, p, n);
}

uint32_t idt_magic_fix(const uint8_t *p, size_t n, uint32_t want)
{
	uint32_t table[256], state = ~idt_magic(p, n), to = ~want;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	/* backwards: the highest byte of a state says which entry was used last */
	for (int step = 0; step < 4; step++) {
		uint32_t k = 0;

		while (table[k] >> 24 != to >> 24)
			k++;
		to = (to ^ table[k]) << 8 | k;
	}
	return to ^ state;
}

bool idt_trailer_find(const uint8_t *p, size_t n, struct idt_trailer *to)
{
	if (n < sizeof *to)
		return false;
	memcpy(to, p + n - sizeof *to, sizeof *to);
	to->options[sizeof to->options - 1] = 0;
	return !memcmp(to->tag, "PUGIDT1\n", 8);
}

/* The last bytes of @path. */
static bool trailer_of(const char *path, struct idt_trailer *to)
{
	uint8_t last[sizeof *to];
	FILE *f = is_there(path, "") ? fopen(path, "re") : NULL;
	bool found = false;

	if (!f)
		return false;
	if (!fseek(f, -(long)sizeof last, SEEK_END) && fread(last, sizeof last, 1, f) == 1)
		found = idt_trailer_find(last, sizeof last, to);
	fclose(f);
	return found;
}

bool idt_options_beside(const char *trace, bool wide, struct idt_trailer *to)
{
	char *idt = idt_idt_path(trace, wide), *blk = idt_blk_path(trace, wide);
	const size_t at = wide ? 20 : 12;		/* idt_magic */
	uint8_t head[32];
	FILE *f = NULL;
	bool belongs = false;

	if (trailer_of(idt, to))
		f = fopen(blk, "re");
	if (f) {
		belongs = fread(head, at + 4, 1, f) == 1 && pm_get32(head + at) == to->idt_magic;
		fclose(f);
	}
	free(idt);
	free(blk);
	return belongs;
}

bool idt_has_option(const struct idt_trailer *t, const char *name, uint64_t *n)
{
	struct pm_tok words = { t->options, t->options + strlen(t->options) };
	const char *word;
	size_t len;

	for (;;) {
		word = pm_tok_next(&words, &len);
		if (!len)
			return false;
		if (len == 2 && !memcmp(word, "-H", 2))
			return false;			/* a file's name, to the end */
		if (len == strlen(name) && !memcmp(word, name, len))
			break;
	}
	if (n) {
		word = pm_tok_next(&words, &len);
		return len && pm_num(word, len, n);
	}
	return true;
}

bool idt_leaves_reps(const char *trace, bool wide)
{
	struct idt_trailer t;

	return idt_options_beside(trace, wide, &t) &&
		(idt_has_option(&t, "-c", NULL) || idt_has_option(&t, "-l", NULL)) &&
		!idt_has_option(&t, "-r", NULL);
}

void idt_id_name(uint16_t id, bool wide, char *buf, size_t size)
{
	static const uint8_t prefix[4] = { 0, 0x66, 0xf3, 0xf2 };
	const unsigned map = id >> 11 & 3, which = id >> 13 & 3;
	uint8_t code[20] = { 0 };
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	unsigned n = 0;

	if (id >> 15 || which)
		code[n++] = id >> 15 ? 0xf3 : prefix[which];
	if (map)
		code[n++] = 0x0f;
	if (map > 1)
		code[n++] = map == 2 ? 0x38 : 0x3a;
	code[n++] = (uint8_t)id;
	/* registers as operands, then memory: one of the two exists */
	for (unsigned mod = 0xc0; ; mod = 0) {
		code[n] = (uint8_t)(mod | (id >> 8 & 7) << 3);
		if (x86_zydis(code, 15, wide, &in, op)) {
			snprintf(buf, size, "%s", ZydisMnemonicGetString(in.mnemonic));
			return;
		}
		if (!mod)
			break;
	}
	snprintf(buf, size, "op 0x%04x", id);
}

/* ---- NAME.trc.info -------------------------------------------------------------------------- */

static bool info_value(const char *key, size_t nkey, const char *v, size_t n, struct idt_info *to)
{
	static const char *const kinds[] = { "branch", "cache", "execution", "profile" };
	uint64_t num = 0;

	if (nkey == 4 && !memcmp(key, "kind", 4)) {
		for (size_t i = 0; i < NR(kinds); i++)
			if (n == strlen(kinds[i]) && !memcmp(v, kinds[i], n)) {
				strcpy(to->kind, kinds[i]);
				return true;
			}
		return false;
	}
	if (nkey == 9 && !memcmp(key, "line_size", 9)) {
		to->line_size = pm_num(v, n, &num) && num <= 32768 ? (unsigned)num : 0;
		return num && num <= 32768 && !(num & (num - 1));
	}
	if (nkey == 4 && !memcmp(key, "word", 4)) {
		to->word = pm_num(v, n, &num) && num <= 8 ? (unsigned)num : 0;
		return num == 4 || num == 8;
	}
	if (nkey == 3 && !memcmp(key, "rep", 3)) {
		to->rep = n == 1 && *v == '1';
		return n == 1 && (*v == '0' || *v == '1');
	}
	return true;
}

enum pm_status idt_info_parse(const char *text, size_t n, struct idt_info *to, struct pm_err *err)
{
	uint64_t line = 1;

	*to = (struct idt_info){ 0 };
	for (const char *s = text, *end = text + n; s < end; line++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *stop = nl ? nl : end;
		const char *eq = memchr(s, '=', (size_t)(stop - s));
		size_t len = (size_t)(stop - s);

		if (len && *s != '#') {
			if (!eq)
				return pm_fail_text(err, line, "KEY=VALUE", s, len);
			if (!info_value(s, (size_t)(eq - s), eq + 1, (size_t)(stop - eq) - 1, to))
				return pm_fail_text(err, line,
						    "kind=branch|cache|execution|profile, "
						    "line_size=a power of two, word=4|8, rep=0|1",
						    s, len);
		}
		s = stop + 1;
	}
	return PM_OK;
}

void idt_info_write(const struct idt_info *i, struct pm_buf *to)
{
	if (*i->kind)
		pm_buf_printf(to, "kind=%s\n", i->kind);
	if (i->line_size)
		pm_buf_printf(to, "line_size=%u\n", i->line_size);
	if (i->word)
		pm_buf_printf(to, "word=%u\n", i->word);
	pm_buf_printf(to, "rep=%d\ntool=pugmark\n", i->rep);
}
