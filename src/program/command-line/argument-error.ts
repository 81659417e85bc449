import { didYouMean, isNearMiss } from '../../validation/index.js';

/** The arguments are not understood; the message is one line for the operator. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** The value of an option. An empty one would count as not set. Throws ArgumentError. */
export function requireValue(rawName: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new ArgumentError(`${rawName}: expected a value.`);
  return value;
}

/** An option as it was given, for a message. */
export function showOption({
  rawName,
  value,
}: {
  readonly rawName: string;
  readonly value?: string | undefined;
}): string {
  return value === undefined ? rawName : `${rawName}=${value}`;
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
