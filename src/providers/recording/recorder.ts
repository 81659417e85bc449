import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment, EnvironmentError } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelProviderBase } from '../model-provider.js';
import { findSecrets, redactDeeply, redactPieces } from '../redact.js';
import type { Turn } from '../turn.js';
import { RecordedProvider, type RecordedTurn } from './recorded-provider.js';
import { RecordingFile } from './recording-file.js';
import type { RecordedStep } from './tape.js';

/** Recordings that run at once in a process, one of a tenant, and the longest of them. */
const MOST_RECORDINGS = 64;
const MOST_BYTES = 256 * 1024 * 1024;

/** No separator and no dot: a name leads nowhere else. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** In lower case: some file systems take `Alice` for `alice`. */
const PLAIN_TENANT = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** A recording that a client has started. */
export interface Recording {
  readonly name: string;
  /** In RECORD_DIR. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The turns so far. */
  readonly turns: number;
  readonly status: RecordingFile['status'] | 'stopped';
}

interface Running {
  readonly name: string;
  readonly path: string;
  readonly startedAt: number;
  readonly opening: Promise<RecordingFile>;
  /** Once it is open. */
  file?: RecordingFile;
}

/**
 * Records the answers of providers as scripts in JSON Lines: in RECORD_FILE those of all tenants, and in files of RECORD_DIR those of a
 * tenant, from a start to a stop.
 */
@Injectable()
export class Recorder implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Recorder');
  private readonly secrets: readonly string[];
  private upstreamSecrets: readonly string[] = [];
  private names: ReadonlySet<string> = new Set();
  private readonly recorded = new WeakMap<ModelProviderBase, RecordedProvider>();
  /** RECORD_FILE. */
  private standing: RecordingFile | null = null;
  /** By tenant. */
  private readonly running = new Map<string, Running>();

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {
    this.secrets = findSecrets(process.env, environment.API_KEYS);
  }

  /** Opens RECORD_FILE. Throws EnvironmentError when it cannot be written. */
  async onModuleInit(): Promise<void> {
    const { RECORD_FILE } = this.environment;
    if (RECORD_FILE === '') return;
    try {
      this.standing = await this.open(RECORD_FILE, { isNew: false, mostBytes: Infinity });
    } catch (error) {
      throw new EnvironmentError([`RECORD_FILE: ${String((error as { readonly message?: unknown }).message)}.`]);
    }
  }

  /** Sets the providers to record, and the secrets of their upstreams, which are redacted. */
  setProviders(providerNames: readonly string[], secrets: readonly string[]): void {
    this.upstreamSecrets = secrets;
    this.names = new Set(providerNames);
    if (this.standing !== null && this.names.size === 0) this.logger.warn('RECORD_FILE: no provider to record');
  }

  /** Wraps a provider if it is recorded now. */
  around(providerName: string, provider: ModelProviderBase): ModelProviderBase {
    if ((this.standing === null && this.running.size === 0) || !this.names.has(providerName)) return provider;
    let recorded = this.recorded.get(provider);
    if (recorded === undefined) {
      recorded = new RecordedProvider(provider, this.clock, (turn) => this.openFor(turn));
      this.recorded.set(provider, recorded);
    }
    return recorded;
  }

  /**
   * Starts a recording of a tenant, in a new file. It has the turns that begin and end before it is stopped. Throws ApiError: 400 for a
   * name that is not valid, 404 without RECORD_DIR, 409 while the tenant has another one, for a file that is there, and beyond the most
   * recordings; 500 when the file cannot be written.
   */
  async start(tenant: string, name: string): Promise<Recording> {
    const { RECORD_DIR } = this.environment;
    if (RECORD_DIR === '') throw refuse(404, 'Recordings need RECORD_DIR, which this server does not have.');
    if (!NAME.test(name)) {
      const message = "Invalid 'name': expected up to 64 letters, digits, hyphens and underscores.";
      throw ApiError.of('invalid_value', message, { param: 'name' });
    }
    const other = this.running.get(tenant);
    if (other !== undefined) throw refuse(409, `The recording '${other.name}' is running; stop it first.`);
    if (this.running.size >= MOST_RECORDINGS) throw refuse(409, `There are ${MOST_RECORDINGS} recordings already.`);
    const path = join(folderOf(tenant), `${name}.jsonl`);
    const opening = this.openIn(RECORD_DIR, path);
    const running: Running = { name, path, startedAt: this.clock.now(), opening };
    // Before the file is open, so that a second start finds this one.
    this.running.set(tenant, running);
    try {
      running.file = await opening;
    } catch (error) {
      // The recording may have been stopped, and another one started.
      if (this.running.get(tenant) === running) this.running.delete(tenant);
      throw error;
    }
    return toRecording(running);
  }

  /** The recording of a tenant that runs. */
  runningOf(tenant: string): Recording | undefined {
    const running = this.running.get(tenant);
    return running && toRecording(running);
  }

  /** Stops a recording of a tenant, and resolves when its file is complete. Throws ApiError 404 when it does not run. */
  async stop(tenant: string, name: string): Promise<Recording> {
    const running = this.running.get(tenant);
    if (running?.name !== name) throw refuse(404, `No recording '${name}' is running.`);
    this.running.delete(tenant);
    const file = await running.opening;
    await file.close();
    const { status } = file;
    return { ...toRecording({ ...running, file }), status: status === 'recording' ? 'stopped' : status };
  }

  async onApplicationShutdown(): Promise<void> {
    const opening = [...this.running.values()].map((running) => running.opening);
    this.running.clear();
    await this.standing?.close();
    // The caller of a start knows already that its file could not be opened.
    for (const opened of await Promise.allSettled(opening)) {
      if (opened.status === 'fulfilled') await opened.value.close();
    }
  }

  /** Opens a new file, which nobody but this tenant and this name can have. Throws ApiError. */
  private async openIn(folder: string, path: string): Promise<RecordingFile> {
    const whole = join(folder, path);
    try {
      await mkdir(dirname(whole), { recursive: true, mode: 0o700 });
      return await this.open(whole, { isNew: true, mostBytes: MOST_BYTES });
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'EEXIST') {
        throw refuse(409, `There is a file '${path}' already; choose another name.`);
      }
      this.logger.error(`a recording cannot be written to ${whole}`, error);
      throw new ApiError(500, 'server_error', null, null, 'The recording cannot be written.');
    }
  }

  private open(path: string, options: { isNew: boolean; mostBytes: number }): Promise<RecordingFile> {
    const onError = (error: Error): void => this.logger.error(`recording to ${path} stopped`, error);
    return RecordingFile.open(path, { ...options, onError });
  }

  /** What takes a turn that begins now. */
  private openFor({ tenant }: Turn): ((turn: RecordedTurn) => void) | undefined {
    const files = [this.standing, this.running.get(tenant)?.file].filter((file) => file != null);
    return files.length === 0 ? undefined : (turn) => this.write(turn, files);
  }

  private write({ request, steps }: RecordedTurn, files: readonly RecordingFile[]): void {
    try {
      const turn = { request, steps: redactSteps(steps, [...this.secrets, ...this.upstreamSecrets]) };
      for (const file of files) file.write(turn);
    } catch (error) {
      // A failed recording must not fail the turn.
      this.logger.warn(`a turn was not recorded: ${String(error)}`);
    }
  }
}

