// Tables: headings sort, an input filters, arrows move through the rows, Enter follows a row's link.
function number_in(cell) {
	return Number(cell.dataset.v ?? cell.textContent.replace(/[,%\s<>]/g, ""));
}
function sort_table(table, column, falling) {
	const th = table.tHead.rows[0].cells[column], numeric = th.classList.contains("n");
	for (const other of table.tHead.rows[0].cells)
		other.removeAttribute("aria-sort");
	th.setAttribute("aria-sort", falling ? "descending" : "ascending");
	const rows = [...table.tBodies[0].rows].map((row) => {
		const cell = row.cells[column];
		return [numeric ? number_in(cell) : cell.textContent, row];
	});
	/* what has no number goes last */
	const value = (v) => Number.isNaN(v) ? -Infinity : v;
	rows.sort(([a], [b]) => numeric ? value(a) - value(b) : a.localeCompare(b, "en", { numeric: true }));
	if (falling)
		rows.reverse();
	table.tBodies[0].append(...rows.map(([, row]) => row));
	say_order(table);
}
/** What the table is sorted by, and how many rows there are to see. */
function say_order(table) {
	const th = one("th[aria-sort]", table), rows = [...table.tBodies[0].rows];
	const shown = rows.filter((row) => !row.hidden).length;
	const order = !th ? "" : (th.classList.contains("n") ?
		{ descending: ", most first", ascending: ", least first" } : { descending: ", Z to A", ascending: ", A to Z" })[th.getAttribute("aria-sort")];
	table.tools_order.textContent = (th ? "Sorted by " + th.textContent + order + " · " : "") +
		(shown < rows.length ? thousands(shown) + " of " : "") + thousands(rows.length) + (rows.length === 1 ? " row" : " rows");
}
function filter_table(table, text) {
	const want = text.toLowerCase();
	for (const row of table.tBodies[0].rows)
		row.hidden = !row.textContent.toLowerCase().includes(want);
	say_order(table);
}
function make_table(table) {
	const box = table.closest(".tablebox"), head = table.tHead.rows[0], rows = [...table.tBodies[0].rows];
	const tools = make("div", { class: "tools" });
	[...head.cells].forEach((th, column) => {
		const button = make("button", { type: "button" }, th.textContent);
		th.replaceChildren(button);
		button.onclick = () => {
			const now = th.getAttribute("aria-sort");
			sort_table(table, column, now ? now === "ascending" : th.classList.contains("n"));
		};
	});
	table.tools_order = make("p", { "aria-live": "polite" });
	if (rows.length > 7) {
		const input = make("input", { type: "search", placeholder: "Filter", autocomplete: "off", spellcheck: "false",
			"aria-label": "Filter " + one(".scroll", box).getAttribute("aria-label") });
		input.oninput = () => filter_table(table, input.value);
		tools.append(make("label", {}, input));
	}
	tools.append(table.tools_order);
	box.prepend(tools);
	for (const row of rows) {
		row.tabIndex = -1;
		for (const cell of row.cells) {
			if (cell.classList.contains("p"))
				cell.style.setProperty("--w", cell.dataset.v + "%");
			if (cell.textContent === "0" && cell.classList.contains("n"))
				cell.classList.add("zero");
		}
	}
	say_order(table);
}
/* Large tables are got ready when they are first seen. */
function ready_tables(view) {
	for (const table of all(".tablebox table", view))
		if (!table.tools_order)
			make_table(table);
}
/* what does not fit is said where the pointer is */
document.addEventListener("pointerover", (e) => {
	const cell = e.target.closest?.("td, tbody th");
	if (cell && cell.scrollWidth > cell.clientWidth)
		cell.title = cell.textContent;
});
document.addEventListener("keydown", (e) => {
	const scroll = e.target.closest?.(".tablebox .scroll"), row = e.target.closest?.("tr");
	if (!scroll || e.ctrlKey || e.altKey || e.metaKey || e.target.tagName === "BUTTON")
		return;
	const rows = [...one("table", scroll).tBodies[0].rows].filter((r) => !r.hidden);
	const at = rows.indexOf(row), page = 15;
	const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1, PageDown: at + page, PageUp: at - page }[e.key];
	if (to !== undefined && rows.length) {
		rows[Math.max(0, Math.min(rows.length - 1, to))].focus();
		e.preventDefault();
	} else if (e.key === "Enter" && row && e.target.tagName !== "A") {
		one("a", row)?.click();
	}
});
