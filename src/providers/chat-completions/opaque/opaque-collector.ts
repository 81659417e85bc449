import { isDeepStrictEqual } from 'node:util';

import type { OpaqueData } from '../../../protocol/index.js';
import { objectsIn } from '../../../validation/index.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import {
  joinMembers,
  needsThoughts,
  type OpaqueCall,
  type OpaqueMembers,
  readMembers,
  THOUGHTS,
} from './opaque-members.js';
import type { Maker } from './own-data.js';

/** Characters of an answer that are demanded back, which are buffered. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

const NOTHING: OpaqueMembers = {};

/** Collects what an upstream demands back of an answer. */
export class OpaqueCollector {
  /** All so far, by which a repetition is known. */
  private all = NOTHING;
  /** What `take` has not returned. */
  private pending = NOTHING;
  private characters = 0;
  /** The member in which the reasoning comes. */
  private thoughts: string | undefined;

  constructor(private readonly maker: Maker) {}

  /** Reads a delta. Throws ModelError if all of it exceeds the limit. */
  read(delta: object): void {
    const all = delta as Readonly<Record<string, unknown>>;
    this.thoughts ??= THOUGHTS.find((name) => typeof all[name] === 'string');
    const members = readMembers(all);
    if (members === undefined || this.isRepetition(members)) return;
    this.add(members);
  }

  /** Reads a whole message behind deltas: only what they did not have. Throws as `read`. */
  complete(message: object): void {
    const members = readMembers(message as Readonly<Record<string, unknown>>);
    if (members !== undefined) this.add(beyond(this.all, members));
  }

  /** What was collected since the last call, with that of calls by their ids; undefined for nothing. */
  take(calls: ReadonlyMap<string, OpaqueCall> = new Map()): OpaqueData | undefined {
    const { pending, thoughts } = this;
    if (pending === NOTHING && calls.size === 0) return undefined;
    this.pending = NOTHING;
    return {
      ...this.maker,
      ...pending,
      ...(needsThoughts(pending) && thoughts !== undefined ? { thoughts } : {}),
      ...(calls.size === 0 ? {} : { calls: Object.fromEntries(calls) }),
    };
  }

  private add(members: OpaqueMembers): void {
    this.characters += JSON.stringify(members).length;
    if (this.characters > MOST_CHARACTERS) throw serverError('The model exceeded the limit of reasoning.', undefined);
    if (isDeepStrictEqual(members, NOTHING)) return;
    this.all = joinMembers(this.all, members);
    this.pending = this.pending === NOTHING ? members : joinMembers(this.pending, members);
  }

  /** Whether it is all that came before. A model may say a text twice, but not behind its reasoning. */
  private isRepetition(members: OpaqueMembers): boolean {
    if (this.all === NOTHING || (this.pending !== NOTHING && !isSigned(members))) return false;
    return isDeepStrictEqual(joinMembers(NOTHING, members), this.all);
  }
}

/** What a whole message has beyond its pieces; nothing of a list that contradicts them. */
function beyond(all: OpaqueMembers, whole: OpaqueMembers): OpaqueMembers {
  const rest = Object.entries(whole.message ?? {}).flatMap(([name, value]) => {
    const known = all.message?.[name];
    if (!Array.isArray(known)) return isDeepStrictEqual(known, value) ? [] : [[name, value] as const];
    const more = restOf(objectsIn(known), objectsIn(value));
    return more.length === 0 ? [] : [[name, more] as const];
  });
  const content = restOf(all.content ?? [], whole.content ?? []);
  return {
    ...(rest.length === 0 ? {} : { message: Object.fromEntries(rest) }),
    ...(content.length === 0 ? {} : { content }),
    ...(whole.text === undefined || isDeepStrictEqual(whole.text, all.text) ? {} : { text: whole.text }),
  };
}

function restOf<T>(known: readonly T[], whole: readonly T[]): readonly T[] {
  return isDeepStrictEqual(whole.slice(0, known.length), known) ? whole.slice(known.length) : [];
}

/** Whether it has more than texts. */
function isSigned(members: OpaqueMembers): boolean {
  return needsThoughts(members) || /"(?:signature|data|thought_signature)":"./.test(JSON.stringify(members));
}
