import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { Effect } from '../../internal/rotation/decision.ts';
import type { AuthenticationReading, MachineObservation, Observation } from '../../internal/rotation/observation.ts';
import type { Fingerprint } from '../../pkg/pki/index.ts';
import { aMachine, pkiAt, type Stands } from './machine.ts';
import { NOW } from './rotation.ts';
import { OLD } from './rotation-material.ts';

/** One machine of a cluster in memory. Times are milliseconds since the epoch. */
export interface WorldMachine {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly uid: string;
  /** It joined while a rotation may have been under way, with whatever configuration its owner gave it. */
  readonly isNew: boolean;
  stands: Stands;
  /** What its controllers have taken; follows the configuration after a moment. */
  runs: Stands;
  /** Targets that were dropped before the others, in its configuration and in what it runs with. */
  ahead: readonly CaTarget[];
  aheadRuns: readonly CaTarget[];
  boot: number;
  up: boolean;
  /** The configuration whose trust its etcd, and its kube-apiserver, read at their start. */
  etcdPool: Stands;
  serverPool: Stands;
  instance: number;
  etcdFrom: number;
  serverFrom: number;
  kubeletFrom: number;
  nodeBoot: number;
  cordoned: boolean;
  foreign: string | undefined;
  /** At its next boot it finds this configuration instead of its own. */
  bootsInto: Stands | undefined;
  /** It takes a reboot for granted and does nothing. */
  swallowsReboots: boolean;
}

/** What a cluster is like. */
export interface ClusterShape {
  readonly controlPlanes: number;
  readonly workers: number;
  readonly targets: readonly CaTarget[];
  /** Whether probes reach 2379 and 2380; they do unless said otherwise. */
  readonly probes?: boolean;
}

const STAGES: readonly Stands[] = ['Before', 'Accepting', 'Issuing', 'Dropping'];

/**
 * A cluster in memory that does to itself what `measured` saw on real Talos:
 * resources follow a configuration in seconds, API servers restart, etcd and
 * kube-apiserver read their trust at start only and serve new leaves at once, a
 * boot takes 15 s and everything is well after 40. What must never happen to it
 * is asked at every moment and kept in `broken`.
 */
export class WorldCluster {
  now = NOW;
  readonly machines: WorldMachine[] = [];
  readonly broken: string[] = [];
  /** Set by a test that breaks something on purpose: from then on only trust is asked for, of the machines that are not named. */
  readonly excused = new Set<string>();
  private authentication: { uid: number; requestheader: Set<Fingerprint>; client: Set<Fingerprint> } | undefined;
  private uids = 0;
  private hasBegun = false;
  private readonly later: { at: number; run: () => void }[] = [];
  private readonly shape: ClusterShape;

  constructor(shape: ClusterShape) {
    this.shape = shape;
    for (let index = 1; index <= shape.controlPlanes; index += 1) this.join(`cp${index}`, 'Before');
    for (let index = 1; index <= shape.workers; index += 1) this.join(`w${index}`, 'Before');
    this.hasBegun = true;
    this.publish();
  }

  /** A machine joins, healthy, with this configuration. */
  join(name: string, stands: Stands): WorldMachine {
    this.uids += 1;
    const first = this.uids * 100;
    const machine: WorldMachine = {
      name,
      role: name.startsWith('cp') ? 'controlplane' : 'worker',
      uid: `uid-${name}-${this.uids}`,
      isNew: this.hasBegun,
      stands,
      runs: stands,
      ahead: [],
      aheadRuns: [],
      boot: first,
      up: true,
      etcdPool: stands,
      serverPool: stands,
      instance: first,
      etcdFrom: 0,
      serverFrom: 0,
      kubeletFrom: 0,
      nodeBoot: first,
      cordoned: false,
      foreign: undefined,
      bootsInto: undefined,
      swallowsReboots: false,
    };
    this.machines.push(machine);
    this.machines.sort((a, b) => (a.name < b.name ? -1 : 1));
    return machine;
  }

