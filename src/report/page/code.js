// Source and instructions side by side, with what each cost. A row chosen on one side is marked on both.
const code = { functions: all(".code-data"), events: data("#events"), now: -1, event: 0 };
function function_at(i) {
	const script = code.functions[i];
	if (script && !script.parsed)
		script.parsed = JSON.parse(script.textContent);
	return script?.parsed;
}
const key_of = (insn) => insn[2] ? `${insn[2]}:${insn[3]}` : "";
/** What all instructions of each source line cost, by event. */
function line_sums(f) {
	const sums = new Map();
	for (const insn of f.insns) {
		if (!Array.isArray(insn) || !insn[2])
			continue;
		const sum = sums.get(key_of(insn)) ?? [];
		insn.slice(4).forEach((v, k) => { sum[k] = (sum[k] ?? 0) + v; });
		sums.set(key_of(insn), sum);
	}
	return sums;
}
function columns_shown() {
	const ir = code.events.events.findIndex(([name]) => name === "Ir");
	return ir >= 0 && ir !== code.event ? [code.event, ir] : [code.event];
}
function cost_cells(costs, columns, most, tag = "td") {
	return columns.map((k, i) => {
		const v = costs?.[k] ?? 0;
		const cell = make(tag, { class: i ? "n" : "n heat" }, v ? thousands(v) : "");
		if (v && !i)
			cell.style.setProperty("--heat", Math.sqrt(v / most).toFixed(3));
		return cell;
	});
}
function pane(label, first, columns) {
	const body = make("tbody"), head = make("tr", {}, make("th", { scope: "col" }, first));
	for (const k of columns)
		head.append(make("th", { scope: "col", class: "n", title: code.events.events[k][1] }, code.events.events[k][0]));
	head.append(make("th", { scope: "col" }, label));
	const box = make("div", { class: "pane", tabindex: "0", role: "region", "aria-label": label }, make("table", {}, make("thead", {}, head), body));
	return { box, body };
}
function gap(columns, text) {
	return make("tr", { class: "gap" }, make("td", { colspan: columns.length + 2 }, text));
}
function source_pane(f, columns) {
	const sums = line_sums(f), most = Math.max(1, ...[...sums.values()].map((s) => s[code.event] ?? 0));
	const { box, body } = pane("Source", "Line", columns);
	const cost = (file) => file.lines.reduce((sum, [no]) => sum + (sums.get(`${file.id}:${no}`)?.[code.event] ?? 0), 0);
	for (const file of [...f.files].sort((a, b) => cost(b) - cost(a))) {
		let last = 0;
		body.append(make("tr", { class: "file" }, make("th", { colspan: columns.length + 2, scope: "colgroup" }, file.path)));
		for (const [no, text] of file.lines) {
			const key = `${file.id}:${no}`, sum = sums.get(key);
			if (last && no > last + 1)
				body.append(gap(columns, "⋯"));
			last = no;
			body.append(make("tr", sum ? { "data-key": key, tabindex: "-1" } : {}, make("th", { scope: "row" }, no), ...cost_cells(sum, columns, most),
				make("td", { class: "text" }, text ?? "(source not found)")));
		}
	}
	return box;
}
function instruction_pane(f, columns) {
	const insns = f.insns.filter(Array.isArray), most = Math.max(1, ...insns.map((insn) => insn[4 + code.event] ?? 0));
	const { box, body } = pane("Instructions", "Address", columns);
	for (const insn of f.insns) {
		if (!Array.isArray(insn)) {
			body.append(gap(columns, `⋯ ${thousands(insn)} colder instruction${insn === 1 ? "" : "s"}`));
			continue;
		}
		const key = key_of(insn);
		body.append(make("tr", key ? { "data-key": key, tabindex: "-1" } : {}, make("th", { scope: "row" }, insn[0]),
			...cost_cells(insn.slice(4), columns, most), make("td", { class: "text" }, insn[1])));
	}
	return box;
}
/** Mark the rows of @key ("file:line") on both sides; scroll those there that @from is not in. */
function mark(key, from) {
	for (const row of all(".pane tr.mark"))
		row.classList.remove("mark");
	for (const box of all(".pane")) {
		const rows = all("tr[data-key]", box).filter((row) => row.dataset.key === key);
		for (const row of rows)
			row.classList.add("mark");
		if (rows.length && !box.contains(from))
			box.scrollTop = rows[0].offsetTop - box.clientHeight / 3;
	}
	code.mark = key;
	history.replaceState(null, "", `#code/${code.now}/${key}`);
}
function to_hottest(box) {
	let best = null, most = 0;
	for (const row of all("tr[data-key], tbody tr", box)) {
		const heat = Number(one(".heat", row)?.style.getPropertyValue("--heat") ?? 0);
		if (heat > most)
			[best, most] = [row, heat];
	}
	if (best)
		box.scrollTop = best.offsetTop - box.clientHeight / 3;
}
function show_function(i, key) {
	const f = function_at(i), columns = columns_shown();
	if (!f)
		return;
	code.now = i;
	code.mark = undefined;
	one("#which").value = i;
	const panes = make("div", { class: f.files.length ? "panes" : "panes single" });
	if (f.files.length)
		panes.append(source_pane(f, columns));
	panes.append(instruction_pane(f, columns));
	one("#panes").replaceChildren(make("p", { class: "dim codehint" }, f.object, f.files.length ? "" : " · no source lines: compiled without -g?"), panes);
	for (const box of all(".pane"))
		to_hottest(box);
	if (key)
		mark(key, null);
}
function ready_code() {
	const box = one("#codebox"), events = code.events;
	if (!box || !events)
		return;
	const note = one("p", box).textContent.replace(/The code needs.*/, "").trim();
	code.event = events.sort;
	const which = make("select", { id: "which" }), event = make("select", { id: "event" });
	code.functions.forEach((script, i) => {
		const name = /^\{"name":("(?:[^"\\]|\\.)*")/.exec(script.textContent);
		which.append(make("option", { value: i }, name ? JSON.parse(name[1]) : "?"));
	});
	events.events.forEach(([name, about], k) => events.total[k] && event.append(make("option", { value: k, selected: k === code.event }, `${name}: ${about}`)));
	which.onchange = () => { location.hash = "#code/" + which.value; };
	event.onchange = () => {
		const key = code.mark;
		code.event = Number(event.value);
		show_function(code.now, key);
	};
	box.replaceChildren(make("div", { class: "codebar" }, make("label", { class: "which" }, "Function", which), make("label", {}, "Heat", event),
		note ? make("small", {}, note + " functions") : ""), make("div", { id: "panes" }));
	box.addEventListener("click", (e) => {
		const row = e.target.closest("tr[data-key]");
		if (row && getSelection().isCollapsed)
			mark(row.dataset.key, row);
	});
	box.addEventListener("keydown", (e) => {
		const pane_box = e.target.closest(".pane"), row = e.target.closest("tr");
		if (!pane_box)
			return;
		const rows = all("tr[data-key]", pane_box), at = rows.indexOf(row ?? one("tr.mark", pane_box));
		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			const to = at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + (e.key === "ArrowDown" ? 1 : -1)));
			rows[to]?.focus();
			e.preventDefault();
		} else if (e.key === "Enter" && row?.dataset.key) {
			mark(row.dataset.key, row);
		}
	});
	openers.code = ([i, key]) => {
		const to = i === undefined ? Math.max(0, code.now) : Number(i);
		if (to !== code.now || i === undefined)
			show_function(to, key);
		else if (key && key !== code.mark)
			mark(key, null);
	};
}
