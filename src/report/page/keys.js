// Keys, and getting everything ready.
function ready_help() {
	const keys = [["/", "search"], ["↑ ↓ Enter", "move through a table, the code or what was found, and open"],
		["← → ↑ ↓", "move through the flame graph; Enter looks closer"], ["n p", "next, previous view"], ["t", "colours: as the system, light, dark"],
		["Esc", "close, clear, or back to the first screen"], ["?", "this"]];
	const dialog = make("dialog", { "aria-labelledby": "help-title" }, make("h2", { id: "help-title" }, "Keys"), make("dl", {}),
		make("button", { type: "button" }, "Close"));
	for (const [key, what] of keys)
		one("dl", dialog).append(make("dt", {}, ...key.split(" ").flatMap((k) => [make("kbd", {}, k), " "])), make("dd", {}, what));
	one("button", dialog).onclick = () => dialog.close();
	document.body.append(dialog);
	one("#help").onclick = () => dialog.showModal();
}
function go_beside(step) {
	const at = views.findIndex((v) => !v.hidden);
	location.hash = "#" + views[(at + step + views.length) % views.length].id;
}
document.addEventListener("keydown", (e) => {
	if (e.ctrlKey || e.altKey || e.metaKey || one("dialog")?.open)
		return;
	const typing = e.target.matches?.("input, select, textarea");
	if (e.key === "Escape") {
		if (typing && e.target.value && e.target.type === "search") {
			e.target.value = "";
			e.target.dispatchEvent(new Event("input"));
		} else if (typing) {
			e.target.blur();
		} else if (one("nav").classList.contains("open")) {
			close_menu();
		} else if (!(one("#flame")?.hidden === false && flame.reset?.())) {
			location.hash = "#overview";
		}
		return;
	}
	if (typing)
		return;
	const action = { "/": () => one("#search").focus(), "?": () => one("#help").click(), t: () => one("#theme").click(),
		n: () => go_beside(1), p: () => go_beside(-1) }[e.key];
	if (action) {
		action();
		e.preventDefault();
	}
});
make_navigation();
ready_overview();
ready_code();
ready_flame();
ready_search();
ready_help();
addEventListener("hashchange", route);
route();