  /** A machine leaves the cluster, its Node and its member with it. */
  leave(name: string): void {
    const index = this.machines.findIndex((each) => each.name === name);
    if (index >= 0) this.machines.splice(index, 1);
  }

  find(name: string): WorldMachine | undefined {
    return this.machines.find((each) => each.name === name);
  }

  machine(name: string): WorldMachine {
    const found = this.find(name);
    if (found === undefined) throw new Error(`${name} is not in the world`);
    return found;
  }

  /** Lets time pass; what was going to happen happens. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      this.later.sort((a, b) => a.at - b.at);
      const next = this.later[0];
      if (next === undefined || next.at > until) break;
      this.later.shift();
      this.now = Math.max(this.now, next.at);
      next.run();
      this.check();
    }
    this.now = until;
    this.publish();
    this.check();
  }

  after(ms: number, run: () => void): void {
    this.later.push({ at: this.now + ms, run });
  }

  /** A reboot, asked for or not: a loss of power is the same. */
  reboot(machine: WorldMachine): void {
    this.after(1_000, () => {
      if (!machine.up) return;
      machine.up = false;
      machine.boot += 1;
      if (machine.bootsInto !== undefined) machine.ahead = [];
      machine.stands = machine.bootsInto ?? machine.stands;
      machine.bootsInto = undefined;
      this.after(14_000, () => this.start(machine));
    });
  }

  private start(machine: WorldMachine): void {
    machine.up = true;
    machine.runs = machine.stands;
    machine.aheadRuns = machine.ahead;
    machine.etcdPool = machine.stands;
    machine.serverPool = machine.stands;
    machine.instance += 1;
    machine.etcdFrom = this.now + 4_000;
    machine.serverFrom = this.now + 24_000;
    machine.kubeletFrom = this.now + 6_000;
    this.after(20_000, () => {
      machine.nodeBoot = machine.boot;
    });
  }

  apply(machine: WorldMachine, stage: Stands, targets = this.shape.targets): void {
    if (!machine.up || machine.stands === stage) return;
    const isPart = targets.length < this.shape.targets.length;
    if (isPart) machine.ahead = targets;
    else machine.stands = stage;
    this.inThisBoot(machine, 2_000, () => {
      machine.runs = machine.stands;
      machine.aheadRuns = machine.ahead;
      if (!this.restartsServer() || machine.role === 'worker') return;
      if (this.shape.targets.includes('kubernetes')) machine.kubeletFrom = this.now + 2_000;
      this.inThisBoot(machine, 5_000, () => {
        machine.instance += 1;
        machine.serverPool = machine.runs;
        // A start took up to 12 s under load (`measured`).
        machine.serverFrom = this.now + 12_000;
      });
    });
  }

  private inThisBoot(machine: WorldMachine, ms: number, run: () => void): void {
    const { boot } = machine;
    this.after(ms, () => {
      if (machine.boot === boot && machine.up) run();
    });
  }

  private restartsServer(): boolean {
    return this.shape.targets.some((target) => target === 'kubernetes' || target === 'kubernetes-aggregator');
  }

  resetAuthentication(uid: string): void {
    if (String(this.authentication?.uid) === uid) this.authentication = undefined;
  }

  /** Every running API server merges what it accepts into extension-apiserver-authentication; none removes anything. */
  private publish(): void {
    for (const machine of this.planes.filter((each) => each.up && this.now >= each.serverFrom)) {
      const pki = pkiAt(machine.runs, this.shape.targets);
      this.uids += this.authentication === undefined ? 1 : 0;
      this.authentication ??= { uid: this.uids, requestheader: new Set(), client: new Set() };
      for (const each of pki.aggregatorAccepted) this.authentication.requestheader.add(each);
      for (const each of pki.kubernetesAccepted) this.authentication.client.add(each);
    }
  }

  get planes(): WorldMachine[] {
    return this.machines.filter((each) => each.role === 'controlplane');
  }

  /** The machines that hold something of what is rotated. */
  get concerned(): WorldMachine[] {
    const everybody = this.shape.targets.some((target) => target === 'talos' || target === 'kubernetes');
    return everybody ? this.machines : this.planes;
  }

