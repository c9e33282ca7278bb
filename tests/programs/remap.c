/* SPDX-License-Identifier: MIT */
/* remap.c - remap LIBRARY ADDRESS [none]: map a library's text by hand, as if to interpret it, and
 * call what is at ADDRESS of it; with `none` when no descriptor is left */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "self_check.h"

int main(int argc, char **argv)
{
	const struct rlimit few = { argc > 3 ? 3 : 64, 64 };
	const uint64_t at = argc > 2 ? strtoull(argv[2], NULL, 16) : 0;
	int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;
	const char *(*f)(void) = NULL;
	Elf64_Ehdr eh;

	CHECK(fd >= 0 && pread(fd, &eh, sizeof eh, 0) == sizeof eh);
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK((open("/dev/null", O_RDONLY) < 0) == (argc > 3));
	for (int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		char *p;

		CHECK(pread(fd, &ph, sizeof ph, (off_t)(eh.e_phoff + (unsigned)i * sizeof ph)) ==
		      sizeof ph);
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		p = mmap(NULL, ph.p_memsz, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 (off_t)ph.p_offset);
		CHECK(p != MAP_FAILED && at >= ph.p_vaddr && at < ph.p_vaddr + ph.p_memsz);
		f = (const char *(*)(void))(p + (at - ph.p_vaddr));
	}
	close(fd);
	for (int i = 0; i < 5; i++)
		CHECK(f());
	SECTION("called");
	return 0;
}
