#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cache misses by function: misses.py TRACE [CACHES]

    pugmark run --exec -o prog.pug -t pug -- ./prog
    misses.py prog.pug 'l1d=32k,8way,64'
"""
import sys

import pugmark

if len(sys.argv) < 2:
    sys.exit(__doc__)
path = sys.argv[1]
caches = sys.argv[2] if len(sys.argv) > 2 else "l1d=32k,8way,64"

results = pugmark.simulate(path, f"cache:{caches};byinsn")
table = results.table("cache", "by_instruction")
if table.empty:
    sys.exit(f"{path}: nothing missed")
if "function" not in table:     # no file of the program is known
    table["function"] = table["pc"]
# "main+0x12" is an instruction of main
table["function"] = table["function"].str.replace(r"\+0x[0-9a-f]+$", "", regex=True)
misses = table.filter(regex="_misses$").columns
by_function = table.groupby("function")[list(misses)].sum()
print(by_function.sort_values(misses[0], ascending=False).head(10).to_string())
