// SPDX-License-Identifier: MIT
// duckdb.js - what the command duckdb does, by the npm package: node -e SCRIPT FORM SETUP QUERY, FORM
// being text, csv or json. Exit status 3: there is no such package.
"use strict";
const path = require("node:path");
const { createRequire } = require("node:module");

function find(name) {
	// where node looks; where it puts what is installed for all
	const from = [process.cwd(), path.join(path.dirname(process.execPath), "../lib")];
	const paths = from.concat(process.env.NODE_PATH ? process.env.NODE_PATH.split(":") : []);
	for (const p of paths)
		try {
			return createRequire(path.join(p, "x.js"))(name);
		} catch (e) {
			if (e.code !== "MODULE_NOT_FOUND")
				throw e;
		}
	try {
		return require(name);
	} catch {
		process.exit(3);
	}
}

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL)/;

function json(v) {
	if (v === null || v === undefined)
		return "null";
	if (typeof v === "bigint")
		return v.toString();
	if (typeof v === "number")
		return Number.isFinite(v) ? JSON.stringify(v) : "null";
	if (typeof v === "boolean")
		return String(v);
	if (Array.isArray(v) || Array.isArray(v.items))
		return "[" + (v.items || v).map(json).join(",") + "]";
	if (v.entries && !Array.isArray(v.entries))
		return "{" + Object.entries(v.entries).map(([k, w]) =>
			JSON.stringify(k) + ":" + json(w)).join(",") + "}";
	return JSON.stringify(String(v));
}

// Values of JSON that are numbers there
function plain(v, type) {
	return NUMBERS.test(type) && typeof v === "object" && v !== null ? String(v) : json(v);
}

function text(v) {
	return v === null || v === undefined ? null : String(v);
}

function field(s) {
	return s === null ? "" : /[",\r\n]/.test(s) || s === "" ? '"' + s.replaceAll('"', '""') + '"' : s;
}

function table(names, types, rows) {
	const cells = rows.map((r) => r.map((v) => text(v) ?? "NULL"));
	const width = names.map((n, i) => cells.reduce((w, r) => Math.max(w, r[i].length), n.length));
	const right = types.map((t) => NUMBERS.test(t));
	const line = (r) => r.map((s, i) => right[i] ? s.padStart(width[i]) : s.padEnd(width[i])).join("  ").trimEnd();
	return [names, width.map((w) => "-".repeat(w)), ...cells].map((r) => line(r) + "\n").join("");
}

async function main(form, setup, query) {
	const { DuckDBInstance } = find("@duckdb/node-api");
	const connection = await (await DuckDBInstance.create(":memory:")).connect();
	await connection.run(setup);
	const result = await connection.runAndReadAll(query);
	const names = result.columnNames(), types = result.columnTypes().map(String);
	const rows = result.getRows();
	let out;
	if (form === "csv")
		out = [names, ...rows].map((r) => r.map((v) => field(text(v))).join(",") + "\n").join("");
	else if (form === "json")
		out = "[" + rows.map((r) => "{" + r.map((v, i) => JSON.stringify(names[i]) + ":" +
			plain(v, types[i])).join(",") + "}").join(",\n") + "]\n";
	else
		out = table(names, types, rows);
	// all of it, also where that is a pipe
	for (let b = Buffer.from(out); b.length; )
		try {
			b = b.subarray(require("node:fs").writeSync(1, b));
		} catch (e) {
			if (e.code !== "EAGAIN")
				throw e;
		}
}

main(...process.argv.slice(1)).catch((e) => {
	process.stderr.write("duckdb: " + e.message.trimEnd() + "\n");
	process.exit(1);
});
