// The timeline: lanes of threads and devices, drawn pixel by pixel; zoom, search, who holds what.
// SPDX-License-Identifier: BSD-3-Clause
import { colour, h, onLook, rgb } from "./dom.js";
import { bytes, duration, tick } from "./format.js";
import { count } from "./data.js";
import { holdersOf, lanesOf } from "./lanes.js";
import { coarser } from "./series.js";
import { Table } from "./tables.js";
import { UNIT } from "./format.js";

const RULER = 22, ROW = 10, GAP = 6, HEADING = 16, INDENT = 8, MOST_ROWS = 8, MOST_HEIGHT = 620;
const LEAST_SPAN = 1000; // ns that the whole width shows at least
const MOST_LABELS = 190, LABELS_PART = 0.35; // for the names of the lanes, of the width
export const KEYS = "Drag to zoom into a part, double-click a region to zoom to it, Ctrl and the wheel zoom. With the keyboard: " +
	"← → move, + − zoom, ↑ ↓ choose a lane, comma and full stop the region before and after it, Enter zooms to it, n finds the next match, Home shows all. " +
	"A device's height is its mean number of requests in flight in each part of the time, beside it the highest.";

export class Timeline {
	constructor(side, span, title) {
		const data = side.timeline;
		this.side = side;
		this.data = data;
		this.span = Math.max(span, LEAST_SPAN);
		this.from = 0;
		this.to = this.span;
		this.words = [];
		this.others = [];
		this.selected = null; // { lane, region }
		this.lane = 0;
		this.lanes = lanesOf(data.lanes, data.guests);
		this.devices = data.devices.map((d) => ({ label: (d.host ? `${d.host}: ` : "") + d.name, busy: [d.busy_ns] }));
		this.holder = holdersOf(this.lanes);
		this.place();
		this.build(title);
		this.drawn = onLook(this.scroller, () => this.draw());
	}

	// Where each lane is, from the top, below the names of its machine and its process.
	place() {
		const several = (values) => new Set(values).size > 1;
		const hosts = several(this.lanes.map((lane) => lane.host)), processes = several(this.lanes.map((lane) => lane.process));
		let y = RULER, before = null, headed = false;
		const head = (text, indent) => {
			this.headings.push({ text, indent, y, height: HEADING - 2 });
			y += HEADING;
		};
		this.headings = [];
		for (const [l, lane] of this.lanes.entries()) {
			const next = this.lanes[l + 1], { path } = lane, last = path.length - 1;
			let same = 0;
			while (before && same <= last && before.path[same] === path[same])
				same++;
			// the machine, and where that is a guest what it runs in; then the process
			for (let d = same; hosts && d < last; d++)
				head(path[d] || "(a machine without a name)", d * INDENT);
			if (same <= last) {
				// of one with a single thread that thread says enough, but a virtual machine's has a guest
				headed = processes && (lane.vm || (next?.host === lane.host && next.process === lane.process));
				if (headed)
					head(lane.process, hosts ? last * INDENT : 0);
			}
			lane.indent = ((hosts ? last : 0) + (headed ? 1 : 0)) * INDENT;
			before = lane;
			lane.shownRows = Math.max(2, Math.min(MOST_ROWS, lane.rows.length));
			lane.y = y;
			lane.height = lane.shownRows * ROW;
			y += lane.height + GAP;
		}
		for (const device of this.devices) {
			device.y = y;
			device.height = 2 * ROW;
			y += device.height + GAP;
		}
		this.height = y;
	}

