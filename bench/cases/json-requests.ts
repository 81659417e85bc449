import type { Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';

/** The figures with goals. */
export const CPU_PER_REQUEST = 'server CPU per request, µs';
export const THROUGHPUT = 'requests per second';

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
    [THROUGHPUT]: requests / seconds,
    [CPU_PER_REQUEST]: cpu / requests,
    // Below one, the load generator or the machine limits the throughput.
    'server cores in use': cpu / 1e6 / seconds,
    'bytes per answer': bytes / requests,
  };
}
