import { Injectable } from '@nestjs/common';

/** Whether this process wants traffic. Balancers ask `/readyz`. */
@Injectable()
export class Readiness {
  private leaving = false;

  get isLeaving(): boolean {
    return this.leaving;
  }

  /** Says from now on that traffic should go elsewhere. */
  leave(): void {
    this.leaving = true;
  }
}
