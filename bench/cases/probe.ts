import { Agent, request as openRequest } from 'node:http';

/** A request that is posted while others are timed. */
export interface ProbedRequest {
  /** The path below the origin of the server. */
  readonly path: string;
  readonly bytes: Buffer;
  /** The `content-encoding`. */
  readonly encoding?: string;
}

/**
 * Sends `GET /healthz` again and again until a request is answered, and once after it. Resolves with the longest wait of all of them, ms:
 * how long the event loop of the server stood still.
 */
export async function probeDuring(origin: string, request: ProbedRequest): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const probing = { isOver: false };
    const answering = exchange(`${origin}${request.path}`, new Agent(), request).finally(() => (probing.isOver = true));
    let longest = 0;
    let isLast = false;
    while (!isLast) {
      isLast = probing.isOver;
      const begin = performance.now();
      await exchange(`${origin}/healthz`, agent);
      longest = Math.max(longest, performance.now() - begin);
    }
    await answering;
    return longest;
  } finally {
    agent.destroy();
  }
}

/** Sends a request and reads its answer, whatever it is. */
function exchange(url: string, agent: Agent, body?: ProbedRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = body === undefined ? { agent } : { agent, method: 'POST', headers: headersOf(body) };
    const request = openRequest(url, options, (answer) => {
      answer.resume().once('end', resolve);
    });
    // A refused request may be answered before it was sent: later errors change nothing.
    request.on('error', reject).end(body?.bytes);
  });
}

function headersOf({ bytes, encoding }: ProbedRequest): Readonly<Record<string, string | number>> {
  return {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
}
