/* SPDX-License-Identifier: MIT */
/* gdb_packet.c - packets of gdb's remote protocol */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/gdb_packet.h"

bool gdb_wait(int fd, const volatile int *interrupted)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = 0;

	/* a signal before poll() would not end it */
	while (!*interrupted && (!n || (n < 0 && errno == EINTR)))
		n = poll(&p, 1, 200);
	return !*interrupted;
}

static int byte(struct gdb_link *g)
{
	if (g->at == g->nraw) {
		ssize_t n = 0;

		if (!g->interrupted || gdb_wait(g->in, g->interrupted))
			do
				n = read(g->in, g->raw, sizeof g->raw);
			while (n < 0 && errno == EINTR);
		if (n <= 0) {
			g->gone = true;
			return -1;
		}
		g->nraw = (size_t)n;
		g->at = 0;
	}
	return g->raw[g->at++];
}

static void put_all(struct gdb_link *g, const char *s, size_t n)
{
	while (n && !g->gone) {
		ssize_t k = send(g->out, s, n, MSG_NOSIGNAL);

		if (k < 0 && errno == ENOTSOCK)
			k = write(g->out, s, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			g->gone = true;
			return;
		}
		s += k;
		n -= (size_t)k;
	}
}

/* @n bytes, in which what means something is escaped. */
static void put_packet(struct gdb_link *g, const char *s, size_t n)
{
	char buf[2 * GDB_REPLY + 8];
	size_t k = 1;
	uint8_t sum = 0;

	*buf = '$';
	for (size_t i = 0; i < n && i < GDB_REPLY; i++) {
		const bool escaped = strchr("#$}*", s[i]) && s[i];

		if (escaped) {
			buf[k++] = '}';
			sum = (uint8_t)(sum + '}');
		}
		buf[k] = escaped ? (char)(s[i] ^ 0x20) : s[i];
		sum = (uint8_t)(sum + (uint8_t)buf[k++]);
	}
	k += (size_t)snprintf(buf + k, 4, "#%02x", sum);
	put_all(g, buf, k);
}

void gdb_reply(struct gdb_link *g, const char *s)
{
	put_packet(g, s, strlen(s));
}

void gdb_reply_part(struct gdb_link *g, const char *p, const void *object, size_t n)
{
	char part[GDB_PACKET];
	unsigned long off, len;

	if (sscanf(p, "%lx,%lx", &off, &len) != 2 || off > n) {
		gdb_reply(g, "E01");
		return;
	}
	len = len < sizeof part - 2 ? len : sizeof part - 2;
	*part = n - off > len ? 'm' : 'l';
	len = n - off > len ? len : n - off;
	memcpy(part + 1, (const char *)object + off, len);
	put_packet(g, part, 1 + len);
}

bool gdb_receive(struct gdb_link *g)
{
	for (;;) {
		int c = byte(g);

		g->n = 0;
		if (c < 0)
			return false;
		if (c == 3) {
			strcpy(g->packet, "\003");
			g->n = 1;
			return true;
		}
		if (c != '$')
			continue;
		while ((c = byte(g)) >= 0 && c != '#')
			if (g->n < GDB_PACKET - 1)
				g->packet[g->n++] = (char)c;
		if (byte(g) < 0 || byte(g) < 0)
			return false;
		g->packet[g->n] = 0;
		if (!g->no_ack)
			put_all(g, "+", 1);
		return true;
	}
}

bool gdb_calls(const struct gdb_link *g)
{
	struct pollfd p = { .fd = g->in, .events = POLLIN };

	return g->at < g->nraw || poll(&p, 1, 0) > 0;
}

void gdb_hex(char *to, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(to + 2 * i, "%02x", p[i]);
	to[2 * n] = 0;
}

size_t gdb_unhex(uint8_t *to, const char *s, size_t max)
{
	size_t n = 0;
	unsigned v;

	while (n < max && sscanf(s + 2 * n, "%2x", &v) == 1 && s[2 * n + 1])
		to[n++] = (uint8_t)v;
	return n;
}
