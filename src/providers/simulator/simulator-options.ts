/** How the simulator behaves. Injected by this class, so that a test or a deployment can provide its own. */
export class SimulatorOptions {
  constructor(
    /** The same seed and the same request give the same answer. */
    readonly seed: number = 1,
    /** Wait between two deltas, ms. With 0 the answer comes as fast as it can be sent. */
    readonly delayMs: number = 0,
  ) {}
}
