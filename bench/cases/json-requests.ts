import type { Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';

/** The figure with goals. */
export const CPU_PER_REQUEST = 'server CPU per request, µs';

/** Concurrent requests. */
const CONCURRENCY = 32;

/** One round of JSON requests with the same body. */
export async function runJsonRequests(
  server: Server,
  load: LoadGenerator,
  body: string,
  requests: number,
): Promise<Sample> {
  const url = `${server.origin}/v1/responses`;
  const cpuBefore = await server.cpuMicroseconds();
  const { bytes, seconds } = await load.run({ type: 'json', url, body, concurrency: CONCURRENCY, requests });
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  return {
    [CPU_PER_REQUEST]: cpu / requests,
    'requests per second': requests / seconds,
    'bytes per answer': bytes / requests,
  };
}