  private pool(stands: Stands): readonly Fingerprint[] {
    return pkiAt(stands, this.shape.targets).etcdTrusted;
  }

  private leaf(machine: WorldMachine): Fingerprint {
    return pkiAt(machine.runs, this.shape.targets).etcdLeafIssuer ?? OLD.etcd;
  }

  private knows(a: WorldMachine, b: WorldMachine): boolean {
    return a === b || (this.pool(a.etcdPool).includes(this.leaf(b)) && this.pool(b.etcdPool).includes(this.leaf(a)));
  }

  private isStarted(machine: WorldMachine): boolean {
    return machine.up && this.now >= machine.etcdFrom;
  }

  private isHealthy(machine: WorldMachine): boolean {
    if (!this.isStarted(machine)) return false;
    const reached = this.planes.filter((each) => this.isStarted(each) && this.knows(machine, each)).length;
    return reached > this.planes.length / 2;
  }

  private isServing(machine: WorldMachine): boolean {
    const trusts = this.pool(machine.serverPool).includes(this.leaf(machine));
    return machine.up && this.now >= machine.serverFrom && trusts && this.isHealthy(machine);
  }

  get hasApi(): boolean {
    return this.planes.some((each) => this.isServing(each));
  }

  private check(): void {
    const indices = this.concerned
      .filter((each) => each.up && !this.excused.has(each.name))
      .map((each) => STAGES.indexOf(each.runs));
    if (Math.max(...indices) - Math.min(...indices) > 1) this.breaks('two machines do not trust each other any more');
    if (this.excused.size > 0) return;
    const { planes } = this;
    if (planes.some((plane) => this.drops(plane))) {
      const shut = this.machines.find((each) => each.role === 'worker' && each.up && !each.isNew && !this.drops(each));
      if (shut !== undefined) this.breaks(`an API server refuses the kubelet of ${shut.name}`);
    }
    const healthy = planes.filter((each) => this.isHealthy(each)).length;
    if (planes.length > 2 && healthy <= planes.length / 2) {
      this.breaks(`etcd lost its quorum: ${healthy} of ${planes.length} members are healthy`);
    }
    if (planes.length > 2 && !this.hasApi) this.breaks('no API server answers');
    if (this.machines.filter((each) => each.cordoned).length > 1) this.breaks('two machines are cordoned at a time');
  }

  /** Whether what it runs with has dropped the old Kubernetes CA. */
  private drops({ runs, aheadRuns }: WorldMachine): boolean {
    if (!this.shape.targets.includes('kubernetes')) return false;
    return runs === 'Dropping' || aheadRuns.includes('kubernetes');
  }

  private breaks(what: string): void {
    if (!this.broken.includes(what)) this.broken.push(what);
  }

  /** The machines as an observation shows them, control planes first. */
  see(): MachineObservation[] {
    const leader = this.planes.find((each) => this.isHealthy(each))?.name ?? 'nobody';
    const members = this.planes.map((each) => each.name);
    const { hasApi } = this;
    return [...this.planes, ...this.machines.filter((each) => each.role === 'worker')].map((machine) =>
      this.seen(machine, { leader, members, hasApi }),
    );
  }

