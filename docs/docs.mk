# SPDX-License-Identifier: MIT
# docs.mk - one manual page for each command, made from its --help and from docs/man/COMMAND.roff
# (examples and notes, if the command has any); docs/man/pugmark.1 is written by hand.

# commands of commands: a page each for their options
SUBCOMMANDS := machine/run machine/diff machine/fetch-debian \
	citcat/extract citcat/replay citcat/verify citcat/stat profile/write profile/merge

# they are part of the program
$(B)/src/cli/cmd_schema.o: $(wildcard docs/schemas/*.json)

.PHONY: man
man: $(B)/man/.made	## make the manual pages

$(B)/man/.made: $(B)/pugmark docs/man.awk $(wildcard docs/man/*)
	@rm -rf $(@D) && mkdir -p $(@D)
	@cp docs/man/*.[13] $(@D)
	@$(B)/pugmark help | sed -n 's/^  \([a-z][a-z0-9-]*\)  *\(.*\)/\1 \2/p' | \
	while read -r name about; do \
		PUGMARK_COLUMNS= $(B)/pugmark $$name --help </dev/null | awk -v name="$$name" -v about="$$about" \
			-v version="$(VERSION)" -v extra="docs/man/$$name.roff" -f docs/man.awk \
			> $(@D)/pugmark-$$name.1 || exit 1; \
	done
	@for sub in $(SUBCOMMANDS); do \
		PUGMARK_COLUMNS= $(B)/pugmark $$(echo $$sub | tr / ' ') --help </dev/null | \
			awk -v name="$$(echo $$sub | tr / -)" -v about="$${sub#*/} of pugmark-$${sub%/*}(1)" \
			-v version="$(VERSION)" -v extra=/dev/null -f docs/man.awk \
			> $(@D)/pugmark-$$(echo $$sub | tr / -).1 || exit 1; \
	done
	@touch $@
