import { randomInt } from 'node:crypto';

// Below the ports that systems hand out by themselves.
const PORTS = [15_000, 32_768] as const;
const ATTEMPTS = 5;

/**
 * Listens, by the given function, on some free port of the loopback interface. Unlike one that the system picks, nobody
 * else is given this port while what listens on it is down, so it can come back on it.
 */
export async function onStablePort<Result>(listen: (port: number) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listen(randomInt(...PORTS));
    } catch (error) {
      if (attempt === ATTEMPTS || !/EADDRINUSE|Address already in use/.test(String(error))) throw error;
    }
  }
}
