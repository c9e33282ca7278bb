# SPDX-License-Identifier: MIT
# The instruction table is made by a small host tool, so the build needs only cc.
GEN += $(B)/gen/mips-insns.inc

$(B)/mipsgen: tools/mipsgen.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -O1 -g -Wall -Wextra -o $@ $<

$(B)/gen/mips-insns.inc: src/isa/mips/insns.txt $(B)/mipsgen
	@mkdir -p $(@D)
	$(call say,GEN,$@)$(B)/mipsgen $< >$@.tmp && mv $@.tmp $@
