# SPDX-License-Identifier: MIT
"""What the library has: its version, formats and simulators."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from ._library import PM_END, CErr, CFormatAbout, CSimulatorAbout, check, lib, text
from ._names import Fact


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


__all__ = ["Format", "Simulator", "formats", "simulators", "version"]
