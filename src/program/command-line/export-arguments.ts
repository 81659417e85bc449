import { parseArgs } from 'node:util';

import { ArgumentError, refuse, requireValue, showOption } from './argument-error.js';

/** The options of `antiphon export`, each with its value in the help and what it means. */
export const EXPORT_OPTIONS = {
  tenant: { value: '<name>', help: 'only this tenant; may be repeated (all)' },
  'no-secrets': { value: undefined, help: 'without the keys that the service generated' },
} as const;

const EXPORT_NAMES = new Set(Object.keys(EXPORT_OPTIONS).map((name) => `--${name}`));

/** What is exported. */
export interface ExportCommand {
  readonly action: 'export';
  /** All, if there are none. */
  readonly tenants: readonly string[];
  readonly secrets: boolean;
}

/** An export is read from the standard input. */
export interface ImportCommand {
  readonly action: 'import';
}

/** Reads the arguments after `export`. Throws ArgumentError. */
export function readExport(args: readonly string[]): ExportCommand | { readonly action: 'help' } {
  const { tokens } = parseArgs({
    args: [...args],
    options: { tenant: { type: 'string' }, 'no-secrets': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    strict: false,
    tokens: true,
  });
  const unknown: string[] = [];
  const tenants: string[] = [];
  const asked = new Set<string>();
  for (const token of tokens) {
    if (token.kind === 'positional') unknown.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (name === 'tenant') tenants.push(requireValue(rawName, value));
    else if ((name === 'no-secrets' || name === 'help') && value === undefined) asked.add(name);
    else unknown.push(showOption(token));
  }
  if (unknown.length > 0) throw new ArgumentError(refuse(unknown, [...EXPORT_NAMES]));
  return asked.has('help') ? { action: 'help' } : { action: 'export', tenants, secrets: !asked.has('no-secrets') };
}

/** The message for arguments that a command other than `export` does not have. */
export function refuseOutsideExport(unknown: readonly string[], known: readonly string[] = []): string {
  const option = unknown
    .map((argument) => argument.replace(/=.*$/s, ''))
    .find((argument) => EXPORT_NAMES.has(argument));
  return option === undefined ? refuse(unknown, known) : `${option} belongs to export.`;
}

/** Reads the arguments after `import`. Throws ArgumentError. */
export function readImport(args: readonly string[]): ImportCommand | { readonly action: 'help' } {
  const unknown = args.filter((argument) => argument !== '--help' && argument !== '-h');
  if (unknown.length > 0) throw new ArgumentError(refuseOutsideExport(unknown));
  return { action: args.length > 0 ? 'help' : 'import' };
}
