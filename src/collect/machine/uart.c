/* SPDX-License-Identifier: MIT */
/* uart.c - a 16550A as far as software can tell without a clock: it transmits at once */
#include <unistd.h>
#include <poll.h>

#include "collect/machine/machine.h"

#define INPUT_GAP	4000		/* cycles between two bytes of scripted input */
#define POLL_GAP	200000		/* ... between two looks at a terminal */

enum { IER_RDI = 1, IER_THRI = 2 };

static void lines(struct machine *m)
{
	const struct uart *u = &m->uart;
	bool up = (u->ready && u->ier & IER_RDI) || (u->thre_pending && u->ier & IER_THRI);

	if (up != !!(m->cpu->ip & 0x100u << UART_IRQ))
		machine_line(m, UART_IRQ, up);
}

/* The next byte of scripted input comes when the guest listens for it. */
static void schedule(struct machine *m)
{
	struct uart *u = &m->uart;

	u->rx_at = NEVER;
	if (u->ready || !(u->ier & IER_RDI))
		return;
	if (u->in_pos < m->ninput)
		u->rx_at = machine_cycle(m) + INPUT_GAP;
	else if (m->input_fd >= 0)
		u->rx_at = machine_cycle(m) + POLL_GAP;
	m->cpu->attn = true;
}

void uart_poll(struct machine *m)
{
	struct uart *u = &m->uart;
	struct pollfd p = { .fd = m->input_fd, .events = POLLIN };

	if (machine_cycle(m) < u->rx_at)
		return;
	u->rx_at = NEVER;
	if (u->ready || !(u->ier & IER_RDI))
		return;
	if (u->in_pos < m->ninput) {
		u->rbr = m->input[u->in_pos++];
		u->ready = true;
	} else if (m->input_fd >= 0 && poll(&p, 1, 0) == 1) {
		ssize_t n = read(m->input_fd, &u->rbr, 1);

		if (n == 1)
			u->ready = true;
		else
			m->input_fd = -1;
	}
	lines(m);
	if (!u->ready)
		schedule(m);
}

uint32_t uart_read(struct machine *m, unsigned reg)
{
	struct uart *u = &m->uart;
	uint8_t v = 0;

	switch (reg) {
	case 0:
		if (u->lcr & 0x80)
			return u->dll;
		v = u->ready ? u->rbr : 0;
		u->ready = false;
		lines(m);
		schedule(m);
		return v;
	case 1:
		return u->lcr & 0x80 ? u->dlm : u->ier;
	case 2:
		if (u->ready && u->ier & IER_RDI) {
			v = 4;
		} else if (u->thre_pending && u->ier & IER_THRI) {
			v = 2;
			u->thre_pending = false;
			lines(m);
		} else {
			v = 1;
		}
		return v | (u->fcr & 1 ? 0xc0 : 0);
	case 3:
		return u->lcr;
	case 4:
		return u->mcr;
	case 5:
		return 0x60 | u->ready;
	case 6:		/* loopback ties the outputs to the inputs */
		return u->mcr & 0x10 ? (u->mcr & 3) << 4 | (u->mcr & 0xc) << 4 : 0xb0;
	case 7:
		return u->scr;
	}
	return 0;
}

void uart_write(struct machine *m, unsigned reg, uint32_t w)
{
	struct uart *u = &m->uart;
	uint8_t v = (uint8_t)w;

	switch (reg) {
	case 0:
		if (u->lcr & 0x80) {
			u->dll = v;
			break;
		}
		if (u->mcr & 0x10) {		/* loopback */
			u->rbr = v;
			u->ready = true;
		} else {
			if (m->console) {
				fputc(v, m->console);
				if (v == '\n')
					fflush(m->console);
			}
			if (m->keep_output)
				pm_buf_add(&m->out, &v, 1);
		}
		u->thre_pending = true;
		break;
	case 1:
		if (u->lcr & 0x80) {
			u->dlm = v;
			break;
		}
		if (v & ~u->ier & IER_THRI)
			u->thre_pending = true;
		u->ier = v & 15;
		schedule(m);
		break;
	case 2:
		u->fcr = v;
		if (v & 2)
			u->ready = false;
		break;
	case 3:
		u->lcr = v;
		break;
	case 4:
		u->mcr = v & 0x1f;
		break;
	case 7:
		u->scr = v;
		break;
	}
	lines(m);
}
