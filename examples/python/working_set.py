#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How much memory a program touches as it goes, for a plot: working_set.py TRACE [WINDOW]

Prints a line for each WINDOW (100000) of instructions: where it ends, pages and lines that were
touched in it, and pages that were touched up to there. gnuplot takes it as it is.
"""
import sys

import numpy as np

import pugmark
from pugmark import Kind

if len(sys.argv) < 2:
    sys.exit(__doc__)
window = int(sys.argv[2]) if len(sys.argv) > 2 else 100000


def windows(trace):
    """The addresses of data references, for each window of instructions."""
    left, parts = window, []
    for batch in trace.batches(ahead=4):
        events = batch.events
        while len(events):
            # the last event that belongs to the window
            done = np.flatnonzero(events["kind"] == Kind.INSN)
            end = done[left] if len(done) > left else len(events)
            kind = events["kind"][:end]
            parts.append(events["addr"][:end][(kind >= Kind.READ) & (kind <= Kind.MODIFY)])
            left -= min(len(done), left)
            events = events[end:]
            if len(events):
                yield np.concatenate(parts)
                left, parts = window, []
    yield np.concatenate(parts or [np.empty(0, np.uint64)])


seen = np.empty(0, np.uint64)
print("instructions pages lines pages_so_far")
for i, addresses in enumerate(windows(pugmark.open(sys.argv[1])), 1):
    pages = np.unique(addresses >> 12)
    seen = np.union1d(seen, pages)
    print(i * window, len(pages), len(np.unique(addresses >> 6)), len(seen))
