import { get, type IncomingMessage } from 'node:http';
import { resolve } from 'node:path';

import { Logger } from '@nestjs/common';

import { type Environment, hasCredentials } from '../config/index.js';

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
  /** The scripted models of the simulator, each with a message that it answers if there is a known one. */
  readonly scripted: readonly { readonly model: string; readonly input: string | undefined }[];
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
  { latency, scripted, warnings }: Announcement,
): Promise<void> {
  // Workers are silent: they do not announce anything.
  process.once('exit', (code) => {
    if (code === 0) write(['Antiphon has stopped. Goodbye.'], environment);
  });
  const logger = new Logger('Antiphon');
  for (const warning of warnings) logger.warn(warning);
  const isLocal = environment.STATE === 'memory' || environment.STATE === 'sqlite';
  const hasState = isLocal || (await isReady(url));
  write(describeStart(url, environment, { hasState, latency, scripted }), environment);
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
  { hasState, latency, scripted }: Omit<Announcement, 'warnings'> & { readonly hasState: boolean },
): readonly string[] {
  const { WORKERS, PROVIDERS_FILE, STATE } = environment;
  const key = !hasCredentials(environment) ? '' : ' -H "authorization: Bearer $API_KEY"';
  // Upstreams have models of their own names; the list is the first thing to ask for.
  const example = exampleOf(scripted);
  const request =
    PROVIDERS_FILE === '' && example !== undefined
      ? `/v1/responses${key} -H 'content-type: application/json' -d ${quoteForShell(example)}`
      : `/v1/models${key}`;
  return [
    `Antiphon listens on ${url}${WORKERS > 1 ? ` with ${WORKERS} workers` : ''}`,
    `Models: ${PROVIDERS_FILE === '' ? `the simulator (output is synthetic)${describeScripts(scripted)}` : `the servers of ${PROVIDERS_FILE}`}`,
    ...(PROVIDERS_FILE === '' ? [`Latency: ${latency}`] : []),
    `State: ${STATES.get(STATE)?.(environment) ?? STATE}${hasState ? '' : `. ${AWAY}`}`,
    `Try: curl ${url}${request}`,
  ];
}

/** The most scripted models that are named. */
const MOST_NAMED = 12;

function describeScripts(scripted: Announcement['scripted']): string {
  if (scripted.length === 0) return '';
  const names = scripted.slice(0, MOST_NAMED).map(({ model }) => (model === '*' ? 'any model' : model));
  const others = scripted.length > MOST_NAMED ? ` and ${scripted.length - MOST_NAMED} more` : '';
  return `, with scripts for ${names.join(', ')}${others}`;
}

/** A request that is answered; undefined if no script has a known one. */
function exampleOf(scripted: Announcement['scripted']): string | undefined {
  if (scripted.length === 0) return '{"model": "gpt-5", "input": "Hello!"}';
  const known = scripted.find(({ input }) => input !== undefined);
  if (known === undefined) return undefined;
  const model = known.model === '*' ? 'gpt-5' : known.model;
  return `{"model": ${JSON.stringify(model)}, "input": ${JSON.stringify(known.input)}}`;
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
