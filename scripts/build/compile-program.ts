/**
 * Has V8 compile what a start and the first turns need, and keeps it beside the program of a build, for the Node that runs this:
 * `node scripts/build/compile-program.ts <folder>` starts the service, which `compileProgram` asks for turns.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';

import type * as Loader from './program-loader.ts';

const OWN_PATH = fileURLToPath(import.meta.url);

/** Of these, one is the default and the other needs nothing: what they share is most of the program. */
const STATES = ['memory', 'sqlite'];

// The program reads what else there is of arguments.
if (process.argv[1] === OWN_PATH) await serve(String(process.argv.splice(2, 1)[0]));

/** Runs the program of a folder, which need not serve, and keeps what is compiled of it when it ends. */
async function serve(folder: string): Promise<void> {
  // V8 forgets functions that were not called for some time, such as those that ran once.
  setFlagsFromString('--no-flush-bytecode');
  const load = (file: string): Promise<unknown> => import(pathToFileURL(resolve(folder, file)).href);
  await load('tune-engine.js');
  const { run, keepCompiled } = (await load('start.js')) as typeof Loader;
  process.once('exit', () => {
    setFlagsFromString('--flush-bytecode');
    keepCompiled();
  });
  for (const state of STATES) {
    process.env['STATE'] = state;
    await run();
  }
}

/** Keeps what is compiled of the program of a folder beside it. */
export async function compileProgram(folder: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'antiphon-build-'));
  const program = spawn(process.execPath, [OWN_PATH, resolve(folder)], {
    // Neither the variables of the caller nor a `.env` may reach it.
    cwd: data,
    env: { PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(program, 'close');
  let served = 0;
  try {
    for await (const line of createInterface(program.stdout)) {
      const url = /^Antiphon listens on (\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      await askForTurns(`${url}/v1/responses`);
      if (++served === STATES.length) program.kill();
    }
  } finally {
    program.kill();
    await ended;
    rmSync(data, { recursive: true });
  }
}

/** One turn of each kind that most clients ask for. */
async function askForTurns(url: string): Promise<void> {
  const ask = async (body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'gpt-5', ...body }) });
    if (!answer.ok) throw new Error(`the program answers ${answer.status}: ${await answer.text()}`);
    return answer.headers.get('content-type')?.startsWith('application/json') ? answer.json() : answer.text();
  };
  const { id } = (await ask({ input: 'Hello!' })) as { readonly id: string };
  await ask({ input: 'And then?', previous_response_id: id, stream: true });
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  await ask({ input: 'Oslo?', stream: true, tools: [{ type: 'function', name: 'weather', parameters }] });
}
