import cluster from 'node:cluster';

import { Logger } from '@nestjs/common';

import { announce } from './program/announce.js';
import {
  ArgumentError,
  type CheckCommand,
  type Command,
  type ExportCommand,
  HELP,
  type ImportCommand,
  type KeysCommand,
  nameOptions,
  readArguments,
} from './program/command-line/index.js';
import {
  describeUnread,
  Environment,
  EnvironmentError,
  loadEnvironment,
  namesInFile,
  namesReferredTo,
  RELOADED_FILES,
  unsetOf,
  type Variables,
} from './config/index.js';
import { createLogger, endWithReader, logNodeMessages, writeLine } from './logging/index.js';
import { readVersion } from './read-version.js';
import type { ScriptExample } from './simulator/script/read-script.js';
import {
  describeLatency,
  FOR_TESTS,
  readSimulatorVariables,
  SimulatorVariables,
} from './simulator/simulator-variables.js';
import { describeStartFailure } from './program/start-failure.js';
import { loadWorker } from './state/sqlite/workers.js';

/** The exit code for arguments that are not understood, as shells and most programs use it. */
const USAGE_ERROR = 2;

/** Services go on without a reader of their log, an export says what it has not written, and a key that nobody sees is not made. */
const WRITING_ANYWAY: ReadonlySet<Command['action']> = new Set(['start', 'simulate', 'export', 'keys']);

/** What is stored outlives a service that is started, rather than embedded in a program. */
const DEFAULTS: Variables = { STATE: 'sqlite' };

/** Does what the command line asks for. Resolves when the service serves, or the command has ended. */
export async function run(): Promise<void> {
  const command = readCommand();
  if (command !== undefined && !WRITING_ANYWAY.has(command.action)) endWithReader();
  if (command?.action === 'help') process.stdout.write(HELP);
  if (command?.action === 'version') process.stdout.write(`${readVersion()}\n`);
  if (command?.action === 'start') await start(command.variables);
  if (command?.action === 'check') await check(command);
  if (command?.action === 'simulate') await simulate(command.variables);
  if (command?.action === 'export' || command?.action === 'import') await move(command);
  if (command?.action === 'keys') await changeKeys(command);
}

