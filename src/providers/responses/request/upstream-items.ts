import { type ForeignItem, type Item, toUpstreamItemId } from '../../../protocol/index.js';

/**
 * Whether an item can be sent. Reasoning of which neither the text nor `encrypted_content` is known exists only at an upstream that
 * stores; any other refuses it: "Item with id 'rs_x' not found" (protocol §3.1).
 */
export function isSendable({ type, encrypted_content: encrypted, content }: ForeignItem): boolean {
  if (type !== 'reasoning') return true;
  return (encrypted != null && encrypted !== '') || (Array.isArray(content) && content.length > 0);
}

/** The form of every id of the API; upstreams refuse what a client made up in another one. */
const PREFIXED = /^[A-Za-z0-9]+_./;

/**
 * An item as the upstream knows it: with the upstream's id, or without one if this service made it or it has no prefix. Messages
 * without an id of the upstream also lose the `status` that this service adds. Nothing else changes, whatever the type.
 */
export function toUpstreamItem({ id: ours, ...item }: Item): ForeignItem {
  const id = PREFIXED.test(ours) ? toUpstreamItemId(ours) : undefined;
  if (id !== undefined) return { id, ...item };
  if (item.type !== 'message' || item['status'] !== 'completed') return item;
  const { status: _, ...message } = item;
  return message;
}
