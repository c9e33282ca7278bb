/* SPDX-License-Identifier: MIT */
/* gdb_server.c - gdb's remote protocol, for recordings
 *
 * A journey (travel.h) ends where the program stands; then packets are answered until one says
 * where to go. Breakpoints and watched ranges are found in traces of replays (found_spots.h).
 *
 * Where the process executes another program is a stop of its own, in both directions: in front of
 * the first instruction of the new one, or of the old one's call. gdb drops what it knows of the
 * program then, and reads that of the one which it is told: "exec:PATH". */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/query/found_spots.h"
#include "collect/query/gdb_libraries.h"
#include "collect/query/gdb_server.h"
#include "collect/query/gdb_target.h"
#include "collect/record/recording.h"

#define THREADS 512u

enum gdb_command { STEP = 's', GO_ON = 'c', BACK_STEP = 'S', BACK = 'C', OVER = 'k' };

struct gdb_server {
	struct gdb_link *link;
	struct journey j;
	struct query_kept kept;
	struct pm_err *err;
	struct points points;
	struct found_spots found;
	struct pm_position at;
	struct pm_position begin;
	struct rec_reader *r;
	uint32_t stream;		/* of the program that is executed there, */
	uint64_t pc;			/* ... at this instruction */
	enum gdb_command command;
	uint32_t general;		/* thread whose registers are wanted */
	const struct spot_mark *mark;	/* of the journey; NULL: it has none */
	char why[96];			/* of the stop: "watch:404040;" */
	bool executed;			/* ... it has come to another program, */
	bool back;			/* ... going back */
	bool told;			/* that it has stopped */
	char out[GDB_REPLY];
};

/* ---- what it is told ------------------------------------------------------------------------- */
static const struct rec_start *program_of(const struct gdb_server *s)
{
	return rec_start_of(s->r, s->stream);
}

static void tell_stop(struct gdb_server *s)
{
	const char *const program = program_of(s)->program;
	char path[2 * 4096 + 1] = "";

	if (s->executed)
		gdb_hex(path, (const uint8_t *)program, strnlen(program, sizeof path / 2));
	snprintf(s->out, sizeof s->out, "T05%s%s%sthread:%x;", s->executed ? "exec:" : s->why, path,
		 s->executed ? ";" : "", s->at.tid);
	gdb_reply(s->link, s->out);
}

static void read_registers(struct gdb_server *s, struct standing *st)
{
	size_t n = 0;

	for (unsigned i = 0; i < gdb_target_registers(st); i++)
		n += gdb_target_get(st, s->general, i, s->out + n);
	gdb_reply(s->link, s->out);
}

static void read_register(struct gdb_server *s, struct standing *st, const char *p)
{
	unsigned i;

	if (sscanf(p, "p%x", &i) != 1 || i >= gdb_target_registers(st)) {
		gdb_reply(s->link, "E01");
		return;
	}
	gdb_target_get(st, s->general, i, s->out);
	gdb_reply(s->link, s->out);
}

static void read_memory(struct gdb_server *s, struct standing *st, const char *p)
{
	unsigned long long at, n;
	uint8_t bytes[GDB_PACKET / 2];
	size_t got = 0;

	if (sscanf(p, "m%llx,%llx", &at, &n) != 2 || n > sizeof bytes / 2) {
		gdb_reply(s->link, "E01");
		return;
	}
	if (stopped_read(st, bytes, at, (size_t)n))
		got = (size_t)n;
	while (got < n && stopped_read(st, bytes + got, at + got, 1))
		got++;
	gdb_hex(s->out, bytes, got);
	gdb_reply(s->link, n && !got ? "E14" : s->out);
}

#define AUXV 256u			/* words */

/* A word of the program's memory. */
static bool read_word(struct standing *st, uint64_t at, uint64_t *to)
{
	*to = 0;
	return stopped_read(st, to, at, stopped_is_i386(st) ? 4 : 8);
}

/* The vector behind the environment, on the stack with which the program began: how many words. */
static size_t get_auxv(const struct gdb_server *s, struct standing *st, uint64_t v[AUXV])
{
	const unsigned size = stopped_is_i386(st) ? 4 : 8;
	uint64_t at = program_of(s)->sp, word;
	size_t n = 0;

	at += size;				/* argc */
	for (unsigned zeros = 0; zeros < 2; at += size) {
		if (!read_word(st, at, &word))
			break;
		zeros += !word;
	}
	while (n + 2 <= AUXV && read_word(st, at + size * n, v + n) &&
	       read_word(st, at + size * (n + 1), v + n + 1)) {
		n += 2;
		if (v[n - 2] == AT_NULL)
			break;
	}
	return n;
}

