import { Empty } from '../../../proto/generated/google/protobuf/empty.ts';
import { ContainerDriver } from '../../../proto/generated/talos/common.ts';
import {
  type ContainerInfo,
  ContainersRequest,
  MachineServiceService,
  type ServiceInfo,
  ServiceRestartRequest,
} from '../../../proto/generated/talos/machine.ts';
import { isTalosError } from '../errors.ts';
import type { ContainerStatus, ServiceStatus, TalosMachine } from '../machine.ts';
import { type CallContext, milliseconds, only } from './context.ts';

/**
 * How often containers are listed before it counts as failed. Talos lists them and then asks for the status of each:
 * one that is removed in between fails the whole list with NotFound (docs/reference/talos-observed.md).
 */
const LISTINGS = 3;

/** Services of machined and containers of the CRI. */
export function createServiceCalls({
  invoker,
  deadlines,
}: CallContext): Pick<TalosMachine, 'services' | 'restartService' | 'containers'> {
  return {
    async services(options) {
      const kind = { call: 'ServiceList', deadlineMs: deadlines.readMs };
      const reply = await invoker.unary(MachineServiceService.serviceList, Empty.create(), kind, options);
      return only(invoker, kind, reply.messages).services.map(readService);
    },

    async restartService(id, options) {
      const kind = { call: `ServiceRestart ${id}`, deadlineMs: deadlines.changeMs, change: true };
      const request = ServiceRestartRequest.fromPartial({ id });
      const reply = await invoker.unary(MachineServiceService.serviceRestart, request, kind, options);
      only(invoker, kind, reply.messages);
    },

    async containers(options) {
      const kind = { call: 'Containers k8s.io', deadlineMs: deadlines.readMs };
      const request = ContainersRequest.fromPartial({ namespace: 'k8s.io', driver: ContainerDriver.CRI });
      for (let listing = 1; ; listing += 1) {
        try {
          const reply = await invoker.unary(MachineServiceService.containers, request, kind, options);
          return only(invoker, kind, reply.messages).containers.map(readContainer);
        } catch (error) {
          if (listing === LISTINGS || !isTalosError(error, 'not-found')) throw error;
        }
      }
    },
  };
}

function readService(service: ServiceInfo): ServiceStatus {
  const { health } = service;
  return {
    id: service.id,
    state: service.state,
    healthy: health === undefined || health.unknown ? undefined : health.healthy,
    healthMessage: health?.lastMessage ?? '',
    events: (service.events?.events ?? []).map((event) => ({
      state: event.state,
      message: event.msg,
      at: milliseconds(event.ts),
    })),
  };
}

function readContainer(container: ContainerInfo): ContainerStatus {
  const { id, podId, name, image, pid, status } = container;
  return { id, podId, name, image, pid, status, sandbox: id === podId };
}
