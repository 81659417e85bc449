import type { ContractService } from './contract-service.js';

/** What has to hold, and how it is seen. Throws an Error that names what does not. */
export interface Check {
  readonly name: string;
  readonly run: (service: ContractService) => Promise<void>;
}
