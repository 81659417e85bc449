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

/** Items whose id another item needs, or that is the id of another one: an approval names its request, and this output its call. */
const LINKS_BY_ID: ReadonlySet<string> = new Set(['mcp_approval_request', 'local_shell_call_output']);

/** The member that names another item by its id (protocol §3.1). Others name it by `call_id`, which is the upstream's. */
const REFERENCE = 'approval_request_id';

/**
 * An item as the upstream knows it: with the upstream's ids. One that this service or a client made up is left out, unless another item
 * refers to it; messages without an id of the upstream also lose the `status` that this service adds. Nothing else changes, whatever the
 * type.
 */
export function toUpstreamItem({ id: ours, ...own }: Item): ForeignItem {
  const { [REFERENCE]: reference } = own;
  const item = typeof reference === 'string' ? { ...own, [REFERENCE]: toReference(reference) } : own;
  const id = LINKS_BY_ID.has(item.type) ? toReference(ours) : PREFIXED.test(ours) ? toUpstreamItemId(ours) : undefined;
  if (id !== undefined) return { id, ...item };
  if (item.type !== 'message' || item['status'] !== 'completed') return item;
  const { status: _, ...message } = item;
  return message;
}

function toReference(id: string): string {
  return toUpstreamItemId(id) ?? id;
}
