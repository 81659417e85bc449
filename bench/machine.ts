import { availableParallelism, cpus, platform, release } from 'node:os';

/** Where and when a run was made. */
export interface Machine {
  readonly cpu: string;
  /** Cores that the benchmark may use. */
  readonly cores: number;
  readonly system: string;
  readonly node: string;
  /** ISO 8601, UTC. */
  readonly date: string;
}

/** Says what this machine is. */
export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    system: `${platform()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
  };
}
