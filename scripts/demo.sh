#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh - trace a real program, the C compiler at work, and show what it executed
set -eu
build=${1:-build}
src=src/base/number.c
command="cc -O2 -std=gnu11 -D_GNU_SOURCE -Iinclude -Isrc -c $src -o $build/demo.o"

echo "# tracing: $command"
echo "# (the compiler starts others: cc1 and as; all of them are followed)"
"$build/pugmark" run -o "$build/demo.txt" --json "$build/demo.json" -- $command
cat "$build/demo.txt"
echo "# the same numbers for programs to read: $build/demo.json"