function readCommand(): Command | undefined {
  try {
    return readArguments(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = USAGE_ERROR;
    return undefined;
  }
}

/**
 * Serves in this process, or starts WORKERS processes and supervises them. Loads only the modules that the role needs.
 * `given` variables override those of the environment.
 */
async function start(given: Variables): Promise<void> {
  const describe = (error: unknown): string => nameOptions(describeStartFailure(error), given);
  try {
    const variables = { ...unsetOf(DEFAULTS), ...given };
    const environment = loadEnvironment(variables, readSimulatorVariables);
    const endStart = deferReloads(environment);
    logNodeMessages();
    const simulator = readSimulatorVariables({ ...process.env, ...variables });
    const latency = describeLatency(simulator);
    const announceAt = (url: string): Promise<void> =>
      listExamples(simulator).then((scripted) =>
        announce(url, environment, { latency, scripted, warnings: findUnread(environment) }),
      );
    if (environment.WORKERS === 1) {
      if (environment.STATE === 'sqlite') loadWorker();
      const url = await serve(variables);
      endStart();
      await announceAt(url);
      return;
    }
    const { serveAsWorker, superviseWorkers } = await import('./operations/workers/index.js');
    if (cluster.isWorker) {
      await serveAsWorker(() => serve(variables), describe);
      return;
    }
    Logger.overrideLogger(createLogger(environment));
    process.exitCode = await superviseWorkers(environment, announceAt);
  } catch (error) {
    writeLine('error', describe(error));
    // What is missing may be there under a misspelt name.
    for (const line of error instanceof EnvironmentError ? findUnread() : []) writeLine('error', line);
    process.exit(1);
  }
}

/**
 * SIGHUP ends a process before its files are watched, and would be forgotten by those that were read already. One that comes during the
 * start is passed on when the returned function is called. Without such a file, SIGHUP ends the process as usual.
 */
function deferReloads(environment: Environment): () => void {
  if (RELOADED_FILES.every((variable) => environment[variable] === '')) return () => undefined;
  let hasCome = false;
  const note = (): void => void (hasCome = true);
  process.on('SIGHUP', note);
  return () => {
    process.off('SIGHUP', note);
    if (hasCome) process.emit('SIGHUP');
  };
}

/** The scripted models; the service has started with their files, so that they are valid. */
async function listExamples({ SIMULATOR_SCRIPTS: paths }: SimulatorVariables): Promise<readonly ScriptExample[]> {
  if (paths.length === 0) return [];
  const { exampleOf, readScripts } = await import('./simulator/script/read-script.js');
  return (await readScripts(paths)).map(exampleOf);
}

/** Lines about variables that nothing reads. Without an environment, because it is not valid, its files are those of the process. */
function findUnread({ PROVIDERS_FILE, MCP_SERVERS }: Partial<Environment> = process.env): readonly string[] {
  const own = [Environment, SimulatorVariables].flatMap((type) => Object.keys(new type()));
  const referredTo = [PROVIDERS_FILE, MCP_SERVERS].flatMap((path) => namesReferredTo(path ?? ''));
  const known = new Set([...own, ...referredTo]);
  return describeUnread(known, { process: process.env, inFile: namesInFile() });
}

/** Looks at what a start needs, or at scripts and recordings. Starts nothing. */
async function check({ files, variables: given }: CheckCommand): Promise<void> {
  const { checkFixtures, checkSetup, reportInvalid } = await import('./program/check-setup.js');
  const isSound = async (): Promise<boolean> => {
    if (files.length > 0) return checkFixtures(files);
    try {
      const variables = { ...unsetOf(DEFAULTS), ...given };
      const environment = loadEnvironment(variables, readSimulatorVariables);
      const simulator = readSimulatorVariables({ ...process.env, ...variables });
      return await checkSetup(environment, simulator, findUnread(environment));
    } catch (error) {
      if (error instanceof EnvironmentError) return reportInvalid(error, findUnread());
      throw error;
    }
  };
  process.exitCode = (await isSound()) ? 0 : 1;
}

/** Serves simulated models for tests, in this process. Writes the URL for their clients when it is ready, and nothing else. */
async function simulate(given: Variables): Promise<void> {
  const { STATE, SIMULATOR_CONTROL, ...others } = FOR_TESTS;
  // What the environment says of upstreams, databases, keys and limits is not for tests, and the first line is the URL.
  const fixed = {
    ...{ STATE, SIMULATOR_CONTROL, LOG_LEVEL: 'error', NODE_ENV: '', WORKERS: 1, HOST: '127.0.0.1' },
    ...{ PROVIDERS_FILE: '', MCP_SERVERS: '', API_KEYS: '', KEYS_FILE: '', LIMITS_FILE: '' },
    ...{ JWT_ISSUER: '', METRICS: false },
  };
  try {
    process.stdout.write(`${await serve({ ...unsetOf(others), ...fixed, ...given })}/v1\n`);
  } catch (error) {
    writeLine('error', nameOptions(describeStartFailure(error), given));
    process.exit(1);
  }
}

/** Writes the state to the standard output, or reads it from the standard input. Loads only the backend. */
async function move(asked: ExportCommand | ImportCommand): Promise<void> {
  try {
    const { exportTo, importFrom } = await import('./program/move-state.js');
    if (asked.action === 'export') await exportTo(process.stdout, asked, unsetOf(DEFAULTS));
    else await importFrom(process.stdin, unsetOf(DEFAULTS));
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    process.exitCode = 1;
  }
}

/** Changes or lists the keys of KEYS_FILE. */
async function changeKeys(asked: KeysCommand): Promise<void> {
  try {
    const { runKeysCommand } = await import('./program/keys-command.js');
    await runKeysCommand(asked);
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    process.exitCode = 1;
  }
}

async function serve(variables: Variables): Promise<string> {
  const service = await import('./program/serve.js');
  return service.serve(variables);
}
