// Views: one at a time, named by the part of the address behind #, with navigation beside them.
const views = all(".view"), openers = {};
/** Show the view that @hash names ("#code/3"), and tell it the rest. */
function route() {
	const hash = decodeURIComponent(location.hash.slice(1)), [id, ...rest] = hash.split("/");
	const target = id ? document.getElementById(id) : null;
	const view = target?.closest(".view") ?? views[0];
	for (const other of views)
		other.hidden = other !== view;
	for (const a of all("nav a"))
		if (a.hash === "#" + view.id)
			a.setAttribute("aria-current", "page");
		else
			a.removeAttribute("aria-current");
	close_menu();
	ready_tables(view);
	openers[view.id]?.(rest);
	ready_charts(view);
	if (target && target !== view)
		target.scrollIntoView();
	else
		scrollTo(0, 0);
}
function close_menu() {
	one("nav")?.classList.remove("open");
	one("#menu").setAttribute("aria-expanded", "false");
}
function make_navigation() {
	const nav = make("nav", { id: "nav", "aria-label": "Views" }), groups = new Map();
	for (const view of views) {
		const group = view.dataset.group;
		if (!groups.has(group)) {
			const box = nav.appendChild(make("div"));
			if (group)
				box.append(make("h2", {}, group));
			groups.set(group, box);
		}
		groups.get(group).append(make("a", { href: "#" + view.id }, one("h2", view).textContent));
	}
	const frame = make("div", { class: "frame" }), main = one("main"), footer = one("footer");
	main.before(frame);
	frame.append(nav, make("div", {}, main, footer));
	one("#menu").onclick = () => {
		const open = nav.classList.toggle("open");
		one("#menu").setAttribute("aria-expanded", String(open));
	};
}
