/* SPDX-License-Identifier: MIT */
/* fuzz_mailbox.c - requests of a program that asks for anything, in any order, for any thread
 *
 * A session without a process: block 1 is the first thread of a program that has two executable
 * mappings, one of a file and one that is writable. Each 16 bytes of input are a request: thread
 * block, operation, commands that are said to have failed, and six arguments, each of them one of
 * the kinds below, from the last six bytes. After each, the invariants of session.h and of
 * space.h hold, and the mailbox has an answer. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/control/requests.h"
#include "fuzz.h"
#include "isa/x86/decode.h"

const unsigned fuzz_inputs = 3000;
const uint64_t fuzz_room = RT_DATA_SIZE + RT_CODE_SIZE + (2ull << 30);

#define TEXT 0x4000u			/* bytes of each mapping */
#define REQUEST 16u			/* bytes of input */
#define MOST 200u			/* requests */
#define BLOCKS 12u			/* thread blocks that ask */

static const uint64_t places[2][2] = { { 0x555555554000, 0x555555600000 },
				       { 0x8048000, 0x8060000 } };
static uint8_t text[TEXT];
static char exe[4096];
static struct stat exe_st;
static uint64_t exe_off;
static int exe_fd;
static const uint64_t *place;
static struct pm_run_opts opts;
static struct space_hooks hooks;
static struct session s;
static uint8_t block_used[RT_BLOCKS];
static uint32_t block_proc[RT_BLOCKS];

static ssize_t read_text(struct spaces *spaces, void *to, uint64_t at, size_t n)
{
	(void)spaces;
	for (unsigned k = 0; k < 2; k++)
		if (at >= place[k] && at < place[k] + TEXT) {
			n = n < place[k] + TEXT - at ? n : place[k] + TEXT - at;
			memcpy(to, text + (at - place[k]), n);
			return (ssize_t)n;
		}
	return -1;
}

static bool read_maps(struct spaces *spaces, struct maps *m)
{
	const struct mapping v[] = {
		{ place[0], place[0] + TEXT, exe_off, exe_st.st_dev, exe_st.st_ino, 5, false, exe },
		{ place[1], place[1] + TEXT, 0, 0, 0, 7, false, "" },
	};

	(void)spaces;
	m->n = 0;
	for (size_t i = 0; i < NR(v); i++) {
		pm_grow(m->v, m->n, m->cap);
		m->v[m->n++] = v[i];
	}
	return true;
}

static void give_up(struct spaces *spaces, const struct space_user *user, const char *why)
{
	(void)spaces, (void)user, (void)why;
}

static bool always(struct spaces *spaces)	/* so that what is unmapped is, at once */
{
	(void)spaces;
	return true;
}

static void *reserve(int fd, size_t n)
{
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)n))
		abort();
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Before main(), which limits addresses. */
__attribute__((constructor)) static void prepare(void)
{
	uint32_t x = 1;

	s.data_fd = memfd_create("data", MFD_CLOEXEC);
	s.data = reserve(s.data_fd, RT_DATA_SIZE);
	s.spaces.code_fd = memfd_create("code", MFD_CLOEXEC);
	s.spaces.code = reserve(s.spaces.code_fd, RT_CODE_SIZE);
	exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (!peek_link("/proc/self/exe", exe) || stat(exe, &exe_st) || exe_st.st_size < 2 * TEXT)
		abort();
	exe_off = (uint64_t)exe_st.st_size / 2 & ~4095ull;
	for (unsigned i = 0; i < TEXT; i++) {	/* short functions, and jumps between them */
		static const uint8_t some[16] = { 0x90, 0x55, 0x5d, 0xc3, 0xeb, 0x75, 0xe8, 0x0f,
						  0x05, 0x48, 0x89, 0x8b, 0xff, 0x01, 0x00, 0x39 };

		x = x * 1664525 + 1013904223;
		text[i] = some[x >> 28];
	}
	hooks = session_hooks;
	hooks.read = read_text;
	hooks.read_maps = read_maps;
	hooks.give_up = give_up;
	hooks.running = always;
}

static void begin(bool i386, bool loaded)
{
	const struct spaces old = s.spaces;
	struct proc *p;
	uint32_t bi;

	place = places[i386];
	s = (struct session){ .opts = &opts, .data_fd = s.data_fd, .data = s.data,
			      .head = (struct rt_session *)s.data, .block_used = block_used,
			      .block_proc = block_proc, .rt_fd = { -1, -1 }, .loaded = loaded,
			      .thread = pthread_self(),
			      .out = pm_alloc(sizeof *s.out) };
	s.spaces = (struct spaces){ .hooks = &hooks, .code_fd = old.code_fd, .code = old.code,
				    .code_next = old.code_next,
				    .free_regions = old.free_regions,
				    .unmapped = 1ull << 40 };
	p = proc_new(&s, i386, &bi);
	if (!p || !(p->user.space = space_new(&s.spaces, i386)))
		abort();
	p->pid = p->thread[0].tid = (uint32_t)getpid();
	p->is_child = true;
	space_range_add(p->user.space, place[0], place[0] + TEXT, 5, false, false);
	space_range_add(p->user.space, place[1], place[1] + TEXT, 7, false, false);
}

