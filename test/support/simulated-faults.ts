import type { WireEvent } from '../../src/testing/index.js';
import { REFUSED_TURNS, SSE_TRANSPORT, WS_TRANSPORT } from './transports.js';

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
