// The first screen: bars, another event to rank by, commands to copy.
function ready_top(list) {
	for (const li of all("li", list))
		li.style.setProperty("--w", li.dataset.v + "%");
}
/** The rows of the table in view @id with the most in @column. */
function top_of(id, column, total) {
	const table = one("#" + id + " table");
	if (!table)
		return [];
	return [...table.tBodies[0].rows].map((row) => [number_in(row.cells[column]), row.cells[0]])
		.filter(([v]) => v > 0).sort(([a], [b]) => b - a).slice(0, 8)
		.map(([v, cell]) => ({ percent: 100 * v / total, name: cell.textContent, link: one("a", cell)?.getAttribute("href") }));
}
function rank_by(events, k) {
	for (const box of all("[data-top]")) {
		const rows = top_of(box.dataset.top, k + 2, events.total[k] || 1);
		const items = rows.map(({ percent, name, link }) => make("li", { "data-v": percent },
			make("span", { class: "name" }, link ? make("a", { href: link }, name) : name),
			make("span", { class: "share" }, share(percent))));
		one("ol", box).replaceChildren(...items);
		ready_top(box);
	}
}
function ready_overview() {
	const events = data("#events"), measure = one("#measure");
	all(".top").forEach(ready_top);
	if (events && measure && events.events.length > 1) {
		const select = make("select", { id: "rank", "aria-label": "Event to rank by" });
		events.events.forEach(([name, about], k) => {
			if (events.total[k])
				select.append(make("option", { value: k, selected: k === events.sort, title: about }, name === "Ir" ? "instructions" : name + ": " + about));
		});
		const first = all("[data-top]").map((box) => [one("ol", box), [...one("ol", box).children]]);
		select.onchange = () => Number(select.value) === events.sort ? first.forEach(([ol, items]) => ol.replaceChildren(...items)) :
			rank_by(events, Number(select.value));
		measure.replaceWith(select);
	}
	for (const code of all(".try code")) {
		const button = make("button", { type: "button" }, "Copy");
		button.onclick = async () => {
			try {
				await navigator.clipboard.writeText(code.textContent);
				button.textContent = "Copied";
			} catch {
				getSelection().selectAllChildren(code);
				button.textContent = "Selected";
			}
			setTimeout(() => { button.textContent = "Copy"; }, 1500);
		};
		code.after(button);
	}
}
