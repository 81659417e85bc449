import { compare } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import { toJsonResponsesBody } from '../upstream-traffic.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { CPU_PER_REQUEST, runJsonRequests } from './json-requests.ts';
import { withRelay } from './relayed-streams.ts';
import { CHAT_COMPLETIONS } from './upstream-kinds.ts';

/** An answer of 50 words, which the upstream has at once. */
const TRAFFIC = { deltas: 50, burst: 50, gapMs: 0 };

/** Whether turns are stored, and the most µs that a request may then cost. */
const WAYS = [
  { store: true, name: 'gateway-json, stored', atMost: 500 },
  { store: false, name: 'gateway-json, store: false', atMost: 350 },
];

/** Turns without streaming before a Chat Completions upstream. The floor is a bare relay that asks for JSON too. */
export const gatewayJsonCase: BenchmarkCase = {
  name: 'gateway-json',
  run: ({ jsonRequests, ...rounds }: Sizes) =>
    withRelay(CHAT_COMPLETIONS, async ({ service, floor, load }) => {
      const comparisons: Comparison[] = [];
      for (const { store, name, atMost } of WAYS) {
        const body = toJsonResponsesBody(TRAFFIC, store);
        const run = (server: Server) => () => runJsonRequests(server, load, body, jsonRequests);
        const figures = await compare({ service: run(service), floor: run(floor) }, rounds);
        comparisons.push({ name, figures, goals: [{ figure: CPU_PER_REQUEST, of: 'service', atMost }] });
      }
      return comparisons;
    }),
};
