/**
 * The flows of the public compliance suite of Open Responses, against any server: `npm run compliance -- [url] [--key <key>]
 * [--model <model>]`. Prints a table. Exit code 1 when a flow fails. Without a URL it starts a service with the simulator.
 */
import { parseArgs } from 'node:util';

import OpenAI from 'openai';

import { OwnService } from '../own-service.ts';
import { FLOWS, type Target } from './flows.ts';

const TIMEOUT_MS = 120_000;

const WIDTH = Math.max(...FLOWS.map(({ name }) => name.length));

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { key: { type: 'string' }, model: { type: 'string' } },
  });
  const [url, ...others] = positionals;
  if (others.length > 0 || (url !== undefined && !URL.canParse(url)))
    throw new TypeError('expected one URL, such as http://127.0.0.1:8080/v1');
  const { model = 'gpt-5', key = process.env['OPENAI_API_KEY'] ?? 'none' } = values;
  await using service = url === undefined ? await OwnService.start({ LOG_LEVEL: 'warn' }) : undefined;
  const baseURL = url ?? service?.baseURL;
  await tryAll({ client: new OpenAI({ apiKey: key, baseURL, maxRetries: 0, timeout: TIMEOUT_MS }), model });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function tryAll(target: Target): Promise<void> {
  let passed = 0;
  for (const flow of FLOWS) {
    const { name } = flow;
    const began = performance.now();
    let fault = '';
    try {
      await flow.run(target);
      passed += 1;
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error);
    }
    const took = `${Math.round(performance.now() - began)} ms`;
    process.stdout.write(
      `${fault === '' ? 'pass' : 'FAIL'}  ${name.padEnd(WIDTH)} ${took.padStart(9)}  ${fault}`.trimEnd() + '\n',
    );
  }
  process.stdout.write(`${passed} of ${FLOWS.length} passed\n`);
  if (passed < FLOWS.length) process.exitCode = 1;
}
