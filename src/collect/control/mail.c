/* SPDX-License-Identifier: MIT */
/* mail.c - between mailboxes, which the program can write to at any time, and memory of our own */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "collect/control/session.h"

uint32_t mail_get(const struct rt_block *b, struct rt_mail *m, struct rt_cmd undone[RT_MAX_CMDS])
{
	const struct rt_mail *from = &b->mail;
	uint32_t asked = __atomic_load_n(&from->ncmd, __ATOMIC_RELAXED), n = 0;

	m->op = __atomic_load_n(&from->op, __ATOMIC_RELAXED);
	m->failed = __atomic_load_n(&from->failed, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < NR(m->a); i++)
		m->a[i] = __atomic_load_n(&from->a[i], __ATOMIC_RELAXED);
	memset(m->r, 0, sizeof m->r);
	m->ncmd = m->again = 0;
	if (asked > RT_MAX_CMDS)
		asked = RT_MAX_CMDS;
	if (m->failed && m->failed <= asked) {
		n = asked - (m->failed - 1);
		memcpy(undone, &from->cmd[m->failed - 1], n * sizeof *undone);
	}
	/* nothing of it is read again, whatever the compiler would like */
	__asm__ volatile("" : : : "memory");
	return n;
}

void mail_put(struct rt_block *b, const struct rt_mail *m, size_t payload)
{
	struct rt_mail *to = &b->mail;

	assert(m->ncmd <= RT_MAX_CMDS && payload <= sizeof to->cmd);
	assert(!m->ncmd || !payload);						/* (6) */
	memcpy(to->r, m->r, sizeof to->r);
	memcpy(to->cmd, m->cmd, m->ncmd ? m->ncmd * sizeof *m->cmd : payload);
	to->ncmd = m->ncmd;
	to->again = m->again;
	to->told = 0;
}

void mail_reply(struct rt_block *b)
{
	__atomic_store_n(&b->mail.state, MAIL_REPLY, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&b->mail.sleeping, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &b->mail.state, FUTEX_WAKE, 1);
}

void mail_release(struct session *s, struct proc *p)
{
	const uint32_t busy = p->mm->user.space->busy;
	struct rt_mail *m = busy ? &session_block(s, busy)->mail : NULL;

	if (m && s->block_proc[busy] && s->proc[s->block_proc[busy] - 1]->mm == p->mm &&
	    __atomic_exchange_n(&m->told, 0, __ATOMIC_SEQ_CST))
		space_release(&s->spaces, &p->mm->user, busy);
}
