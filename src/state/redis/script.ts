import { createHash } from 'node:crypto';

/** A Lua script. */
export interface Script {
  /** Names it in logs. */
  readonly name: string;
  readonly text: string;
}

/** Begins a script that frees memory in the end: it runs also when memory is full. */
export const FREES_MEMORY = '#!lua flags=allow-oom\n';

/** A command: a name with its arguments, or a script with its keys and arguments. */
export type Command =
  | readonly [name: string, key: string, ...args: readonly (string | number)[]]
  | { readonly script: Script; readonly keys: readonly string[]; readonly args: readonly (string | number)[] };

const digests = new WeakMap<Script, string>();

/** A call of a script. */
export function run(script: Script, keys: readonly string[], ...args: readonly (string | number)[]): Command {
  return { script, keys, args };
}

/** The key that decides which node a command goes to. A script without keys goes to any. */
export function keyOf(command: Command): string {
  return 'script' in command ? (command.keys[0] ?? '') : command[1];
}

/** The digest by which Redis knows a script. */
export function digestOf(script: Script): string {
  let digest = digests.get(script);
  if (digest === undefined) {
    digest = createHash('sha1').update(script.text).digest('hex');
    digests.set(script, digest);
  }
  return digest;
}
