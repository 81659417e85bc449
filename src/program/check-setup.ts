import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { Logger, type LoggerService } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';

import { ApiKeys } from '../access/index.js';
import { libraryDatabase, selectBackend, SQLITE_SCHEME } from '../backends.js';
import { type Environment, EnvironmentError } from '../config/index.js';
import { Documents } from '../files/documents/index.js';
import { escapeLine } from '../logging/index.js';
import { LimitRules } from '../access/quotas/limit-rules.js';
import { McpServers } from '../tools/mcp/index.js';
import { requireMetricsExporter } from '../operations/metrics/index.js';
import { UuidIdGenerator } from '../protocol/index.js';
import { SystemRandom } from '../providers/index.js';
import { ProviderTable } from '../providers/provider-table.js';
import { findSecrets } from '../providers/redact.js';
import { ConfiguredProviders } from '../providers/routing/index.js';
import { Prompts } from '../responses/prompts/prompts.js';
import { SIMULATOR, SimulatorOptions, SimulatorProvider, type SimulatorVariables } from '../simulator/index.js';
import { findScriptFaults } from '../simulator/script/check-script.js';
import { requirePackages, S3_PACKAGE } from '../require-packages.js';
import { describeStartFailure } from './start-failure.js';
import { type StateBackend, StateStartError } from '../state/index.js';
import type { DatabaseSettings } from '../state/postgres/index.js';
import { SystemClock } from '../time/index.js';
import { requireSpanExporter } from '../operations/tracing/index.js';
import { didYouMean } from '../validation/index.js';
import { WebSearch } from '../tools/web-search/index.js';

/** What the check has found: a fault stops a start, or the requests that need what is missing. */
interface Finding {
  readonly kind: 'ok' | 'warning' | 'fault';
  readonly text: string;
}

/** The width of the kind in a line. */
const KIND_WIDTH = 'warning'.length;

/** Models of an upstream that a line names. */
const MOST_NAMED = 5;

const clock = new SystemClock();

/**
 * `antiphon check`: looks at everything that a start needs, and starts nothing. Writes a line per finding to the standard output, and
 * resolves with whether there is no fault.
 *
 * @param warnings about variables that have no effect
 */
export async function checkSetup(
  environment: Environment,
  simulator: SimulatorVariables,
  warnings: readonly string[],
): Promise<boolean> {
  report([ok('the variables are valid'), ...warnings.map(warning)]);
  const said = new SaidWarnings();
  Logger.overrideLogger(said);
  const { KEYS_FILE, LIMITS_FILE, PROMPTS_FILE } = environment;
  const provider = new SimulatorProvider(SimulatorOptions.from(simulator, { isFallback: true }), clock);
  const checks = [
    () => checkFile('KEYS_FILE', KEYS_FILE, new ApiKeys(environment, clock)),
    () => checkFile('LIMITS_FILE', LIMITS_FILE, new LimitRules(environment, clock)),
    () => checkFile('PROMPTS_FILE', PROMPTS_FILE, new Prompts(environment, clock)),
    () => checkScripts(simulator, provider),
    () => checkProviders(environment, provider),
    () => checkMcpServers(environment),
    () => checkWebSearch(environment),
    () => checkState(environment),
    () => checkLibrary(environment),
    () => checkBucket(environment),
    () => checkExporters(environment),
  ];
  let faults = 0;
  for (const check of checks) {
    const found = [...(await attempt(check)), ...said.take().map(warning)];
    report(found);
    faults += found.filter(({ kind }) => kind === 'fault').length;
  }
  return conclude(faults);
}

/** Writes why the variables cannot be read, in place of `checkSetup`; resolves with false. */
export function reportInvalid(error: EnvironmentError, warnings: readonly string[]): boolean {
  report([...error.violations.map(fault), ...warnings.map(warning)]);
  return conclude(error.violations.length);
}

/** Writes the faults of scripts and recordings of the simulator, with file and line; resolves with whether there is none. */
export async function checkFixtures(paths: readonly string[]): Promise<boolean> {
  let faults = 0;
  for (const path of paths) {
    const found = await findScriptFaults(path);
    report(found.length === 0 ? [ok(path)] : found.map(fault));
    faults += found.length;
  }
  return conclude(faults);
}

function conclude(faults: number): boolean {
  process.stdout.write(faults === 0 ? 'No faults.\n' : `${faults} fault${faults === 1 ? '' : 's'}.\n`);
  return faults === 0;
}

function report(findings: readonly Finding[]): void {
  for (const { kind, text } of findings) process.stdout.write(`${kind.padEnd(KIND_WIDTH)} ${escapeLine(text)}\n`);
}

function ok(text: string): Finding {
  return { kind: 'ok', text };
}

function warning(text: string): Finding {
  return { kind: 'warning', text };
}

function fault(text: string): Finding {
  return { kind: 'fault', text };
}

/** The findings of a check, or what it throws as faults. */
async function attempt(check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof EnvironmentError) return error.violations.map(fault);
    const [line = ''] = describeStartFailure(error).split('\n');
    return [fault(line)];
  }
}

