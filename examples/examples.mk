# SPDX-License-Identifier: MIT
# examples.mk - users' own sinks, built the way that users build them: with the public header only

EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%.so,$(wildcard examples/*.c)) $(B)/examples/old.so

all: $(EXAMPLES)

$(B)/examples/%.so: examples/%.c include/pugmark/pugmark.h include/pugmark/err.h
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -shared -fPIC $(OPT) $(WARN) -Iinclude -o $@ $<

# One from before the interface changed, for the test that such a thing is refused.
$(B)/examples/old.so: examples/hash.c include/pugmark/pugmark.h
	@mkdir -p $(@D)
	$(call say,CC,$@)sed 's/= PM_ABI/= 1/' $< | $(CC) -shared -fPIC $(OPT) -Iinclude -x c -o $@ -
