import type { Service } from '../service.js';
import type { TurnResult } from '../transport.js';
import { SSE_TRANSPORT } from '../transports.js';
import { MODEL } from './start-responses-service.js';
import type { UpstreamCall } from './upstream-call.js';

/** A turn over SSE, with headers where needed. Rejects with Refusal when it is refused. */
export function ask(
  service: Service,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<TurnResult> {
  return SSE_TRANSPORT.run(service, { model: MODEL, input: 'Hi', ...body }, headers);
}

/** The transports of requests, in their order. */
export function transportsOf(calls: readonly UpstreamCall[]): readonly string[] {
  return calls.map(({ transport }) => transport);
}
