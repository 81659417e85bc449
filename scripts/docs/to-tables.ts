import type { ErrorEntry } from './read-errors.ts';
import type { Variable } from './read-variables.ts';

const MEBIBYTE = 1024 * 1024;
const EXAMPLE_WIDTH = 118;

/** A table per section, as docs/configuration.md shows it. */
export function toVariableTables(variables: readonly Variable[]): string {
  const sections = Map.groupBy(variables, ({ section }) => section);
  return [...sections]
    .map(([section, members]) => {
      const rows = members.map(({ name, values, defaultText, effect }) => {
        return [`\`${name}\``, toDefault(name, defaultText), values, linkPages(effect)];
      });
      return `### ${section}\n\n${toTable(['variable', 'default', 'values', 'effect'], rows)}`;
    })
    .join('\n\n');
}

/** The variables as `.env.example`. */
export function toEnvironmentExample(variables: readonly Variable[]): string {
  const entries = variables.map(({ name, values, defaultText, sample, effect }) => {
    const range = sample === undefined ? values : `${values}; default ${defaultText}`;
    const hint = /^(?:text|list)$/.test(range) ? '' : ` (${range})`;
    const lines = wrap(`${effect}${hint}`.replaceAll('`', ''), EXAMPLE_WIDTH).map((line) => `# ${line}`);
    return `${lines.join('\n')}\n${name}=${sample ?? defaultText}\n`;
  });
  const head = [
    '# All variables with their defaults, or with what is recommended. Copy this file to .env and change what you need;',
    "# the process's own variables win.",
    '# Written by npm run docs from the classes that declare the variables.',
  ].join('\n');
  return `${head}\n\n${entries.join('\n')}`;
}

/** A row per error code, as docs/errors.md shows it. */
export function toErrorTable(errors: readonly ErrorEntry[]): string {
  const rows = errors.map(({ status, type, code, when }) => [String(status), `\`${type}\``, `\`${code}\``, when]);
  return toTable(['status', 'type', 'code', 'when'], rows);
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]): string => `| ${cells.map(escape).join(' | ')} |`;
  return [toLine(head), toLine(head.map(() => '---')), ...rows.map(toLine)].join('\n');
}

/** A bar ends a cell, also within code: there only an entity of HTML can stand for it. */
function escape(cell: string): string {
  return cell.replaceAll(/`([^`]*\|[^`]*)`/g, (_, code: string) => `<code>${code.replaceAll('|', '&#124;')}</code>`);
}

/** Pages are named by their path in the repository, and linked from beside them. */
function linkPages(effect: string): string {
  return effect.replaceAll(/\bdocs\/([a-z-]+\.md)/g, '[$1]($1)');
}

function toDefault(name: string, text: string): string {
  if (text === '') return '';
  const bytes = Number(text);
  const size = name.endsWith('_BYTES') && bytes % MEBIBYTE === 0 ? ` (${bytes / MEBIBYTE} MiB)` : '';
  return `\`${text}\`${size}`;
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    // A line that began with NAME=value would look like a setting.
    const isSetting = /^[A-Z][A-Z0-9_]*=/.test(word);
    if (last !== undefined && (isSetting || last.length + word.length < width))
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
