import { isObject, parseJson } from '../../../validation/index.js';

const ENDS: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed']);

/**
 * The event that says the same as a JSON document which a server sent in place of a stream: a Response that has ended, an error, or an
 * event. Null for any other document.
 */
export function toEvent(document: string): object | null {
  const body = parseJson(document);
  if (!isObject(body)) return null;
  if (typeof body.type === 'string') return body;
  const { status, error, output } = body;
  if (ENDS.has(status)) return { type: `response.${String(status)}`, response: body };
  if (error !== undefined && error !== null) return { type: 'response.failed', response: body };
  return status === undefined && Array.isArray(output) ? { type: 'response.completed', response: body } : null;
}
