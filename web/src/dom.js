// Elements. Names of programs and files reach the page through here alone, as text.
// SPDX-License-Identifier: BSD-3-Clause

// h("td", {class: "x"}, "text", element, ...)
export function h(name, attributes = {}, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else if (value !== null && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.filter((child) => child !== null));
	return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
	const element = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		element.setAttribute(key, value);
	element.append(...children);
	return element;
}

// A colour of the style sheet, which knows dark from light.
export function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// "#rrggbb" as [r, g, b]
export function rgb(text) {
	const n = parseInt(text.slice(1), 16);
	return [n >> 16, (n >> 8) & 255, n & 255];
}

// Calls FN once ELEMENT has a width, when that changes, and when the colours do. The promise is kept at the first call.
export function onLook(element, fn) {
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fn);
	return new Promise((resolve) => {
		let width = -1;
		new ResizeObserver(() => {
			if (element.clientWidth !== width) {
				width = element.clientWidth;
				fn();
				resolve();
			}
		}).observe(element);
	});
}