  private seen(
    machine: WorldMachine,
    { leader, members, hasApi }: { leader: string; members: readonly string[]; hasApi: boolean },
  ): MachineObservation {
    const { targets, probes = true } = this.shape;
    const healthy = machine.role === 'controlplane' && this.isHealthy(machine);
    const kubelet = machine.up && this.now >= machine.kubeletFrom;
    const issuer = this.leaf(machine);
    const [first = 'talos'] = targets;
    return aMachine({
      name: machine.name,
      role: machine.role,
      targets,
      stands: machine.stands,
      runs: machine.runs,
      boot: `boot-${machine.boot}`,
      instance: `container-${machine.instance}`,
      members,
      leader,
      ...(machine.up ? {} : { unknown: 'unreachable' as const }),
      standing: {
        ...Object.fromEntries(machine.ahead.map((target) => [target, { stage: 'Dropping' }])),
        ...(machine.foreign === undefined ? {} : { [first]: { stage: 'Foreign', why: machine.foreign } }),
      },
      ...(machine.role === 'worker' && this.drops(machine)
        ? { pki: { kubeletAccepted: pkiAt('Dropping', targets, 'worker').kubeletAccepted } }
        : {}),
      ...(machine.role === 'worker' || this.isServing(machine) ? {} : { apiServer: 'failing: etcd' }),
      ...(healthy ? {} : { etcd: { leaderId: undefined } }),
      talos: {
        kubelet: { running: kubelet, healthy: kubelet },
        ...(machine.role === 'worker' ? {} : { etcdService: { running: this.isStarted(machine), healthy } }),
      },
      node: hasApi
        ? {
            uid: machine.uid,
            bootId: `boot-${machine.nodeBoot}`,
            cordoned: machine.cordoned,
            cordonedByUs: machine.cordoned,
          }
        : 'unknown',
      served: probes
        ? { known: true, value: { client: issuer, peer: issuer } }
        : { known: false, why: 'unreachable', message: 'filtered' },
    });
  }

  /** Kubernetes as an observation shows it. */
  kubernetes(): Observation['kubernetes'] {
    if (!this.hasApi) {
      const unknown = { known: false, why: 'failed', message: 'no API server answers' } as const;
      return {
        authentication: unknown,
        rootCa: unknown,
        stalePods: unknown,
        talosAccess: unknown,
        draining: unknown,
        unreadyControlPlanePods: unknown,
      };
    }
    const found = this.authentication;
    const value: AuthenticationReading =
      found === undefined
        ? { present: false }
        : { present: true, uid: String(found.uid), requestheader: [...found.requestheader], client: [...found.client] };
    const isNew = this.planes.every((each) => each.runs === 'Issuing' || each.runs === 'Dropping');
    return {
      authentication: { known: true, value },
      rootCa: { known: true, value: { total: 4, stale: isNew ? [] : ['default', 'kube-system'] } },
      stalePods: { known: true, value: [] },
      talosAccess: { known: true, value: [] },
      draining: { known: true, value: [] },
      unreadyControlPlanePods: { known: true, value: [] },
    };
  }

  /** The trial of the old credentials everywhere. */
  refusals(): NonNullable<Observation['refusals']> {
    const refused = this.concerned.every((each) => each.up && each.runs === 'Dropping');
    return [{ what: 'old credentials', outcome: refused ? 'refused' : 'accepted', message: 'tried everywhere' }];
  }

  /** What an effect does to the machines and to Kubernetes. */
  does(effect: Effect): void {
    switch (effect.kind) {
      case 'apply-config':
      case 'apply-configs':
        for (const name of effect.kind === 'apply-config' ? [effect.machine] : effect.machines) {
          const machine = this.find(name);
          if (machine === undefined) continue;
          const isBack = STAGES.indexOf(effect.stage) < STAGES.indexOf(machine.stands);
          if (machine.up && isBack) this.breaks(`the configuration of ${name} went back to ${effect.stage}`);
          this.apply(machine, effect.stage, effect.targets);
        }
        return;
      case 'revert-config': {
        const machine = this.find(effect.machine);
        if (machine !== undefined) this.apply(machine, effect.to);
        return;
      }
      case 'reboot': {
        const machine = this.find(effect.machine);
        if (machine !== undefined && !machine.swallowsReboots) this.reboot(machine);
        return;
      }
      case 'cordon':
      case 'uncordon':
        this.cordon([effect.machine], effect.kind === 'cordon');
        return;
      case 'abandon':
        this.cordon(effect.uncordon, false);
        return;
      case 'reset-authentication':
        this.resetAuthentication(effect.uid);
        return;
      default:
        return;
    }
  }

  private cordon(names: readonly string[], cordoned: boolean): void {
    for (const name of names) {
      const machine = this.find(name);
      if (machine !== undefined) machine.cordoned = cordoned;
    }
  }
}