	build(title) {
		const button = (label, text, fn) => h("button", { type: "button", "aria-label": label, title: label, onclick: fn }, text);
		this.canvas = h("canvas", {});
		this.spacer = h("div", { class: "spacer" }, this.canvas);
		this.scroller = h("div", { class: "lanes", tabindex: "0", role: "application",
			"aria-roledescription": "timeline", "aria-label": `Timeline ${title}: what each thread did` }, this.spacer);
		this.tip = h("p", { class: "tip", role: "status" });
		this.note = h("p", { class: "note" });
		this.found = h("span", {});
		this.tableHolder = h("details", { ontoggle: () => this.drawTable() },
			h("summary", {}, "The longest regions in view, as a table"));
		this.element = h("div", { class: "timeline" }, ...(title ? [h("h3", {}, title)] : []),
			h("p", { class: "buttons" }, button("Zoom in", "+", () => this.zoom(0.5)), button("Zoom out", "−", () => this.zoom(2)),
				button("Earlier", "←", () => this.pan(-0.3)), button("Later", "→", () => this.pan(0.3)),
				button("Show all", "All", () => this.show(0, this.span)), button("Next match of the search", "Next match", () => this.next()), " ",
				this.found, this.legend()),
			this.scroller, this.tip, this.note, this.tableHolder);
		this.scroller.addEventListener("scroll", () => this.draw());
		this.scroller.addEventListener("keydown", (event) => this.key(event));
		this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
		this.canvas.addEventListener("pointermove", (event) => this.move(event));
		this.canvas.addEventListener("pointerdown", (event) => this.press(event));
		this.canvas.addEventListener("pointerup", (event) => this.release(event));
		this.canvas.addEventListener("dblclick", () => this.zoomToSelected());
		this.spacer.style.height = `${this.height}px`;
		this.scroller.style.height = `${Math.min(MOST_HEIGHT, this.height + 2)}px`;
	}

	legend() {
		return h("span", { class: "legend" }, ...[...this.data.levels, "other"].map((level) =>
			h("span", { class: `key ${level}` }, level)), h("span", { class: "key wait" }, "hatched: waits"));
	}

	follow(others) {
		this.others = others;
	}

	// ---- what is shown ----

	show(from, to, alone = false) {
		const span = Math.min(this.span, Math.max(LEAST_SPAN, to - from));
		const middle = (from + to) / 2;
		this.from = Math.max(0, Math.min(this.span - span, middle - span / 2));
		this.to = this.from + span;
		this.draw();
		for (const other of alone ? [] : this.others)
			if (other !== this)
				other.show(this.from, this.to, true);
	}

	zoom(factor, at = null) {
		const chosen = this.selected && this.lanes[this.selected.lane].begin[this.selected.region];
		const inView = chosen !== null && chosen >= this.from && chosen <= this.to;
		const ns = at ?? (inView ? chosen : (this.from + this.to) / 2);
		this.show(ns - (ns - this.from) * factor, ns + (this.to - ns) * factor);
	}

	pan(part) {
		const by = (this.to - this.from) * part;
		this.show(this.from + by, this.to + by);
	}

	zoomToSelected() {
		if (!this.selected)
			return;
		const lane = this.lanes[this.selected.lane], begin = lane.begin[this.selected.region];
		const ns = Math.max(lane.ns[this.selected.region], LEAST_SPAN / 2);
		this.show(begin - ns / 2, begin + ns * 1.5);
	}

	select(lane, region) {
		this.selected = region < 0 ? null : { lane, region };
		this.lane = lane;
		this.tell();
		this.draw();
	}

	// Moves the view to what is selected, should it be elsewhere.
	reveal() {
		const { lane, region } = this.selected, begin = this.lanes[lane].begin[region];
		const { y, height } = this.lanes[lane];
		if (y < this.scroller.scrollTop + RULER || y + height > this.scroller.scrollTop + this.scroller.clientHeight)
			this.scroller.scrollTop = y - RULER - GAP;
		if (begin < this.from || begin > this.to)
			this.show(begin - (this.to - this.from) / 2, begin + (this.to - this.from) / 2);
	}

	// ---- words ----

	search(words) {
		this.words = words;
		const has = (text) => words.every((word) => text.toLowerCase().includes(word));
		this.regionsFound = this.data.regions.map((r) => has(r.name));
		this.filesFound = [false, ...this.data.files.map(has)];
		this.lanesFound = this.lanes.map((lane) => has(`${lane.label} ${lane.process}`));
		let n = 0;
		for (const [l, lane] of this.lanes.entries())
			for (let i = 0; words.length && i < lane.n; i++)
				n += this.isFound(l, i);
		this.found.textContent = words.length ? `${count(n, "region")} ${n === 1 ? "matches" : "match"}` : "";
		this.draw();
	}

