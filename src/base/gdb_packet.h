/* SPDX-License-Identifier: MIT */
/* gdb_packet.h - packets of gdb's remote protocol: "$...#" and a checksum, on a socket or on pipes
 *
 * Ownership  descriptors are the caller's.
 * Errors     a debugger that goes away sets `gone`.
 * Threads    none: one link for each. */
#ifndef PM_BASE_GDB_PACKET_H
#define PM_BASE_GDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDB_PACKET 8192			/* bytes of one that arrives, with a zero behind it */
#define GDB_REPLY (2 * GDB_PACKET)	/* of an answer */

struct gdb_link {
	int in, out;
	const volatile int *interrupted;	/* reading ends when it is set; or NULL */
	char packet[GDB_PACKET];	/* what has arrived */
	size_t n;			/* bytes of it */
	uint8_t raw[4096];
	size_t nraw, at;
	bool gone, no_ack;
};

/* The next packet; ^C arrives as "\003". False when the debugger is gone. */
bool gdb_receive(struct gdb_link *g);
/* Until there is something at @fd, a connection or bytes; false: interrupted. A read or accept
 * would go on after a signal if its handler wants calls to be restarted. */
bool gdb_wait(int fd, const volatile int *interrupted);
bool gdb_calls(const struct gdb_link *g);	/* something has arrived */
void gdb_reply(struct gdb_link *g, const char *s);
/* The part of an object, of @n bytes, that "OFFSET,LENGTH" in @p asks for (qXfer). */
void gdb_reply_part(struct gdb_link *g, const char *p, const void *object, size_t n);

void gdb_hex(char *to, const uint8_t *p, size_t n);	/* 2 * @n digits and a zero */
size_t gdb_unhex(uint8_t *to, const char *s, size_t max);	/* bytes */

#endif
