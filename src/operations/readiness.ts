import { Injectable } from '@nestjs/common';

/** Whether this process accepts traffic; `/readyz` reports it to load balancers. */
@Injectable()
export class Readiness {
  private leaving = false;

  get isLeaving(): boolean {
    return this.leaving;
  }

  /** Reports from now on that the process is shutting down. */
  leave(): void {
    this.leaving = true;
  }
}
