/** Provider name of the simulator. */
export const SIMULATOR = 'simulator';
