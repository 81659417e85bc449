import { type Service, type ServiceOptions, startService } from './service.js';
import { openPostgres, type StateKind } from './states.js';

/** Two services that share their state, like replicas behind a balancer. */
export interface Replicas extends AsyncDisposable {
  readonly one: Service;
  readonly two: Service;
  /** Ends both and removes the state. */
  close(): Promise<void>;
}

/** Starts two services on a state of their own, in PostgreSQL unless another one is given; the options of the second are those of the first unless given. */
export async function startReplicas(
  options: ServiceOptions,
  ofTwo: ServiceOptions = options,
  open: StateKind['open'] = openPostgres,
): Promise<Replicas> {
  const state = await open();
  const start = ({ environment, ...others }: ServiceOptions): Promise<Service> =>
    startService({ ...others, environment: { ...environment, ...state.environment } });
  // At once, as replicas do: one of them migrates, the other waits.
  const [one, two] = await Promise.all([start(options), start(ofTwo)]);
  const close = async (): Promise<void> => {
    await Promise.all([one.close(), two.close()]);
    await state.drop();
  };
  return { one, two, close, [Symbol.asyncDispose]: close };
}
