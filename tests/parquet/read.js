// SPDX-License-Identifier: MIT
// read.js - Parquet files as others read them: node read.js COMMAND READER FILE..., READER being duckdb or
// hyparquet; run where node finds both. What is said of FILE goes to FILE.READER.COMMAND.
//
//	dump	the table of a trace as `pugmark dump` would write it, from what docs/formats/parquet.md says
//	rows	any table: a line of JSON for each row
//	stats	each column of each row group: whether its least and greatest value and its number of nulls are
//		those of its values; a line for each that are not, then how many were right
//	notes	KEY VALUE
"use strict";
const fs = require("node:fs");
const { createRequire } = require("node:module");
const need = createRequire(process.cwd() + "/x.js");

let connection;

async function duckdb(sql) {
	const { DuckDBInstance } = need("@duckdb/node-api");
	connection ??= await (await DuckDBInstance.create(":memory:")).connect();
	return (await connection.runAndReadAll(sql)).getRowObjects();
}

function quoted(file) {
	return "'" + file.replaceAll("'", "''") + "'";
}

async function hyparquet(file) {
	// a module of the other kind
	const dir = process.cwd() + "/node_modules/";
	const { parquetReadObjects, parquetMetadata } = await import(dir + "hyparquet/src/node.js");
	const { compressors } = await import(dir + "hyparquet-compressors/src/index.js");
	const bytes = fs.readFileSync(file);
	const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	return { parquetReadObjects, compressors, buffer, metadata: parquetMetadata(buffer) };
}

async function rows_of(reader, file) {
	if (reader === "duckdb")
		return duckdb(`select * from read_parquet(${quoted(file)})`);
	const h = await hyparquet(file);
	return h.parquetReadObjects({ file: h.buffer, metadata: h.metadata, compressors: h.compressors, utf8: false });
}

const bytes_of = (b) => Buffer.from(b.bytes || b).toString("hex");
const hex = (v) => "0x" + BigInt(v).toString(16);
const given = (v) => v !== null && v !== undefined;

// As C does it, byte for byte
function json(s) {
	return JSON.stringify(s).replace(/\\[bfr]|\x7f/g, (c) => ({ "\\b": "\\u0008", "\\f": "\\u000c", "\\r": "\\u000d" }[c] || "\\u007f"));
}

// kind: which column is the address, is there a size, how the value is called, d: decimal, and always there
const KINDS = {
	insn: ["pc", 1], read: ["addr", 1, "value"], write: ["addr", 1, "value"], modify: ["addr", 1, "value"],
	block: ["pc", 0, "n", "d"], branch: ["pc", 1], "rep-iter": ["pc", 0], "rep-end": ["pc", 0, "n", "d"], uop: ["pc", 0], line: ["addr", 1],
	bus: ["addr", 1], "reg-read": [null, 1, "value"], "reg-write": [null, 1, "value"], kernel: ["addr", 0, "value"],
	interrupt: ["pc", 0, "vector", "d"], dma: ["addr", 1, "value"], device: ["addr", 1, "value"],
	syscall: ["pc", 0, "number", "d"], sysret: ["pc", 0, "result"], signal: ["pc", 0, "signal", "d"],
	sigreturn: ["pc", 0, "value"], process: [null, 0, "pid", "d"], exec: [null, 0, "pid", "d"],
	thread: [null, 0, "tid", "d"], exit: [null, 0, "status", "d"], mmap: ["addr", 0, "length"],
	munmap: ["addr", 0, "length"], switch: ["addr", 0, "space"], time: ["addr", 0, "time", "d"],
	marker: ["addr", 1, "value"], lost: ["addr", 0, "events", "d"],
};

function uop(r) {
	const use = { reads: "R", writes: "W" }[r.flag_use] || "-";
	const outcome = given(r.taken) ? (r.taken ? "T" : "N") : "-";
	const access = { load: "L", store: "S" }[r.access] || "-";

	return ` uop=${r.uop} pc=${hex(r.pc)} src=${r.src1},${r.src2} dest=${r.dest} ${use}${outcome}${access} imm=${r.imm}` +
		` mem=${hex(r.addr ?? 0)} msize=${r.size ?? 0} fall=${hex(r.fall)} target=${hex(r.target ?? 0)}` +
		` macro=${r.macro ?? ""} micro=${r.micro ?? ""}`;
}