static void read_auxv(struct gdb_server *s, struct standing *st, const char *p)
{
	uint64_t v[AUXV];
	uint32_t narrow[AUXV];
	const size_t n = get_auxv(s, st, v);

	for (size_t i = 0; i < n; i++)
		narrow[i] = (uint32_t)v[i];
	if (stopped_is_i386(st))
		gdb_reply_part(s->link, p, narrow, 4 * n);
	else
		gdb_reply_part(s->link, p, v, 8 * n);
}

static void read_libraries(struct gdb_server *s, struct standing *st, const char *p)
{
	static char xml[1 << 18];
	uint64_t v[AUXV];

	gdb_reply_part(s->link, p, xml, gdb_libraries(st, v, get_auxv(s, st, v), xml, sizeof xml));
}

static void list_threads(struct gdb_server *s, struct standing *st)
{
	uint32_t tid[THREADS];
	const size_t n = stopped_threads(st, tid, THREADS);
	size_t at = (size_t)snprintf(s->out, sizeof s->out, "m");

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(s->out + at, sizeof s->out - at, i ? ",%x" : "%x", tid[i]);
	gdb_reply(s->link, s->out);
}

static bool is_thread(const struct standing *st, uint32_t wanted)
{
	uint32_t tid[THREADS];
	const size_t n = stopped_threads(st, tid, THREADS);

	for (size_t i = 0; i < n; i++)
		if (tid[i] == wanted)
			return true;
	return false;
}

/* "Hg12": registers of that thread. */
static void choose_thread(struct gdb_server *s, const struct standing *st, const char *p)
{
	unsigned tid = 0;

	if (p[1] == 'g' && p[2] != '-' && sscanf(p + 2, "%x", &tid) == 1) {
		if (tid && !is_thread(st, tid)) {
			gdb_reply(s->link, "E01");
			return;
		}
		s->general = tid ? tid : s->at.tid;
	}
	gdb_reply(s->link, "OK");
}

/* Z sets, z takes away: a breakpoint (0, 1), or a range of which stores (2), loads (3), or both (4)
 * are watched. */
static void set_point(struct gdb_server *s, const char *p)
{
	struct points *const v = &s->points;
	static const unsigned accesses[] = { 0, 0, SPOT_STORES, SPOT_LOADS,
					     SPOT_STORES | SPOT_LOADS };
	unsigned long long at, size;
	unsigned kind, access;
	bool ok = true;

	if (sscanf(p + 1, "%u,%llx,%llx", &kind, &at, &size) != 3 || kind >= NR(accesses)) {
		gdb_reply(s->link, "");
		return;
	}
	access = accesses[kind];
	for (size_t i = 0; !access && i < v->npc; i++)
		if (v->pc[i] == at)
			v->pc[i--] = v->pc[--v->npc];
	for (size_t i = 0; access && i < v->nrange; i++)
		if (v->range[i].lo == at && v->range[i].hi == at + size &&
		    v->range[i].access == access)
			v->range[i--] = v->range[--v->nrange];
	if (*p == 'Z') {
		ok = (access ? v->nrange : v->npc) < FOUND_POINTS;
		if (ok && access)
			v->range[v->nrange++] = (struct spot_range){ at, at + size, access };
		else if (ok)
			v->pc[v->npc++] = at;
	}
	gdb_reply(s->link, ok ? "OK" : "E0c");
}

static void read_program(struct gdb_server *s, const char *p)
{
	const char *const program = program_of(s)->program, *const part = strchr(p, ':');

	gdb_reply_part(s->link, part ? part + 1 : p, program, strlen(program));
}

static void tell_features(struct gdb_server *s, const char *p)
{
	s->points.execs = strstr(p, "exec-events+");
	snprintf(s->out, sizeof s->out, "PacketSize=1000;QStartNoAckMode+;qXfer:features:read+;"
		 "qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:libraries-svr4:read+;ReverseStep+;"
		 "ReverseContinue+;swbreak+;hwbreak+%s", s->points.execs ? ";exec-events+" : "");
	gdb_reply(s->link, s->out);
}

