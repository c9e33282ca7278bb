/* SPDX-License-Identifier: MIT */
/* fuzz_stored.c - stored profiles, callgrind files and counts: read, or refused with a message */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/stored.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct pm_code_book book = { 0 };
	struct pm_stored_names names = { 0 };
	struct pm_costs c = { 0 };
	struct pm_err err = { 0 };
	char path[40];

	if (fd < 0)
		fd = memfd_create("stored", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	pm_stored_is(path);
	/* the files that it names are not opened: they are not the fuzzer's */
	if (pm_stored_read(path, &c, &book, &names, &err) && !err.msg[0])
		abort();
	/* every row has a place, or none has */
	if (names.n && names.n != c.n)
		abort();
	for (size_t i = 0; i < names.n; i++)
		if (names.place[i].object >= names.nname || names.place[i].file >= names.nname ||
		    names.place[i].function >= names.nname || names.place[i].home >= names.nname)
			abort();
	pm_stored_names_release(&names);
	pm_costs_release(&c);
	pm_code_book_release(&book);
	return 0;
}
