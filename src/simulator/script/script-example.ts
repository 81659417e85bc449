import type { NamedScript } from './read-script.js';
import type { ScriptTurn } from './script-file.js';

/** A scripted model, and a message that it answers. */
export interface ScriptExample {
  /** `*` for every name. */
  readonly model: string;
  /** Undefined for recordings, which know their requests only by digests, and where only regular expressions match. */
  readonly input: string | undefined;
}

/** For scripts that take any message. */
const ANY_MESSAGE = 'Hello!';

/** An example for a script. */
export function exampleOf({ model, match, turns }: NamedScript): ScriptExample {
  if (match === 'request') return { model, input: undefined };
  if (match !== 'last_user_message') return { model, input: ANY_MESSAGE };
  const inputs = turns.filter(({ error, cut }) => error === undefined && cut === undefined).map(messageFor);
  return { model, input: inputs.find((input) => input !== undefined) };
}

function messageFor({ when }: ScriptTurn): string | undefined {
  if (when === undefined) return ANY_MESSAGE;
  if (typeof when === 'string') return when;
  const { matches, equals, contains } = when;
  return matches === undefined ? (equals ?? contains) : undefined;
}
