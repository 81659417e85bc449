/** DI token: the Metrics of the application; null where nothing is measured. */
export const METRICS = 'antiphon: metrics';