static void answer_query(struct gdb_server *s, struct standing *st, const char *p)
{
	static char xml[16384];
	static const struct { const char *what; char kind; } objects[] = {
		{ "qXfer:features:read:target.xml:", 'f' }, { "qXfer:auxv:read::", 'a' },
		{ "qXfer:exec-file:read:", 'e' }, { "qXfer:libraries-svr4:read::", 'l' },
	};

	for (size_t i = 0; i < NR(objects); i++) {
		const char *part = p + strlen(objects[i].what);

		if (strncmp(p, objects[i].what, strlen(objects[i].what)))
			continue;
		if (objects[i].kind == 'f')
			gdb_reply_part(s->link, part, xml,
				       gdb_target_describe(st, xml, sizeof xml));
		else if (objects[i].kind == 'a')
			read_auxv(s, st, part);
		else if (objects[i].kind == 'l')
			read_libraries(s, st, part);
		else
			read_program(s, part);
		return;
	}
	if (!strncmp(p, "qSupported", 10)) {
		tell_features(s, p);
	} else if (!strcmp(p, "qAttached")) {
		gdb_reply(s->link, "1");
	} else if (!strcmp(p, "qC")) {
		snprintf(s->out, sizeof s->out, "QC%x", s->at.tid);
		gdb_reply(s->link, s->out);
	} else if (!strcmp(p, "qfThreadInfo")) {
		list_threads(s, st);
	} else if (!strcmp(p, "qsThreadInfo")) {
		gdb_reply(s->link, "l");
	} else {
		gdb_reply(s->link, "");
	}
}

/* ---- what it says ---------------------------------------------------------------------------- */
/* True: it has said where to go. */
static bool obey(struct gdb_server *s, struct standing *st, const char *p)
{
	unsigned tid;

	switch (*p) {
	case 3:					/* it stands already */
		return false;
	case 's':
	case 'c':
		s->command = *p == 's' ? STEP : GO_ON;
		return true;
	case 'b':
		s->command = p[1] == 's' ? BACK_STEP : BACK;
		return true;
	case 'k':
		s->command = OVER;
		return true;
	case 'D':
		gdb_reply(s->link, "OK");
		s->command = OVER;
		return true;
	case '?': tell_stop(s); break;
	case 'g': read_registers(s, st); break;
	case 'p': read_register(s, st, p); break;
	case 'm': read_memory(s, st, p); break;
	case 'H': choose_thread(s, st, p); break;
	case 'Z':
	case 'z':
		set_point(s, p);
		break;
	case 'T':
		gdb_reply(s->link, sscanf(p, "T%x", &tid) == 1 && is_thread(st, tid) ? "OK" :
			  "E01");
		break;
	case 'G': case 'P': case 'M': case 'X':
		gdb_reply(s->link, "E01");		/* it is recorded, and stays as it is */
		break;
	case 'q': answer_query(s, st, p); break;
	default:
		if (strcmp(p, "QStartNoAckMode")) {
			gdb_reply(s->link, "");
			break;
		}
		gdb_reply(s->link, "OK");
		s->link->no_ack = true;
	}
	return false;
}

static void say_why(struct gdb_server *s, const struct spot_mark *m)
{
	static const char *const names[] = { "", "watch", "rwatch", "awatch" };
	const struct points *v = &s->points;

	snprintf(s->why, sizeof s->why, "swbreak:;");
	for (size_t i = 0; m->access && i < v->nrange; i++)
		if (v->range[i].access & m->access && v->range[i].lo <= m->address &&
		    m->address < v->range[i].hi) {
			snprintf(s->why, sizeof s->why, "%s:%llx;", names[v->range[i].access],
				 (unsigned long long)m->address);
			return;
		}
}

/* The journey has come to where it was to. */
static bool arrived(void *self, struct standing *st, size_t mark)
{
	struct gdb_server *s = self;
	struct user_regs_struct regs;

	if (s->mark && mark != TRAVEL_NO_MARK)
		say_why(s, &s->mark[mark]);
	s->at = *stopped_position(st);
	s->general = s->at.tid;
	s->executed = s->points.execs && stopped_program(st) != s->stream;
	s->back = s->command == BACK || s->command == BACK_STEP;
	s->stream = stopped_program(st);
	stopped_regs(st, &regs);
	s->pc = regs.rip;
	if (!s->told)
		tell_stop(s);
	s->told = false;
	do
		if (!gdb_receive(s->link)) {
			s->command = OVER;
			return false;
		}
	while (!obey(s, st, s->link->packet));
	s->why[0] = 0;
	return s->command == STEP;
}

