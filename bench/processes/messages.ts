/** Asks a process how much CPU it has used. */
export interface UsageQuestion {
  readonly type: 'usage';
}

/** What a process has used since its start. */
export interface UsageAnswer {
  readonly type: 'usage';
  readonly cpuMicroseconds: number;
}
