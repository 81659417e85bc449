import type { ResponseObject } from '../../protocol/index.js';
import type { EventCollector } from '../events/index.js';
import { requireEnding, requireResponse } from '../events/response-rules.js';
import { isObject, requireRule } from '../events/rule.js';

/** A turn that was refused before its response began. */
interface Refusal {
  readonly status: number;
  readonly error: Readonly<Record<string, unknown>>;
}

/** A client's result of a turn: a Response or a refusal. */
export interface Answer {
  readonly response: ResponseObject | null;
  readonly refusal: Refusal | null;
  /** The events of a streamed answer. */
  readonly collector: EventCollector | null;
  /** All data received by the client, as text. */
  readonly seen: string;
}

/** The answer of a validated stream. */
export function toStreamedAnswer(collector: EventCollector, seen: string): Answer {
  return { response: collector.response, refusal: null, collector, seen };
}

/** The answer of a JSON body. Throws an Error for a Response that violates the protocol. */
export function toJsonAnswer(status: number, body: unknown, seen: string): Answer {
  if (status !== 200) return toRefusedAnswer(status, body, seen);
  requireRule(isObject(body), 'the body must be a Response');
  requireResponse(body);
  requireEnding(body);
  return { response: body as unknown as ResponseObject, refusal: null, collector: null, seen };
}

/** The answer of a refused turn. Throws an Error for an invalid error body. */
export function toRefusedAnswer(status: unknown, body: unknown, seen: string): Answer {
  requireRule(
    typeof status === 'number' && status >= 400 && status <= 599,
    `a refusal must have the status of an error, not ${String(status)}`,
  );
  requireRule(isObject(body) && isObject(body['error']), `a refusal must carry an error, not ${seen}`);
  const { error } = body;
  for (const member of ['message', 'type']) {
    requireRule(typeof error[member] === 'string' && error[member] !== '', `error.${member} must be a text`);
  }
  for (const member of ['code', 'param']) {
    requireRule(error[member] === null || typeof error[member] === 'string', `error.${member} must be a text or null`);
  }
  return { response: null, refusal: { status, error }, collector: null, seen };
}
