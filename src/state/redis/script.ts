import { hash } from 'node:crypto';

/** A Lua script. */
export class LuaScript {
  private known: string | undefined;

  constructor(readonly text: string) {}

  /** The digest by which Redis knows it. */
  get digest(): string {
    return (this.known ??= hash('sha1', this.text));
  }
}

/** Begins a script that frees memory in the end: it runs also when memory is full. */
export const FREES_MEMORY = '#!lua flags=allow-oom\n';

/**
 * Functions in Lua, for scripts to begin with.
 *
 * - `whole(number)`: a whole number as a text; Lua writes large ones with an exponent.
 * - `serverTime()`: what the clock of Redis shows, ms since the epoch.
 */
export const NUMBERS = `
local function whole(number) return string.format('%.0f', number) end

local function serverTime()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** An argument of a command. */
export type Argument = string | number;

/** A command: a name with its arguments, or a script with its keys and arguments. */
export type Command =
  | readonly [name: string, key: string, ...args: readonly Argument[]]
  | { readonly script: LuaScript; readonly keys: readonly string[]; readonly args: readonly Argument[] };

/** A call of a script. */
export function run(script: LuaScript, keys: readonly string[], ...args: readonly Argument[]): Command {
  return { script, keys, args };
}

/** The key that decides which node a command goes to. A script without keys goes to any. */
export function keyOf(command: Command): string {
  return 'script' in command ? (command.keys[0] ?? '') : command[1];
}

/** Names and values in turn, as pairs; newer protocols give pairs. */
export function pairsOf(reply: unknown): readonly (readonly [string, string])[] {
  const flat = (reply as readonly unknown[]).flat() as readonly string[];
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}
