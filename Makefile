# SPDX-License-Identifier: MIT
# pugmark - `make demo` and `make check` are all a new user needs; `make help` lists the rest.
#
# Sources are found by folder (ARCHITECTURE.md); nothing is listed by hand. Variables:
#   CC=clang      another compiler
#   SAN=1         address and undefined-behaviour sanitizers, in build-san/
#   SAN=thread    the thread sanitizer, in build-tsan/
#   CHECKS=1      numbered invariants are checked (base/check.h), in build-checks/; with SAN always
#   WERROR=1      warnings are errors (CI)
#   V=1           show commands
#   SETUP=no      demo, check and guests install nothing
#   SHARED_LIBS=1 all libraries are linked as shared objects, as distributions want it

VERSION := 0.1.0
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
B       := build$(if $(SAN),-$(if $(filter thread,$(SAN)),tsan,san),$(if $(CHECKS),-checks))$(if $(filter clang%,$(CC)),-clang)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions

WARN    := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes \
           -Wno-missing-field-initializers -Wno-unused-parameter $(if $(WERROR),-Werror)
OPT     ?= -O2 -g
CFLAGS  += -std=gnu11 $(OPT) $(WARN) -Iinclude -Isrc -I$(B)/gen -DPM_VERSION='"$(VERSION)"' -D_GNU_SOURCE $(CPPFLAGS)
LDLIBS  += -lZydis -lZycore -lisal -ldw -lelf -lfdt -lzstd -lz -llzma -lbz2 -lm -ldl -lpthread
# Plug-ins see these functions, and of the libraries in the executable nothing.
LDFLAGS += -Wl,--dynamic-list=src/exports.list
ifneq ($(SAN)$(CHECKS),)
CFLAGS  += -DPM_CHECKS
endif
ifndef SAN
# At a fixed place it need not be relocated in every run.
CFLAGS  += -fno-pie
LDFLAGS += -no-pie
endif
ifeq ($(SAN),thread)
CFLAGS  += -fsanitize=thread
# As its own runtime has (collect/runtime.mk); what it writes into other executables has more.
$(B)/src/collect/instrument/%.o: ROOM :=
ROOM    := -DRT_LITTLE_ROOM
LDFLAGS += -fsanitize=thread
else ifdef SAN
CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif

# $(call say,CC,FILE)COMMAND: shows one short line instead of the command.
SILENT  := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say      = $(if $(V)$(SILENT),,@printf '%-6s %s\n' $1 $2; )

# Everything but the runtime, which is freestanding and built by its own rules in collect/runtime.mk.
SRCS := $(filter-out src/collect/runtime/%,$(shell find src -name '*.c' | LC_ALL=C sort))
OBJS := $(SRCS:%.c=$(B)/%.o)
LIBOBJS := $(filter-out $(B)/src/cli/%,$(OBJS))
BINOBJS := $(filter-out $(B)/src/library/%,$(OBJS))

.PHONY: all
all: $(B)/pugmark	## build $(B)/pugmark (the default)