/** The folder of a tenant: its name or, where that is no plain one, a digest of it. Two tenants never share one. */
function folderOf(tenant: string): string {
  return PLAIN_TENANT.test(tenant) ? tenant : `sha256-${hash('sha256', tenant)}`;
}

function toRecording({ name, path, startedAt, file }: Running): Recording {
  return { name, path, startedAt, turns: file?.turns ?? 0, status: file?.status ?? 'recording' };
}

function refuse(status: number, message: string): ApiError {
  return new ApiError(status, 'invalid_request_error', null, null, message);
}

type Delta = Extract<ModelEvent, { readonly delta: string }>;

/** Redacts credentials in the steps of a turn, including those that span several deltas. */
export function redactSteps(steps: readonly RecordedStep[], secrets: readonly string[]): readonly RecordedStep[] {
  const deltas = redactDeltas(
    steps.flatMap(({ events = [] }) => events.filter(isDelta)),
    secrets,
  );
  const redactEvent = (event: ModelEvent): ModelEvent =>
    (isDelta(event) ? deltas.get(event) : undefined) ?? redactMembers(event, secrets);
  return steps.map(({ events, error, ...step }) => ({
    ...step,
    ...(events === undefined ? {} : { events: events.map(redactEvent) }),
    ...(error === undefined ? {} : { error: redactDeeply(error, secrets) as object }),
  }));
}

function redactDeltas(deltas: readonly Delta[], secrets: readonly string[]): ReadonlyMap<ModelEvent, Delta> {
  const redacted = new Map<ModelEvent, Delta>();
  for (const text of Map.groupBy(deltas, ({ type, key }) => `${type} ${key ?? ''}`).values()) {
    const pieces = redactPieces(
      text.map(({ delta }) => delta),
      secrets,
    );
    for (const [index, event] of text.entries()) redacted.set(event, withDelta(event, pieces[index] ?? ''));
  }
  return redacted;
}

/** Replaces a delta. Log probabilities are dropped with it, because they repeat the text. */
function withDelta(event: Delta, delta: string): Delta {
  if (delta === event.delta) return event;
  return event.type === 'text' ? { ...event, delta, logprobs: [] } : { ...event, delta };
}

/** Redacts all members except `type`, `key` and `callId`, which link events. */
function redactMembers(event: ModelEvent, secrets: readonly string[]): ModelEvent {
  const { type, key, callId } = event as { readonly type: string; readonly key?: string; readonly callId?: string };
  const members = redactDeeply(event, secrets) as object;
  return {
    ...members,
    type,
    ...(key === undefined ? {} : { key }),
    ...(callId === undefined ? {} : { callId }),
  } as ModelEvent;
}

function isDelta(event: ModelEvent): event is Delta {
  return 'delta' in event && typeof event.delta === 'string';
}
