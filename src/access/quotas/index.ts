export { Counters } from './counters.js';
export { LimitedAdmission } from './limited-admission.js';
export { LimitsModule } from './limits.module.js';
export { type LimitState, TenantLimits } from './tenant-limits.js';
