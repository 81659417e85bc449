import { hash } from 'node:crypto';

/** The kinds of tools that clients run, which chat-completions models can call as functions. */
export type ToolKind = 'function' | 'custom' | 'shell' | 'local_shell' | 'apply_patch' | 'tool_search';

/** Identifies a tool of the request. */
export interface ToolAddress {
  readonly kind: ToolKind;
  readonly name: string;
  readonly namespace?: string;
}

/** Kinds of tools that have no name. */
export const NAMELESS_KINDS: ReadonlySet<unknown> = new Set(['shell', 'local_shell', 'apply_patch', 'tool_search']);

/** Characters of a function name that Chat Completions accepts. */
const LONGEST_NAME = 64;
const FOREIGN = /[^a-zA-Z0-9_-]/g;

/** The address of a tool that has no name but its kind. */
export function nameless(kind: ToolKind): ToolAddress {
  return { kind, name: kind };
}

/** A key that is unique among the tools of a request. */
export function keyOf({ kind, name, namespace = '' }: ToolAddress): string {
  return JSON.stringify([kind, namespace, name]);
}

/** The preferred name of a tool upstream: `namespace__name`, in allowed characters. */
export function plainNameOf({ name, namespace }: ToolAddress): string {
  const whole = namespace === undefined ? name : `${namespace}__${name}`;
  const allowed = whole.replaceAll(FOREIGN, '_');
  return allowed === whole && whole.length <= LONGEST_NAME ? whole : withDigest(allowed, whole);
}

/** The name of a tool whose plain name is taken. */
export function otherNameOf(address: ToolAddress): string {
  return withDigest(plainNameOf(address), keyOf(address));
}

/** Shortens and disambiguates a name with a digest. It is stable, so earlier calls in a transcript match the offered tool. */
function withDigest(name: string, whole: string): string {
  const digest = hash('sha256', whole).slice(0, 8);
  return `${name.slice(0, LONGEST_NAME - digest.length - 1)}_${digest}`;
}
