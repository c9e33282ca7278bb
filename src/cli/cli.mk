# SPDX-License-Identifier: MIT
# cli.mk - what duckdb.c has inside
$(B)/src/cli/duckdb.o: src/cli/duckdb.js