const BUS = ["fetch", "read", "write", "writeback", "read-inval", "io-read", "io-write", "intack", "special", "invalid"];

function line(r) {
	const [addr, size, value, decimal] = KINDS[r.kind];
	let s = `${r.stream} ${r.kind} ${addr ? hex(r[addr] ?? 0) : "-"} ${size ? Math.min(r.size ?? 0, 65535) : "-"}`;
	let v = r.value ?? r.page ?? 0n;

	if (given(r.reg))
		s += ` reg=${r.reg}`;
	if (r.kind === "branch")
		s += ` target=${hex(r.target ?? 0)}`;
	if (value && (decimal || BigInt(v)))
		s += ` ${value}=${decimal ? v : hex(v)}`;
	const flags = [];
	if (r.kind === "branch" && r.taken)
		flags.push("taken");
	if (given(r.flags))
		flags.push(r.flags);
	if (flags.length)
		s += " flags=" + flags.join(",");
	if (given(r.bytes))
		s += " bytes=" + bytes_of(r.bytes);
	if (r.kind === "uop")
		s += uop(r);
	if (r.kind === "bus") {
		s += ` type=${BUS.indexOf(r.bus)} lanes=0x${r.lanes.toString(16).padStart(2, "0")} attr=${r.attr}` +
			` agent=${r.agent} data=${hex(r.data)}`;
		if (given(r.clocks))
			s += ` time=${r.clocks}`;
	}
	if (given(r.code))
		s += ` code=${r.code}`;
	const args = [];
	for (let i = 0; i < 8 && given(r["arg" + i]); i++)
		args.push(hex(r["arg" + i]));
	if (args.length)
		s += " args=" + args.join(",");
	if (given(r.name))
		s += " name=" + json(r.name);
	return s;
}

function plain(k, v) {
	return typeof v === "bigint" ? v.toString() : v && (v.bytes || v instanceof Uint8Array) ? bytes_of(v) : v;
}

// Statistics against values, both as this reader has them
async function stats(reader, file) {
	const h = await hyparquet(file), rows = await rows_of(reader, file), out = [];
	let at = 0, right = 0;

	for (const [g, group] of h.metadata.row_groups.entries()) {
		const part = rows.slice(at, at += Number(group.num_rows));
		for (const { meta_data: m } of group.columns) {
			const name = m.path_in_schema[0], s = m.statistics;
			// hyparquet takes those of bytes for text
			if (part.some((r) => given(r[name]) && typeof r[name] === "object"))
				continue;
			const v = part.map((r) => r[name]).filter((x) => given(x) && x === x);
			const nulls = part.filter((r) => !given(r[name])).length;
			const min = v.reduce((a, b) => b < a ? b : a, v[0]), max = v.reduce((a, b) => b > a ? b : a, v[0]);
			const say = (x) => given(x) ? String(x) : "none";
			const same = (a, b) => say(a) === say(b) || a == b;
			if (Number(s.null_count) === nulls && same(s.min_value, min) && same(s.max_value, max))
				right++;
			else if (!(given(min) && String(max).length > 64 && !given(s.min_value)))
				out.push(`group ${g} ${name}: ${s.null_count} nulls, ${say(s.min_value)} to ${say(s.max_value)};` +
					` found ${nulls}, ${say(min)} to ${say(max)}`);
		}
	}
	return [...out, right + " right"];
}

async function said(command, reader, file) {
	if (command === "stats")
		return stats(reader, file);
	if (command === "notes")
		return (await hyparquet(file)).metadata.key_value_metadata.map((n) => n.key + " " + n.value);
	return (await rows_of(reader, file)).map((r) => command === "dump" ? line(r) : JSON.stringify(r, plain));
}

async function main(command, reader, ...files) {
	for (const file of files) {
		let out;
		try {
			out = await said(command, reader, file);
		} catch (e) {
			out = e.stack.split("\n");
		}
		fs.writeFileSync(`${file}.${reader}.${command}`, out.map((s) => s + "\n").join(""));
	}
}

main(...process.argv.slice(2)).catch((e) => {
	console.error(e.stack);
	process.exit(1);
});
