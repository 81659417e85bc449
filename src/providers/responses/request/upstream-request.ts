import { hash } from 'node:crypto';

import type { ForeignItem, Item } from '../../../protocol/index.js';
import type { Turn } from '../../turn.js';
import type { ItemList } from './item-digest.js';
import { isSendable, toUpstreamItem } from './to-upstream-item.js';

/** Members that may differ between a request and the incremental one that continues it. */
const INCIDENTAL_MEMBERS: ReadonlySet<string> = new Set(['client_metadata', 'stream_options', 'access_programs']);

/** How an upstream is asked. */
export interface RequestMembers {
  /** Those that a continuation must repeat unchanged. */
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
    return this.sendable(this.turn.context);
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
