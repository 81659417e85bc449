import { parseArgs } from 'node:util';

import type { Variables } from '../../config/index.js';
import { ArgumentError, refuse, requireValue, showOption, toWritten } from './argument-error.js';

/** The options of `antiphon simulate`, each with its variable, its value in the help and what it means. */
export const SIMULATE_OPTIONS = {
  port: { variable: 'PORT', value: '<number>', help: 'port to listen on (any free one)' },
  unmatched: {
    variable: 'SIMULATOR_UNMATCHED',
    value: '<error|generate>',
    help: 'what the script of its model does not answer (error)',
  },
} as const;

/** A service for tests is started. */
export interface SimulateCommand {
  readonly action: 'simulate';
  readonly variables: Variables;
}

/** Reads the arguments after `simulate`: options, and the paths of scripts. Throws ArgumentError. */
export function readSimulate(args: readonly string[]): SimulateCommand | { readonly action: 'help' } {
  const { tokens } = parseArgs({
    args: [...args],
    options: { port: { type: 'string' }, unmatched: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    strict: false,
    tokens: true,
  });
  const unknown: string[] = [];
  const scripts: string[] = [];
  const variables: Record<string, unknown> = { PORT: 0 };
  let isHelp = false;
  for (const token of tokens) {
    if (token.kind === 'positional') scripts.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (name === 'port' || name === 'unmatched')
      variables[SIMULATE_OPTIONS[name].variable] = requireValue(rawName, value);
    else if (name === 'help' && value === undefined) isHelp = true;
    else unknown.push(showOption(token));
  }
  if (unknown.length > 0) throw new ArgumentError(refuse(unknown, toWritten(Object.keys(SIMULATE_OPTIONS))));
  if (isHelp) return { action: 'help' };
  if (scripts.length > 0) variables['SIMULATOR_SCRIPTS'] = scripts;
  return { action: 'simulate', variables };
}
