import { hash } from 'node:crypto';

import { type ForeignItem, type Item, toUpstreamItemId } from '../../../protocol/index.js';
import { withoutOwnToolItems } from '../../transcripts/index.js';
import type { Turn } from '../../turn.js';
import type { ItemList } from './item-digest.js';

/** The form of every id of the API; upstreams refuse what a client made up in another one. */
const PREFIXED = /^[A-Za-z0-9]+_./;

/** Items whose id another item needs, or that is the id of another one: an approval names its request, and this output its call. */
const LINKS_BY_ID: ReadonlySet<string> = new Set(['mcp_approval_request', 'local_shell_call_output']);

/** The member that names another item by its id (protocol §3.1). Others name it by `call_id`, which is the upstream's. */
const REFERENCE = 'approval_request_id';

/** Members that may differ between a request and the incremental one that continues it. */
const INCIDENTAL_MEMBERS: ReadonlySet<string> = new Set(['client_metadata', 'stream_options', 'access_programs']);

/** How an upstream is asked. */
export interface RequestMembers {
  /** Members that a continuation must repeat unchanged. */
  readonly fixed: Readonly<Record<string, unknown>>;
  /** The others, beside `input`. */
  readonly incidental: Readonly<Record<string, unknown>>;
}

/** A request to an upstream: built once per turn, sent as often as it is retried. The context is only built when it is needed. */
export class UpstreamRequest {
  /** The upstream's id of the parent response; null if there is none, or if another upstream answered it. */
  readonly parentId: string | null;
  /** The JSON of the fixed members, without braces. */
  private readonly fixedJson: string;
  readonly incidental: Readonly<Record<string, unknown>>;
  /** The items before the new ones, if the last frame left them out without a digest of each; else null. */
  extended: ItemList | null = null;
  private digest: string | null = null;

  constructor(
    private readonly turn: Turn,
    { fixed, incidental }: RequestMembers,
    /** `keepsAll`: the upstream stores, so that all its items can be sent. `takesMetadata`: it takes `client_metadata`. */
    readonly options: { readonly provider: string; readonly keepsAll: boolean; readonly takesMetadata: boolean },
  ) {
    const origin = turn.parent?.origin;
    this.parentId = origin?.provider === options.provider ? (origin.upstreamId ?? null) : null;
    this.fixedJson = JSON.stringify(fixed).slice(1, -1);
    this.incidental = incidental;
  }

  /**
   * Whether it continues a response of the upstream, and its context surely begins with that of the response: with `truncation: "auto"`
   * either may have lost its oldest items.
   */
  continues(responseId: string): boolean {
    return this.parentId === responseId && this.turn.settings.truncation !== 'auto';
  }

  /** The digest of the fixed members. */
  get fixedDigest(): string {
    return (this.digest ??= hash('sha256', this.fixedJson, 'base64url'));
  }

  /** The whole context, oldest first: the items that can be sent, still with the service's ids. */
  get context(): readonly Item[] {
    return this.sendable(withoutOwnToolItems(this.turn.context));
  }

  /** The items after the parent's output, as `context` has them. */
  get newItems(): readonly Item[] {
    return this.sendable(this.turn.input);
  }

  /** The items of an output that the context of a continuation will have. */
  sendable<T extends ForeignItem>(items: readonly T[]): readonly T[] {
    return this.options.keepsAll ? items : items.filter(isSendable);
  }

  /** The text of a request: its members, those given here, and items in the upstream's names. */
  toJson(others: Readonly<Record<string, unknown>>, input: readonly Item[]): string {
    const rest = this.toBareJson({ ...this.incidental, ...others }, input);
    return `{${this.fixedJson},${rest.slice(1)}`;
  }

  /** The text of a request that has no other members than those given here. */
  toBareJson(members: Readonly<Record<string, unknown>>, input: readonly Item[]): string {
    return JSON.stringify({ ...members, input: input.map(toUpstreamItem) });
  }
}

/** Divides the members of a request, without those to omit. */
export function divideMembers(members: Readonly<Record<string, unknown>>, omit: ReadonlySet<string>): RequestMembers {
  const entries = Object.entries(members).filter(([name]) => !omit.has(name));
  return {
    fixed: Object.fromEntries(entries.filter(([name]) => !INCIDENTAL_MEMBERS.has(name))),
    incidental: Object.fromEntries(entries.filter(([name]) => INCIDENTAL_MEMBERS.has(name))),
  };
}

/**
 * Whether an item can be sent. Reasoning of which neither the text nor `encrypted_content` is known exists only at an upstream that
 * stores; any other refuses it: "Item with id 'rs_x' not found" (protocol §3.1).
 */
function isSendable({ type, encrypted_content: encrypted, content }: ForeignItem): boolean {
  if (type !== 'reasoning') return true;
  return (encrypted != null && encrypted !== '') || (Array.isArray(content) && content.length > 0);
}

/**
 * An item as the upstream knows it: with the upstream's ids. One that this service or a client made up is left out, unless another item
 * refers to it; messages without an id of the upstream also lose the `status` that this service adds. Nothing else changes, whatever the
 * type.
 */
function toUpstreamItem(item: Item): object {
  const { id: ours, type, status, [REFERENCE]: reference } = item;
  const id = LINKS_BY_ID.has(type) ? toReference(ours) : PREFIXED.test(ours) ? toUpstreamItemId(ours) : undefined;
  const isOurStatus = id === undefined && type === 'message' && status === 'completed';
  // A member that is undefined is not in the JSON.
  return {
    ...item,
    id,
    ...(isOurStatus ? { status: undefined } : {}),
    ...(typeof reference === 'string' ? { [REFERENCE]: toReference(reference) } : {}),
  };
}

function toReference(id: string): string {
  return toUpstreamItemId(id) ?? id;
}
