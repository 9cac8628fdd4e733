import type { Outage, TrafficReport } from '../../talos/traffic.ts';
import type { ServedLeaves } from './etcd-leaves.ts';
import type { Floor, MeasuredSteps } from './floor.ts';

/** What clients saw of one rotation. */
export interface ClientFigures extends Pick<TrafficReport, 'requests' | 'failed' | 'retried' | 'longestStallMs'> {
  readonly lostWrites: number;
  /** Moments at which no API server answered. */
  readonly allDown: Outage;
}

/** One rotation as it was seen from outside; times in milliseconds. */
export interface RotationFigures {
  readonly name: string;
  /** From the start of the program to its end. */
  readonly wallMs: number;
  /** From the start of the program until Talos, Kubernetes and every control plane pod were well again. */
  readonly healthyMs: number;
  readonly clients: ClientFigures;
}

/** One of ours, with what only ours has. */
export interface OurFigures extends RotationFigures {
  readonly floor: Floor;
  /** Wall time by the floor. */
  readonly ratio: number;
  /** The same with the required settles taken off both: the stricter figure. */
  readonly ratioWithoutSettles: number;
  readonly reboots: Readonly<Record<string, number>>;
  /** What each control plane that was not rebooted after Issuing served then; empty where no reboot was in question. */
  readonly skips: readonly ServedLeaves[];
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly stages: readonly { readonly stage: string; readonly ms: number }[];
}

/** Everything that one run of the benchmark found. */
export interface RotationBenchmark {
  readonly controlPlanes: number;
  readonly workers: number;
  readonly measured: MeasuredSteps;
  readonly ours: readonly OurFigures[];
  readonly talosctl: RotationFigures;
}

/** What is kept of a traffic report: nothing that holds addresses or texts of errors. */
export function clientFigures(report: TrafficReport): ClientFigures {
  const { requests, failed, retried, longestStallMs, lostWrites, allDown } = report;
  return { requests, failed, retried, longestStallMs, lostWrites, allDown };
}

/** Wall by floor, and both without the settles. */
export function ratiosOf(wallMs: number, floor: Floor): Pick<OurFigures, 'ratio' | 'ratioWithoutSettles'> {
  const moving = floor.totalMs - floor.settlesMs;
  return { ratio: wallMs / floor.totalMs, ratioWithoutSettles: (wallMs - floor.settlesMs) / moving };
}
