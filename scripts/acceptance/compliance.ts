/**
 * `npm run compliance -- [url] [--key k] [--model m]`: the flows that the public suite of the Open Responses specification has, against this
 * service or another server. Prints one line for each; the exit code is 1 if one has failed.
 */
import OpenAI from 'openai';

import { FLOWS } from './flows.ts';
import { openSubject, readArguments } from './subject.ts';

await using subject = await openSubject(readArguments({}), ['key-of-compliance']);
const [apiKey] = subject.keys;
const setting = {
  client: new OpenAI({ apiKey, baseURL: subject.baseUrl, maxRetries: 0 }),
  model: subject.model,
  socketUrl: `${subject.baseUrl.replace(/^http/, 'ws')}/responses`,
  apiKey,
};
let failed = 0;
for (const { name, run } of FLOWS) {
  const fault = await run(setting).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  if (fault !== null) failed += 1;
  process.stdout.write(`${fault === null ? 'pass' : 'FAIL'}  ${name}${fault === null ? '' : `: ${fault}`}\n`);
}
process.stdout.write(`${FLOWS.length - failed} of ${FLOWS.length} flows pass\n`);
process.exitCode = failed === 0 ? 0 : 1;
