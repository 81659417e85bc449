import type { Traffic } from './traffic.ts';

/** What an upstream writes to one request. The request's model names it: that is what everybody hands on. */
export interface UpstreamTraffic extends Traffic {
  /** Mean time between two bursts, ms; 0: as fast as the event loop turns. The first one comes at once. */
  readonly gapMs: number;
}

/** Begins the names of the upstream's models. */
export const MODEL_PREFIX = 'bench-';

const INPUT = 'Tell me about the harbor.';

/** The body of a request to the upstream itself, or to the relay's. */
export function toChatBody(model: string, input: string): string {
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: input }],
    stream: true,
    stream_options: { include_usage: true },
  });
}

/** Bodies of requests that make the upstream write this traffic: to itself, and to what stands in front of it. */
export function toBodies({ deltas, burst, gapMs }: UpstreamTraffic): {
  readonly chat: string;
  readonly responses: string;
} {
  const model = `${MODEL_PREFIX}${deltas}-${burst}-${gapMs}`;
  const responses = { model, input: INPUT, stream: true, stream_options: { include_obfuscation: false } };
  return { chat: toChatBody(model, INPUT), responses: JSON.stringify(responses) };
}

/** The traffic that a model's name asks for. */
export function readModel(model: string): UpstreamTraffic {
  const [deltas, burst, gapMs] = model.slice(MODEL_PREFIX.length).split('-').map(Number);
  return { deltas: deltas ?? NaN, burst: burst ?? NaN, gapMs: gapMs ?? NaN };
}
