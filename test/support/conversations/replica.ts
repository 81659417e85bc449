import { type ServiceProcess, startProcess } from '../process-service.js';
import { onStablePort } from '../ports.js';

/** A replica with its state in a database, on a port that another one can take over when it is dead. */
export function startReplica(environment: Readonly<Record<string, string>>, port?: number): Promise<ServiceProcess> {
  const start = (port: number): Promise<ServiceProcess> =>
    startProcess({
      STATE: 'postgres',
      LOG_LEVEL: 'error',
      SIMULATOR_CONTROL: 'true',
      ...environment,
      PORT: String(port),
    });
  return port === undefined ? onStablePort(start) : start(port);
}
