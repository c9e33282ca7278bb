# SPDX-License-Identifier: MIT
"""What the command ``pugmark`` does, not the library: running programs, and ``info``."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from ._library import Error, PathLike
from ._results import Tables
from ._trace import Trace

_KINDS = {"branch": "--branch", "cache": "--cache", "exec": "--exec"}


def command() -> str:
    """The path of the command: $PUGMARK, that of this installation, or the one in PATH."""
    named = os.environ.get("PUGMARK")
    if named:
        return named
    # PREFIX/lib/python3/dist-packages/pugmark/_command.py
    installed = Path(__file__).resolve().parents[4] / "bin" / "pugmark"
    if installed.exists():
        return str(installed)
    found = shutil.which("pugmark")
    if found is None:
        raise Error("there is no pugmark in PATH; set PUGMARK to its path")
    return found


class Profile(Tables):
    """What a program executed: the document of ``pugmark run --json``, as a dict."""

    returncode: int = 0
    """The program's exit status; -N if signal N ended it."""

    @property
    def functions(self) -> Any:
        """What each function executed, the hottest first, as a DataFrame."""
        return self.table("functions")


def _wait(process: "subprocess.Popen[bytes]", timeout: Optional[float]) -> int:
    try:
        return process.wait(timeout)
    except BaseException:
        # it ends the program, which may want to clean up
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def run(args: Sequence[PathLike], kind: str = "profile", output: Optional[PathLike] = None, *,
        options: Sequence[str] = (), check: bool = False, timeout: Optional[float] = None,
        stdin: Any = None, stdout: Any = None, stderr: Any = None,
        env: Optional[Mapping[str, str]] = None, cwd: Optional[PathLike] = None) -> Any:
    """Run a program, and say or trace what it executed.

    ``kind``: "profile" returns a Profile. "branch", "cache" and "exec" return a Trace of the
    blocks in order, of lines and data references, or of all instructions and references. Both
    have the program's ``returncode``. ``output``: the file for the trace, or for the profile as
    JSON; without it a trace is in a temporary file, which goes when the Trace does.
    ``options``: more of ``pugmark run``: ``["--start-at", "main", "--for", "1000000"]``.
    ``check``: a status that is not 0 raises subprocess.CalledProcessError. ``timeout``: seconds.
    The rest is as in subprocess.run().
    """
    if kind != "profile" and kind not in _KINDS:
        raise ValueError(f"kind {kind!r}: one of profile, {', '.join(_KINDS)}")
    if isinstance(args, (str, bytes)) or not args:
        raise TypeError("args is a list: [PROGRAM, ARG, ...]")
    token = _Token()
    remove = None
    if output is None:
        temporary = tempfile.mkdtemp(prefix="pugmark.")
        output = os.path.join(temporary, "run.json" if kind == "profile" else "run.pug")
        remove = weakref.finalize(token, shutil.rmtree, temporary, True)
    name = os.fsdecode(output)
    if kind == "profile":
        where = ["--json", name]
    else:
        where = [_KINDS[kind], "-o", name]
        if name.endswith(".pug"):
            where += ["-t", "pug"]
    file = os.path.join(os.fsdecode(cwd), name) if cwd else name
    before = os.stat(file) if os.path.exists(file) else None
    process = subprocess.Popen([command(), "run", "-q", *where, *options, "--", *args],
                               stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd)
    status = _wait(process, timeout)
    if not os.path.exists(file) or (before is not None and _same(before, os.stat(file))):
        raise Error(f"pugmark run ended with status {status} and made no "
                    f"{'profile' if kind == 'profile' else 'trace'}; "
                    "its standard error says why")
    if check and status:
        raise subprocess.CalledProcessError(status, list(args))
    if kind != "profile":
        trace = Trace(file, owner=token)
        trace.returncode = status
        return trace
    with open(file, encoding="utf-8", errors="surrogateescape") as f:
        profile = Profile(json.load(f))
    profile.returncode = status
    if remove is not None:
        remove()
    return profile


class _Token:
    """Whoever has it has the temporary directory."""


def _same(a: os.stat_result, b: os.stat_result) -> bool:
    return (a.st_ino, a.st_mtime_ns, a.st_size) == (b.st_ino, b.st_mtime_ns, b.st_size)


def info(trace: Any, format: Optional[str] = None, *, count: bool = False) -> dict[str, Any]:
    """What a trace is and holds, as ``pugmark info --json`` says it.

    ``trace``: a path, or a Trace, of which the file is meant, without transforms. ``count``: read
    and count, even if the trace says its counts itself.
    """
    if isinstance(trace, Trace):
        format, trace = trace._format, trace.path
    args = [command(), "info", "--json", "-"]
    if format is not None:
        args += ["--from", format]
    if count:
        args.append("--count")
    done = subprocess.run([*args, "--", trace], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise error_of_line(done.stderr.decode("utf-8", "surrogateescape"))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def error_of_line(printed: str) -> Error:
    """``pugmark: FILE:PLACE: MESSAGE`` as an Error."""
    line = printed.strip().split("\n")[-1]
    if line.startswith("pugmark: "):
        line = line[len("pugmark: "):]
    m = re.match(r"(.*?):(0x[0-9a-f]+|[0-9]+): (.*)", line)
    if m:
        byte = m[2].startswith("0x")
        return Error(line, m[3], m[1], int(m[2], 0), "byte" if byte else "line")
    m = re.match(r"(.*?): (.*)", line)
    return Error(line, m[2], m[1]) if m else Error(line or "pugmark failed")
