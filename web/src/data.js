// The data in the page: base64, gzip, json.
// SPDX-License-Identifier: BSD-3-Clause

export async function unpack(element) {
	const text = atob(element.textContent.trim());
	const packed = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return JSON.parse(await new Response(stream).text());
}

// "what", or "1 word", "2 words"
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// The table of that name, with `get(row, column)` and `column(name)`.
export function tableOf(side, name) {
	const table = side.tables.find((t) => t.name === name);
	table.column ??= (wanted) => table.columns.find((c) => c.name === wanted);
	return table;
}
