// Numbers as the commands print them: three digits, bytes in powers of 1024.
// SPDX-License-Identifier: BSD-3-Clause

// The order is that of TABLE_UNITS in src/report/table.h.
export const UNIT = { TEXT: 0, COUNT: 1, NS: 2, BYTES: 3, BYTES_PER_S: 4, RATIO: 5, PERCENT: 6 };

function threeDigits(value) {
	const size = Math.abs(value);
	return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

export function duration(ns) {
	const units = ["us", "ms", "s"];
	if (Math.abs(ns) < 1000)
		return `${Math.round(ns)} ns`;
	let value = ns / 1000, unit = 0;
	while (Math.abs(value) >= 999.5 && unit < 2) {
		value /= 1000;
		unit++;
	}
	return `${threeDigits(value)} ${units[unit]}`;
}

// Of an axis up to TO, with as many digits as its steps of EVERY need.
export function tick(ns, every, to) {
	const [unit, size] = to >= 1e9 ? ["s", 1e9] : to >= 1e6 ? ["ms", 1e6] : ["us", 1e3];
	return `${(ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / every))))} ${unit}`;
}

export function bytes(n) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let unit = 0;
	while (Math.abs(n) >= 1023.5 && unit < units.length - 1) {
		n /= 1024;
		unit++;
	}
	return `${unit === 0 || Number.isInteger(n) ? Math.round(n) : threeDigits(n)} ${units[unit]}`;
}

export function cell(value, unit) {
	if (value === null)
		return "";
	switch (unit) {
	case UNIT.TEXT:
		return value;
	case UNIT.NS:
		return duration(value);
	case UNIT.BYTES:
		return bytes(value);
	case UNIT.BYTES_PER_S:
		return `${bytes(value)}/s`;
	case UNIT.RATIO:
		return (Math.abs(value) < 0.005 ? 0 : value).toFixed(2);
	case UNIT.PERCENT:
		return `${value.toFixed(0)} %`;
	default:
		return String(value);
	}
}
