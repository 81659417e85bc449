/** The name that the simulator has as a provider. */
export const SIMULATOR = 'simulator';
