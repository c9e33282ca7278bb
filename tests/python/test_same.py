# SPDX-License-Identifier: MIT
"""Python sees what the commands print."""
import pickle
import unittest

import numpy as np

import pugmark
from pugmark import Branch, Fact, Isa, Kind
from common import (BLOCKS, DATA, REAL, SAMPLES, InScratch, needs_pandas, pugmark_json,
                    pugmark_says)

BRANCH = ["taken", "cond", "indirect", "call", "ret"]
REF = {0: "fill", 1: "stack", 2: "rep", 3: "prefetch", 4: "uncached", 5: "copyback", 6: "inval",
       7: "all"}


def names(flags, known):
    bits = [known[i] for i in range(8) if flags >> i & 1]
    return " flags=" + ",".join(bits) if bits else ""


def lines(batch):
    """The lines of dump for the kinds that most traces consist of, None for others."""
    kinds = pugmark.kind_names()
    code = batch.code
    stream = batch.stream.index
    for kind, flags, size, id, addr, value in batch.events.tolist():
        name = kinds[kind]
        if kind == Kind.INSN:
            known = code is not None and id != pugmark.NONE and code.insns["len"][id] == size
            data = code.bytes(id) if known else b""
            if data and code.insns["isa"][id] == Isa.NONE and not any(data):
                data = b""          # the table does not know them
            yield (f"{stream} {name} 0x{addr:x} {size}" +
                   (f" bytes={data.hex()}" if data else ""))
        elif Kind.READ <= kind <= Kind.MODIFY:
            yield (f"{stream} {name} 0x{addr:x} {size}" +
                   (f" value=0x{value:x}" if value else "") + names(flags, REF))
        elif kind == Kind.BRANCH:
            yield f"{stream} {name} 0x{addr:x} {size} target=0x{value:x}" + names(flags, BRANCH)
        else:
            yield f"{stream} {name} "


def open_sample(file, format):
    return pugmark.open(DATA / "formats" / file, format)


