import type { IncomingHttpHeaders } from 'node:http';

import { asTenant, Authenticator, type Tenant } from '../../access/index.js';
import { createApp } from '../../bootstrap.js';
import {
  Environment,
  EnvironmentError,
  firstLineOf,
  namesReferredTo,
  objectSchema,
  requireSchema,
  type Variables,
} from '../../config/index.js';
import { FOR_TESTS, readSimulatorVariables, SimulatorModule, SimulatorVariables } from '../../simulator/index.js';
import { type NamedScript, readScript, requireNamedScript, type ScriptFile } from '../../simulator/script/index.js';
import { Spaces } from '../../simulator/spaces/index.js';
import { didYouMean } from '../../validation/index.js';
import type { Answer } from './answers.js';
import { checkAt, placeOfCaller } from './place.js';
import { listScripts, Simulation } from './simulation.js';

/** What `simulate` starts with. */
export interface SimulateOptions {
  /** The answers to the first requests, whatever their model, but for one with a script: the turns of a script (docs/simulator-scripts.md). */
  readonly answers?: readonly Answer[];
  /** Scripts, each for a model: files, or what such files contain. */
  readonly scripts?: readonly (string | ScriptFile)[];
  /** What becomes of a request that nothing answers: an error that says what there is (default), or a generated answer. */
  readonly unmatched?: 'error' | 'generate';
  /** Variables of the service, such as `SIMULATOR_LATENCY` (docs/configuration.md). Those of the process do not count. */
  readonly environment?: Variables;
}

const OPTIONS_SCHEMA = objectSchema({
  answers: { type: 'array' },
  scripts: { type: 'array' },
  unmatched: { enum: ['error', 'generate'] },
  environment: { type: 'object' },
});

/** The name of the tenant that all keys belong to which name no space. */
const ANYBODY = 'anybody';

/** Lets everybody in. A key that names a space is a tenant of its own. */
class SpaceAuthenticator extends Authenticator {
  readonly keys = new Set<string>();

  override authenticate({ authorization = '' }: IncomingHttpHeaders): Tenant {
    const key = authorization.replace(/^Bearer +/i, '').trim();
    return asTenant(this.keys.has(key) ? key : ANYBODY);
  }
}

/**
 * Starts the real service in this process, with simulated models, on a free port of the loopback interface. It stores nothing, and logs
 * only errors. Rejects with an Error that names the line of the test, for invalid answers, scripts, variables and options.
 *
 *     const sim = await simulate({ answers: [call('weather', { city: 'Oslo' }), text('It rains.')] });
 *     const client = new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey });
 */
export async function simulate(options: SimulateOptions = {}): Promise<Simulation> {
  const origin = `simulate() at ${placeOfCaller()}`;
  try {
    return await start(options, origin);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    throw new Error(`${origin}: ${error.message}`, { cause: error });
  }
}

async function start(options: SimulateOptions, origin: string): Promise<Simulation> {
  const environment = readOptions(options, origin);
  const scripts = await readAll(options.scripts ?? [], origin);
  // Before anything is started that would have to be stopped.
  const initial = listScripts(scripts, options.answers, origin);
  const authenticator = new SpaceAuthenticator();
  const app = await createApp(
    {
      environment,
      imports: [SimulatorModule],
      authenticator: { useValue: authenticator },
    },
    // The process is that of the tests.
    { signals: false },
  );
  try {
    await app.listen(0, '127.0.0.1');
    const spaces = app.get(Spaces);
    const space = spaces.hold(ANYBODY, initial);
    const admit = (key: string): void => void authenticator.keys.add(key);
    return new Simulation({ app, url: `${await app.getUrl()}/v1`, spaces, scripts, admit }, space);
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** The variables of the service. Those that the test does not give are as if the process did not set them: a test is the same on every machine. */
function readOptions(options: SimulateOptions, origin: string): Variables {
  const known = [new Environment(), new SimulatorVariables()].flatMap((variables) => Object.keys(variables));
  const { environment = {}, unmatched } = checkAt(origin, () => {
    const checked = requireSchema<SimulateOptions>(options, OPTIONS_SCHEMA, { whole: 'it' });
    requireKnown(checked.environment ?? {}, known);
    return checked;
  });
  const unset = Object.fromEntries(known.map((name) => [name, undefined]));
  const variables = { ...unset, ...FOR_TESTS, SIMULATOR_UNMATCHED: unmatched, ...environment };
  // Nest would log what it meets.
  readSimulatorVariables(variables);
  return variables;
}

function requireKnown(environment: Variables, known: readonly string[]): void {
  const files = ['PROVIDERS_FILE', 'MCP_SERVERS'].map((name) => environment[name]);
  const referredTo = files.flatMap((path) => (typeof path === 'string' ? namesReferredTo(path) : []));
  const stranger = Object.keys(environment).find((name) => !known.includes(name) && !referredTo.includes(name));
  if (stranger === undefined) return;
  const [meant] = didYouMean(stranger, known);
  throw new Error(`there is no variable ${stranger}${meant === undefined ? '' : `. Did you mean ${meant}?`}`);
}

async function readAll(scripts: readonly (string | ScriptFile)[], origin: string): Promise<readonly NamedScript[]> {
  const read: NamedScript[] = [];
  for (const [index, script] of scripts.entries()) {
    const place = `${origin}: scripts[${index}]${typeof script === 'string' ? ` (${script})` : ''}`;
    const named = await readAt(place, script);
    const twin = read.findIndex(({ model }) => model === named.model);
    if (twin !== -1) throw new Error(`${place}: has the same model '${named.model}' as scripts[${twin}]`);
    read.push(named);
  }
  return read;
}

async function readAt(place: string, script: string | ScriptFile): Promise<NamedScript> {
  try {
    return await (typeof script === 'string' ? readScript(script) : requireNamedScript(script));
  } catch (error) {
    throw new Error(`${place}: ${firstLineOf(error)}`, { cause: error });
  }
}
