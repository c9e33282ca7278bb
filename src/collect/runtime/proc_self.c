/* SPDX-License-Identifier: MIT */
/* proc_self.c - what the program reads about itself in /proc: its mappings, without
 * ours, its file, the state of its signals as it has made it, and its auxiliary vector */
#include <elf.h>

#include "rt.h"

static int equal(const char *a, const char *s)
{
	while (*a && *a == *s)
		a++, s++;
	return *a == *s;
}

static int begins(const char *a, const char *s)
{
	while (*s && *a == *s)
		a++, s++;
	return !*s;
}

static u32 decimal(const char **p)
{
	u32 v = 0;

	while (**p >= '0' && **p <= '9')
		v = v * 10 + (u32)(*(*p)++ - '0');
	return v;
}

/* Whose file @what in /proc is @path? Only that of the calling thread, or of its process. "exe" is
 * nobody's where it does not have to be hidden what that is. The mappings and the program of
 * another thread of the process are the process's. */
static enum file_owner { NOBODY, PROCESS, THREAD } owner_of(struct rt_block *b, u64 path,
							    const char *what)
{
	char name[64];
	const char *p = name;
	u32 tid;

	if (*what == 'e' && !*rt_exe)
		return NOBODY;
	for (u64 i = 0; i < sizeof name; i++) {
		if (rt_get(name + i, path + i, 1))
			return NOBODY;
		if (!name[i])
			break;
		if (i == sizeof name - 1)
			return NOBODY;
	}
	if (!begins(p, "/proc/"))
		return NOBODY;
	p += 6;
	if (begins(p, "thread-self/"))
		return equal(p + 12, what) ? THREAD : NOBODY;
	if (begins(p, "self/"))
		p += 5;
	else if (decimal(&p) != b->pid || *p++ != '/')
		return NOBODY;
	if (!begins(p, "task/"))
		return equal(p, what) ? PROCESS : NOBODY;
	p += 5;
	tid = decimal(&p);
	if (*p++ != '/' || !equal(p, what))
		return NOBODY;
	if (tid == b->tid)
		return THREAD;
	return *what != 's' && !rt_sys(NR_access, (word)path, 0) ? PROCESS : NOBODY;
}

int rt_is_own_file(struct rt_block *b, u64 path, const char *what)
{
	return owner_of(b, path, what) != NOBODY;
}

static u64 hex(const char **p)
{
	u64 v = 0;

	for (;; ++*p) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v * 16 + (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (u64)(c - 'a' + 10);
		else
			return v;
	}
}

static u64 put_hex(char *to, u64 v)
{
	u32 digits = 8;
	u64 n = 0;

	while (digits < 16 && v >> (4 * digits))
		digits++;
	while (digits--)
		to[n++] = "0123456789abcdef"[v >> (4 * digits) & 15];
	return n;
}

/* The protection that the program has asked for at @at, 0: what the kernel says; up to where? */
static u64 prot_at(u64 at, u32 *prot)
{
	u64 end = ~0ull;

	*prot = 0;
	for (u32 i = 0; i < rt_nranges; i++) {
		const struct rt_range *r = &rt_ranges[i];

		if (r->lo <= at && at < r->hi) {
			*prot = r->prot;
			return r->hi;
		}
		if (r->lo > at && r->lo < end)
			end = r->lo;
	}
	return end;
}

static int hides_vdso(void)
{
#ifdef RT_IDT
	return 0;
#else
	return !!RT_SESSION->no_vdso;
#endif
}

/* Is the end of a line from @rest to @end about what programs are not to find? */
static int is_hidden(const char *rest, const char *end)
{
	const char *name = end;

	while (name > rest && name[-1] != ' ')
		name--;
	return hides_vdso() && (begins(name, "[vdso]") || begins(name, "[vvar"));
}

/* One line of the kernel's, without what is ours, and with the protections that the program has
 * asked for: the kernel may have merged text, which it sees as not executable,
 * with its neighbours. */
