import { Agent, request as openRequest } from 'node:http';

import { type HostileBody, hostileBodies } from '../hostile-bodies.ts';
import { compare, type Sample } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startBuiltService, startFloor } from './programs.ts';

const PAUSE = 'longest wait of a probe, ms';
const GOALS: readonly Goal[] = [{ figure: PAUSE, of: 'service', atMost: 100 }];

/** The longest pause that one request can cause. The floor parses the same body. */
export const hostileCase: BenchmarkCase = {
  name: 'hostile',
  async run({ longRounds, warmUps }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService();
    await using floor = await startFloor('parse-floor');
    const comparisons: Comparison[] = [];
    for (const body of hostileBodies()) {
      const contest = { service: () => runRound(service, body), floor: () => runRound(floor, body) };
      const figures = await compare(contest, { rounds: longRounds, warmUps: Math.min(warmUps, 1) });
      comparisons.push({ name: `hostile, ${body.name}`, figures, goals: GOALS });
    }
    return comparisons;
  },
};

/** Probes until the request is answered, and the probe after it too. */
async function runRound({ origin }: Server, body: HostileBody): Promise<Sample> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const probing = { isOver: false };
    const answering = exchange(`${origin}/v1/responses`, new Agent(), body).finally(() => (probing.isOver = true));
    let longest = 0;
    let isLast = false;
    while (!isLast) {
      isLast = probing.isOver;
      const begin = performance.now();
      await exchange(`${origin}/healthz`, agent);
      longest = Math.max(longest, performance.now() - begin);
    }
    await answering;
    return { [PAUSE]: longest };
  } finally {
    agent.destroy();
  }
}

/** Sends a request and reads its answer, whatever it is. */
function exchange(url: string, agent: Agent, body?: HostileBody): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = body === undefined ? { agent } : { agent, method: 'POST', headers: headersOf(body) };
    const request = openRequest(url, options, (answer) => {
      answer.resume().once('end', resolve);
    });
    // A refused request may be answered before it was sent: later errors change nothing.
    request.on('error', reject).end(body?.bytes);
  });
}

function headersOf({ bytes, encoding }: HostileBody): Readonly<Record<string, string | number>> {
  return {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
}
