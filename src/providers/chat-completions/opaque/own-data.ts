import type { Item } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import { type OpaqueCall, type OpaqueMembers, ofKnownMembers, readCallMembers } from './opaque-members.js';

/** The provider and the model that made opaque data. Others cannot read it, and most refuse it. */
export interface Maker {
  /** The name of the provider. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
}

/** What an assistant message of a transcript needs again. */
export interface OwnData {
  readonly members: OpaqueMembers;
  /** What its calls need, by their ids. */
  readonly calls: ReadonlyMap<string, OpaqueCall>;
}

/** The opaque data of a reasoning item; undefined if it has none, or another model has made it. */
export function ownDataOf({ opaque }: Item, { provider, model }: Maker): OwnData | undefined {
  if (!isObject(opaque) || opaque.provider !== provider || opaque.model !== model) return undefined;
  const calls = isObject(opaque.calls) ? Object.entries(opaque.calls) : [];
  return {
    members: ofKnownMembers(opaque),
    calls: new Map(calls.flatMap(([id, data]) => (isObject(data) ? [[id, toCall(data)] as const] : []))),
  };
}

function toCall({ call, function: func }: OpaqueCall): OpaqueCall {
  return readCallMembers({ ...call, function: func }) ?? {};
}