/** What reads a file when the service starts. */
interface FileReader {
  onModuleInit(): Promise<void>;
  onApplicationShutdown(): void;
}

async function checkFile(variable: string, path: string, reader: FileReader): Promise<readonly Finding[]> {
  if (path === '') return [];
  await reader.onModuleInit();
  // Otherwise the reader would go on watching the file.
  reader.onApplicationShutdown();
  return [ok(`${variable}: ${path}`)];
}

async function checkScripts(
  { SIMULATOR_SCRIPTS }: SimulatorVariables,
  provider: SimulatorProvider,
): Promise<readonly Finding[]> {
  const faults = (await Promise.all(SIMULATOR_SCRIPTS.map(findScriptFaults))).flat();
  if (faults.length > 0) return faults.map((text) => fault(`SIMULATOR_SCRIPTS: ${text}`));
  await provider.onModuleInit();
  return SIMULATOR_SCRIPTS.map((path) => ok(`SIMULATOR_SCRIPTS: ${path}`));
}

/** Asks each upstream once for its models. */
async function checkProviders(environment: Environment, simulator: SimulatorProvider): Promise<readonly Finding[]> {
  const { PROVIDERS_FILE: path, API_KEYS, MODEL_LIST_TIMEOUT_MS } = environment;
  const random = new SystemRandom();
  const configured = new ConfiguredProviders(environment, clock, new UuidIdGenerator(), random, new Map());
  const configuration = await configured.read();
  if (configuration === null) return [];
  try {
    const table = makeTable(path, {
      classes: new Map([[SIMULATOR, simulator]]),
      configuration,
      clock,
      random,
      listLimitMs: MODEL_LIST_TIMEOUT_MS,
      secrets: [...findSecrets(process.env, API_KEYS), ...configuration.secrets],
    });
    const upstreams = (await table.describe()).filter(({ name }) => name !== SIMULATOR);
    const asked = upstreams.map(({ name, models, error }) => {
      if (error === null) return ok(`upstream '${name}': answers, ${models} models`);
      return fault(`upstream '${name}': does not list its models: ${error}`);
    });
    const { EMBEDDING_MODEL: embedder } = environment;
    const embeds = table.find(embedder)?.provider.embed !== undefined;
    const missing = `EMBEDDING_MODEL: no provider makes vectors with '${embedder}'; vector stores cannot be created`;
    const unlisted = table.unlisted.map(({ name, providerName, model, listed }) =>
      warning(`model '${name}': upstream '${providerName}' does not list '${model}'. ${hintOf(model, listed)}`),
    );
    return [ok(`PROVIDERS_FILE: ${path}`), ...asked, ...unlisted, ...(embeds ? [] : [warning(missing)])];
  } finally {
    await configuration.destroy();
  }
}

/** What may have been meant by a name that is not listed. */
function hintOf(name: string, listed: readonly string[]): string {
  const [nearest] = didYouMean(name, listed);
  const shown = listed.slice(0, MOST_NAMED).map((each) => `'${each}'`);
  const all = `It lists ${shown.join(', ')}${listed.length > shown.length ? ' …' : ''}`;
  return nearest === undefined ? all : `Did you mean '${nearest}'?`;
}

/** Asks each server of MCP_SERVERS once for its tools. */
async function checkMcpServers(environment: Environment): Promise<readonly Finding[]> {
  const { MCP_SERVERS: path } = environment;
  const servers = new McpServers(environment, clock);
  try {
    await servers.onModuleInit();
    if (path === '') return [];
    const answers = await servers.ask(new AbortController().signal);
    const asked = answers.map(({ name, tools, error }) => {
      if (tools !== null) return ok(`MCP server '${name}': answers, ${tools} tools`);
      if (error === null) return warning(`MCP server '${name}': is not asked, as it needs the token of a caller`);
      return fault(`MCP server '${name}': does not list its tools: ${error}`);
    });
    const misnamed = answers.flatMap(({ name, unlisted, listed }) =>
      unlisted.map((tool) => warning(`MCP server '${name}': does not list '${tool}'. ${hintOf(tool, listed)}`)),
    );
    return [ok(`MCP_SERVERS: ${path}`), ...asked, ...misnamed];
  } finally {
    await servers.onApplicationShutdown();
  }
}

/** Searches once. */
async function checkWebSearch(environment: Environment): Promise<readonly Finding[]> {
  if (environment.WEB_SEARCH.length === 0) return [];
  const servers = new McpServers(environment, clock);
  // Nothing is asked of the simulator, which is no service yet.
  const simulator = { name: 'simulator', search: () => Promise.resolve([]) };
  const modules = { get: () => simulator } as unknown as ModuleRef;
  const web = new WebSearch(environment, clock, new Documents(environment), servers, modules, null, null, null);
  try {
    await servers.onModuleInit();
    await web.onModuleInit();
    const query = { text: 'antiphon', most: 1, allowedDomains: [], blockedDomains: [], location: null, images: false };
    await web.search(query, { tenant: '', signal: new AbortController().signal });
    return web
      .conditions()
      .map(({ name, error }) => (error === null ? ok(`WEB_SEARCH: ${name}`) : fault(`WEB_SEARCH: ${name}: ${error}`)));
  } finally {
    await web.onApplicationShutdown();
    await servers.onApplicationShutdown();
  }
}

