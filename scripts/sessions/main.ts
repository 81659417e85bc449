/**
 * Many sessions at once: `npm run load:sessions -- [url] [--key <key>]… [--model <model>] [--sessions 1000] [--turns 3]`. Every session
 * takes its turns while all others do; then each is looked at. Exit code 1 when a turn failed, something was lost, or a session
 * or a tenant was shown what another one said. Without a URL it starts a service with ten tenants.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

import OpenAI from 'openai';

import { OptionError, readCount } from '../options.ts';
import { OwnService } from '../own-service.ts';
import { Session } from './session.ts';

/** What `npm run load:sessions` was asked for. */
interface SessionsOptions {
  /** Where the API begins, such as `http://127.0.0.1:8080/v1`. Undefined: a service of its own. */
  readonly url: string | undefined;
  /** A key for each tenant; sessions are dealt to them in turn. */
  readonly keys: readonly string[];
  readonly model: string;
  readonly sessions: number;
  readonly turns: number;
}

const TENANTS = Array.from({ length: 10 }, (_, index) => `key-of-tenant-${index}`);
/** Faults that are printed. */
const MOST_SHOWN = 10;

try {
  const options = readOptions(process.argv.slice(2));
  if (options.url === undefined) {
    await using service = await OwnService.start({
      API_KEYS: TENANTS.map((key, index) => `tenant-${index}:${key}`).join(','),
      LOG_LEVEL: 'warn',
      // Says what it was told, so that a session would see another's words.
      SIMULATOR_GENERATOR: 'echo',
    });
    await run({ ...options, keys: TENANTS }, service.baseURL);
  } else {
    await run(options, options.url);
  }
} catch (error) {
  process.stderr.write(`${error instanceof OptionError ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run({ keys, model, sessions: count, turns }: SessionsOptions, baseURL: string): Promise<void> {
  const clients = keys.map((apiKey) => new OpenAI({ apiKey, baseURL, maxRetries: 0 }));
  const clientOf = (index: number): OpenAI => clients[index % clients.length] as OpenAI;
  const runId = randomUUID();
  const sessions = Array.from(
    { length: count },
    (_, number) => new Session(clientOf(number), model, { run: runId, number }),
  );
  const faults: string[] = [];
  const attempt = (action: Promise<void>): Promise<void> =>
    action.catch((error: unknown) => void faults.push(error instanceof Error ? error.message : String(error)));

  const began = performance.now();
  // Each turn of all sessions at once: as concurrent as they get.
  for (let turn = 0; turn < turns; turn += 1) await Promise.all(sessions.map((session) => attempt(session.say())));
  const seconds = (performance.now() - began) / 1000;
  await Promise.all(sessions.map((session) => attempt(session.check())));
  if (clients.length > 1)
    await Promise.all(sessions.map((session, index) => attempt(session.requireHidden(clientOf(index + 1)))));

  const rate = Math.round((count * turns) / seconds);
  process.stdout.write(`${count} sessions of ${clients.length} tenants, ${turns} turns each: ${rate} turns/s\n`);
  process.stdout.write(`${faults.length} faults\n`);
  for (const fault of faults.slice(0, MOST_SHOWN)) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

/** Reads the command line. Throws an OptionError. */
function readOptions(args: readonly string[]): SessionsOptions {
  const { values, positionals } = parse(args);
  const [url, ...others] = positionals;
  if (others.length > 0 || (url !== undefined && !URL.canParse(url)))
    throw new OptionError('expected one URL, such as http://127.0.0.1:8080/v1');
  return {
    url,
    keys: values.key ?? [process.env['OPENAI_API_KEY'] ?? 'none'],
    model: values.model ?? 'gpt-5',
    sessions: readCount('--sessions', values.sessions ?? '1000'),
    turns: readCount('--turns', values.turns ?? '3'),
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { key: { type: 'string', multiple: true }, model: text, sessions: text, turns: text },
    });
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}
