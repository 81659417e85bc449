import { ArgumentError, refuse, takeApart, toWritten } from './argument.js';

/** The options of `antiphon keys`, each with its value in the help and what it means. */
export const KEYS_OPTIONS = {
  file: { value: '<file>', help: 'the file of keys, YAML or JSON (KEYS_FILE)' },
  tenant: { value: '<name>', help: 'create: the tenant that the key belongs to' },
  scopes: { value: '<list>', help: 'create: what it permits (everything but admin)' },
  models: { value: '<list>', help: 'create: models that it may use, such as gpt-5*,local/* (all)' },
  expires: { value: '<time>', help: 'create: when it ends, 2027-01-31T00:00:00Z or 90d (never)' },
} as const;

type OptionName = keyof typeof KEYS_OPTIONS;

/** Which options a command has. */
const OPTIONS_OF: Readonly<Record<string, readonly OptionName[]>> = {
  create: ['file', 'tenant', 'scopes', 'models', 'expires'],
  list: ['file'],
  revoke: ['file'],
};

/** What is done with KEYS_FILE. Without `file` the variable names it. */
export type KeysCommand =
  | {
      readonly action: 'keys';
      readonly verb: 'create';
      readonly file?: string;
      readonly id: string;
      readonly tenant: string;
      readonly scopes?: readonly string[];
      readonly models?: readonly string[];
      /** As it was given. */
      readonly expires?: string;
    }
  | { readonly action: 'keys'; readonly verb: 'list'; readonly file?: string }
  | { readonly action: 'keys'; readonly verb: 'revoke'; readonly file?: string; readonly id: string };

/** Reads the arguments after `keys`. Throws ArgumentError. */
export function readKeys([verb = '', ...args]: readonly string[]): KeysCommand | { readonly action: 'help' } {
  if (verb === '--help' || verb === '-h') return { action: 'help' };
  const names = Object.hasOwn(OPTIONS_OF, verb) ? OPTIONS_OF[verb] : undefined;
  if (names === undefined) throw new ArgumentError('keys: expected create, list or revoke.');
  const unknown: string[] = [];
  const ids: string[] = [];
  const given: { -readonly [Name in OptionName]?: string } = {};
  for (const argument of takeApart(args, names)) {
    if (argument.kind === 'flag') return { action: 'help' };
    if (argument.kind === 'option') given[argument.name] = argument.value;
    else (argument.kind === 'word' ? ids : unknown).push(argument.text);
  }
  if (unknown.length > 0) throw new ArgumentError(refuse(unknown, toWritten(names)));
  const file = given.file === undefined ? {} : { file: given.file };
  if (verb === 'list') {
    if (ids.length > 0) throw new ArgumentError(refuse(ids));
    return { action: 'keys', verb, ...file };
  }
  const [id, ...others] = ids;
  if (id === undefined) throw new ArgumentError(`keys ${verb}: expected the id of a key.`);
  if (others.length > 0) throw new ArgumentError(refuse(others));
  if (verb === 'revoke') return { action: 'keys', verb, id, ...file };
  const { tenant, scopes, models, expires } = given;
  if (tenant === undefined) throw new ArgumentError('keys create: expected --tenant <name>.');
  return {
    ...{ action: 'keys', verb: 'create', id, tenant, ...file },
    ...(scopes === undefined ? {} : { scopes: toList('--scopes', scopes) }),
    ...(models === undefined ? {} : { models: toList('--models', models) }),
    ...(expires === undefined ? {} : { expires }),
  };
}

function toList(option: string, text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  const named = entries.filter((entry) => entry !== '');
  // A key with an empty list would permit nothing.
  if (named.length === 0) throw new ArgumentError(`keys create: expected names after ${option}, separated by commas.`);
  return named;
}
