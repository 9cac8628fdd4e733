import type { Random } from './random.ts';

/** A span in milliseconds, both ends included. */
export type Span = readonly [low: number, high: number];

/** How long things take in a world; the defaults are what was measured on real parts. */
export interface Timing {
  /** From an accepted configuration to the resources that Talos's controllers make of it. */
  readonly controllers: Span;
  /** From a worker's need of a certificate to trustd's answer. */
  readonly signing: Span;
  /** Until a kubelet sees that a static pod's file has changed. */
  readonly staticPodPoll: Span;
  readonly podStop: Span;
  readonly podStart: Span;
  readonly kubeletStart: Span;
  readonly kubeletHealthy: Span;
  /** From the request of a reboot until the machine's API stops answering. */
  readonly shutdown: Span;
  /** From there until the API answers again. */
  readonly boot: Span;
  /** From there until etcd serves. */
  readonly etcdStart: Span;
  /** From there until the static pods are started. */
  readonly podsAfterBoot: Span;
  readonly eviction: Span;
  /** Factor on the periods of loops: Leases, elections of controller managers, the merging of the authentication map. */
  readonly pace: number;
}

/** `measured.md` and `talos-behaviour.md` 7.1. */
export const MEASURED: Timing = {
  controllers: [300, 1_500],
  signing: [200, 1_000],
  staticPodPoll: [500, 20_000],
  podStop: [500, 2_500],
  podStart: [2_700, 6_000],
  kubeletStart: [500, 1_500],
  kubeletHealthy: [1_500, 3_000],
  shutdown: [1_500, 5_000],
  boot: [10_000, 16_000],
  etcdStart: [3_000, 6_000],
  podsAfterBoot: [12_000, 18_000],
  eviction: [1_000, 5_000],
  pace: 1,
};

/**
 * The same world with short ways, for enumerations: what is asked there is what
 * comes before what, and a plan costs as much as there are looks in it.
 */
export const BRISK: Partial<Timing> = {
  staticPodPoll: [500, 3_000],
  podStop: [500, 1_000],
  podStart: [1_000, 2_000],
  shutdown: [500, 1_500],
  boot: [2_000, 4_000],
  etcdStart: [500, 1_500],
  podsAfterBoot: [1_000, 3_000],
  eviction: [300, 1_200],
};

/** One duration out of a span. */
export function draw(random: Random, [low, high]: Span): number {
  return random.between(low, high);
}
