/* SPDX-License-Identifier: MIT */
/* test_journal.c - units beside a file of translations: all that is read is what was written
 *
 *   test_journal [SEED] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "alone.h"
#include "collect/cache/journal.h"

#define UNITS	12u
#define NAME	"pugmark-more-test"

static const struct journal_head head = { .magic = "pugmkMR\n", .version = JOURNAL_VERSION };
static struct spaces s;
static struct space *sp;
static struct xl_unit unit[UNITS];

static struct module *module(void)
{
	return &sp->module[0];
}

static void *some_bytes(size_t n)
{
	uint8_t *p = pm_alloc(n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)any(256);
	return p;
}

/* A unit of any bytes whose numbers are good; no two have the same entry. */
static void make_unit(struct xl_unit *u, uint32_t no)
{
	u->ncode = u->cap_code = 16 + any(200);
	u->nblock = u->cap_block = 1 + any(5);
	u->nmap = u->cap_map = any(6);
	u->nreloc = u->cap_reloc = any(4);
	u->nlink = u->cap_link = any(4);
	u->code = some_bytes(u->ncode);
	u->block = pm_alloc(u->nblock * sizeof *u->block);
	u->map = some_bytes(u->nmap * sizeof *u->map);
	u->reloc = pm_alloc(u->nreloc * sizeof *u->reloc + 1);
	u->link = pm_alloc(u->nlink * sizeof *u->link + 1);
	for (size_t i = 0; i < u->nblock; i++)
		u->block[i] = (struct xl_block){
			.pc = ALONE_LO + 64 * no + 4 * i, .size = 4, .n = 1,
			.code = (uint32_t)any(u->ncode), .indirect = XL_NONE, .prev = XL_NONE,
			.flow = { XL_OPEN, XL_OPEN } };
	for (size_t i = 0; i < u->nreloc; i++)
		u->reloc[i] = (struct xl_reloc){ .at = (uint32_t)any(u->ncode - 4),
						 .kind = XL_REL_COUNTER,
						 .addend = (uint32_t)any(u->nblock) };
	for (size_t i = 0; i < u->nlink; i++)
		u->link[i] = (struct xl_link){ .target = ALONE_LO + any(ALONE_TEXT),
					       .site = (uint32_t)any(u->ncode - 4),
					       .stub = (uint32_t)any(u->ncode) };
}

/* Bytes of unit @i in the file. */
static uint64_t bytes_of(unsigned i)
{
	const struct journal_record r = { .ncode = (uint32_t)unit[i].ncode,
					  .nblock = (uint32_t)unit[i].nblock,
					  .nmap = (uint32_t)unit[i].nmap,
					  .nreloc = (uint32_t)unit[i].nreloc,
					  .nlink = (uint32_t)unit[i].nlink };

	return sizeof r + journal_bytes(&r);
}

static void same(const void *a, const void *b, size_t n)
{
	if (n)
		assert_memory_equal(a, b, n);
}

static bool is_there(const struct journal *a, unsigned i)
{
	struct xl_unit u = { 0 };
	int64_t distance;
	const bool got = journal_read(a, module(), 64 * i, &u, &distance);

	if (got) {
		assert_int_equal(u.ncode, unit[i].ncode);
		assert_int_equal(u.nblock, unit[i].nblock);
		assert_int_equal(u.nmap, unit[i].nmap);
		assert_int_equal(u.nreloc, unit[i].nreloc);
		assert_int_equal(u.nlink, unit[i].nlink);
		same(u.code, unit[i].code, u.ncode);
		same(u.block, unit[i].block, u.nblock * sizeof *u.block);
		same(u.map, unit[i].map, u.nmap * sizeof *u.map);
		same(u.reloc, unit[i].reloc, u.nreloc * sizeof *u.reloc);
		same(u.link, unit[i].link, u.nlink * sizeof *u.link);
		assert_int_equal(distance, module()->code.at - module()->text.lo);
	}
	xl_unit_release(&u);
	return got;
}

static struct journal *open_journal(uint64_t most)
{
	return module()->stored.journal = journal_open(&s, module(), &head, most);
}

/* All that is known of it is forgotten: the next one is another run's. */
static void close_journal(void)
{
	journal_close(&s);
	module()->stored.journal = NULL;
}

