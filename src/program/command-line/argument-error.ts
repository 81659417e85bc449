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

/** The message for arguments that there are not. */
export function refuse(unknown: readonly string[]): string {
  const named = unknown.map((argument) => JSON.stringify(argument)).join(', ');
  return `Unknown argument${unknown.length === 1 ? '' : 's'}: ${named}. --help lists all of them.`;
}
