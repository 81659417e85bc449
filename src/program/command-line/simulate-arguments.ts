import type { Variables } from '../../config/index.js';
import { ArgumentError, refuse, takeApart, toWritten } from './argument.js';

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
  const unknown: string[] = [];
  const scripts: string[] = [];
  const variables: Record<string, unknown> = { PORT: 0 };
  let isHelp = false;
  for (const argument of takeApart(args, ['port', 'unmatched'])) {
    if (argument.kind === 'option') variables[SIMULATE_OPTIONS[argument.name].variable] = argument.value;
    else if (argument.kind === 'flag') isHelp = true;
    else (argument.kind === 'word' ? scripts : unknown).push(argument.text);
  }
  if (unknown.length > 0) throw new ArgumentError(refuse(unknown, toWritten(Object.keys(SIMULATE_OPTIONS))));
  if (isHelp) return { action: 'help' };
  if (scripts.length > 0) variables['SIMULATOR_SCRIPTS'] = scripts;
  return { action: 'simulate', variables };
}