static off_t size_now(void)
{
	struct stat st;

	return fstatat(s.cache->fd, NAME, &st, 0) ? -1 : st.st_size;
}

/* A journal of @n units by one run. */
static void write_units(unsigned n)
{
	struct journal *a;

	unlinkat(s.cache->fd, NAME, 0);
	a = open_journal(1 << 20);
	for (unsigned i = 0; i < n; i++)
		journal_note(&s, a, module(), &unit[i]);
	assert_true(journal_flush(&s, a));
	close_journal();
}

static uint8_t *read_whole(size_t *n)
{
	const int fd = openat(s.cache->fd, NAME, O_RDONLY);
	uint8_t *p;

	*n = (size_t)size_now();
	p = pm_alloc(*n);
	assert_int_equal(read(fd, p, *n), *n);
	close(fd);
	return p;
}

static void write_whole(const void *p, size_t n)
{
	int fd;

	unlinkat(s.cache->fd, NAME, 0);
	fd = openat(s.cache->fd, NAME, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

/* How many units can be read, which have to be the first ones. */
static unsigned units_readable(void)
{
	struct journal *a = open_journal(1 << 20);
	unsigned n = 0, all = 0;

	while (n < UNITS && is_there(a, n))
		n++;
	for (unsigned i = 0; i < UNITS; i++)
		all += is_there(a, i);
	assert_int_equal(all, n);
	close_journal();
	return n;
}

static int set_up(void **state)
{
	(void)state;
	alone_make_directory();
	alone_open(&s);
	alone_open_cache(&s, 1 << 30);
	sp = space_new(&s, false);
	alone_module(sp, ALONE_LO, 0x20000000);
	strcpy(module()->stored.key, "pugmark-code-test");
	module()->stored.needed = pm_alloc(shadow_bits(module()));
	for (unsigned i = 0; i < UNITS; i++)
		make_unit(&unit[i], i);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UNITS; i++)
		xl_unit_release(&unit[i]);
	free(module()->stored.needed);
	module()->stored.needed = NULL;			/* not to be saved */
	space_unref(&s, sp);
	alone_close(&s);
	alone_remove_directory();
	return 0;
}

static void read_as_written(void **state)
{
	struct journal *a;
	size_t i = 0, n = 0;
	uint32_t pc;

	(void)state;
	for (unsigned k = 0; k <= UNITS; k++) {
		write_units(k);
		assert_int_equal(units_readable(), k);
	}
	a = open_journal(1 << 20);
	while (journal_next(a, &i, &pc)) {
		assert_true(pc % 64 == 0 && pc / 64 < UNITS);
		n++;
	}
	assert_int_equal(n, UNITS);
	close_journal();
}

/* (1) of journal.h: what there is of a file that was cut is good up to the cut. */
static void cut_anywhere(void **state)
{
	uint8_t *p;
	size_t n;

	(void)state;
	write_units(UNITS);
	p = read_whole(&n);
	for (size_t cut = 0; cut <= n; cut++) {
		uint64_t end = sizeof head;
		unsigned whole = 0;

		while (whole < UNITS && cut >= end + bytes_of(whole))
			end += bytes_of(whole++);
		write_whole(p, cut);
		assert_int_equal(units_readable(), whole);
	}
	free(p);
}

/* (3) of journal.h: nothing behind a record that is damaged is found, nor that one; where its
 * beginning is good, those behind it are. The next run that adds something replaces what is no
 * good. */
static void damaged_anywhere(void **state)
{
	uint8_t *p;
	size_t n;

	(void)state;
	write_units(UNITS);
	p = read_whole(&n);
	for (unsigned round = 0; round < 400; round++) {
		const size_t at = any(n);
		uint64_t begin = sizeof head;
		unsigned hit = 0, found = 0;
		struct journal *a;
		bool in_record;

		while (at >= sizeof head && at >= begin + bytes_of(hit))
			begin += bytes_of(hit++);
		in_record = at < begin + sizeof(struct journal_record);
		p[at] ^= (uint8_t)(1 << any(8));
		write_whole(p, n);
		a = open_journal(1 << 20);
		for (unsigned i = 0; i < UNITS; i++)
			found += is_there(a, i);
		if (at < sizeof head) {
			assert_int_equal(found, 0);
		} else if (in_record && at - begin >= sizeof(uint64_t)) {	/* not `sum` */
			assert_int_equal(found, hit);
		} else {
			assert_false(is_there(a, hit));
			assert_int_equal(found, UNITS - 1);
		}
		close_journal();
		memcpy(p, &head, sizeof head);
		if (at >= sizeof head) {
			write_units(UNITS);
			free(p);
			p = read_whole(&n);
		}
	}
	free(p);
}

static void replaced_if_no_good(void **state)
{
	struct journal *a;
	uint8_t *p;
	size_t n;

	(void)state;
	write_units(UNITS / 2);
	p = read_whole(&n);
	write_whole(p, n - 1);
	a = open_journal(1 << 20);
	for (unsigned i = UNITS / 2 - 1; i < UNITS; i++)
		journal_note(&s, a, module(), &unit[i]);
	assert_true(journal_flush(&s, a));
	close_journal();
	assert_int_equal(units_readable(), UNITS);
	free(p);
}

/* (1) of journal.h: two processes add every other unit, one at a time. */
static void two_writers(void **state)
{
	pid_t child;
	int status;

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct journal *a;

		unlinkat(s.cache->fd, NAME, 0);
		child = fork();
		a = open_journal(1 << 20);
		for (unsigned i = child ? 0 : 1; i < UNITS; i += 2) {
			journal_note(&s, a, module(), &unit[i]);
			if (!journal_flush(&s, a) && !child)
				_exit(1);
		}
		if (!child)
			_exit(0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		close_journal();
		assert_int_equal(units_readable(), UNITS);
	}
}

/* It never becomes larger than it may, and says so: then the whole file is written. */
static void has_a_limit(void **state)
{
	(void)state;
	for (uint64_t most = sizeof head; most < 8192; most += 1 + any(500)) {
		struct journal *a;
		unsigned fit = 0;
		uint64_t bytes = sizeof head;

		unlinkat(s.cache->fd, NAME, 0);
		a = open_journal(most);
		for (unsigned i = 0; i < UNITS; i++)
			journal_note(&s, a, module(), &unit[i]);
		if (journal_flush(&s, a))
			fit = UNITS;
		close_journal();
		/* what it begins with and the last record's own bytes are not counted */
		assert_true(size_now() <=
			    (off_t)(most + sizeof head + sizeof(struct journal_record)));
		for (unsigned i = 0; i < UNITS; i++)
			bytes += bytes_of(i);
		if (fit != UNITS)
			assert_true(bytes > most);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A process that is stopped while it has the lock. */
static pid_t stopped_holder(void)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		const int fd = openat(s.cache->fd, NAME, O_RDWR);

		if (flock(fd, LOCK_EX))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

/* (1) of journal.h: nobody waits for long, nothing is lost of what is there, and once it is over
 * all is as before. */
static void stopped_while_it_writes(void **state)
{
	struct journal *a;
	pid_t holder;
	double begun;
	int status;

	(void)state;
	write_units(UNITS / 2);
	holder = stopped_holder();
	alarm(20);
	begun = seconds();
	a = open_journal(1 << 20);
	for (unsigned i = UNITS / 2; i < UNITS; i++) {
		journal_note(&s, a, module(), &unit[i]);
		assert_false(journal_flush(&s, a));
	}
	close_journal();
	/* one wait of 100 ms, and what a machine that is busy adds */
	assert_true(seconds() - begun < 5);
	alarm(0);
	assert_int_equal(units_readable(), UNITS / 2);
	kill(holder, SIGKILL);
	kill(holder, SIGCONT);
	assert_int_equal(waitpid(holder, &status, 0), holder);
	a = open_journal(1 << 20);
	for (unsigned i = UNITS / 2; i < UNITS; i++)
		journal_note(&s, a, module(), &unit[i]);
	assert_true(journal_flush(&s, a));
	close_journal();
	assert_int_equal(units_readable(), UNITS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_as_written),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(replaced_if_no_good),
		cmocka_unit_test(two_writers),
		cmocka_unit_test(has_a_limit),
		cmocka_unit_test(stopped_while_it_writes),
	};

	alone_seed(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