class Same(InScratch):
    def same_as_dump(self, trace, *args):
        dump = pugmark_says("dump", *args).splitlines()
        i = 0
        for batch in trace:
            for line in lines(batch):
                self.assertLess(i, len(dump))
                if line.endswith(" "):
                    self.assertTrue(dump[i].startswith(line), f"{dump[i]!r}: {line!r}")
                else:
                    self.assertEqual(dump[i], line)
                i += 1
        self.assertEqual(i, len(dump))

    def test_dump_of_each_format(self):
        for file, format in SAMPLES:
            with self.subTest(file=file):
                self.same_as_dump(open_sample(file, format), "-f", format,
                                  DATA / "formats" / file)
        self.assertGreater(len(SAMPLES), 40)

    def test_dump_of_pug(self):
        self.same_as_dump(pugmark.open(BLOCKS), BLOCKS)
        part = self.dir / "part.pug"
        pugmark_says("slice", "--from", 1000, "--count", 20000, REAL, part)
        self.same_as_dump(pugmark.open(part), part)
        self.assertTrue(np.array_equal(
            pugmark.open(part).events(Kind.INSN, Kind.READ, Kind.WRITE)[["kind", "addr"]],
            pugmark.open(REAL).slice(1000, 20000).events(Kind.INSN, Kind.READ,
                                                         Kind.WRITE)[["kind", "addr"]]))

    def test_counts_of_info(self):
        for path, format in [(REAL, None), (BLOCKS, None)] + [
                (DATA / "formats" / f, format) for f, format in SAMPLES]:
            with self.subTest(path=path.name):
                said = pugmark.info(path, format, count=True)
                kinds = np.zeros(256, np.int64)
                for batch in pugmark.open(path, format).blocks():
                    kinds += np.bincount(batch.kind, minlength=256)
                names = pugmark.kind_names()
                self.assertEqual({names[i]: n for i, n in enumerate(kinds.tolist()) if n},
                                 said["count"]["kinds"])

    def test_info(self):
        trace = pugmark.open(REAL)
        args = ["info", "--json", "-", REAL]
        self.assertEqual(pugmark.info(REAL), pugmark_json(*args))
        self.assertEqual(trace.info(), pugmark_json(*args))
        said = trace.info()
        self.assertEqual(trace.format, said["format"])
        self.assertEqual(trace.bytes, said["bytes"])
        self.assertEqual(trace.notes, said["traced"])
        self.assertEqual(trace.contents.replace(" and ", ", ").split(", "), said["contents"])
        self.assertIn(Fact.REFS, trace.facts)
        self.assertNotIn(Fact.VALUES, trace.facts)

    def test_formats_and_simulators(self):
        said = [line.split()[0] for line in pugmark_says("formats").splitlines()
                if line[0] != " "]
        self.assertEqual([f.name for f in pugmark.formats()], said)
        pug = pugmark.formats()[0]
        self.assertTrue(pug.read and pug.write and not pug.directory)
        self.assertEqual(pug.suffixes, (".pug",))
        said = [line.split()[0] for line in pugmark_says("sim", "--list").splitlines()]
        self.assertEqual([s.name for s in pugmark.simulators()], said)
        self.assertIn(pugmark.version(), pugmark_says("version"))

    def test_simulators(self):
        specs = ["cache:l1i=4k,2way,64;l1d=1k,2way,64;byinsn", "bpred:gshare=10", "insns",
                 "reuse:line=64", "count"]
        args = [a for spec in specs for a in ("--sim", spec)]
        said = pugmark_says("sim", "--json", "-", *args, REAL)
        for threads in (None, 0, 1):
            results = pugmark.simulate(pugmark.open(REAL), *specs, threads=threads)
            self.assertEqual(results.json, said)
            self.assertEqual(results, pugmark_json("sim", "--json", "-", *args, REAL))
        self.assertEqual(pugmark.simulate(REAL, *specs), results)
        self.assertEqual(pugmark.open(REAL).simulate(*specs), results)
        self.assertEqual(results.unit("cache", "l1d", "misses"), "lookups")
        self.assertEqual(results.unit("cache", "instructions"), "instructions")
        self.assertIsNone(results.unit("cache", "l1d", "ways"))
        with self.assertRaises(KeyError):
            results.unit("cache", "nothing")
        self.assertEqual(dict(pickle.loads(pickle.dumps(results))), dict(results))

    def test_simulation_of_batches(self):
        specs = ["cache:l1d=1k,2way,64", "bpred:gshare=10", "count"]
        trace = pugmark.open(REAL)
        simulation = pugmark.Simulation(*specs, facts=trace.facts)
        simulation.push(trace)
        results = simulation.finish()
        self.assertEqual(results, trace.simulate(*specs))
        self.assertRaisesRegex(pugmark.Error, "ended", simulation.finish)
        # an array says the same as its batch
        simulation = pugmark.Simulation(*specs, facts=trace.facts)
        for batch in trace:
            simulation.push(batch.events.copy(), like=batch)
        self.assertEqual(simulation.finish(), results)

    def test_filter_and_lines(self):
        for how, spec in (("--filter", "l1i=1k,2way,64;l1d=1k,2way,64"),):
            pugmark_says("convert", how, spec, REAL, self.dir / "a.din")
            pugmark.convert(pugmark.open(REAL).filter(spec), self.dir / "b.din")
            self.assertEqual((self.dir / "a.din").read_bytes(), (self.dir / "b.din").read_bytes())
            misses = pugmark.open(REAL).filter(spec).events(Kind.READ, Kind.WRITE)
            self.assertEqual(misses["addr"].tolist(), pugmark.open(self.dir / "a.din").events(
                Kind.READ, Kind.WRITE)["addr"].tolist())
        lines = pugmark.open(REAL).lines(128)
        self.assertIn(Fact.LINES, lines.facts)
        self.assertFalse((lines.events(Kind.LINE)["addr"] % 128).any())
        uops = next(iter(pugmark.open(REAL).uops()))
        self.assertEqual(len(uops.uops), len(uops.select(Kind.UOP)))
        pcs = uops.select(Kind.UOP)
        self.assertTrue(np.array_equal(uops.uops["pc"][pcs["id"]], pcs["addr"]))

    def test_convert(self):
        for to in ("din", "champsim", "lackey", "pug"):
            with self.subTest(to=to):
                a, b, c = (self.dir / f"{x}.{to}" for x in "abc")
                pugmark_says("convert", "-t", to, REAL, a)
                calls = []
                results = pugmark.convert(REAL, b, to,
                                          progress=lambda n, part: calls.append((n, part)))
                self.assertEqual(a.read_bytes(), b.read_bytes())
                self.assertTrue(results)
                self.assertTrue(calls and 0 <= calls[0][1] <= 1)
                # batch by batch
                trace = pugmark.open(REAL)
                with pugmark.create(c, to, facts=trace) as writer:
                    writer.write(trace)
                self.assertEqual(pugmark_says("dump", "-f", to, c),
                                 pugmark_says("dump", "-f", to, a))

    def test_copy_of_blocks(self):
        trace = pugmark.open(BLOCKS).blocks()
        notes = {"program": "a copy", "level": "this is not the writer's"}
        with pugmark.create(self.dir / "copy.pug", facts=trace, notes=notes) as writer:
            for batch in trace:
                writer.write(batch)
        self.assertEqual(pugmark_says("dump", self.dir / "copy.pug"),
                         pugmark_says("dump", BLOCKS))
        copied = pugmark.open(self.dir / "copy.pug").notes
        self.assertEqual((copied["level"], copied["program"]), ("default", "a copy"))
        self.assertTrue(pugmark.verify(self.dir / "copy.pug"))

    def test_verify(self):
        said = pugmark_json("verify", "--json", "-", REAL)
        self.assertEqual(pugmark.verify(REAL)["schema"], said["schema"])
        self.assertEqual(pugmark.verify(REAL)["verify"], said["verify"])

    @needs_pandas
    def test_pandas(self):
        events = pugmark.open(REAL).events()
        frame = pugmark.open(REAL).to_pandas()
        kinds = pugmark.kind_names()
        self.assertEqual(list(frame.columns),
                         ["stream", "kind", "flags", "size", "id", "addr", "value"])
        self.assertEqual(frame["kind"].tolist(), [kinds[k] for k in events["kind"].tolist()])
        for name in ("flags", "size", "id", "addr", "value"):
            self.assertTrue(np.array_equal(frame[name].to_numpy(), events[name]))
        counts = frame["kind"].value_counts()
        self.assertEqual({k: int(n) for k, n in counts.items() if n},
                         pugmark.info(REAL)["count"]["kinds"])
        batch = next(iter(pugmark.open(REAL)))
        self.assertEqual(batch.to_pandas()["addr"].tolist(), batch.addr.tolist())
        self.assertEqual(len(pugmark.open(REAL).to_pandas(Kind.WRITE)),
                         counts["write"])

    @needs_pandas
    def test_tables(self):
        results = pugmark.simulate(REAL, "cache:l1d=1k,2way,64;byinsn")
        rows = results["cache"]["by_instruction"]
        table = results.table("cache", "by_instruction")
        self.assertEqual(table["l1d_misses"].tolist(), [r["l1d_misses"] for r in rows])
        self.assertIn("cache.by_instruction", results.tables())
        self.assertEqual(results.table("cache", "l1d")["misses"][0],
                         results["cache"]["l1d"]["misses"])

    def test_branches(self):
        branches = pugmark.open(REAL).events(Kind.BRANCH)
        conditional = branches[branches["flags"] & Branch.COND != 0]
        dump = [line for line in pugmark_says("dump", REAL).splitlines() if " branch " in line]
        self.assertEqual(len(conditional), sum("cond" in line for line in dump))
        self.assertEqual(int((conditional["flags"] & Branch.TAKEN != 0).sum()),
                         sum("cond" in line and "taken" in line for line in dump))


if __name__ == "__main__":
    unittest.main()
