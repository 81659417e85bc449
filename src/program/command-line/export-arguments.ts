import { ArgumentError, refuse, takeApart } from './argument.js';

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
  const unknown: string[] = [];
  const tenants: string[] = [];
  const asked = new Set<string>();
  for (const argument of takeApart(args, ['tenant'], ['no-secrets'])) {
    if (argument.kind === 'option') tenants.push(argument.value);
    else if (argument.kind === 'flag') asked.add(argument.name);
    else unknown.push(argument.text);
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
