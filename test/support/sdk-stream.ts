import OpenAI from 'openai';

import type { StreamEvent } from '../../src/protocol/index.js';
import { SseEncoder } from '../../src/responses/http/sse-encoder.js';

/** What `responses.stream()` of the official SDK makes of events. Rejects for events that it does not accept. */
export function readWithSdk(events: readonly StreamEvent[]): Promise<OpenAI.Responses.Response> {
  const form = new SseEncoder(true);
  const text = form.encode(events) + form.end;
  const fetch = async (): Promise<Response> => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const client = new OpenAI({ apiKey: 'test', maxRetries: 0, fetch });
  return client.responses.stream({ model: 'm', input: 'x' }).finalResponse();
}
