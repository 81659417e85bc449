import { collectStream, type RequestOptions } from '../sse.js';
import { checkEventOrder } from '../event-order.js';
import type { Service } from '../service.js';
import type { TurnResult, WireResponse } from '../transport.js';
import { MODEL } from './start-responses-service.js';
import type { UpstreamCall } from './upstream-call.js';

/** A turn over SSE, with headers where needed. Throws when it is refused. */
export async function ask(
  service: Service,
  body: object = {},
  headers: RequestOptions['headers'] = {},
): Promise<TurnResult> {
  const events = await collectStream(
    `${service.baseURL}/responses`,
    { model: MODEL, input: 'Hi', ...body },
    { headers },
  );
  const { stream_options: { include_obfuscation: obfuscated = true } = {} } = body as ObfuscatedBody;
  checkEventOrder(events, { transport: 'sse', obfuscated });
  return { events, response: events.at(-1)?.['response'] as WireResponse };
}

interface ObfuscatedBody {
  readonly stream_options?: { readonly include_obfuscation?: boolean };
}

/** The texts in items, of which models see nothing else here. */
export function textsOf(items: readonly unknown[]): readonly string[] {
  return (items as readonly { readonly content?: unknown; readonly output?: unknown }[]).map(({ content, output }) => {
    if (typeof content === 'string') return content;
    if (Array.isArray(content)) return content.map(({ text = '' }: { readonly text?: string }) => text).join('');
    return typeof output === 'string' ? output : '';
  });
}

/** The transports of requests, in their order. */
export function transportsOf(calls: readonly UpstreamCall[]): readonly string[] {
  return calls.map(({ transport }) => transport);
}