function makeTable(path: string, dependencies: ConstructorParameters<typeof ProviderTable>[0]): ProviderTable {
  try {
    return new ProviderTable(dependencies);
  } catch (error) {
    throw new EnvironmentError([`PROVIDERS_FILE: ${path}: ${(error as Error).message}.`]);
  }
}

/** Whether what sends spans and metrics is installed. */
async function checkExporters(environment: Environment): Promise<readonly Finding[]> {
  requireSpanExporter(environment);
  requireMetricsExporter(environment);
  return [];
}

/** Whether the state can be reached as it would be used. Changes no schema and creates no file. */
async function checkState(environment: Environment): Promise<readonly Finding[]> {
  const { STATE, STATE_DIR } = environment;
  selectBackend(STATE);
  if (STATE === 'sqlite') return checkSqlite(resolve(STATE_DIR));
  if (STATE === 'postgres') return checkDatabase(environment);
  if (STATE === 'redis') {
    const { RedisBackend } = await import('../state/redis/index.js');
    await reach(`STATE: ${STATE}`, new RedisBackend(environment, clock));
  }
  return [ok(`STATE: ${STATE}${STATE === 'redis' ? ' is reached' : ''}`)];
}

/** Whether the database of files and vector stores can be reached, where it is one of its own. Creates no file. */
async function checkLibrary(environment: Environment): Promise<readonly Finding[]> {
  const { STATE, VECTOR_STORE_URL: url } = environment;
  if (STATE !== 'redis') return [];
  if (url === '') return [warning('STATE: redis keeps no files: set VECTOR_STORE_URL for them')];
  if (url.startsWith(SQLITE_SCHEME)) return checkSqlite(resolve(url.slice(SQLITE_SCHEME.length)));
  return checkDatabase(libraryDatabase(environment), 'VECTOR_STORE_URL');
}

/** Writes, reads and deletes an object. */
async function checkBucket(environment: Environment): Promise<readonly Finding[]> {
  const { S3_BUCKET: name } = environment;
  if (name === '') return [];
  requirePackages('S3_BUCKET', S3_PACKAGE);
  const { Bucket } = await import('../state/s3/index.js');
  const bucket = new Bucket(environment, clock);
  try {
    await bucket.check();
    return [ok(`S3_BUCKET: ${name} is reached, and objects can be written, read and deleted`)];
  } catch (error) {
    return [fault(`S3_BUCKET: ${name}: ${(error as Error).message}`)];
  } finally {
    bucket.close();
  }
}

async function checkDatabase(environment: DatabaseSettings, variable = 'STATE'): Promise<readonly Finding[]> {
  const { pendingMigrations, PostgresBackend } = await import('../state/postgres/index.js');
  const pending = await pendingMigrations(environment);
  if (pending.length === 0) {
    await reach(`${variable}: postgres`, new PostgresBackend(environment, clock));
    return [ok(`${variable}: postgres is reached, and its schema is up to date`)];
  }
  const names = pending.length > 3 ? `${pending.slice(0, 3).join(', ')} …` : pending.join(', ');
  const text = `${variable}: postgres is reached, and lacks ${pending.length} migrations (${names})`;
  return environment.DATABASE_MIGRATE
    ? [warning(`${text}: the next start applies them`)]
    : [fault(`${text}: run 'npm run migrate'`)];
}

/** Connects as a start does, and asks once. */
async function reach(state: string, backend: StateBackend): Promise<void> {
  await backend.start();
  try {
    await backend.responses.check();
  } catch (error) {
    throw new StateStartError(`${state} is not available: ${(error as Error).message}`, { cause: error });
  } finally {
    await backend.stop();
  }
}

async function checkSqlite(directory: string): Promise<readonly Finding[]> {
  const { findVectorExtension } = await import('../state/sqlite/index.js');
  return [await checkDirectory(directory), ok((await findVectorExtension()).about)];
}

/** The file is created in a directory that is there, or in a new one below the nearest that is. */
async function checkDirectory(directory: string): Promise<Finding> {
  for (let place = directory; ; place = dirname(place)) {
    try {
      if (!(await stat(place)).isDirectory()) return fault(`STATE_DIR: ${place} is not a directory`);
      await access(place, constants.W_OK | constants.X_OK);
      return ok(`STATE: sqlite in ${directory}`);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || place === dirname(place)) return fault(`STATE_DIR: ${place} cannot be written: ${code}`);
    }
  }
}

/** Collects what the service would warn of. */
class SaidWarnings implements LoggerService {
  private lines: string[] = [];

  log(): void {
    // Nothing is started.
  }

  warn(message: unknown, context?: unknown): void {
    // These lines are about the lists of upstreams and MCP servers, which have findings of their own.
    if (context !== 'ProviderRegistry' && context !== 'MCP') this.lines.push(String(message));
  }

  error(message: unknown): void {
    this.lines.push(String(message));
  }

  /** What was said since the last call. */
  take(): readonly string[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }
}
