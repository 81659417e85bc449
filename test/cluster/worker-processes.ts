import { type ServiceProcess, startProcess } from '../support/process-service.js';
import { SocketClient } from '../support/socket-client.js';

/** A service of several processes. */
export interface WorkerProcesses extends ServiceProcess {
  /** The processes that serve or have served, in the order in which they came. */
  readonly workers: () => readonly number[];
  /** The process that ran a turn. */
  readonly workerOf: (responseId: string) => Promise<number>;
}

/** Starts a service of two processes that write down who serves what, with its state in a database. */
export async function startWorkers(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<WorkerProcesses> {
  const service = await startProcess({
    WORKERS: '2',
    STATE: 'postgres',
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
    ...environment,
  });
  return {
    ...service,
    workers: () => [...service.output().matchAll(/worker (\d+) listens/g)].map(([, pid]) => Number(pid)),
    workerOf: async (responseId) => {
      const line = new RegExp(`"pid":(\\d+)[^\\n]*${responseId}\\b`);
      await service.written(line);
      return Number(line.exec(service.output())?.[1]);
    },
  };
}

/** A socket on each of these processes. */
export async function openSocketsOn(
  service: WorkerProcesses,
  pids: readonly number[],
): Promise<readonly SocketClient[]> {
  const found = new Map<number, SocketClient>();
  while (pids.some((pid) => !found.has(pid))) {
    const client = await SocketClient.open(service);
    const { response } = await client.warmUp({ model: 'gpt-4.1', input: 'Who are you?' });
    const pid = await service.workerOf(response.id);
    if (found.has(pid)) await client.close();
    else found.set(pid, client);
  }
  return pids.map((pid) => found.get(pid) as SocketClient);
}
