import { type Finding, KINDS, type Ledger, VIOLATIONS } from './ledger.ts';

/** Violations of each sort that are shown in full. */
const MOST_SHOWN = 10;

/** What was acknowledged and what was found, by kind. */
export function toTable(ledger: Ledger): string {
  const rows = KINDS.map((kind) => {
    const found = ledger.findings.filter((finding) => finding.kind === kind);
    const amounts = VIOLATIONS.map((violation) =>
      found.filter((finding) => finding.violation === violation).reduce((sum, { amount }) => sum + amount, 0),
    );
    return [kind, ledger.countOf(kind), ...amounts].map(String);
  });
  const cells = [['', 'acknowledged', ...VIOLATIONS], ...rows];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return cells.map((row) => `${row.map(pad).join('  ')}\n`).join('');
}

/** The violations by sort, the first of each in full. */
export function toDetails(findings: readonly Finding[]): string {
  const sorts = Map.groupBy(findings, ({ kind, violation }) => `${kind}, ${violation}`);
  return [...sorts]
    .flatMap(([sort, found]) => [
      ...found.slice(0, MOST_SHOWN).map(({ subject, detail }) => `${sort}: ${subject} ${detail}\n`),
      ...(found.length > MOST_SHOWN ? [`${sort}: and ${found.length - MOST_SHOWN} more\n`] : []),
    ])
    .join('');
}
