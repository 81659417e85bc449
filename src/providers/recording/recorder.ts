import type { WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment, EnvironmentError } from '../../config/index.js';
import { Clock } from '../../time/index.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelProviderBase } from '../model-provider.js';
import { findSecrets, redactDeeply, redactPieces } from '../redact.js';
import { RecordedProvider, type RecordedTurn } from './recorded-provider.js';
import type { RecordedStep } from './tape.js';

/** The first line of a recording: the settings of its replay. */
const SETTINGS = JSON.stringify({ settings: { match: 'request', timing: 'recorded' } });

/** Read and write for the owner only. */
const FILE_MODE = 0o600;

/** Records the answers of providers in RECORD_FILE, a script in JSON Lines. */
@Injectable()
export class Recorder implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Recorder.name);
  private readonly secrets: readonly string[];
  private upstreamSecrets: readonly string[] = [];
  private names: ReadonlySet<string> = new Set();
  private readonly recorded = new WeakMap<ModelProviderBase, RecordedProvider>();
  private file: WriteStream | null = null;
  private isEmpty = false;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {
    this.secrets = findSecrets(process.env, environment.API_KEYS);
  }

  /** Opens the file. Throws EnvironmentError when it cannot be written. */
  async onModuleInit(): Promise<void> {
    const { RECORD_FILE } = this.environment;
    if (RECORD_FILE === '') return;
    const file = await this.open(RECORD_FILE);
    file.on('error', (error) => this.logger.error(`recording to ${RECORD_FILE} stopped`, error));
    this.file = file;
  }

  /** Sets the providers to record, and the secrets of their upstreams, which are redacted. */
  setProviders(providerNames: readonly string[], secrets: readonly string[]): void {
    this.upstreamSecrets = secrets;
    this.names = new Set(providerNames);
    if (this.file !== null && this.names.size === 0) this.logger.warn('RECORD_FILE: no provider to record');
  }

  /** Wraps a provider if it is recorded. */
  around(providerName: string, provider: ModelProviderBase): ModelProviderBase {
    if (this.file === null || !this.names.has(providerName)) return provider;
    let recorded = this.recorded.get(provider);
    if (recorded === undefined) {
      recorded = new RecordedProvider(provider, this.clock, (turn) => this.write(turn));
      this.recorded.set(provider, recorded);
    }
    return recorded;
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.file === null || this.file.destroyed) return;
    const closed = new Promise<void>((resolve) => this.file?.once('close', () => resolve()));
    this.file.end();
    await closed;
  }

  private async open(path: string): Promise<WriteStream> {
    try {
      const handle = await open(path, 'a+', FILE_MODE);
      const { size } = await handle.stat();
      this.isEmpty = size === 0;
      const file = handle.createWriteStream();
      // A killed process may have left an incomplete line.
      if (size > 0 && (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString() !== '\n') file.write('\n');
      return file;
    } catch (error) {
      throw new EnvironmentError([`RECORD_FILE: ${String((error as { readonly message?: unknown }).message)}.`]);
    }
  }

  private write({ request, steps }: RecordedTurn): void {
    if (this.file?.destroyed !== false) return;
    try {
      const line = JSON.stringify({ request, steps: redactSteps(steps, [...this.secrets, ...this.upstreamSecrets]) });
      if (this.isEmpty) this.file.write(`${SETTINGS}\n`);
      this.isEmpty = false;
      this.file.write(`${line}\n`);
    } catch (error) {
      // A failed recording must not fail the turn.
      this.logger.warn(`a turn was not recorded: ${String(error)}`);
    }
  }
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