static void put_maps_line(int out, const char *line, u64 n)
{
	const char *p = line, *rest;
	u64 lo = hex(&p), hi = (p++, hex(&p)), off, at, end;
	const char *perms = p + 1;
	char head[80];
	int file = 0;

	p += 6;
	off = hex(&p);
	rest = p;
	while (*p == ' ' || *p == ':' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'))
		file |= *p != ' ' && *p != ':' && *p != '0', p++;	/* device and inode */
	if (rt_is_ours(lo, hi - lo) || is_hidden(rest, line + n))
		return;
	for (const char *q = rest; q + 14 < line + n; q++)	/* "/memfd:pugmark-...",
								 * ".../pugmark-code-..." */
		if (q[0] == '/' && (begins(q + 1, "memfd:pugmark-") ||
				    begins(q + 1, "pugmark-code-")))
			return;
	for (at = lo; at < hi; at = end) {
		u64 k = 0;
		u32 prot = 0;

		end = prot_at(at, &prot);
		if (end > hi)
			end = hi;
		for (u32 next; end < hi; ) {	/* what the kernel would have merged */
			u64 behind = prot_at(end, &next);

			if (next != prot)
				break;
			end = behind < hi ? behind : hi;
		}
		k += put_hex(head + k, at);
		head[k++] = '-';
		k += put_hex(head + k, end);
		head[k++] = ' ';
		head[k++] = prot ? (prot & PROT_READ ? 'r' : '-') : perms[0];
		head[k++] = prot ? (prot & PROT_WRITE ? 'w' : '-') : perms[1];
		head[k++] = prot ? 'x' : perms[2];
		head[k++] = perms[3];
		head[k++] = ' ';
		k += put_hex(head + k, file ? off + (at - lo) : 0);
		rt_sys(NR_write, out, head, k);
		rt_sys(NR_write, out, rest, line + n - rest);
	}
}

/* The program's own view of its mappings, into file @out. */
static int write_maps(int out)
{
	static const char path[] = "/proc/self/maps";
	char buf[2048];
	u64 n = 0;
	long in = rt_sys(NR_open, path, 02000000, 0), r;

	if (in < 0)
		return (int)in;
	while ((r = rt_sys(NR_read, in, buf + n, sizeof buf - n)) > 0) {
		u64 start = 0;

		n += (u64)r;
		for (u64 i = 0; i < n; i++)
			if (buf[i] == '\n') {
				put_maps_line(out, buf + start, i + 1 - start);
				start = i + 1;
			}
		if (!start && n == sizeof buf)		/* a line longer than the buffer */
			start = n;
		rt_memcpy(buf, buf + start, n - start);
		n -= start;
	}
	rt_sys(NR_close, in);
	rt_sys(NR_lseek, out, 0, 0);
	return 0;
}

static void set_hex16(char *to, u64 v)
{
	for (u32 i = 0; i < 16; i++)
		to[i] = "0123456789abcdef"[v >> (60 - 4 * i) & 15];
}

/* The signals for which the kernel has our handler are what the program has said of them. @own: the
 * file is that of @b's thread. */
static void put_signals(const struct rt_block *b, char *text, u64 n, int own)
{
	const struct rt_sighand *h = PTR(b->sighand);
	u64 ignored = 0, caught = 0;

	for (u32 s = 1; s < 65; s++)
		if (h->ours & SIG_BIT(s)) {
			ignored |= h->act[s].handler == 1 ? SIG_BIT(s) : 0;
			caught |= h->act[s].handler > 1 ? SIG_BIT(s) : 0;
		}
	for (char *p = text; p + 24 <= text + n; p++) {
		const char *value = p + 8;

		if (p > text && p[-1] != '\n')
			continue;
		if (begins(p, "SigBlk:\t") && own)
			set_hex16(p + 8, b->app_mask);
		else if (begins(p, "SigIgn:\t"))
			set_hex16(p + 8, (hex(&value) & ~h->ours) | ignored);
		else if (begins(p, "SigCgt:\t"))
			set_hex16(p + 8, (hex(&value) & ~h->ours) | caught);
	}
}

/* What waits is pending while the kernel writes the file. */
static int write_status(struct rt_block *b, int out, int of_thread)
{
	char buf[8192];
	u64 n = 0;
	long in, r;

	in = rt_sys(NR_open, of_thread ? "/proc/thread-self/status" : "/proc/self/status", 02000000,
		    0);
	if (in < 0)
		return (int)in;
	rt_call_begin(b);
	while (n < sizeof buf && (r = rt_sys(NR_read, in, buf + n, sizeof buf - n)) > 0)
		n += (u64)r;
	rt_call_end(b);
	rt_sys(NR_close, in);
	put_signals(b, buf, n, of_thread || b->pid == b->tid);
	rt_sys(NR_write, out, buf, n);
	rt_sys(NR_lseek, out, 0, 0);
	return 0;
}

/* What the kernel has kept of the auxiliary vector when the program began: without the vDSO's
 * address, as on the stack. */
static int write_auxv(int out)
{
	word pair[2];
	const long in = rt_sys(NR_open, "/proc/self/auxv", 02000000, 0);

	if (in < 0)
		return (int)in;
	while (rt_sys(NR_read, in, pair, sizeof pair) == sizeof pair) {
		if (pair[0] == AT_SYSINFO || pair[0] == AT_SYSINFO_EHDR)
			pair[0] = AT_IGNORE;
		rt_sys(NR_write, out, pair, sizeof pair);
	}
	rt_sys(NR_close, in);
	rt_sys(NR_lseek, out, 0, 0);
	return 0;
}

static int write_file(struct rt_block *b, int out, enum rt_own_file what)
{
	switch (what) {
	case RT_OWN_MAPS:
		return write_maps(out);
	case RT_OWN_AUXV:
		return write_auxv(out);
	default:
		return write_status(b, out, what == RT_OWN_THREAD);
	}
}

/* As the kernel's, the file says what is so when it is read from its beginning; what may be one
 * of these files is remembered by its number, and known by its name. */
static struct {
	int fd;				/* + 1 */
	enum rt_own_file what;
} own_files[16];
static const char own_name[] = "pugmark-proc";

int rt_open_own_file(struct rt_block *b, enum rt_own_file what, u64 flags)
{
	int out = (int)rt_sys(NR_memfd_create, own_name, flags & 02000000 ? 1 : 0), r;

	if (out < 0)
		return out;
	r = write_file(b, out, what);
	if (r < 0) {
		rt_sys(NR_close, out);
		return r;
	}
	for (u32 i = 0; i < NR_OF(own_files); i++)
		if (!own_files[i].fd || own_files[i].fd == out + 1 || i == NR_OF(own_files) - 1) {
			own_files[i].fd = out + 1;
			own_files[i].what = what;
			break;
		}
	return out;
}

enum rt_own_file rt_which_own_file(struct rt_block *b, u64 path)
{
	if (rt_is_own_file(b, path, "maps"))
		return RT_OWN_MAPS;
	if (hides_vdso() && rt_is_own_file(b, path, "auxv"))
		return RT_OWN_AUXV;
	switch (owner_of(b, path, "status")) {
	case THREAD:
		return RT_OWN_THREAD;
	case PROCESS:
		return RT_OWN_STATUS;
	default:
		return RT_OWN_NONE;
	}
}

void rt_refresh_own_file(struct rt_block *b, int fd)
{
	static const char prefix[] = "/memfd:";
	char path[32], name[sizeof prefix + sizeof own_name];
	u32 i = 0, n;

	while (i < NR_OF(own_files) && own_files[i].fd != fd + 1)
		i++;
	if (i == NR_OF(own_files))
		return;
	n = rt_write_text(path, "/proc/self/fd/");
	n += rt_write_decimal(path + n, (u32)fd);
	path[n] = 0;
	n = (u32)rt_sys(NR_readlink, path, name, sizeof name - 1);
	name[sizeof prefix + sizeof own_name - 2] = 0;
	if (n != sizeof name - 1 || !equal(name + sizeof prefix - 1, own_name)) {
		own_files[i].fd = 0;			/* somebody else has the number now */
		return;
	}
	if (rt_sys(NR_lseek, fd, 0, 1) == 0) {
		rt_sys(NR_ftruncate, fd, 0);
		write_file(b, fd, own_files[i].what);
	}
}

/* readlink() of /proc/self/exe */
long rt_copy_exe(word to, u64 size)
{
	const char *exe = rt_exe;
	u64 n = 0;

	while (n < size && exe[n])
		n++;
	return !size ? -EINVAL : rt_put(to, exe, n) ? -EFAULT : (long)n;
}
