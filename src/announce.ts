import { get, type IncomingMessage } from 'node:http';
import { resolve } from 'node:path';

import { Logger } from '@nestjs/common';

import { type Environment, hasCredentials } from './config/index.js';

/** Where state is, by the value of STATE. */
const STATES = new Map<string, (environment: Environment) => string>([
  ['memory', () => 'memory (lost when this process ends)'],
  ['sqlite', ({ STATE_DIR }) => `sqlite in ${resolve(STATE_DIR)} (kept over restarts)`],
  ['postgres', () => 'postgres (shared by replicas)'],
  ['redis', () => 'redis (shared by replicas)'],
]);

/** How long `/readyz` may take before the state counts as away, ms. */
const READY_LIMIT_MS = 1000;

/** What follows where the state is. */
const AWAY = 'It cannot be reached yet: requests that need it are refused until it can';

/** What is announced beside the address. */
export interface Announcement {
  /** The latency of the simulator. */
  readonly latency: string;
  /** About variables that have no effect. */
  readonly warnings: readonly string[];
}

/**
 * Writes where the service listens, which provider answers, where state is and whether it is there, and what to try. When this process
 * exits in order, one more line says so.
 */
export async function announce(
  url: string,
  environment: Environment,
  { latency, warnings }: Announcement,
): Promise<void> {
  // Workers are silent: they do not announce anything.
  process.once('exit', (code) => {
    if (code === 0) write(['Antiphon has stopped. Goodbye.'], environment);
  });
  const logger = new Logger('Antiphon');
  for (const warning of warnings) logger.warn(warning);
  const isLocal = environment.STATE === 'memory' || environment.STATE === 'sqlite';
  const hasState = isLocal || (await isReady(url));
  write(describeStart(url, environment, { hasState, latency }), environment);
}

/** Whether `/readyz` answers 200: asked over HTTP, as the process that announces may only supervise those that serve. */
function isReady(url: string): Promise<boolean> {
  return new Promise((done) => {
    const request = get(`${url}/readyz`, { agent: false, timeout: READY_LIMIT_MS }, (answer: IncomingMessage) => {
      answer.resume();
      done(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => done(false));
  });
}

function write(lines: readonly string[], { LOG_FORMAT }: Environment): void {
  if (LOG_FORMAT === 'json') for (const line of lines) new Logger('Antiphon').log(line);
  else process.stdout.write(`${lines.join('\n')}\n`);
}

function describeStart(
  url: string,
  environment: Environment,
  { hasState, latency }: { readonly hasState: boolean; readonly latency: string },
): readonly string[] {
  const { WORKERS, PROVIDERS_FILE, STATE } = environment;
  const key = !hasCredentials(environment) ? '' : ' -H "authorization: Bearer $API_KEY"';
  // Upstreams have models of their own names; the list is the first thing to ask for.
  const request =
    PROVIDERS_FILE === ''
      ? `/v1/responses${key} -H 'content-type: application/json' -d '{"model": "gpt-5", "input": "Hello!"}'`
      : `/v1/models${key}`;
  return [
    `Antiphon listens on ${url}${WORKERS > 1 ? ` with ${WORKERS} workers` : ''}`,
    `Models: ${PROVIDERS_FILE === '' ? 'the simulator (output is synthetic)' : `the servers of ${PROVIDERS_FILE}`}`,
    ...(PROVIDERS_FILE === '' ? [`Latency: ${latency}`] : []),
    `State: ${STATES.get(STATE)?.(environment) ?? STATE}${hasState ? '' : `. ${AWAY}`}`,
    `Try: curl ${url}${request}`,
  ];
}
