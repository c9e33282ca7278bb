# SPDX-License-Identifier: MIT
"""Execution traces: read, write, convert, simulate, and make them.

    import pugmark

    with pugmark.open("prog.pug") as trace:
        for batch in trace.batches():
            print(batch.events["addr"].max())

See ``open``, ``create``, ``simulate``, ``convert``, ``verify``, ``run`` and ``info``. Whatever
goes wrong with a trace is a pugmark.Error, with file and place.
"""
from ._about import Format, Simulator, formats, simulators, version
from ._batch import BLOCK, BUS, EVENT, INSN, UOP, Batch, Code, Object, Rare, Stream, events
from ._batch import kind_names, to_pandas
from ._command import Profile, command, info, run
from ._library import Error
from ._names import NONE, Branch, Fact, Flow, Isa, Kind, Ref
from ._results import Results, Tables
from ._simulate import Simulation, convert, simulate, verify
from ._trace import Batches, Trace, open
from ._writer import Writer, create

__all__ = [
    "BLOCK", "BUS", "EVENT", "INSN", "NONE", "UOP", "Batch", "Batches", "Branch", "Code", "Error",
    "Fact", "Flow", "Format", "Isa", "Kind", "Object", "Profile", "Rare", "Ref", "Results",
    "Simulation", "Simulator", "Stream", "Tables", "Trace", "Writer", "command", "convert",
    "create", "events", "formats", "info", "kind_names", "open", "run", "simulate", "simulators",
    "to_pandas", "verify", "version",
]
