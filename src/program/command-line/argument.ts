import { parseArgs } from 'node:util';

import { didYouMean, isNearMiss } from '../../validation/index.js';

/** The arguments are not understood; the message is one line for the operator. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** One of the arguments of a command: an option with its value, a flag, or another word; or what the command does not have, as it was given. */
export type Argument<Option extends string, Flag extends string> =
  | { readonly kind: 'option'; readonly name: Option; readonly value: string }
  | { readonly kind: 'flag'; readonly name: Flag | 'help' }
  | { readonly kind: 'word' | 'unknown'; readonly text: string };

/**
 * Takes arguments apart, one by one, by the options and flags of their command; every command has the flag `help`. Throws ArgumentError for an
 * option without a value: an empty one would count as not set.
 */
export function* takeApart<Option extends string, Flag extends string = never>(
  args: readonly string[],
  options: readonly Option[],
  flags: readonly Flag[] = [],
): Generator<Argument<Option, Flag>> {
  const known = [
    ...options.map((name) => [name, 'string'] as const),
    ...flags.map((name) => [name, 'boolean'] as const),
  ];
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(known.map(([name, type]) => [name, { type }])),
      help: { type: 'boolean', short: 'h' },
    },
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') yield { kind: 'word', text: token.value };
    if (token.kind !== 'option') continue;
    const { rawName, value } = token;
    const option = options.find((name) => name === token.name);
    const flag = [...flags, 'help' as const].find((name) => name === token.name);
    if (option !== undefined) {
      if (value === undefined || value === '') throw new ArgumentError(`${rawName}: expected a value.`);
      yield { kind: 'option', name: option, value };
    } else if (flag !== undefined && value === undefined) yield { kind: 'flag', name: flag };
    else yield { kind: 'unknown', text: value === undefined ? rawName : `${rawName}=${value}` };
  }
}

/** Options as they are written, for `refuse`. */
export function toWritten(options: readonly string[]): readonly string[] {
  return ['help', ...options].map((name) => `--${name}`);
}

/** The message for arguments that there are not. `known` are those that there are, as they are written. */
export function refuse(unknown: readonly string[], known: readonly string[] = []): string {
  const named = unknown.map((argument) => JSON.stringify(argument)).join(', ');
  const [meant] = unknown.flatMap((argument) => {
    const name = argument.replace(/=.*$/s, '');
    return didYouMean(name, known).filter((near) => isNearMiss(name, [near]));
  });
  const isWritten = meant !== undefined && unknown.includes(meant);
  const hint = isWritten ? ` Write ${meant} before all options.` : meant === undefined ? '' : ` Did you mean ${meant}?`;
  return `Unknown argument${unknown.length === 1 ? '' : 's'}: ${named}.${hint} --help lists all of them.`;
}
