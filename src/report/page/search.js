// Search: functions, lines, objects, views and sections, from everywhere in the page.
function search_index() {
	const list = [];
	for (const view of views)
		list.push({ text: one("h2", view).textContent, link: "#" + view.id, kind: "view" });
	for (const h3 of all(".view:not(#overview) h3[id]"))
		list.push({ text: h3.firstChild.textContent.trim(), link: "#" + h3.id, kind: one("h2", h3.closest(".view")).textContent });
	for (const [id, kind] of [["functions", "function"], ["lines", "line"], ["objects", "object"], ["calls", "caller"]])
		for (const cell of all(`#${id} tbody th`))
			list.push({ text: cell.textContent, link: one("a", cell)?.getAttribute("href") ?? "#" + id, kind, cell });
	return list;
}
function ready_search() {
	const input = one("#search"), hits = one("#hits");
	let index = null, found = [], at = 0;
	function show(open) {
		hits.hidden = !open;
		input.setAttribute("aria-expanded", String(open));
		if (!open)
			input.removeAttribute("aria-activedescendant");
	}
	function select(i) {
		at = i;
		[...hits.children].forEach((li, k) => li.setAttribute("aria-selected", String(k === at)));
		hits.children[at]?.scrollIntoView({ block: "nearest" });
		if (hits.children[at]?.id)
			input.setAttribute("aria-activedescendant", hits.children[at].id);
	}
	function follow(hit) {
		show(false);
		input.blur();
		if (hit.cell && !one("a", hit.cell)) {	/* no code to show: the row of the table */
			location.hash = hit.link;
			setTimeout(() => {
				hit.cell.parentElement.hidden = false;
				hit.cell.scrollIntoView({ block: "center" });
				hit.cell.parentElement.focus();
			}, 0);
		} else {
			location.hash = hit.link;
		}
	}
	input.oninput = () => {
		const want = input.value.trim().toLowerCase();
		index ??= search_index();
		const rank = (text) => text === want ? 0 : text.startsWith(want) ? 1 : 2;
		found = want ? index.filter((e) => e.text.toLowerCase().includes(want))
			.sort((a, b) => rank(a.text.toLowerCase()) - rank(b.text.toLowerCase())).slice(0, 14) : [];
		hits.replaceChildren(...found.map((e, i) => make("li", { role: "option", id: "hit" + i }, make("span", {}, e.text), make("small", {}, e.kind))));
		if (want && !found.length)
			hits.append(make("li", { role: "option", "aria-disabled": "true" }, make("small", {}, "Nothing is called that.")));
		show(want !== "");
		select(0);
	};
	input.onkeydown = (e) => {
		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			if (found.length)
				select((at + (e.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
			e.preventDefault();
		} else if (e.key === "Enter" && found[at]) {
			follow(found[at]);
		} else if (e.key === "Escape") {
			show(false);
			input.value = "";
			input.blur();
			e.stopPropagation();
			e.preventDefault();
		}
	};
	input.onblur = () => setTimeout(() => show(false), 150);
	input.onfocus = () => input.value && input.oninput();
	hits.onpointerdown = (e) => {
		const li = e.target.closest("li");
		e.preventDefault();
		if (li && found[[...hits.children].indexOf(li)])
			follow(found[[...hits.children].indexOf(li)]);
	};
}
