import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

import { expect } from '@jest/globals';
import { stringify } from 'yaml';

import { EnvironmentError } from '../../src/config/index.js';
import { ApiClient } from './api-client.js';
import { type Service, type ServiceOptions, startService } from './service.js';
import { Refusal, type Transport, type TurnResult } from './transport.js';

/** Files by name: a text as it is, or a script, written as the ending of the name says. */
export type ScriptFiles = Readonly<Record<string, string | ScriptContent>>;

/** A script as a test words it, right or wrong. */
export interface ScriptContent {
  readonly turns?: unknown;
  readonly [member: string]: unknown;
}

/** Runs something with files in a directory of their own, which is gone afterwards. */
export async function withScriptFiles<T>(
  files: ScriptFiles,
  use: (paths: readonly string[], directory: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-scripts-'));
  try {
    const entries = Object.entries(files);
    const paths = entries.map(([name]) => join(directory, name));
    await Promise.all(entries.map(([name, content]) => writeFile(join(directory, name), toText(name, content))));
    return await use(paths, directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Starts the service with scripts; their files are gone once it runs. */
export function startWithScripts(files: ScriptFiles, options: ServiceOptions = {}): Promise<Service> {
  return withScriptFiles(files, (paths) =>
    startService({ ...options, environment: { SIMULATOR_SCRIPTS: paths.join(','), ...options.environment } }),
  );
}

/** Runs a turn of the model `played`. */
export type Play = (body: {
  readonly client_metadata?: object;
  readonly [member: string]: unknown;
}) => Promise<TurnResult>;

/** What names a space of the simulator: a header, and a member of `client_metadata`. */
const SPACE = 'x-simulator-space';

/** Adds a script as the model `played` to a service with SIMULATOR_CONTROL, in a space that no other test sees. */
export async function addScript(service: Service, transport: Transport, script: ScriptContent): Promise<Play> {
  const space = { [SPACE]: randomUUID() };
  const simulator = new ApiClient(`${service.origin}/simulator`, space);
  const { status, body: answer } = await simulator.post('scripts', { model: 'played', ...script });
  if (status !== 200) throw new Refusal(status, answer);
  return ({ client_metadata, ...body }) =>
    transport.run(service, { model: 'played', ...body, client_metadata: { ...client_metadata, ...space } });
}

function toText(name: string, content: string | ScriptContent): string {
  if (typeof content === 'string') return content;
  switch (extname(name)) {
    case '.json':
      return JSON.stringify(content, null, 2);
    case '.jsonl':
      return toLines(content);
    default:
      return stringify(content);
  }
}

function toLines({ turns, ...settings }: ScriptContent): string {
  const lines = [{ settings }, ...(turns as readonly object[])];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** The lines that an operator reads when a service does not start; none when it does. */
export async function startFaultsOf(start: Promise<AsyncDisposable>): Promise<readonly string[]> {
  try {
    await (await start)[Symbol.asyncDispose]();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return error.message.split('\n');
  }
  return [];
}

/** The lines about scripts that cannot be used. */
export function faultsOfFiles(files: ScriptFiles): Promise<readonly string[]> {
  return startFaultsOf(startWithScripts(files));
}

/** Proves that there is one line, and that it names the file and then the place: what comes next, or a part of it. */
export function expectLine(lines: readonly string[], file: string, place: RegExp | string): void {
  expect(lines).toEqual([expect.stringMatching(/^SIMULATOR_SCRIPTS: \S.*[^.]\.$/)]);
  const [, words = ''] = lines.join().split(`/${file}: `);
  expect(words.length).toBeLessThan(300);
  if (typeof place === 'string') expect(words.slice(0, place.length + 1)).toBe(`${place} `);
  else expect(words).toMatch(place);
}
