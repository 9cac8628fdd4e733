import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LockOwner } from '../support/lock.ts';

/** What is on the machine because of clusters is noted here; like the clusters, it does not outlive a restart. */
export const RUN = '/run/ichor-talos';

/** Whether the configuration is of typed documents (1.14) or of one legacy document. */
export type Contract = `v1.${number}`;

/** What the harness knows of a cluster, for every process that works with it. */
export interface ClusterRecord {
  readonly name: string;
  readonly index: number;
  readonly controlPlanes: number;
  readonly workers: number;
  readonly contract: Contract;
  /** Where its files are. */
  readonly directory: string;
  /** IP:PORT of the Kubernetes endpoint. */
  readonly endpoint: string;
  /** The shared root file system that its machines boot from. */
  readonly rootfs: string;
  /** Directories that the image registry serves. */
  readonly images: readonly string[];
  /** The process that the cluster lives and dies with; none if it was made by hand. */
  readonly owner?: LockOwner;
}

/** Writes the record whole. */
export function writeRecord(record: ClusterRecord): void {
  const directory = join(RUN, 'clusters');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const draft = join(directory, `.${record.name}`);
  writeFileSync(draft, JSON.stringify(record, undefined, 2));
  renameSync(draft, recordFile(record.name));
}

/** The record of a cluster; undefined if there is none, or if its process removes it at this moment. */
export function readRecord(name: string): ClusterRecord | undefined {
  try {
    return JSON.parse(readFileSync(recordFile(name), 'utf8')) as ClusterRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function removeRecord(name: string): void {
  rmSync(recordFile(name), { force: true });
}

/** Names of the clusters that there are records of, sorted. */
export function recordedClusters(): string[] {
  const directory = join(RUN, 'clusters');
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();
}

function recordFile(name: string): string {
  return join(RUN, 'clusters', `${name}.json`);
}
