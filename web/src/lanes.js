// The lanes of a timeline as typed arrays, and what of them is in a part of the time.
// SPDX-License-Identifier: BSD-3-Clause
import { coarser } from "./series.js";

const COLUMNS = ["begin", "ns", "region", "depth", "file", "size", "offset", "who"];

// At one depth nothing overlaps: rows[d] holds the numbers of its regions, by begin and by end.
function rowsOf(regions) {
	const rows = [];
	for (let i = 0; i < regions.n; i++)
		(rows[regions.depth[i]] ??= []).push(i);
	for (let d = 0; d < rows.length; d++)
		rows[d] ??= [];
	return rows;
}

export class Lane {
	constructor(lane) {
		this.tid = lane.tid;
		this.pid = lane.pid;
		this.location = lane.location;
		// "vCPU 0" of a virtual machine
		this.name = lane.role ? `${lane.role} (${lane.name})` : lane.name;
		this.label = (lane.host ? `${lane.host}: ` : "") + this.name;
		this.host = lane.host;
		this.vm = lane.vm;
		this.process = lane.vm ?? (lane.pid ? `${lane.process} pid ${lane.pid}` : lane.process);
		this.n = lane.begin.length;
		for (const name of COLUMNS)
			this[name] = Float64Array.from(lane[name]);
		// packed as distances
		for (let i = 1; i < this.n; i++)
			this.begin[i] += this.begin[i - 1];
		this.rows = rowsOf(this);
		this.bins = lane.bins ? [lane.bins] : null;
	}

	end(i) {
		return this.begin[i] + this.ns[i];
	}

	// Calls FN(region) for those of ROW that are in [from, to).
	each(row, from, to, fn) {
		const list = this.rows[row];
		let low = 0, high = list.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.end(list[middle]) < from)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < list.length && this.begin[list[low]] < to; low++)
			fn(list[low]);
	}

	// The innermost region at a time, in ROW or above; -1: none.
	at(row, ns, slack) {
		for (let r = Math.min(row, this.rows.length - 1); r >= 0; r--) {
			let found = -1;
			this.each(r, ns - slack, ns + slack, (i) => {
				if (found < 0 || this.ns[i] > this.ns[found])
					found = i;
			});
			if (found >= 0)
				return found;
		}
		return -1;
	}

	// Its bins so that each is a pixel wide or more: every four are one of the next level.
	binsFor(most) {
		let level = 0;
		while ((this.bins[level][0].length || 1) > most) {
			this.bins[level + 1] ??= this.bins[level].map((column) => coarser(column, 4));
			level++;
		}
		return this.bins[level];
	}
}

// All lanes in the order of a tree, machine, process, thread, each part of it in the order of its first; a guest's machine is in the
// process of its virtual machine, behind the threads of that. A lane's path is what it is in, from the outermost on.
export function lanesOf(list, guests = []) {
	const lanes = list.map((lane) => new Lane(lane)), root = new Map();
	const within = new Map(guests.map((guest) => [guest.guest, guest]));
	const pathOf = (host) => {
		const guest = within.get(host);
		return guest ? [...pathOf(guest.host), guest.vm, host] : [host];
	};
	for (const lane of lanes) {
		lane.path = [...pathOf(lane.host), lane.process];
		let node = root;
		for (const name of lane.path)
			node = node.get(name) ?? node.set(name, new Map()).get(name);
		node.set(lane, null);
	}
	const flat = (node) => [...node].filter(([key]) => key instanceof Lane).map(([lane]) => lane)
		.concat(...[...node].filter(([key]) => !(key instanceof Lane)).map(([, below]) => flat(below)));
	return flat(root);
}

// A function of a lane and a region's number: the number of the lane that it waits for, undefined: there is none.
export function holdersOf(lanes) {
	const byTid = new Map(), byLocation = new Map(), key = (lane, tid) => `${lane.host}\0${tid}`;
	for (const [i, lane] of lanes.entries()) {
		// of the tracks of a thread the one with its calls
		if (!byTid.has(key(lane, lane.tid)) || lane.bins)
			byTid.set(key(lane, lane.tid), i);
		byLocation.set(lane.location, i);
	}
	return (lane, region) => {
		const who = lane.who[region];
		// below 0: a thread of another machine, which is the host of this one
		return who < 0 ? byLocation.get(-1 - who) : who ? byTid.get(key(lane, who)) : undefined;
	};
}
