/** A Lua script. */
export interface Script {
  /** Names it in logs. */
  readonly name: string;
  readonly text: string;
}

/** A command: a name with its arguments, or a script with its keys and arguments. */
export type Command =
  | readonly [name: string, key: string, ...args: readonly (string | number)[]]
  | { readonly script: Script; readonly keys: readonly string[]; readonly args: readonly (string | number)[] };

/** A call of a script. */
export function run(script: Script, keys: readonly string[], ...args: readonly (string | number)[]): Command {
  return { script, keys, args };
}
