import { availableParallelism, cpus, platform, release } from 'node:os';

/** The machine and date of a run. */
export interface Machine {
  readonly cpu: string;
  /** Cores available to the benchmark. */
  readonly cores: number;
  readonly system: string;
  readonly node: string;
  /** ISO 8601, UTC. */
  readonly date: string;
}

/** Describes this machine. */
export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    system: `${platform()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
  };
}
