import type { Traffic } from './traffic.ts';

/** The traffic of one upstream answer. Encoded in the model name, which all servers forward. */
export interface UpstreamTraffic extends Traffic {
  /** Mean time between two bursts, ms; 0: one per turn of the event loop. The first one is immediate. */
  readonly gapMs: number;
}

/** Prefix of the upstream's model names. */
export const MODEL_PREFIX = 'bench-';

const INPUT = 'Tell me about the harbor.';

/** The body of a Chat Completions request. */
export function toChatBody(model: string, input: string): string {
  return JSON.stringify({ ...toChat(model, input), stream: true, stream_options: { include_usage: true } });
}

/** The body of the same request without streaming. */
export function toJsonChatBody(model: string, input: string): string {
  return JSON.stringify(toChat(model, input));
}

function toChat(model: string, input: string): object {
  return { model, messages: [{ role: 'user', content: input }] };
}

/** The body of a Chat Completions request for this traffic. */
export function toUpstreamChatBody(traffic: UpstreamTraffic): string {
  return toChatBody(toModel(traffic), INPUT);
}

/** The body of a Responses request for this traffic, of one conversation for all turns if it has a key. */
export function toResponsesBody(traffic: UpstreamTraffic, conversation?: string): string {
  const model = toModel(traffic);
  const stream = { stream: true, stream_options: { include_obfuscation: false } };
  return JSON.stringify({ model, input: INPUT, prompt_cache_key: conversation, ...stream });
}

/** The body of a Responses request for this traffic without streaming. */
export function toJsonResponsesBody(traffic: UpstreamTraffic, store: boolean): string {
  // With a bound, so that the service may ask for the whole answer.
  return JSON.stringify({ model: toModel(traffic), input: INPUT, store, max_output_tokens: 4096 });
}

function toModel({ deltas, burst, gapMs }: UpstreamTraffic): string {
  return `${MODEL_PREFIX}${deltas}-${burst}-${gapMs}`;
}

/** The traffic that a model name encodes. */
export function readModel(model: string): UpstreamTraffic {
  const [deltas, burst, gapMs] = model.slice(MODEL_PREFIX.length).split('-').map(Number);
  return { deltas: deltas ?? NaN, burst: burst ?? NaN, gapMs: gapMs ?? NaN };
}
