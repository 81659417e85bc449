import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';

import type { WireEvent } from '../../src/testing/index.js';
import type { Service } from './service.js';
import { collectStream, type HttpAnswer, postJson } from './sse.js';
import type { TurnResult, WireResponse } from './transport.js';
import { REFUSED_TURNS, SSE_TRANSPORT, WS_TRANSPORT } from './transports.js';

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming;

/** A question to a model, on the path that the simulator's specification has. */
export interface SimulatorRequests {
  readonly url: string;
  readonly client: OpenAI;
  /** Asks through the official SDK. */
  create(body?: Partial<Create>): Promise<OpenAI.Responses.Response>;
  /** Asks without the SDK: what is sent is what is written. */
  post(body: object): Promise<HttpAnswer>;
  /** All events of a stream. */
  stream(body: object): Promise<readonly WireEvent[]>;
}

/** Requests to a service under `/openai/v1`; what they leave open is a greeting to a model that does not reason. */
export function simulatorRequests(service: Service): SimulatorRequests {
  const client = service.client({ baseURL: `${service.origin}/openai/v1` });
  const url = `${service.origin}/openai/v1/responses`;
  const greeting = { model: 'gpt-4.1', input: 'Hello!' };
  return {
    url,
    client,
    create: (body = {}) => client.responses.create({ ...greeting, ...body }),
    post: (body) => postJson(url, body),
    stream: (body) => collectStream(url, { ...greeting, ...body }),
  };
}

/** Reasoning tokens, and the others of the output. */
export function splitOutput({ usage }: OpenAI.Responses.Response): {
  readonly reasoning: number;
  readonly answer: number;
} {
  const reasoning = usage?.output_tokens_details.reasoning_tokens ?? NaN;
  return { reasoning, answer: (usage?.output_tokens ?? NaN) - reasoning };
}

/** Tokens of a text, by a tokenizer of the test's own. */
export function tokensOf(text: string): number {
  return countTokens(text);
}

/** The types of events in order, deltas that follow each other once. */
export function outline(events: readonly WireEvent[]): readonly string[] {
  const types = events.map(({ type }) => type);
  return types.filter((type, index) => !type.endsWith('.delta') || type !== types[index - 1]);
}

/** The faults that a model refuses with. */
export const REFUSALS = [
  { kind: 'rate_limit', status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', words: 'Rate limit' },
  { kind: 'server_error', status: 500, type: 'server_error', code: 'server_error', words: 'had an error' },
  {
    kind: 'unavailable',
    status: 503,
    type: 'service_unavailable_error',
    code: 'server_is_overloaded',
    words: 'is overloaded',
  },
  { kind: 'timeout', status: 504, type: 'server_error', code: 'server_error', words: 'did not answer in time' },
] as const;

/** The faults that break the model's stream and nothing else. */
export const BREAKS = ['upstream_cut', 'malformed'] as const;

/** The transports that show what was said before a fault. */
export const STREAMING = [SSE_TRANSPORT, WS_TRANSPORT];

/** Each refusal on each transport. */
export const REFUSALS_BY_TRANSPORT = REFUSALS.flatMap((refusal) =>
  REFUSED_TURNS.map(([transport, refuse]) => ({ ...refusal, transport, refuse })),
);

/** A request that asks the simulator for something; it needs SIMULATOR_CONTROL. */
export function askFor(control: string, more: object = {}): Readonly<Record<string, unknown>> {
  return {
    model: 'gpt-4.1',
    input: 'Tell me a story.',
    client_metadata: { 'x-simulate': control },
    ...more,
  };
}

/** The pieces that a model wrote, of whatever kind. */
export function deltasOf(events: readonly WireEvent[] = []): readonly WireEvent[] {
  return events.filter(({ type }) => type.endsWith('.delta'));
}

/** An item of a response, with what tests of the simulator look at. */
export interface OutputItem {
  readonly type: string;
  readonly status?: string;
  readonly content?: readonly { readonly type: string; readonly text: string }[];
  readonly arguments?: string;
  readonly input?: string;
  readonly call_id?: string;
  readonly encrypted_content?: string;
}

/** The output of a response. */
export function itemsOf({ output }: WireResponse): readonly OutputItem[] {
  return output as readonly OutputItem[];
}

/** What the model read, in tokens. */
export function inputTokens({ response }: TurnResult): number {
  return (response['usage'] as { readonly input_tokens: number }).input_tokens;
}

/** A schema of an object that has these properties and no others. */
export function closed(properties: object, more: object = {}): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more };
}

/** What asks for output of a schema. */
export function formatOf(schema: unknown): object {
  return { format: { type: 'json_schema', name: 'plan', schema } };
}