	isFound(lane, region) {
		const l = this.lanes[lane];
		return !this.words.length || this.lanesFound[lane] || this.regionsFound[l.region[region]] || this.filesFound[l.file[region]];
	}

	// The first match that begins after what is selected.
	next() {
		const last = this.selected ? [this.lanes[this.selected.lane].begin[this.selected.region], this.selected.lane,
			this.selected.region] : [-1, -1, -1];
		let best = null;
		const later = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
		for (const [l, lane] of this.lanes.entries())
			for (let i = 0; i < lane.n; i++) {
				const here = [lane.begin[i], l, i];
				if (later(here, last) <= 0 || !this.isFound(l, i))
					continue;
				if (!best || later(here, best) < 0)
					best = here;
				break;
			}
		if (!best && this.selected) {
			this.selected = null;
			this.next();
		} else if (best) {
			this.select(best[1], best[2]);
			this.reveal();
		}
	}

	describe(l, i) {
		const lane = this.lanes[l], region = this.data.regions[lane.region[i]];
		const file = lane.file[i] ? this.data.files[lane.file[i] - 1] : "";
		return [`${lane.label}: ${region.name}`, `at ${duration(lane.begin[i])}`, `for ${duration(lane.ns[i])}`,
			file, lane.size[i] >= 0 ? bytes(lane.size[i]) : "", lane.offset[i] >= 0 ? `offset ${lane.offset[i]}` : "",
			lane.who[i] ? `waits for ${this.holderName(lane, i)}` : ""].filter((t) => t).join(", ");
	}

	holderName(lane, i) {
		const who = this.holder(lane, i);
		if (who !== undefined)
			return this.lanes[who].label;
		return lane.who[i] > 0 ? `tid ${lane.who[i]}` : "a thread of the virtual machine's host";
	}

	tell() {
		this.tip.textContent = this.selected ? this.describe(this.selected.lane, this.selected.region) : "";
	}

	// Is every region that there was in view in the page?
	isDetailed() {
		return this.data.whole || this.data.details.some(([from, to]) => this.from >= from && this.to <= to);
	}

	noteDetail() {
		const { data } = this;
		if (data.whole) {
			this.note.textContent = data.all === 1 ? "The only region is here." : data.all ? `All ${data.all} regions are here.` :
				"No thread has a region: nothing to show.";
			return;
		}
		const before = data.before_ns;
		this.note.textContent = this.isDetailed() && !data.cut ? "Every region of this part is here." :
			`The trace has ${data.all} regions, more than the page holds: sums over time are shown, and the regions around the ` +
			`${data.details.length ? "longest waits (marked above)" : "waits are left out"}. All of this part: `;
		if (!this.isDetailed() || data.cut)
			this.note.append(h("code", {}, `sci-analyze --from=${Math.floor(before + this.from)}ns --to=${Math.ceil(before + this.to)}ns ` +
				`--html=part.html ${this.side.paths.map((path) => `'${path.replaceAll("'", "'\\''")}'`).join(" ")}`));
	}

	// ---- drawing ----

	x(ns) {
		return (ns - this.from) / (this.to - this.from) * this.width;
	}

	colours() {
		const word = (name) => {
			const [r, g, b] = rgb(colour(name));
			return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
		};
		return { levels: [...this.data.levels, "other"].map((l) => word(`--${l}`)), dim: word("--dim"), back: word("--lane"),
			limit: word("--limit"), busy: word("--busy"), dark: word("--hatch") };
	}

	draw() {
		const scale = window.devicePixelRatio > 1.5 ? 2 : 1, top = this.scroller.scrollTop;
		const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
		this.labels = Math.round(Math.min(MOST_LABELS, width * LABELS_PART));
		if (width <= this.labels)
			return;
		this.width = width - this.labels;
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		const context = this.canvas.getContext("2d");
		const image = context.createImageData(this.width * scale, height * scale);
		this.pixels = new Uint32Array(image.data.buffer);
		this.scale = scale;
		this.stride = this.width * scale;
		this.ink = this.colours();
		const inView = (item) => item.y + item.height > top + RULER && item.y < top + height;
		for (const [l, lane] of this.lanes.entries())
			if (inView(lane))
				this.drawLane(l, lane, lane.y - top);
		for (const device of this.devices)
			if (inView(device))
				this.drawDevice(device, device.y - top);
		context.putImageData(image, this.labels * scale, 0);
		context.scale(scale, scale);
		this.drawLabels(context, top, inView, width, height);
		this.drawArrow(context, top);
		this.noteDetail();
		this.drawTable();
	}

