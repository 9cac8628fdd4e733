import { MEASURED, type Span, type Timing } from '../simulator/index.ts';

/** Middle of what a boot takes on real parts, in seconds. */
const MEASURED_BOOT_S = (MEASURED.boot[0] + MEASURED.boot[1]) / 2_000;

const FASTEST_PACE = 0.2;

const SHORTEST_SHUTDOWN_MS = 1_000;

/**
 * How long things take in a lab whose machines boot in `bootSeconds`: everything
 * keeps the proportions of what was measured on real parts, so that a lab of 13
 * seconds is as slow as the real thing.
 */
export function labTiming(bootSeconds: number): Timing {
  const scale = bootSeconds / MEASURED_BOOT_S;
  const scaled = ([low, high]: Span): Span => [Math.round(low * scale), Math.round(high * scale)];
  const shutdown = scaled(MEASURED.shutdown);
  return {
    controllers: scaled(MEASURED.controllers),
    signing: scaled(MEASURED.signing),
    staticPodPoll: scaled(MEASURED.staticPodPoll),
    podStop: scaled(MEASURED.podStop),
    podStart: scaled(MEASURED.podStart),
    kubeletStart: scaled(MEASURED.kubeletStart),
    kubeletHealthy: scaled(MEASURED.kubeletHealthy),
    // Whoever follows a reboot by its events still sees them, as on real machines.
    shutdown: [Math.max(SHORTEST_SHUTDOWN_MS, shutdown[0]), Math.max(SHORTEST_SHUTDOWN_MS, shutdown[1])],
    boot: scaled(MEASURED.boot),
    etcdStart: scaled(MEASURED.etcdStart),
    podsAfterBoot: scaled(MEASURED.podsAfterBoot),
    eviction: scaled(MEASURED.eviction),
    // Loops that come too often cost more than they save; slower than real they would break what waits for them.
    pace: Math.min(1, Math.max(FASTEST_PACE, scale)),
  };
}
