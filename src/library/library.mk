# SPDX-License-Identifier: MIT
# library.mk - libpugmark, as other programs have it: everything but what runs programs or prints. The
# archive is one object in which only the public names are left, so that it goes with anything.
SOVERSION   := 1
SOFILE      := libpugmark.so.$(SOVERSION).0.0
PUBLIC_SRCS := $(filter $(foreach d,base elf isa trace transform analyse library,src/$d/%),$(SRCS))
PUBLIC_OBJS := $(PUBLIC_SRCS:%.c=$(B)/%.o)
PUBLIC_LIBS := $(filter-out -lfdt,$(LDLIBS))
PIC          = -fPIC -fvisibility=hidden
PIC_CFLAGS   = $(filter-out -fno-pie,$(CFLAGS)) $(PIC)
PIC_LDFLAGS  = $(filter-out -no-pie -Wl$(comma)--dynamic-list=%,$(LDFLAGS))
SHARED_LIB  := $(addprefix $(B)/lib/,$(SOFILE) libpugmark.so.$(SOVERSION) libpugmark.so)
comma       := ,

# The executable has the same objects: hidden names cost it nothing.
$(PUBLIC_OBJS): CFLAGS += $(PIC)

.PHONY: lib
lib: $(SHARED_LIB) $(B)/lib/libpugmark.a	## build the library for other programs, in $(B)/lib

$(B)/lib/$(SOFILE): $(PUBLIC_OBJS) src/libpugmark.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(PIC_CFLAGS) $(PIC_LDFLAGS) -shared -Wl,-soname,libpugmark.so.$(SOVERSION) \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--version-script=src/libpugmark.map -o $@ $(PUBLIC_OBJS) $(PUBLIC_LIBS)
$(B)/lib/libpugmark.so.$(SOVERSION) $(B)/lib/libpugmark.so: $(B)/lib/$(SOFILE)
	@ln -sf $(SOFILE) $@

$(B)/lib/libpugmark.a: $(PUBLIC_OBJS)
	@mkdir -p $(@D)
	$(call say,AR,$@)$(LD) -r -o $(@:.a=.o) $^
	@objcopy --localize-hidden $(@:.a=.o)
	@rm -f $@
	@$(AR) rcs $@ $(@:.a=.o)
	@rm -f $(@:.a=.o)
