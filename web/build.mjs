// Builds page.html, which sci-analyze carries, from src/: node build.mjs FILE
// SPDX-License-Identifier: BSD-3-Clause
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const MOST_BYTES = 150 * 1024;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function bundle(entry, loader) {
	const built = await esbuild.build({
		entryPoints: [here(entry)], bundle: true, minify: true, write: false, target: "es2022",
		format: "iife", charset: "ascii", legalComments: "none", ...loader,
	});
	return built.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const script = await bundle("src/main.js");
const style = await bundle("src/style.css", { format: undefined });
// nothing is loaded from anywhere: only these two texts are let in
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
const parts = { POLICY: policy, STYLE: style, SCRIPT: script };
for (const text of [script, style])
	if (/<\/(script|style)|<!--/i.test(text))
		throw new Error("a text in the page would end the element that it is in");
const page = readFileSync(here("src/page.html"), "utf8").replace(/@(POLICY|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
if (page.length > MOST_BYTES)
	throw new Error(`the page has ${page.length} bytes, more than ${MOST_BYTES}`);
writeFileSync(process.argv[2], page);
