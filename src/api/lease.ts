import type { KubeObject } from './meta.ts';

/** The part of a coordination.k8s.io/v1 LeaseSpec that leader election uses. */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** metav1.MicroTime. */
  readonly acquireTime?: string;
  /** metav1.MicroTime. */
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** A coordination.k8s.io/v1 Lease. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}
