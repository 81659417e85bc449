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
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: input }],
    stream: true,
    stream_options: { include_usage: true },
  });
}

/** Bodies of requests for this traffic: to the upstream, and to the servers in front of it. */
export function toBodies({ deltas, burst, gapMs }: UpstreamTraffic): {
  readonly chat: string;
  readonly responses: string;
} {
  const model = `${MODEL_PREFIX}${deltas}-${burst}-${gapMs}`;
  const responses = { model, input: INPUT, stream: true, stream_options: { include_obfuscation: false } };
  return { chat: toChatBody(model, INPUT), responses: JSON.stringify(responses) };
}

/** The traffic that a model name encodes. */
export function readModel(model: string): UpstreamTraffic {
  const [deltas, burst, gapMs] = model.slice(MODEL_PREFIX.length).split('-').map(Number);
  return { deltas: deltas ?? NaN, burst: burst ?? NaN, gapMs: gapMs ?? NaN };
}
