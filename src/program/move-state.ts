import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';

import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';

import { asTenant } from '../access/index.js';
import { libraryOf, selectBackend, SQLITE_SCHEME } from '../backends.js';
import type { ExportCommand } from './command-line/index.js';
import { ConfigModule, Environment, loadEnvironment, type Variables } from '../config/index.js';
import { createLogger } from '../logging/index.js';
import { makeSeam } from '../seams/index.js';
import {
  backendsOf,
  exportState,
  importState,
  LibraryBackend,
  type Moved,
  StateBackend,
  StateTransferError,
  StoreUnavailableError,
} from '../state/index.js';
import { Clock, SharedClock } from '../time/index.js';

/** The backends alone, without what uses it. */
@Module({})
class BackendModule {
  static of(variables: Variables): DynamicModule {
    return {
      module: BackendModule,
      imports: [ConfigModule.forRoot(variables)],
      providers: [
        { provide: Clock, useClass: SharedClock },
        {
          provide: StateBackend,
          inject: [Environment, ModuleRef],
          useFactory: ({ STATE }: Environment, modules: ModuleRef) => makeSeam(selectBackend(STATE), modules),
        },
        { provide: LibraryBackend, inject: [StateBackend, Environment, Clock], useFactory: libraryOf },
      ],
    };
  }
}

/**
 * `antiphon export`: writes what the backend of the environment stores; `variables` override it. Throws StateTransferError, also for a file that is
 * not there and a tenant that has nothing, and the errors of the start of the backend.
 */
export async function exportTo(
  output: Writable,
  { tenants, secrets }: Omit<ExportCommand, 'action'>,
  variables: Variables,
): Promise<void> {
  await requireFiles(loadEnvironment(variables));
  const only = tenants.length === 0 ? {} : { tenants: tenants.map(asTenant) };
  const moved = await withBackend(variables, (backend, library) =>
    exportState(backend, output, { ...only, secrets, library, onProgress: (soFar) => report('Exporting', soFar) }),
  );
  report('Exported', moved);
}

/**
 * `antiphon import`: stores an export in the backend of the environment; `variables` override it. Throws StateTransferError, and the errors of the
 * start of the backend.
 */
export async function importFrom(input: Readable, variables: Variables): Promise<void> {
  const moved = await withBackend(variables, (backend, library) =>
    importState(backend, input, { library, onProgress: (soFar) => report('Importing', soFar) }),
  );
  report('Imported', moved);
  if (moved.existing > 0) process.stderr.write(`${moved.existing} of them were there already and are unchanged.\n`);
}

async function withBackend<T>(
  variables: Variables,
  work: (backend: StateBackend, library: LibraryBackend) => Promise<T>,
): Promise<T> {
  const environment = loadEnvironment(variables);
  if (environment.STATE === 'memory') {
    throw new StateTransferError('STATE: memory ends with its process, so there is nothing to export or import.');
  }
  // The standard output is for the export.
  const logger = createLogger(environment, 'stderr');
  Logger.overrideLogger(logger);
  const modules = await NestFactory.createApplicationContext(BackendModule.of(variables), {
    logger,
    abortOnError: false,
  });
  const [backend, library] = [modules.get(StateBackend), modules.get<LibraryBackend>(LibraryBackend)];
  try {
    for (const one of backendsOf(backend, library)) await one.start();
    await requireAvailable(backend, environment);
    return await work(backend, library);
  } finally {
    library.bucket?.close();
    for (const one of backendsOf(backend, library)) await one.stop();
  }
}

/** Throws StateTransferError where a file of SQLite is not there: a backup must not succeed with one that was just created. */
async function requireFiles({ STATE, STATE_DIR, VECTOR_STORE_URL: url }: Environment): Promise<void> {
  const places = [
    ...(STATE === 'sqlite' ? [{ variable: 'STATE_DIR', directory: STATE_DIR }] : []),
    ...(STATE === 'redis' && url.startsWith(SQLITE_SCHEME)
      ? [{ variable: 'VECTOR_STORE_URL', directory: url.slice(SQLITE_SCHEME.length) }]
      : []),
  ];
  if (places.length === 0) return;
  const { FILE_NAME } = await import('../state/sqlite/index.js');
  for (const { variable, directory } of places) {
    if (existsSync(join(directory, FILE_NAME))) continue;
    throw new StateTransferError(
      `${variable}: there is no ${FILE_NAME} in ${resolve(directory)}, so there is nothing to export.`,
    );
  }
}

async function requireAvailable(backend: StateBackend, { STATE }: Environment): Promise<void> {
  try {
    await backend.responses.check();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailableError)) throw cause;
    throw new StateTransferError(`STATE: ${STATE} is not available; the log says why. Repeat this when it is.`, {
      cause,
    });
  }
}

function report(what: string, { tenants, conversations, responses, files, stores, jobs }: Moved): void {
  const counts = [
    count(tenants, 'tenant'),
    count(conversations, 'conversation'),
    count(responses, 'response'),
    ...(files === 0 ? [] : [count(files, 'file')]),
    ...(stores === 0 ? [] : [count(stores, 'vector store')]),
    count(jobs, 'job'),
  ];
  process.stderr.write(`${what}: ${counts.join(', ')}.\n`);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
