/* SPDX-License-Identifier: MIT */
/* oracle/i486_slow.h - the rules of src/analyse/i486.h with a bus that is stepped cycle by cycle */
#ifndef ORACLE_I486_H
#define ORACLE_I486_H

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/i486.h"
#include "stack_slow.h"

struct o_i486 {
	struct pm_i486_conf c;
	struct pm_i486_stats st;
	struct o_lru *set;
	uint64_t now;
	unsigned busy, waiting;		/* cycles the bus is taken; writes waiting for it */
	bool writing;			/* the bus does a write */
	uint64_t line[8], arrives[8];	/* prefetch buffer */
	unsigned n, own;
	bool open;
};

static void o_tick(struct o_i486 *m)
{
	if (!m->busy && m->waiting) {
		m->waiting--;
		m->writing = true;
		m->busy = 2;
	}
	if (m->busy && --m->busy == 0)
		m->writing = false;
	m->now++;
}

static bool o_there(struct o_i486 *m, uint64_t line)
{
	struct o_lru *s = m->set + line % (m->c.size / m->c.line / m->c.ways);

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == line)
			return true;
	return false;
}

static void o_use(struct o_i486 *m, uint64_t line)
{
	o_lru_touch(m->set + line % (m->c.size / m->c.line / m->c.ways), line, m->c.ways);
}

static void o_refill(struct o_i486 *m)
{
	uint64_t from = m->now;

	while (m->busy) {		/* what is on the bus goes first, what waits does not */
		m->now++;
		if (--m->busy == 0)
			m->writing = false;
	}
	m->now += 2 + (m->c.line > 4 ? m->c.line / 4 - 1 : 0);
	m->st.stall += m->now - from;
}

static void o_i486_end_insn(struct o_i486 *m)
{
	unsigned cap = m->c.line < 16 ? 32 / m->c.line : 2;
	unsigned fill = 2 + (m->c.line > 4 ? m->c.line / 4 - 1 : 0), own = 0, idle = 0;
	uint64_t next;

	if (!m->open)
		return;
	m->open = false;
	while (m->own) {
		idle += !m->busy && !m->waiting && !m->writing;
		o_tick(m);
		m->own--;
		own++;
	}
	if (m->n == cap || own < fill)
		return;
	next = m->line[m->n - 1] + 1;
	if (o_there(m, next)) {
		o_use(m, next);
	} else if (idle >= fill) {
		o_use(m, next);
		m->st.memory_prefetches++;
	} else {
		return;
	}
	m->arrives[m->n] = m->now;
	m->line[m->n++] = next;
	m->st.prefetches++;
}

static void o_i486_insn(struct o_i486 *m, uint64_t pc, unsigned len, unsigned cycles)
{
	o_i486_end_insn(m);
	if (m->c.flush && m->st.instructions && m->st.instructions % m->c.flush == 0)
		for (uint64_t s = 0; s < m->c.size / m->c.line / m->c.ways; s++)
			m->set[s].n = 0;
	m->st.instructions++;
	for (uint64_t a = pc / m->c.line; a <= (pc + (len ? len : 1) - 1) / m->c.line; a++) {
		unsigned i = 0;

		while (i < m->n && m->line[i] != a)
			i++;
		if (i < m->n) {
			memmove(m->line, m->line + i, (m->n - i) * sizeof *m->line);
			memmove(m->arrives, m->arrives + i, (m->n - i) * sizeof *m->arrives);
			m->n -= i;
			while (m->now < m->arrives[0]) {
				o_tick(m);
				m->st.stall++;
			}
			continue;
		}
		if (!o_there(m, a)) {
			m->st.instr_misses++;
			o_refill(m);
		}
		o_use(m, a);
		m->line[0] = a;
		m->arrives[0] = m->now;
		m->n = 1;
	}
	m->own = cycles;
	m->open = true;
}

static void o_i486_read(struct o_i486 *m, uint64_t addr, unsigned size)
{
	for (uint64_t a = addr / m->c.line; a <= (addr + size - 1) / m->c.line; a++) {
		m->st.reads++;
		if (!o_there(m, a)) {
			m->st.read_misses++;
			o_refill(m);
		}
		o_use(m, a);
	}
}

static void o_i486_write(struct o_i486 *m, uint64_t addr, unsigned size)
{
	for (uint64_t a = addr / m->c.line; a <= (addr + size - 1) / m->c.line; a++)
		if (o_there(m, a))
			o_use(m, a);
	for (uint64_t w = addr / 4; w <= (addr + size - 1) / 4; w++) {
		m->st.writes++;
		if (m->waiting + m->writing == m->c.wbuf) {
			m->st.full++;
			while (m->waiting + m->writing == m->c.wbuf) {
				o_tick(m);
				m->st.stall++;
			}
		}
		m->waiting++;
	}
}

#endif