	// A rectangle of pixels; HATCHED: every other diagonal is dark.
	fill(x0, x1, y0, y1, ink, hatched = false) {
		const { scale, stride, pixels } = this, dark = this.ink.dark;
		const left = Math.max(0, Math.floor(x0 * scale)), right = Math.min(stride, Math.max(left + 1, Math.floor(x1 * scale)));
		const top = Math.max(RULER * scale, Math.floor(y0 * scale)), bottom = Math.min(pixels.length / stride, Math.floor(y1 * scale));
		for (let y = top; y < bottom; y++) {
			const line = y * stride;
			if (!hatched)
				pixels.fill(ink, line + left, line + right);
			else
				for (let x = left; x < right; x++)
					pixels[line + x] = ((x + y) & 7) < 2 * scale ? dark : ink;
		}
	}

	drawLane(l, lane, y) {
		this.fill(0, this.width, y, y + lane.height, this.ink.back);
		if (lane.bins && !this.isDetailed())
			this.drawBins(lane, y);
		const nsPerPixel = (this.to - this.from) / this.width;
		for (let row = 0; row < lane.shownRows && row < lane.rows.length; row++) {
			let drawn = -1, drawnWait = false;
			lane.each(row, this.from, this.to, (i) => {
				const region = this.data.regions[lane.region[i]], x0 = this.x(lane.begin[i]);
				const pixel = Math.floor(x0 * this.scale);
				// of those that share a pixel the waits are seen
				if (lane.ns[i] < nsPerPixel && pixel === drawn && (drawnWait || !region.wait))
					return;
				const x1 = Math.max(x0 + 1 / this.scale, this.x(lane.end(i)));
				const ink = this.isFound(l, i) ? this.ink.levels[region.level] ?? this.ink.levels.at(-1) : this.ink.dim;
				this.fill(x0, x1, y + row * ROW, y + row * ROW + ROW - 1, ink, region.wait && x1 - x0 > 3);
				drawn = pixel;
				drawnWait = region.wait;
			});
		}
	}

	// Sums over time: how much of it was I/O, and of that what others took, by level.
	drawBins(lane, y) {
		const most = Math.max(1, Math.ceil(this.width * this.scale * this.span / (this.to - this.from)));
		const [io, limit, ...levels] = lane.binsFor(most);
		const ns = this.data.span_ns / io.length;
		const first = Math.max(0, Math.floor(this.from / ns)), last = Math.min(io.length, Math.ceil(this.to / ns));
		for (let b = first; b < last; b++) {
			const x0 = this.x(b * ns), x1 = this.x((b + 1) * ns), bottom = y + lane.height;
			const part = (value) => Math.max(0, Math.min(1, value / ns)) * lane.height;
			if (io[b])
				this.fill(x0, x1, bottom - Math.max(1, part(io[b])), bottom, this.ink.busy);
			let at = bottom;
			const stack = [...levels.map((column, i) => [column[b] ?? 0, this.ink.levels[i]]), [limit[b] ?? 0, this.ink.limit]];
			for (const [value, ink] of stack)
				if (value > 0) {
					this.fill(x0, x1, at - part(value), at, ink);
					at -= part(value);
				}
		}
	}

	drawDevice(device, y) {
		const most = Math.max(1, Math.ceil(this.width * this.scale * this.span / (this.to - this.from)));
		let level = 0;
		while (device.busy[level].length > most) {
			device.busy[level + 1] ??= coarser(device.busy[level], 4);
			level++;
		}
		const busy = device.busy[level], ns = this.data.span_ns / busy.length;
		device.most ??= Math.max(...device.busy[0]) / (this.data.span_ns / device.busy[0].length) || 0;
		this.fill(0, this.width, y, y + device.height, this.ink.back);
		for (let b = Math.max(0, Math.floor(this.from / ns)); b < busy.length && b * ns < this.to; b++)
			if (busy[b])
				this.fill(this.x(b * ns), this.x((b + 1) * ns), y + device.height * (1 - busy[b] / ns / device.most), y + device.height,
					this.ink.levels[this.data.levels.indexOf("block")]);
	}

