import { hash } from 'node:crypto';

/** The kinds of tools that a client runs itself, and that a chat-completions model can therefore call as functions. */
export type ToolKind = 'function' | 'custom' | 'shell' | 'local_shell' | 'apply_patch' | 'tool_search';

/** A tool as the client knows it. */
export interface ToolAddress {
  readonly kind: ToolKind;
  readonly name: string;
  readonly namespace?: string;
}

/** The tools that have no name but their type. */
export const NAMELESS_KINDS: ReadonlySet<unknown> = new Set(['shell', 'local_shell', 'apply_patch', 'tool_search']);

/** What chat-completions servers take for the name of a function. */
const LONGEST_NAME = 64;
const FOREIGN = /[^a-zA-Z0-9_-]/g;

/** What tells one tool of a request from all others. */
export function keyOf({ kind, name, namespace = '' }: ToolAddress): string {
  return JSON.stringify([kind, namespace, name]);
}

/** The name under which a tool is known upstream, as long as no other tool has it: `namespace__name`, in allowed letters. */
export function plainNameOf({ name, namespace }: ToolAddress): string {
  const whole = namespace === undefined ? name : `${namespace}__${name}`;
  const allowed = whole.replaceAll(FOREIGN, '_');
  return allowed === whole && whole.length <= LONGEST_NAME ? whole : withDigest(allowed, whole);
}

/** A name for a tool whose plain name another tool has. */
export function otherNameOf(address: ToolAddress): string {
  return withDigest(plainNameOf(address), keyOf(address));
}

/** The same name in every turn: a transcript's earlier calls must carry the name that is offered now. */
function withDigest(name: string, whole: string): string {
  const digest = hash('sha256', whole).slice(0, 8);
  return `${name.slice(0, LONGEST_NAME - digest.length - 1)}_${digest}`;
}
