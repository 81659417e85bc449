import type { Variables } from '../../config/index.js';
import { ArgumentError, takeApart, toWritten } from './argument.js';
import {
  type ExportCommand,
  type ImportCommand,
  readExport,
  readImport,
  refuseOutsideExport,
} from './export-arguments.js';
import { type KeysCommand, readKeys } from './keys-arguments.js';
import { readSimulate, type SimulateCommand } from './simulate-arguments.js';

/** The options that set a variable, each with its value in the help and what it means. */
export const OPTIONS = {
  port: { variable: 'PORT', value: '<number>', help: 'port to listen on; 0: any free one (8080)' },
  host: { variable: 'HOST', value: '<address>', help: 'address to listen on (127.0.0.1, with API_KEYS 0.0.0.0)' },
  providers: { variable: 'PROVIDERS_FILE', value: '<file>', help: 'upstream servers and models (the simulator)' },
  'state-dir': { variable: 'STATE_DIR', value: '<directory>', help: 'directory of the stored conversations (./data)' },
  'max-websocket-connections': {
    variable: 'WS_MAX_CONNECTIONS',
    value: '<number>',
    help: 'WebSocket connections of a process (100)',
  },
} as const satisfies Record<string, { readonly variable: string; readonly value: string; readonly help: string }>;

type OptionName = keyof typeof OPTIONS;

const NAMES = Object.keys(OPTIONS) as readonly OptionName[];

/** What the first argument may be instead of an option. */
const COMMANDS = ['check', 'simulate', 'export', 'import', 'keys'] as const;

/** The whole setup is checked or, when there are files, these scripts and recordings of the simulator. */
export interface CheckCommand {
  readonly action: 'check';
  readonly files: readonly string[];
  readonly variables: Variables;
}

/** What the arguments ask for. */
export type Command =
  | { readonly action: 'start'; readonly variables: Variables }
  | CheckCommand
  | ExportCommand
  | ImportCommand
  | KeysCommand
  | SimulateCommand
  | { readonly action: 'help' | 'version' };

/** Reads the arguments of the program. Throws ArgumentError for unknown ones and for options without a value. */
export function readArguments(args: readonly string[]): Command {
  const [command, ...rest] = args;
  if (command === 'export') return readExport(rest);
  if (command === 'import') return readImport(rest);
  if (command === 'keys') return readKeys(rest);
  if (command === 'simulate') return readSimulate(rest);
  const isCheck = command === 'check';
  const files: string[] = [];
  const unknown: string[] = [];
  const variables: Record<string, string> = {};
  const asked = new Set<string>();
  for (const argument of takeApart(isCheck ? rest : args, NAMES, ['version'])) {
    if (argument.kind === 'option') variables[OPTIONS[argument.name].variable] = argument.value;
    else if (argument.kind === 'flag') asked.add(argument.name);
    else (isCheck && argument.kind === 'word' ? files : unknown).push(argument.text);
  }
  if (unknown.length > 0) {
    const options = toWritten(['version', ...NAMES]);
    throw new ArgumentError(refuseOutsideExport(unknown, isCheck ? options : [...COMMANDS, ...options]));
  }
  if (asked.has('help')) return { action: 'help' };
  if (asked.has('version')) return { action: 'version' };
  return isCheck ? { action: 'check', files, variables } : { action: 'start', variables };
}

/** A text about variables, with those that an option has set named by their option: `PORT: …` becomes `--port: …`. */
export function nameOptions(text: string, variables: Variables): string {
  const given = NAMES.filter((name) => Object.hasOwn(variables, OPTIONS[name].variable));
  return given.reduce((named, name) => {
    return named.replaceAll(new RegExp(`^${OPTIONS[name].variable}(?=: )`, 'gm'), `--${name}`);
  }, text);
}
