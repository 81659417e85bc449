export { LimitedAdmission } from './limited-admission.js';
export { LimitsModule } from './limits.module.js';
export { LocalWindows } from './local-windows.js';
export { OpenCounts } from './open-counts.js';
export { Windows } from './windows.js';
