import type OpenAI from 'openai';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

import type { WireEvent } from '../../src/testing/index.js';
import type { Service } from './service.js';
import { collectStream, type HttpAnswer, postJson } from './sse.js';

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