# Folders may add rules and, in GEN, headers that must exist before any object is compiled, and in
# EXTRA_OBJS, objects that are linked in.
GEN :=
EXTRA_OBJS :=
-include $(wildcard src/*/*.mk src/*/*/*.mk tests/*.mk bench/*.mk guest/*.mk examples/*.mk docs/*.mk)

# Half a millisecond of every run goes into mapping and relocating libraries: archives where there are.
archive = $(if $(SHARED_LIBS),-l$1,$(if $(filter /%,$(shell $(CC) -print-file-name=lib$1.a)),-l:lib$1.a,-l$1))
# That of elfutils 0.192 in Debian 13 lacks functions of its own.
DW_WHOLE = $(if $(SHARED_LIBS),yes,$(shell echo 'int dwarf_getlocation(void); int main(void) { return dwarf_getlocation(); }' | \
	$(CC) -w -x c -o /dev/null - -l:libdw.a -l:libelf.a -lzstd -lz -llzma -lbz2 2>/dev/null && echo yes))
SHARED   = -lm -ldl -lpthread $(if $(DW_WHOLE),,-ldw -lelf)
ARCHIVES = $(foreach l,$(patsubst -l%,%,$(filter-out $(SHARED),$(LDLIBS))),$(call archive,$l)) $(SHARED)
# A shared library that is linked may need what is in an archive, too (libdw.so: zstd). It would be exported for that. What
# sanitizers export has to be.
$(B)/pugmark: $(BINOBJS) $(EXTRA_OBJS) src/exports.list
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(SAN),,-Wl$(comma)--exclude-libs$(comma)ALL) -o $@ $(BINOBJS) $(EXTRA_OBJS) $(ARCHIVES)

# What unit tests, fuzzers, oracles and benchmarks link: everything but the command line.
$(B)/libpugmark.a: $(LIBOBJS) $(EXTRA_OBJS)
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(B)/%.o: %.c Makefile | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) $(ROOM) -MMD -MP -c -o $@ $<
# Two files know by a number which sources made what a run keeps on disk: translations, and forms of instructions. It is of
# their bytes, not of the time, so that two builds of the same sources are the same.
FORM_SRCS  := $(sort $(wildcard src/isa/x86/*.[ch]))
CACHE_SRCS := $(sort $(wildcard $(foreach d,base elf isa/x86 collect/translate collect/space collect/cache,src/$d/*.[ch])))
number_of   = -DPM_SOURCES='"$(VERSION) $(shell cat $1 | sha256sum | cut -c 1-16)"'
$(B)/src/collect/cache/dir.o: $(CACHE_SRCS)
$(B)/src/collect/cache/dir.o: CFLAGS += $(call number_of,$(CACHE_SRCS))
$(B)/src/isa/x86/form.o: $(FORM_SRCS)
$(B)/src/isa/x86/form.o: CFLAGS += $(call number_of,$(FORM_SRCS))

# Not what guests are built from: that is large, and anybody's.
-include $(shell find $(B) \( -path $(B)/guest -o -path $(B)/bolt \) -prune -o -name '*.d' -type f -print 2>/dev/null)

# ---- for users ------------------------------------------------------------------------------
GROUPS ?= build test
LINKS  := idt vcount vtrace rtrace idt2kt idtinfo

.PHONY: help setup demo completions install uninstall dist deb check-deb clean
help:			## show this
	@sed -n 's/^\([a-zA-Z][a-zA-Z-]*\):[^#]*## /  make \1\t/p' Makefile */*.mk src/*/*.mk | \
		LC_ALL=C sort | expand -t 20
	@echo 'variables: CC=clang SAN=1 CHECKS=1 WERROR=1 V=1 SETUP=no SHARED_LIBS=1 PREFIX=$(PREFIX) LIBDIR= ZSHDIR= DESTDIR= T=TEST... GROUPS="$(GROUPS)"'

setup:			## install the Debian packages that are missing (as root; else says which)
	@scripts/setup.sh $(GROUPS)
	@$(if $(filter test,$(GROUPS)),$(MAKE) -s browser-tests 2>/dev/null || \
		echo "setup: tests/check-browser will be skipped: npm or its registry is not there",:)

# What is built depends on what is installed, so another make builds it: with all processors if nobody says how many.
NOW = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
SET_UP = $(if $(filter no,$(SETUP)),:,$(MAKE) --no-print-directory setup)

demo:			## set up, build, trace a real program and show what it executed
	@$(if $(filter no,$(SETUP)),:,scripts/setup.sh build)
	@$(NOW) all
	@scripts/demo.sh $(B)

# Where things go; the folders that are pugmark's alone go with the last of their files.
INC_TO  := $(DESTDIR)$(PREFIX)/include/pugmark
LIB_TO  := $(DESTDIR)$(LIBDIR)
MAN_TO  := $(DESTDIR)$(PREFIX)/share/man
DOC_TO  := $(DESTDIR)$(PREFIX)/share/doc/pugmark
PY_TO   := $(DESTDIR)$(PREFIX)/lib/python3/dist-packages/pugmark
BASH_TO := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_TO  := $(DESTDIR)$(ZSHDIR)
FISH_TO := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
HEADERS := $(wildcard include/pugmark/*.h)
MODULES := $(wildcard python/pugmark/*.py) python/pugmark/py.typed
PAGES   := README.md ARCHITECTURE.md $(wildcard docs/*.md docs/formats/*.md docs/schemas/*.json)
SAMPLES := $(wildcard examples/*.c examples/*/*.c examples/*/*.java examples/*/*.py)

SHELLS  := bash zsh fish

completions: $(SHELLS:%=$(B)/completions/%)
$(B)/completions/%: $(B)/pugmark
	@mkdir -p $(@D)
	@$(B)/pugmark completion $* > $@.part && mv $@.part $@

