// Tables: sorted by a click on a heading, searched all together, more rows and columns on demand.
// SPDX-License-Identifier: BSD-3-Clause
import { h } from "./dom.js";
import { UNIT, cell } from "./format.js";

const FIRST_ROWS = 15;
// What a row is of stands before its numbers: of many columns the last are out of sight.
const FIRST_COLUMNS = {
	thread: ["thread", "host"], process: ["process", "host", "pid"], container: ["process", "host", "pid", "cgroup"],
	file: ["file", "host"], device: ["device", "host", "name"], class: ["function"], callsite: ["where"],
	compare: ["kind", "what", "says"], blame: ["victim", "host", "culprit", "culprit_host"], accesses: ["file", "host"],
};

const HEADINGS = {
	thread: "Threads", process: "Processes", container: "Containers", file: "Files", device: "Devices",
	class: "Classes of operations", callsite: "Lines of the program", timeline: "Pieces of time",
	blame: "Who took time from whom", compare: "Differences",
	accesses: "Reads, writes and the like of each file", sizes: "Sizes of calls",
};

// Does it want more room than numbers leave it?
const isLong = (column) => column.long ??= column.values.some((v) => v?.length > 20);

export class Table {
	constructor(data, title = null, id = "") {
		this.data = data;
		this.rows = [...Array(data.n).keys()];
		this.most = FIRST_ROWS;
		this.all = false;
		this.sorted = null;
		this.down = true;
		this.words = [];
		this.title = title ?? HEADINGS[data.name] ?? data.name;
		this.body = h("div", { class: "scroll", tabindex: "0", role: "region",
			"aria-label": this.title });
		this.note = h("p", { class: "note" });
		this.more = h("button", { type: "button", onclick: () => this.showMore() }, "");
		this.columnsButton = h("button", { type: "button", "aria-pressed": "false",
			onclick: () => this.showColumns() }, "All columns");
		this.element = h("section", { id: `${data.name}-table${id}`, class: "table" },
			h("h3", {}, this.title), this.body,
			h("p", { class: "buttons" }, this.more, this.columnsButton), this.note);
		this.draw();
	}

	columns() {
		const columns = this.data.columns.filter((c) => (this.all ? true : c.shown &&
			c.values.some((v) => v !== null && v !== "")));
		const first = FIRST_COLUMNS[this.data.name] ?? [];
		return [...columns.filter((c) => first.includes(c.name)).sort((a, b) => first.indexOf(a.name) - first.indexOf(b.name)),
			...columns.filter((c) => !first.includes(c.name))];
	}

	search(words) {
		this.words = words;
		this.draw();
	}

	matches(row) {
		return this.words.every((word) => this.data.columns.some(
			(c) => c.unit === UNIT.TEXT && c.values[row]?.toLowerCase().includes(word)));
	}

	sort(column) {
		if (this.sorted === column)
			this.down = !this.down;
		else
			this.down = column.unit !== UNIT.TEXT;
		this.sorted = column;
		const sign = this.down ? -1 : 1;
		this.rows.sort((x, y) => {
			const a = column.values[x], b = column.values[y];
			// what is not known comes last
			if (a === null || b === null)
				return (a === null) - (b === null) || x - y;
			return (a < b ? -sign : a > b ? sign : 0) || x - y;
		});
		this.draw();
		this.body.querySelector(`[data-column="${column.name}"]`)?.focus();
	}

	showMore() {
		this.most = this.most < this.found ? Math.max(this.most * 10, 100) : FIRST_ROWS;
		this.draw();
	}

	showColumns() {
		this.all = !this.all;
		this.columnsButton.setAttribute("aria-pressed", String(this.all));
		this.draw();
	}

	heading(column) {
		const sorted = this.sorted === column;
		return h("th", { scope: "col", class: column.unit === UNIT.TEXT ? "text" : null,
			"aria-sort": sorted ? (this.down ? "descending" : "ascending") : null },
		h("button", { type: "button", title: column.what, "data-column": column.name,
			onclick: () => this.sort(column) },
		this.all && !column.shown ? column.name.replaceAll("_", " ") : column.heading,
		sorted ? (this.down ? " ▾" : " ▴") : ""));
	}

	draw() {
		const columns = this.columns();
		const found = this.rows.filter((row) => this.matches(row));
		const shown = found.slice(0, this.most);
		this.found = found.length;
		this.body.replaceChildren(h("table", {},
			h("thead", {}, h("tr", {}, ...columns.map((c) => this.heading(c)))),
			h("tbody", {}, ...shown.map((row) => h("tr", {}, ...columns.map(
				(c) => h("td", { class: c.unit !== UNIT.TEXT ? null : isLong(c) ? "text long" : "text" },
					cell(c.values[row], c.unit))))))));
		this.more.hidden = found.length <= FIRST_ROWS;
		this.more.textContent = this.most < found.length ? `More rows (${found.length - shown.length})` : "Fewer rows";
		const left = this.data.left_out;
		this.note.textContent = (this.data.n === 0 ? `no ${this.data.rows}` : found.length === 0 ?
			"no row has these words" : "") + (left ? `${left} more ${this.data.rows} are not in the page (--csv has all)` : "");
	}
}