/* ---- where to -------------------------------------------------------------------------------- */
/* Where breakpoints and stores are, and where threads end. False: it cannot be known. */
static bool find_spots(struct gdb_server *s)
{
#ifdef RT_LITTLE_ROOM
	query_kept_release(&s->kept);	/* there is none for two sessions */
#endif
	return found_spots_find(&s->found, s->j.recording, &s->points, s->j.o, s->err) == PM_OK ||
	       found_spots_any(&s->found);
}

/* As far as the thread comes: in front of its last instruction. */
static void to_end(struct gdb_server *s)
{
	const struct pm_position *const end = found_spots_end(&s->found, s->at.tid);
	struct pm_position to = end ? *end : s->at;

	to.insns -= to.insns > 0;
	snprintf(s->why, sizeof s->why, "replaylog:end;");
	if (!travel_to(&s->j, &to, s->err))
		s->command = OVER;
}

static void to_begin(struct gdb_server *s)
{
	snprintf(s->why, sizeof s->why, "replaylog:begin;");
	if (!travel_to(&s->j, &s->begin, s->err))
		s->command = OVER;
}

/* It has come to another program, and goes on. Where it stands may be a breakpoint: of that nobody
 * has told. False: there is none. */
static bool stays(struct gdb_server *s)
{
	const struct pm_position here = s->at;
	bool any = false;

	for (size_t i = 0; i < s->points.npc; i++)
		any |= s->points.pc[i] == s->pc;
	if (!s->executed || s->back != (s->command == BACK) || !any)
		return false;
	snprintf(s->why, sizeof s->why, "swbreak:;");
	if (!travel_to(&s->j, &here, s->err))
		s->command = OVER;
	return true;
}

/* A step, of a thread that has ended with it: into the program that it has executed for another
 * thread to begin with, if that is why. */
static void step_on(struct gdb_server *s)
{
	const struct pm_position *to;

	if (s->points.execs && !find_spots(s)) {
		s->command = OVER;
		return;
	}
	to = found_spots_executed(&s->found, &s->at);
	if (!s->points.execs || !to)
		to_end(s);
	else if (!travel_to(&s->j, to, s->err))
		s->command = OVER;
}

static void go_on(struct gdb_server *s)
{
	const struct pm_position from = s->at;
	struct spot_mark *v;
	size_t n;
	bool went;

	if (stays(s))
		return;
	if (!find_spots(s)) {
		s->command = OVER;
		return;
	}
	v = found_spots_marks(&s->found, &s->points, s->at.tid, true, &n);
	s->mark = v;
	went = travel_on(&s->j, &from, v, n, s->err);
	s->mark = NULL;
	free(v);
	if (!went)
		to_end(s);
}

static void go_back(struct gdb_server *s)
{
	struct spot_mark *v;
	size_t n, which;
	struct pm_position to;

	if (stays(s))
		return;
	if (!find_spots(s)) {
		s->command = OVER;
		return;
	}
	v = found_spots_marks(&s->found, &s->points, s->at.tid, false, &n);
	if (travel_before(&s->j, &s->at, v, n, &which, s->err)) {
		say_why(s, &v[which]);
		to = v[which].at;
		if (!travel_to(&s->j, &to, s->err))
			s->command = OVER;
	} else {
		to_begin(s);
	}
	free(v);
}

static void step_back(struct gdb_server *s)
{
	struct pm_position to;

	if (!travel_back(&s->j, &s->at, &to, s->err))
		to_begin(s);
	else if (!travel_to(&s->j, &to, s->err))
		s->command = OVER;
}

enum pm_status query_gdb(const char *recording, const struct pm_run_opts *o, struct gdb_link *link,
			 struct pm_err *err)
{
	struct gdb_server *s = pm_alloc(sizeof *s);
	enum pm_status st;

	s->link = link;
	s->err = err;
	s->j = (struct journey){ recording, o, &s->kept, s, arrived };
	s->told = true;				/* gdb asks first */
	st = rec_open(recording, &s->r, err);
	if (st == PM_OK) {
		s->begin.tid = rec_start_of(s->r, 0)->pid;
		st = travel_to(&s->j, &s->begin, err) ? PM_OK : PM_ERR;
	}
	while (st == PM_OK && s->command != OVER && !link->gone && !*err->msg) {
		switch (s->command) {
		case STEP: step_on(s); break;
		case GO_ON: go_on(s); break;
		case BACK_STEP: step_back(s); break;
		case BACK: go_back(s); break;
		case OVER: break;
		}
	}
	query_kept_release(&s->kept);
	found_spots_release(&s->found);
	rec_close(s->r);
	free(s);
	return *err->msg ? PM_ERR : st;
}