static void end(void)
{
	for (size_t i = 0; i < s.nproc; i++) {
		struct proc *p = s.proc[i];

		if (p->loading)
			loading_release(p->loading);
		if (!p->gone)
			proc_finish(&s, p);
		pm_counts_release_process(&p->result);
		free(p->unknown_at);
	}
	if (s.spaces.all)			/* (4) */
		abort();
	for (uint32_t i = 1; i < s.block_high; i++)
		if (fallocate(s.data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)(i * RT_BLOCK_SIZE), (off_t)RT_BLOCK_SIZE))
			abort();
	memset(block_used, 0, sizeof block_used);
	memset(block_proc, 0, sizeof block_proc);
	for (size_t i = 0; i < s.nproc; i++)
		free(s.proc[i]);
	free(s.proc);
	pm_buf_release(&s.unused_procs);
	x86_decoder_free(s.dec[0]);
	x86_decoder_free(s.dec[1]);
	for (size_t i = 0; i < s.nslots; i++)
		pm_map_release(&s.slots[i].to);
	free(s.slots);
	gather_release(&s);
	pm_counts_free(s.out);
	for (size_t i = 0; i < s.spaces.ntext; i++) {
		munmap((void *)s.spaces.text[i].p, s.spaces.text[i].len);
		free(s.spaces.text[i].copied);
	}
	free(s.spaces.text);
	maps_release(&s.spaces.maps);
	xl_unit_release(&s.spaces.unit);
	pm_buf_release(&s.spaces.point);
	pm_arena_release(&s.spaces.mem);
}

/* Argument @i of the request at @d. */
static uint64_t argument(const uint8_t *d, unsigned i)
{
	const struct space *sp = s.proc[0]->gone ? NULL : s.proc[0]->mm->user.space;
	const uint8_t kind = d[4 + i];
	uint64_t raw = 0;

	memcpy(&raw, d + 10, 6);
	raw = raw << i | raw >> (48 - i);
	switch (kind % 12) {
	case 0: return 0;
	case 1: return place[kind / 12 % 2] + raw % TEXT;
	case 2:
		return sp && sp->nmodule
			       ? sp->module[raw % sp->nmodule].code.at + (raw >> 16) % 8192
			       : raw;
	case 3: return raw % 8192;
	case 4: return raw << 16;
	case 5: return 1;
	case 6: return (place[kind / 12 % 2] + raw % (2 * TEXT)) & ~4095ull;
	case 7: return 4096ull << raw % 24;
	case 8: return raw % 16;
	case 9: return ~0ull;
	case 10: return (uint64_t)exe_fd + 1;
	default: return raw;
	}
}

/* Who begins may say it is anybody; but nobody else's process is to be looked at here. */
static uint64_t number(uint64_t raw)
{
	const uint64_t v[] = { 0, 1, (uint64_t)getpid(), 0xffffffff, 0x7fffffff, PID_UNKNOWN,
			       PID_UNKNOWN - 1, 1u << 22 };

	return v[raw % NR(v)];
}

static void ask(const uint8_t *d)
{
	const uint32_t bi = 1 + d[0] % BLOCKS;
	struct rt_block *b = session_block(&s, bi);
	struct rt_mail *m = &b->mail;

	m->op = d[1] % (RQ_LAST + 3);
	m->failed = d[2] & 3;
	m->ncmd = d[3];
	for (unsigned i = 0; i < NR(m->a); i++)
		m->a[i] = argument(d, i);
	if (m->op == RQ_HELLO) {
		m->a[0] = number(m->a[0]);
		m->a[1] = number(m->a[1]);
	}
	if (d[2] & 0x80)
		b->leaving = d[3];
	if (d[2] & 0x40)
		b->state = d[3] & 3;
	if (d[2] & 0x20)			/* commands that nobody gave */
		for (unsigned i = 0; i < sizeof m->cmd; i++)
			((uint8_t *)m->cmd)[i] = d[4 + i % 12];
	m->state = MAIL_REQUEST;
	requests_answer(&s);
	session_check(&s);
	for (struct space *sp = s.spaces.all; sp; sp = sp->next_space)
		if (space_check(&s.spaces, sp))
			abort();
	if (s.block_used[bi] == BLOCK_USED && m->state == MAIL_REPLY &&
	    (m->ncmd > RT_MAX_CMDS || m->again > RT_IF_FAILED || (m->again && !m->ncmd)))
		abort();
	m->state = MAIL_IDLE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	begin(data[0] & 1, data[0] & 2);
	for (size_t at = 1, n = 0; at + REQUEST <= size && n < MOST; at += REQUEST, n++)
		ask(data + at);
	end();
	return 0;
}
