import { Injectable } from '@nestjs/common';
import { Clock, Environment, MemoryBackend, StateBackend } from 'antiphon';

/** STATE=audited: the memory backend, with a list of deleted ids. A backend for another database implements the same members. */
@Injectable()
export class AuditedBackend extends StateBackend {
  readonly deletions: string[] = [];
  private readonly memory: MemoryBackend;

  constructor(environment: Environment, clock: Clock) {
    super();
    this.memory = new MemoryBackend(environment, clock);
  }

  override get responses() {
    return this.memory.responses;
  }

  override get runs() {
    return this.memory.runs;
  }

  override get graph() {
    return this.memory.graph;
  }

  override get sessions() {
    return this.memory.sessions;
  }

  override get conversations() {
    return this.memory.conversations;
  }

  override get secrets() {
    return this.memory.secrets;
  }

  override get claims() {
    return this.memory.claims;
  }

  override get locks() {
    return this.memory.locks;
  }

  override get notices() {
    return this.memory.notices;
  }

  override get log() {
    return this.memory.log;
  }

  override get jobs() {
    return this.memory.jobs;
  }

  override get runNotices() {
    return this.memory.runNotices;
  }

  /** About how many bytes it keeps. */
  get bytes(): number {
    return this.memory.bytes;
  }

  override async start(): Promise<void> {
    await this.memory.start();
    this.notices.subscribe({
      deleted: (ids) => this.deletions.push(...ids),
      interrupted: () => undefined,
      resumed: () => undefined,
    });
  }

  override stop(): Promise<void> {
    return this.memory.stop();
  }
}