	drawLabels(context, top, inView, width, height) {
		const text = colour("--text");
		context.font = "12px system-ui, sans-serif";
		context.fillStyle = colour("--back");
		context.fillRect(this.labels, 0, width, RULER);
		context.fillStyle = text;
		const label = (item, name, indent = 0) => {
			if (!inView(item))
				return;
			let shown = name;
			while (context.measureText(shown).width > this.labels - 16 - indent && shown.length > 4)
				shown = `…${shown.slice(2)}`;
			context.fillText(shown, 4 + indent, Math.max(RULER + 10, item.y - top + Math.min(item.height, 20) / 2 + 4));
		};
		for (const [l, lane] of this.lanes.entries()) {
			if (l === this.lane && inView(lane) && document.activeElement === this.scroller) {
				context.strokeStyle = colour("--focus");
				context.strokeRect(0.5, lane.y - top - 2.5, width - 1, lane.height + 4);
			}
			label(lane, lane.name, lane.indent);
		}
		context.font = `600 ${context.font}`;
		for (const heading of this.headings)
			label(heading, heading.text, heading.indent);
		context.font = "12px system-ui, sans-serif";
		for (const device of this.devices)
			label(device, `${device.label}: ${device.most >= 0.1 ? `up to ${device.most.toFixed(1)}` : device.most > 0 ? "below 0.1" : "none"}`);
		// what stands in the way of the ruler
		context.fillStyle = colour("--back");
		context.fillRect(0, 0, this.labels, RULER);
		context.fillStyle = text;
		const step = 10 ** Math.floor(Math.log10((this.to - this.from) / 4));
		const every = [1, 2, 5, 10].map((m) => m * step).find((s) => (this.to - this.from) / s <= this.width / 110) ?? step * 20;
		for (let ns = Math.ceil(this.from / every) * every; ns <= this.to; ns += every) {
			context.fillStyle = colour("--grid");
			context.fillRect(this.labels + this.x(ns), RULER - 5, 1, height);
			context.fillStyle = text;
			const said = tick(ns, every, this.to), x = this.labels + this.x(ns) + 3;
			if (x + context.measureText(said).width <= width)
				context.fillText(said, x, 13);
		}
		context.fillStyle = colour("--focus");
		for (const [from, to] of this.data.whole ? [] : this.data.details)
			if (to > this.from && from < this.to)
				context.fillRect(this.labels + Math.max(0, this.x(from)), RULER - 4, Math.max(2, this.x(to) - Math.max(0, this.x(from))), 4);
	}

	drawArrow(context, top) {
		if (!this.selected)
			return;
		const lane = this.lanes[this.selected.lane], i = this.selected.region;
		const x0 = this.labels + Math.max(0, this.x(lane.begin[i])), x1 = this.labels + Math.min(this.width, this.x(lane.end(i)));
		const row = Math.min(lane.depth[i], lane.shownRows - 1), y = lane.y - top + row * ROW;
		context.strokeStyle = colour("--text");
		context.lineWidth = 2;
		context.strokeRect(x0, y, Math.max(2, x1 - x0), ROW - 1);
		const holder = this.holder(lane, i);
		if (holder === undefined || holder === this.selected.lane)
			return;
		const to = this.lanes[holder], below = to.y > lane.y, end = to.y - top + (below ? 0 : to.height);
		const x = Math.max(this.labels, Math.min(x0 + 4, x1));
		context.beginPath();
		context.moveTo(x, y + (below ? ROW : 0));
		context.lineTo(x, end);
		context.moveTo(x - 4, end + (below ? -7 : 7));
		context.lineTo(x, end);
		context.lineTo(x + 4, end + (below ? -7 : 7));
		context.stroke();
	}