install: all man lib completions	## install below PREFIX (and DESTDIR)
	install -d $(DESTDIR)$(PREFIX)/bin $(INC_TO) $(LIB_TO)/pkgconfig $(MAN_TO)/man1 $(MAN_TO)/man3
	install $(B)/pugmark $(DESTDIR)$(PREFIX)/bin/pugmark
	install -m 644 $(HEADERS) $(INC_TO)
	install -m 644 $(B)/lib/$(SOFILE) $(B)/lib/libpugmark.a $(LIB_TO)
	ln -sf $(SOFILE) $(LIB_TO)/libpugmark.so.$(SOVERSION)
	ln -sf libpugmark.so.$(SOVERSION) $(LIB_TO)/libpugmark.so
	sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),; s,@LIBS@,$(PUBLIC_LIBS),' \
		src/library/pugmark.pc.in > $(B)/lib/pugmark.pc
	install -m 644 $(B)/lib/pugmark.pc $(LIB_TO)/pkgconfig
	install -d $(PY_TO)
	install -m 644 $(MODULES) $(PY_TO)
	install -m 644 $(B)/man/*.1 $(MAN_TO)/man1
	install -d $(BASH_TO) $(ZSH_TO) $(FISH_TO)
	install -m 644 $(B)/completions/bash $(BASH_TO)/pugmark
	@for l in $(LINKS); do ln -sf pugmark $(BASH_TO)/$$l; done	# by the command's name each is found
	install -m 644 $(B)/completions/zsh $(ZSH_TO)/_pugmark
	install -m 644 $(B)/completions/fish $(FISH_TO)/pugmark.fish
	install -m 644 $(B)/man/*.3 $(MAN_TO)/man3
	@for f in $(PAGES) $(SAMPLES); do install -D -m 644 $$f $(DOC_TO)/$$f || exit 1; done
	@for l in $(LINKS); do \
		if $(B)/pugmark help | grep -q "^  $$l "; then \
			ln -sf pugmark $(DESTDIR)$(PREFIX)/bin/$$l; \
			ln -sf pugmark-$$l.1 $(MAN_TO)/man1/$$l.1; \
		fi; \
	done

uninstall:		## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/pugmark $(LINKS:%=$(DESTDIR)$(PREFIX)/bin/%)
	rm -f $(MAN_TO)/man1/pugmark.1 $(MAN_TO)/man1/pugmark-*.1 $(LINKS:%=$(MAN_TO)/man1/%.1) $(MAN_TO)/man3/libpugmark.3
	rm -f $(HEADERS:include/pugmark/%=$(INC_TO)/%) $(LIB_TO)/pkgconfig/pugmark.pc
	rm -f $(LIB_TO)/libpugmark.a $(LIB_TO)/libpugmark.so $(LIB_TO)/libpugmark.so.$(SOVERSION) $(LIB_TO)/$(SOFILE)
	rm -f $(BASH_TO)/pugmark $(LINKS:%=$(BASH_TO)/%) $(ZSH_TO)/_pugmark $(FISH_TO)/pugmark.fish
	rm -f $(PAGES:%=$(DOC_TO)/%) $(SAMPLES:%=$(DOC_TO)/%)
	rm -f $(MODULES:python/pugmark/%=$(PY_TO)/%)
	rm -rf $(PY_TO)/__pycache__
	@for d in $(INC_TO) $(PY_TO) $(sort $(dir $(SAMPLES:%=$(DOC_TO)/%))) $(DOC_TO)/examples $(DOC_TO)/docs/formats $(DOC_TO)/docs/schemas \
		$(DOC_TO)/docs $(DOC_TO); do \
		if [ -d $$d ]; then rmdir --ignore-fail-on-non-empty $$d; fi; \
	done

# The same bytes of the same commit, wherever it is made: no umask, no setting of git or xz is in them.
DIST := build/dist/pugmark-$(VERSION).tar.xz
dist:			## the source as a tar file, $(DIST)
	@mkdir -p $(dir $(DIST))
	@scripts/source.sh $(VERSION) | env -u XZ_OPT -u XZ_DEFAULTS xz -T1 -9e > $(DIST).part
	@mv $(DIST).part $(DIST)
	@sha256sum $(DIST)

deb:			## Debian packages of the last commit, in build/deb
	@$(if $(filter no,$(SETUP)),:,scripts/setup.sh build deb)
	@scripts/deb.sh $(VERSION)

check-deb: deb		## ... built, installed, tried and purged in a minimal Debian of each release in SUITES (as root)
	@$(if $(filter no,$(SETUP)),:,scripts/setup.sh chroot)
	@scripts/check-deb.sh $(SUITES)

clean:			## remove everything that was built
	rm -rf build build-*
