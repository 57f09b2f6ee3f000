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
		this.label = (lane.host ? `${lane.host}: ` : "") + lane.name;
		this.name = lane.name;
		this.host = lane.host;
		this.process = lane.pid ? `${lane.process} pid ${lane.pid}` : lane.process;
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

// All lanes: threads of a process stand together, and so do processes of a machine, each in the order of its first.
export function lanesOf(list) {
	const lanes = list.map((lane) => new Lane(lane)), hosts = new Map(), processes = new Map();
	const place = (map, key) => map.get(key) ?? map.set(key, map.size).get(key);
	const places = new Map(lanes.map((lane) => [lane, [place(hosts, lane.host), place(processes, `${lane.host}\0${lane.process}`)]]));
	// sort() keeps the order of equals
	return lanes.sort((a, b) => places.get(a)[0] - places.get(b)[0] || places.get(a)[1] - places.get(b)[1]);
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