	drawTable() {
		if (!this.tableHolder.open)
			return;
		const found = [];
		for (const [l, lane] of this.lanes.entries())
			for (let row = 0; row < lane.rows.length; row++)
				lane.each(row, this.from, this.to, (i) => this.isFound(l, i) && found.push([l, i]));
		found.sort((a, b) => this.lanes[b[0]].ns[b[1]] - this.lanes[a[0]].ns[a[1]]);
		const rows = found.slice(0, 50), column = (name, heading, unit, get) =>
			({ name, heading, unit, shown: true, what: heading, values: rows.map(([l, i]) => get(this.lanes[l], i)) });
		const table = new Table({ name: "regions", rows: "regions in view", n: rows.length, left_out: 0, columns: [
			column("begin", "begin", UNIT.NS, (lane, i) => lane.begin[i]), column("duration", "duration", UNIT.NS, (lane, i) => lane.ns[i]),
			column("region", "region", UNIT.TEXT, (lane, i) => this.data.regions[lane.region[i]].name),
			column("thread", "thread", UNIT.TEXT, (lane) => lane.label),
			column("size", "size", UNIT.BYTES, (lane, i) => (lane.size[i] >= 0 ? lane.size[i] : null)),
			column("file", "file", UNIT.TEXT, (lane, i) => (lane.file[i] ? this.data.files[lane.file[i] - 1] : "")),
			column("who", "waits for", UNIT.TEXT, (lane, i) => (lane.who[i] ? this.holderName(lane, i) : "")),
		] }, "Longest regions in view");
		this.tableHolder.replaceChildren(this.tableHolder.firstChild, table.element);
	}

	// ---- hands ----

	point(event) {
		const box = this.canvas.getBoundingClientRect();
		const x = event.clientX - box.left - this.labels, y = event.clientY - box.top + this.scroller.scrollTop;
		return { x, ns: this.from + x / this.width * (this.to - this.from), y };
	}

	move(event) {
		const { ns, y } = this.point(event);
		if (this.pressed !== undefined)
			return;
		const l = this.lanes.findIndex((lane) => y >= lane.y && y < lane.y + lane.height);
		if (l < 0)
			return;
		const lane = this.lanes[l], region = lane.at(Math.floor((y - lane.y) / ROW), ns, (this.to - this.from) / this.width);
		if (region >= 0 && (this.selected?.lane !== l || this.selected.region !== region))
			this.select(l, region);
	}

	press(event) {
		this.pressed = this.point(event);
		this.canvas.setPointerCapture(event.pointerId);
	}

	release(event) {
		const from = this.pressed, to = this.point(event);
		this.pressed = undefined;
		if (from && Math.abs(to.x - from.x) > 5)
			this.show(Math.min(from.ns, to.ns), Math.max(from.ns, to.ns));
	}

	wheel(event) {
		if (!event.ctrlKey)
			return;
		event.preventDefault();
		this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.point(event).ns);
	}

	// The region before or after in the lane; the first in view where none is selected.
	step(by) {
		const lane = this.lanes[this.lane];
		if (!lane?.n)
			return;
		const here = this.selected?.lane === this.lane;
		const first = lane.begin.findIndex((ns) => ns >= this.from);
		const region = here ? this.selected.region + by : Math.max(0, first);
		if (region >= 0 && region < lane.n) {
			this.select(this.lane, region);
			this.reveal();
		}
	}

	key(event) {
		const keys = {
			ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
			"-": () => this.zoom(2), Home: () => this.show(0, this.span), Enter: () => this.zoomToSelected(), n: () => this.next(),
			",": () => this.step(-1), ".": () => this.step(1), ArrowUp: () => this.chooseLane(-1), ArrowDown: () => this.chooseLane(1),
			Escape: () => this.select(this.lane, -1),
		};
		if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		keys[event.key]();
	}

	chooseLane(by) {
		const lane = Math.max(0, Math.min(this.lanes.length - 1, this.lane + by));
		if (!this.lanes[lane])
			return;
		this.selected = null;
		this.lane = lane;
		this.tip.textContent = this.lanes[lane].label;
		const { y, height } = this.lanes[lane], { scrollTop, clientHeight } = this.scroller;
		if (y < scrollTop + RULER || y + height > scrollTop + clientHeight)
			this.scroller.scrollTop = y - RULER - GAP;
		this.draw();
	}
}
