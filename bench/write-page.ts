/**
 * Writes a run of the benchmark into the tables of docs/benchmark.md: `node bench/write-page.ts <file>`, where the file is what `--json`
 * wrote. With `--check` nothing is written, and the exit code says whether the page shows that run.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { replaceGenerated } from '../scripts/docs/replace-generated.ts';
import { CASES } from './cases/index.ts';
import {
  countRounds,
  type Machine,
  readReport,
  type Report,
  toColumns,
  toNumberText,
  toRows,
} from './report/report.ts';

const PAGE = new URL('../docs/benchmark.md', import.meta.url);

/** Puts the tables of a run into the page, each in its place. Throws an Error for a case that is unknown. */
function writeTables(page: string, report: Report): string {
  const { machine, cases } = report;
  const stray = cases.find(({ name }) => !CASES.some((one) => one.name === name));
  if (stray !== undefined) throw new Error(`bench/cases/index.ts: there is no case '${stray.name}'`);
  const others = Map.groupBy(cases, ({ machine: own }) => own && toText(own));
  others.delete(undefined);
  const later = [...others].map(([text, of]) => ` ${of.map(({ name }) => `\`${name}\``).join(', ')}: ${text}.`);
  const measured = `Measured on ${toText(machine)}. Medians of ${countRounds(report)} rounds, ratios with their range.`;
  const head = measured + later.join('');
  const names = [...new Set(CASES.map(({ table }) => table))];
  return names.reduce(
    (text, name) => replaceGenerated(text, `benchmark-${name}`, toTable(name, report)),
    replaceGenerated(page, 'benchmark', head),
  );
}

function toText({ cpu, cores, system, node, date }: Machine): string {
  return `${cpu}, ${cores} cores for server, floor and load together, ${system}, Node ${node}, ${date.slice(0, 10)}`;
}

function toTable(name: string, report: Report): string {
  const rows = CASES.filter(({ table }) => table === name).flatMap((one) => {
    const comparisons = report.cases.find((measured) => measured.name === one.name)?.comparisons ?? [];
    const isShown = (figure: string): boolean => one.shows?.includes(figure) ?? false;
    return comparisons.flatMap((comparison) => toRows(comparison, isShown, ({ median }) => toNumberText(median)));
  });
  const [head = [], ...others] = toColumns(rows);
  return [head, head.map(() => '---'), ...others].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

try {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { check: { type: 'boolean' } } });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error('expected one file, written by `--json`');
  const page = await readFile(PAGE, 'utf8');
  const written = writeTables(page, await readReport(file));
  if (values.check !== true) await writeFile(PAGE, written);
  else if (written !== page) throw new Error(`docs/benchmark.md does not show ${file}: npm run bench:docs`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
