#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which conditional branches are hard to predict: branches.py TRACE [ROWS]

Of each branch: how often it executed, how often it was taken, and how often it went another way
than the time before. One that is taken half the time may still alternate, or come in long runs.
"""
import sys

import numpy as np
import pandas as pd

import pugmark
from pugmark import Branch, Kind

if len(sys.argv) < 2:
    sys.exit(__doc__)
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 10

frames = []
for batch in pugmark.open(sys.argv[1]):
    branches = batch.select(Kind.BRANCH)
    branches = branches[branches["flags"] & Branch.COND != 0]
    frames.append(pd.DataFrame({
        "stream": np.uint32(batch.stream.index),
        "pc": branches["addr"],
        "taken": (branches["flags"] & Branch.TAKEN != 0).astype(np.int8),
    }))
all_branches = pd.concat(frames, ignore_index=True)
if all_branches.empty:
    sys.exit(f"{sys.argv[1]}: no conditional branches")
before = all_branches.groupby(["stream", "pc"])["taken"].shift()
all_branches["changes"] = before.notna() & (before != all_branches["taken"])
table = all_branches.groupby("pc").agg(
    executed=("taken", "size"), taken=("taken", "sum"), changes=("changes", "sum"))
table["taken_percent"] = (100 * table["taken"] / table["executed"]).round(1)
table = table.sort_values(["changes", "executed"], ascending=False).head(rows)
table.index = [f"{pc:#x}" for pc in table.index]
print(table.to_string())
