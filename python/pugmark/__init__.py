# SPDX-License-Identifier: MIT
"""Execution traces: read, write, convert, simulate, and make them.

    import pugmark

    with pugmark.open("prog.pug") as trace:
        for batch in trace.batches():
            print(batch.events["addr"].max())

See ``open``, ``create``, ``simulate``, ``convert``, ``verify``, ``run`` and ``info``. Whatever
goes wrong with a trace is a pugmark.Error, with file and place.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Optional

from ._batch import BLOCK, BUS, EVENT, INSN, UOP, Batch, Code, Object, Rare, Stream, events
from ._batch import kind_names, to_pandas
from ._command import Profile, command, info, run
from ._library import PM_END, CErr, CFormatAbout, CSimulatorAbout, Error, check, lib, text
from ._names import NONE, Branch, Fact, Flow, Isa, Kind, Ref
from ._results import Results, Tables
from ._simulate import Simulation, convert, simulate, verify
from ._trace import Batches, Trace, open
from ._writer import Writer, create


@dataclass(frozen=True)
class Format:
    """A trace format. ``has``: the most that a trace of it knows; ``needs``: to write it."""

    name: str
    about: str
    plural: str
    suffixes: tuple[str, ...]
    read: bool
    write: bool
    directory: bool
    has: Fact
    needs: Fact


@dataclass(frozen=True)
class Simulator:
    """A simulator. ``needs``: what a trace must know."""

    name: str
    about: str
    needs: Fact


def _all(call: Any, about: Any) -> Any:
    i = 0
    err = CErr()
    while True:
        a = about(struct_size=ctypes.sizeof(about))
        status = call(i, ctypes.byref(a), ctypes.byref(err))
        check(status, err)
        if status == PM_END:
            return
        yield a
        i += 1


def formats() -> list[Format]:
    """The trace formats that there are."""
    return [Format(text(a.name) or "", text(a.about) or "", text(a.plural) or "",
                   tuple((text(a.suffixes) or "").split()), bool(a.flags & 1),
                   bool(a.flags & 2), bool(a.flags & 4), Fact(a.has), Fact(a.needs))
            for a in _all(lib.pm_format_get, CFormatAbout)]


def simulators() -> list[Simulator]:
    """The simulators that there are."""
    return [Simulator(text(a.name) or "", text(a.about) or "", Fact(a.needs))
            for a in _all(lib.pm_simulator_get, CSimulatorAbout)]


def version() -> str:
    """The version of the library that runs."""
    return text(lib.pm_version()) or ""


__all__ = [
    "BLOCK", "BUS", "EVENT", "INSN", "NONE", "UOP", "Batch", "Batches", "Branch", "Code", "Error",
    "Fact", "Flow", "Format", "Isa", "Kind", "Object", "Profile", "Rare", "Ref", "Results",
    "Simulation", "Simulator", "Stream", "Tables", "Trace", "Writer", "command", "convert",
    "create", "events", "formats", "info", "kind_names", "open", "run", "simulate", "simulators",
    "to_pandas", "verify", "version",
]
