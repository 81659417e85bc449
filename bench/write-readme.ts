/**
 * Writes a run of the benchmark into the README: `node bench/write-readme.ts <file>`, with a file written by `--json`. With
 * `--check`, nothing is written, and the exit code reports whether the README shows that run.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { toReadme } from './report/readme.ts';
import { readReport } from './report/report.ts';

const README = new URL('../README.md', import.meta.url);

/** The generated section is between these lines. */
const BEGIN = '<!-- benchmark: written by npm run bench:readme -->';
const END = '<!-- benchmark: end -->';

function replaceBetween(text: string, between: string): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`README.md: the lines '${BEGIN}' and '${END}' are missing`);
  return `${text.slice(0, begin)}${BEGIN}\n\n${between}\n\n${text.slice(end)}`;
}

try {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { check: { type: 'boolean' } } });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error('expected one file, written by `--json`');
  const readme = await readFile(README, 'utf8');
  const written = replaceBetween(readme, toReadme(await readReport(file)));
  if (values.check !== true) await writeFile(README, written);
  else if (written !== readme) throw new Error(`README.md does not show ${file}: npm run bench:readme`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
