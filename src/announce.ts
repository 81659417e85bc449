import { Logger } from '@nestjs/common';

import type { Environment } from './config/index.js';

/** Where state is, by the value of STATE. */
const STATES: Readonly<Record<string, string>> = {
  memory: 'memory (ends with this process)',
  postgres: 'postgres (shared by replicas)',
};

/**
 * Writes where the service listens, which provider answers, where state is, and what to try. When this process exits in
 * order, one more line says so.
 */
export function announce(url: string, environment: Environment): void {
  write(describeStart(url, environment), environment);
  // Workers are silent: they do not announce anything.
  process.once('exit', (code) => {
    if (code === 0) write(['Antiphon has stopped. Goodbye.'], environment);
  });
}

function write(lines: readonly string[], { LOG_FORMAT }: Environment): void {
  if (LOG_FORMAT === 'json') for (const line of lines) new Logger('Antiphon').log(line);
  else process.stdout.write(`${lines.join('\n')}\n`);
}

function describeStart(url: string, { WORKERS, PROVIDERS_FILE, STATE, API_KEYS }: Environment): readonly string[] {
  const key = API_KEYS.length === 0 ? '' : ' -H "authorization: Bearer $API_KEY"';
  // Upstreams have models of their own names; the list is the first thing to ask for.
  const request =
    PROVIDERS_FILE === ''
      ? `/v1/responses${key} -H 'content-type: application/json' -d '{"model": "gpt-5", "input": "Hello!"}'`
      : `/v1/models${key}`;
  return [
    `Antiphon listens on ${url}${WORKERS > 1 ? ` with ${WORKERS} workers` : ''}`,
    `Models: ${PROVIDERS_FILE === '' ? 'the simulator (output is synthetic)' : `the servers of ${PROVIDERS_FILE}`}`,
    `State: ${STATES[STATE] ?? STATE}`,
    `Try: curl ${url}${request}`,
  ];
}
