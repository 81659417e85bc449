import type { WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment, EnvironmentError } from '../../config/index.js';
import { Clock } from '../../time/index.js';
import type { ModelProviderBase } from '../model-provider.js';
import { findSecrets } from '../redact.js';
import { redactSteps } from './redact-steps.js';
import { type RecordedTurn, RecordedProvider } from './recorded-provider.js';

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
