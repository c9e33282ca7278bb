# SPDX-License-Identifier: MIT
# machine.mk - how fast the simulated machine is, beside QEMU and GXemul
.PHONY: bench-machine
bench-machine: all	## million guest instructions per second; ROUNDS=3
	@! command -v $(MIPSEL)gcc >/dev/null || \
		$(MAKE) -s $(foreach b,pugmark malta testmips,build/guest/bench-$b.elf) >/dev/null
	@bench/machine $(CURDIR)/$(B)/pugmark build/guest

.PHONY: bench-guest
bench-guest: all	## an x86 guest in QEMU, traced and not; ROUNDS=5, GUEST=build/guest/amd64
	@bench/guest $(or $(GUEST),build/guest/amd64) $(CURDIR)/$(B)/pugmark
