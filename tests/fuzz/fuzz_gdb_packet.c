/* SPDX-License-Identifier: MIT */
/* fuzz_gdb_packet.c - any bytes from a debugger: packets that end with a zero, and an end */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/gdb_packet.h"
#include "fuzz.h"

const unsigned fuzz_inputs = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char object[] = "an object of some bytes";
	static int in = -1, out = -1;
	struct gdb_link *g = calloc(1, sizeof *g);
	uint8_t bytes[64];
	size_t packets = 0;

	if (in < 0) {
		in = memfd_create("packets", 0);
		out = open("/dev/null", O_WRONLY);
	}
	if (ftruncate(in, 0) || pwrite(in, data, size, 0) != (ssize_t)size ||
	    lseek(in, 0, SEEK_SET))
		abort();
	g->in = in;
	g->out = out;
	while (gdb_receive(g)) {
		/* each has at least a byte of its own: they end */
		if (++packets > size || g->n >= GDB_PACKET || g->packet[g->n])
			__builtin_trap();
		if (gdb_unhex(bytes, g->packet, sizeof bytes) > sizeof bytes)
			__builtin_trap();
		gdb_reply_part(g, g->packet, object, sizeof object);
		gdb_reply(g, g->packet);
	}
	if (!g->gone)
		__builtin_trap();
	free(g);
	return 0;
}
